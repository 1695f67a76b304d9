/* agents/timetable.c: a heap of times that can be moved; see timetable.h. */
#include "agents/timetable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool timetable_make(struct timetable *table, uint32_t things)
{
    *table = (struct timetable){.at = calloc(things, sizeof(*table->at)),
                                .heap = calloc(things, sizeof(*table->heap)),
                                .place = calloc(things, sizeof(*table->place))};
    for (uint32_t thing = 0; table->at && thing < things; thing++)
        table->at[thing] = INFINITY;
    return table->at && table->heap && table->place;
}

void timetable_free(struct timetable *table)
{
    free(table->at);
    free(table->heap);
    free(table->place);
    memset(table, 0, sizeof(*table));
}

static bool sooner(const struct timetable *table, uint32_t a, uint32_t b)
{
    if (table->at[a] != table->at[b])
        return table->at[a] < table->at[b];
    return a < b;
}

static void put(struct timetable *table, uint32_t i, uint32_t thing)
{
    table->heap[i] = thing;
    table->place[thing] = i + 1;
}

static void rise(struct timetable *table, uint32_t i, uint32_t thing)
{
    for (; i > 0 && sooner(table, thing, table->heap[(i - 1) / 2]); i = (i - 1) / 2)
        put(table, i, table->heap[(i - 1) / 2]);
    put(table, i, thing);
}

static void sink(struct timetable *table, uint32_t i, uint32_t thing)
{
    for (uint32_t child; (child = 2 * i + 1) < table->length; i = child) {
        child += child + 1 < table->length && sooner(table, table->heap[child + 1], table->heap[child]);
        if (!sooner(table, table->heap[child], thing))
            break;
        put(table, i, table->heap[child]);
    }
    put(table, i, thing);
}

static void move(struct timetable *table, uint32_t i, uint32_t thing)
{
    if (i > 0 && sooner(table, thing, table->heap[(i - 1) / 2]))
        rise(table, i, thing);
    else
        sink(table, i, thing);
}

void timetable_set(struct timetable *table, uint32_t thing, double at)
{
    const uint32_t place = table->place[thing];
    table->at[thing] = at;
    if (isinf(at)) {
        if (place == 0)
            return;
        const uint32_t last = table->heap[--table->length];
        table->place[thing] = 0;
        if (last != thing)
            move(table, place - 1, last);
    } else if (place == 0) {
        rise(table, table->length++, thing);
    } else {
        move(table, place - 1, thing);
    }
}

bool timetable_first(const struct timetable *table, uint32_t *thing, double *at)
{
    if (table->length == 0)
        return false;
    *thing = table->heap[0];
    *at = table->at[*thing];
    return true;
}
