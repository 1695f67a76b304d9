/* agents/timetable.c: a heap of times that can be moved; see timetable.h. */
#include "agents/timetable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool timetable_make(struct timetable *table, uint32_t things)
{
    *table = (struct timetable){.heap = calloc(things, sizeof(*table->heap)), .place = calloc(things, sizeof(*table->place))};
    return table->heap && table->place;
}

void timetable_free(struct timetable *table)
{
    free(table->heap);
    free(table->place);
    memset(table, 0, sizeof(*table));
}

/* As one number, so that comparing does not branch: doubles that are not negative are in the order of their bits. */
static inline unsigned __int128 key(const struct timetable_entry *entry)
{
    uint64_t bits;
    memcpy(&bits, &entry->at, sizeof(bits));
    return (unsigned __int128)bits << 64 | entry->thing;
}

static inline bool sooner(const struct timetable_entry *a, const struct timetable_entry *b)
{
    return key(a) < key(b);
}

static inline void put(struct timetable *table, uint32_t i, struct timetable_entry entry)
{
    table->heap[i] = entry;
    table->place[entry.thing] = i + 1;
}

static void rise(struct timetable *table, uint32_t i, struct timetable_entry entry)
{
    for (; i > 0 && sooner(&entry, &table->heap[(i - 1) / 4]); i = (i - 1) / 4)
        put(table, i, table->heap[(i - 1) / 4]);
    put(table, i, entry);
}

static void sink(struct timetable *table, uint32_t i, struct timetable_entry entry)
{
    const struct timetable_entry *heap = table->heap;
    for (uint32_t first; (first = 4 * i + 1) < table->length;) {
        const uint32_t end = first + 4 < table->length ? first + 4 : table->length;
        uint32_t least = first;
        for (uint32_t child = first + 1; child < end; child++)
            least = sooner(&heap[child], &heap[least]) ? child : least;
        if (!sooner(&heap[least], &entry))
            break;
        put(table, i, heap[least]);
        i = least;
    }
    put(table, i, entry);
}

static void move(struct timetable *table, uint32_t i, struct timetable_entry entry)
{
    if (i > 0 && sooner(&entry, &table->heap[(i - 1) / 4]))
        rise(table, i, entry);
    else
        sink(table, i, entry);
}

void timetable_set(struct timetable *table, uint32_t thing, double at)
{
    const uint32_t place = table->place[thing];
    const struct timetable_entry entry = {.at = at, .thing = thing};
    if (isinf(at)) {
        if (place == 0)
            return;
        const struct timetable_entry last = table->heap[--table->length];
        table->place[thing] = 0;
        if (last.thing != thing)
            move(table, place - 1, last);
    } else if (place == 0) {
        rise(table, table->length++, entry);
    } else {
        move(table, place - 1, entry);
    }
}

bool timetable_first(const struct timetable *table, uint32_t *thing, double *at)
{
    if (table->length == 0)
        return false;
    *thing = table->heap[0].thing;
    *at = table->heap[0].at;
    return true;
}
