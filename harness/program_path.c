/* program_path.c: finds the program of workload.exec; see program_path.h. */
#include "harness/program_path.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/process.h"

int program_path_find(const char *name, const char *campaign_path, struct arena *arena, const char **path, struct err *err)
{
    const char *slash = strrchr(campaign_path, '/');
    const bool beside = strchr(name, '/') && name[0] != '/';
    char found[PATH_MAX];
    if (beside && slash)
        name = arena_printf(arena, "%.*s/%s", (int)(slash - campaign_path), campaign_path, name);
    int code = process_find(name, NULL, NULL, found, sizeof(found), err);
    if (code < 0)
        return beside ? err_wrap(err, "a path is relative to the campaign file's folder") : code;
    *path = arena_strdup(arena, found);
    return 0;
}
