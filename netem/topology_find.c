/* topology_find.c: finds a place by the word that a user has for it. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "netem/topology.h"

enum { NAMES_SHOWN = 12 };

static int refuse(const struct topology *topology, const char *word, struct err *err)
{
    cleanup(text_free) struct text names = {0};
    cleanup(free_pointer) const char **candidates = calloc((size_t)topology->place_count + 1, sizeof(*candidates));
    for (int i = 0; i < topology->place_count; i++) {
        if (candidates)
            candidates[i] = topology->places[i].name;
        if (i < NAMES_SHOWN)
            text_printf(&names, "%s%s", i ? " " : "", topology->places[i].name);
    }
    const char *near = candidates ? options_nearest(word, candidates, (size_t)topology->place_count) : NULL;
    const char *more = topology->place_count > NAMES_SHOWN ? " ..." : "";
    if (near)
        return err_set(err, ERR_USAGE, "there is no node '%.60s'; did you mean '%s'? There are: %s%s", word, near, names.bytes,
                       more);
    return err_set(err, ERR_USAGE, "there is no node '%.60s'; there are: %s%s", word, names.bytes, more);
}

int topology_find(const struct topology *topology, const char *word, int *place, struct err *err)
{
    int found = topology_find_word(topology->places, sizeof(struct place), topology->place_count, topology->place_count, word);
    if (found < 0)
        return refuse(topology, word, err);
    *place = found;
    return 0;
}
