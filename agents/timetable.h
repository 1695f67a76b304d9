/* agents/timetable.h: when each of a fixed number of things happens next, for predictions that go from event to event: a binary
 * heap whose entries can be moved. Of things at one time the one with the smallest number comes first, so that results never
 * depend on the order in which times were set. */
#ifndef LAGGARD_AGENTS_TIMETABLE_H
#define LAGGARD_AGENTS_TIMETABLE_H

#include <stdbool.h>
#include <stdint.h>

struct timetable {
    double *at;             /* [things]: INFINITY: never, and not in the heap */
    uint32_t *heap, *place; /* things, the earliest first; where a thing stands in the heap, plus one */
    uint32_t length;
};

/* Everything at INFINITY. false: no memory. Freed with timetable_free(), also after a failure. */
bool timetable_make(struct timetable *table, uint32_t things);
void timetable_free(struct timetable *table);
void timetable_set(struct timetable *table, uint32_t thing, double at);
/* The earliest; false: nothing will happen. */
bool timetable_first(const struct timetable *table, uint32_t *thing, double *at);

#endif
