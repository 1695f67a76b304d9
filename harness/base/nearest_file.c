/* nearest_file.c: the name in a folder that is nearest to one that is not there; see nearest_file.h. */
#include "base/nearest_file.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/options.h"

enum { NAMES_MAX = 1000 };

static void close_folder(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

static bool ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), wanted = ending ? strlen(ending) : 0;
    return wanted > 0 && length > wanted && strcmp(name + length - wanted, ending) == 0;
}

static bool is_plain(const char *name)
{
    for (; *name; name++)
        if (*name < ' ' || *name > '~') /* bytes beyond ASCII, too: char may be signed */
            return false;
    return true;
}

/* Without its ending, which would make short names that share nothing else look alike. */
static const char *stem(struct arena *arena, const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? arena_strndup(arena, name, (size_t)(dot - name)) : name;
}

struct nearest_file nearest_file(const char *path, const char *usual_ending)
{
    const int error = errno; /* callers are about to tell it */
    struct nearest_file found = {""};
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const char *word = basename(arena_strdup(arena, path)), *place = dirname(arena_strdup(arena, path));
    const char *own_ending = strrchr(word, '.'), *names[NAMES_MAX], *stems[NAMES_MAX];
    cleanup(close_folder) DIR *folder = opendir(place);
    size_t count = 0;
    for (struct dirent *entry; folder && count < NAMES_MAX && (entry = readdir(folder));) {
        if ((!ends_with(entry->d_name, own_ending) && !ends_with(entry->d_name, usual_ending)) || !is_plain(entry->d_name))
            continue;
        names[count] = arena_strdup(arena, entry->d_name);
        stems[count] = stem(arena, names[count]);
        count++;
    }
    const char *near = options_nearest(stem(arena, word), stems, count);
    const bool in_folder = strchr(path, '/') != NULL;
    for (size_t i = 0; near && i < count; i++)
        if (stems[i] == near)
            snprintf(found.text, sizeof(found.text), " (did you mean '%s%s%s'?)", in_folder ? place : "",
                     in_folder && strcmp(place, "/") != 0 ? "/" : "", names[i]);
    errno = error;
    return found;
}
