/* topology_names.c: places and links by the words that campaign files and command lines use for them. The one rule: a name wins;
 * only a word that names nothing is an index. */
#include <string.h>

#include "base/units.h"
#include "netem/topology.h"

int topology_find_word(const void *first, size_t stride, int count, int indexes, const char *word)
{
    for (int i = 0; i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)first + (size_t)i * stride, sizeof(name));
        if (strcmp(name, word) == 0)
            return i;
    }
    uint64_t index;
    if (indexes > 0 && *word != '-' && units_parse_unsigned(word, 0, (uint64_t)indexes - 1, &index, NULL) == 0)
        return (int)index;
    return -1;
}

int topology_find_link(const struct topology *topology, const char *word)
{
    return topology_find_word(topology->links, sizeof(struct link), topology->link_count, topology->link_count, word);
}

int topology_find_place(const struct topology *topology, const struct name_list *hosts, const char *word)
{
    int named = topology_find_word(topology->places, sizeof(struct place), topology->place_count, 0, word);
    for (int i = 0; i < hosts->count && i < topology->host_count && named < 0; i++)
        if (strcmp(hosts->names[i], word) == 0)
            named = i;
    return named >= 0 ? named : topology_find_word(NULL, 0, 0, topology->host_count, word);
}
