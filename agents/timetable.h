/* agents/timetable.h: when each of a fixed number of things happens next, for predictions that go from event to event: a heap of
 * four children a node, whose entries can be moved. Of things at one time the one with the smallest number comes first, so that
 * results never depend on the order in which times were set. Times are not negative. */
#ifndef LAGGARD_AGENTS_TIMETABLE_H
#define LAGGARD_AGENTS_TIMETABLE_H

#include <stdbool.h>
#include <stdint.h>

struct timetable {
    struct timetable_entry {
        double at;
        uint32_t thing;
    } * heap;        /* the earliest first */
    uint32_t *place; /* [things]: where each stands in the heap, plus one; 0: it never happens */
    uint32_t length;
};

/* Everything at INFINITY. false: no memory. Freed with timetable_free(), also after a failure. */
bool timetable_make(struct timetable *table, uint32_t things);
void timetable_free(struct timetable *table);
void timetable_set(struct timetable *table, uint32_t thing, double at); /* INFINITY: never */
/* The earliest; false: nothing will happen. */
bool timetable_first(const struct timetable *table, uint32_t *thing, double *at);

#endif
