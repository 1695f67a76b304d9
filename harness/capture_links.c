/* capture_links.c: which links of a network are to be captured. */
#include "harness/capture_links.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "netem/topology.h"

struct capture_settings capture_links_standard(void)
{
    return (struct capture_settings){.directory = "captures", .snap_bytes = 128, .size_bytes = 64 << 20};
}

bool capture_links_wanted(const struct capture_settings *capture)
{
    return capture->all || capture->link_count > 0;
}

int capture_links_parse(const char *words, struct arena *arena, struct capture_settings *capture, struct err *err)
{
    capture->all = strcmp(words, "all") == 0;
    capture->links = NULL;
    capture->link_count = 0;
    if (capture->all || strcmp(words, "none") == 0)
        return 0;
    size_t room = 1;
    for (const char *c = words; *c; c++)
        room += *c == ',';
    const char **links = arena_new_array(arena, const char *, room);
    for (const char *word = words;; word++) {
        size_t length = strcspn(word, ",");
        if (length == 0)
            return err_set(err, ERR_USAGE,
                           "found '%.80s', names or indexes of links with commas between them are needed, or all, or none", words);
        links[capture->link_count++] = arena_strndup(arena, word, length);
        word += length;
        if (!*word)
            break;
    }
    capture->links = links;
    return 0;
}

int capture_links_override(const char *words, struct arena *arena, struct plan *plan, struct err *err)
{
    struct capture_settings wanted = capture_links_standard();
    int result = capture_links_parse(words, arena, &wanted, err);
    if (result < 0)
        return result;
    for (int c = 0; c < plan->cell_count; c++)
        if (capture_links_wanted(&wanted) && plan->cells[c].settings.world == WORLD_VIRTUAL)
            return err_set(err, ERR_USAGE,
                           "--capture %.80s: cell %d (%s) is in world virtual, which has no packets that could be captured; use "
                           "--world emulated, or leave --capture out",
                           words, plan->cells[c].index, plan->cells[c].label);
    struct cell *cells = arena_copy(arena, plan->cells, (size_t)plan->cell_count * sizeof(*cells));
    for (int c = 0; c < plan->cell_count; c++) {
        struct capture_settings *capture = &cells[c].settings.capture;
        struct capture_settings standard = capture_links_wanted(capture) ? *capture : wanted;
        *capture = wanted;
        capture->directory = standard.directory;
        capture->snap_bytes = standard.snap_bytes;
        capture->size_bytes = standard.size_bytes;
        if (!capture_links_wanted(&wanted))
            *capture = (struct capture_settings){0};
    }
    plan->cells = cells;
    return 0;
}

static int mark_links(const struct capture_settings *capture, const struct topology *topology, bool *wanted, int *position,
                      struct err *err)
{
    for (int i = 0; i < capture->link_count; i++) {
        int link = topology_find_link(topology, capture->links[i]);
        *position = i;
        if (link < 0)
            return err_set(err, ERR_USAGE, "there is no link '%.80s': the first one is '%s', and indexes go from 0 to %d",
                           capture->links[i], topology->link_count ? topology->links[0].name : "none", topology->link_count - 1);
        if (wanted[link])
            return err_set(err, ERR_USAGE, "link %s is named twice", topology->links[link].name);
        wanted[link] = true;
    }
    return 0;
}

int capture_links_find(const struct capture_settings *capture, const struct topology *topology, struct arena *arena,
                       const int **links, int *count, int *position, struct err *err)
{
    int at = -1, found = 0;
    bool *wanted = arena_new_array(arena, bool, (size_t)topology->link_count);
    memset(wanted, capture->all, (size_t)topology->link_count * sizeof(*wanted));
    int result = mark_links(capture, topology, wanted, &at, err);
    if (position)
        *position = at;
    if (result < 0)
        return result;
    int *list = arena_new_array(arena, int, (size_t)topology->link_count);
    for (int i = 0; i < topology->link_count; i++)
        if (wanted[i])
            list[found++] = i;
    if (found > CAPTURED_LINKS_MOST) {
        if (position)
            *position = -1;
        return err_set(err, ERR_USAGE, "%d links are to be captured, at most %d can be: name some of them", found,
                       CAPTURED_LINKS_MOST);
    }
    *links = list;
    *count = found;
    return 0;
}
