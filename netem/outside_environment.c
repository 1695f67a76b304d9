/* outside_environment.c: what tells an outside program where it is; see outside_environment.h. */
#include "netem/outside_environment.h"

#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"

enum variable {
    VARIABLE_NODE,
    VARIABLE_SIZE,
    VARIABLE_PEERS,
    VARIABLE_RANK,
    VARIABLE_ADDRESS,
    VARIABLE_ENTER,
    VARIABLE_PROMPT,
    VARIABLES
};
static const char *const names[VARIABLES] = {
    [VARIABLE_NODE] = "LAGGARD_NODE", [VARIABLE_SIZE] = "LAGGARD_SIZE",       [VARIABLE_PEERS] = "LAGGARD_PEERS",
    [VARIABLE_RANK] = "LAGGARD_RANK", [VARIABLE_ADDRESS] = "LAGGARD_ADDRESS", [VARIABLE_ENTER] = "LAGGARD_ENTER",
    [VARIABLE_PROMPT] = "PS1",
};

static void add_address(struct text *text, uint32_t address)
{
    text_printf(text, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

char *outside_peers(const struct topology *topology, struct arena *arena)
{
    cleanup(text_free) struct text text = {0};
    for (int i = 0; i < topology->host_count; i++) {
        text_add(&text, i ? "," : "");
        add_address(&text, topology->places[i].address);
    }
    return arena_strdup(arena, text.bytes ? text.bytes : "");
}

/* The value of `variable` in "NAME=value", else NULL. */
static const char *value_of(const char *setting, enum variable variable)
{
    size_t length = strlen(names[variable]);
    return strncmp(setting, names[variable], length) == 0 && setting[length] == '=' ? setting + length + 1 : NULL;
}

static bool is_ours(const char *setting, bool terminal)
{
    for (int v = 0; v < VARIABLES; v++)
        if (value_of(setting, (enum variable)v))
            return v != VARIABLE_PROMPT || terminal;
    return false;
}

/* Shells of Debian show the host name, which is the place's, whatever stands here. */
static const char *prompt(const struct outside_place *where, char *const *given, struct arena *arena)
{
    const char *name = where->topology->places[where->place].name, *old = NULL;
    for (; *given; given++)
        if (value_of(*given, VARIABLE_PROMPT))
            old = value_of(*given, VARIABLE_PROMPT);
    if (!old || !old[0])
        return arena_printf(arena, "%s%s ", name, where->root ? "#" : "$");
    static const char *const host_names[] = {"\\h", "\\H", "%m", "%M"}; /* of bash, of zsh */
    for (size_t i = 0; i < sizeof(host_names) / sizeof(host_names[0]); i++)
        if (strstr(old, host_names[i]))
            return old;
    return arena_printf(arena, "(%s) %s", name, old);
}

char **outside_environment(const struct outside_place *where, char *const *given, struct arena *arena)
{
    const struct place *place = &where->topology->places[where->place];
    size_t count = 0, next = 0;
    while (given[count])
        count++;
    char **made = arena_new_array(arena, char *, count + VARIABLES + 1);
    for (size_t i = 0; i < count; i++)
        if (!is_ours(given[i], where->terminal))
            made[next++] = given[i];
    made[next++] = arena_printf(arena, "%s=%s", names[VARIABLE_NODE], place->name);
    made[next++] = arena_printf(arena, "%s=%d", names[VARIABLE_SIZE], where->topology->host_count);
    made[next++] = arena_printf(arena, "%s=%s", names[VARIABLE_PEERS], where->peers);
    if (where->enter_name)
        made[next++] = arena_printf(arena, "%s=%s", names[VARIABLE_ENTER], where->enter_name);
    if (where->terminal)
        made[next++] = arena_printf(arena, "%s=%s", names[VARIABLE_PROMPT], prompt(where, given, arena));
    if (place->kind == PLACE_HOST) {
        cleanup(text_free) struct text address = {0};
        add_address(&address, place->address);
        made[next++] = arena_printf(arena, "%s=%d", names[VARIABLE_RANK], where->place);
        made[next++] = arena_printf(arena, "%s=%s", names[VARIABLE_ADDRESS], address.bytes);
    }
    made[next] = NULL;
    return made;
}
