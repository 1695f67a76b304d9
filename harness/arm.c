/* arm.c: the environment of an arm's programs; see arm.h. */
#include "harness/arm.h"

#include <string.h>
#include <unistd.h>

#include "base/arena.h"

static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strncmp(a, b, length) == 0 && b[length] == '=';
}

char **arm_environment(struct arena *arena, const struct arm *arm)
{
    const char *const *own = arm ? arm->environment : NULL;
    size_t count = 0, own_count = 0, kept = 0;
    while (environ[count])
        count++;
    while (own && own[own_count])
        own_count++;
    char **variables = arena_new_array(arena, char *, count + own_count + 2);
    for (size_t i = 0; i < count; i++) {
        bool replaced = false;
        for (size_t k = 0; k < own_count; k++)
            replaced = replaced || same_name(own[k], environ[i]);
        if (!replaced)
            variables[kept++] = environ[i];
    }
    for (size_t k = 0; k < own_count; k++)
        variables[kept++] = arena_strdup(arena, own[k]);
    return variables;
}
