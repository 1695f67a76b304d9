/* campaign_field_find.c: finds rows of the table of campaign fields: by path, by short form, and the one that an unknown key may
 * have meant. */
#include <string.h>

#include "base/arena.h"
#include "campaign_internal.h"
#include "yaml_document.h"

/* Short forms of paths. */
static const struct {
    const char *alias, *path;
} aliases[] = {{"queue", "topology.link.queue"}};

bool campaign_field_alias(int index, const char **alias, const char **path)
{
    if (index < 0 || (size_t)index >= sizeof(aliases) / sizeof(aliases[0]))
        return false;
    *alias = aliases[index].alias;
    *path = aliases[index].path;
    return true;
}

const struct campaign_field *campaign_field_find(const char *path)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(aliases[i].alias, path) == 0)
            path = aliases[i].path;
    for (int i = 0; i < campaign_field_count; i++)
        if (strcmp(campaign_fields[i].path, path) == 0)
            return &campaign_fields[i];
    return NULL;
}

bool campaign_field_is_group(const char *path)
{
    size_t length = strlen(path);
    for (int i = 0; i < campaign_field_count; i++)
        if (strncmp(campaign_fields[i].path, path, length) == 0 && campaign_fields[i].path[length] == '.')
            return true;
    return false;
}

static bool model_uses(const struct campaign_field *field, const struct settings *settings)
{
    return field->models == 0 || field->models & CAMPAIGN_BIT(settings->workload.model);
}

static bool shape_uses(const struct campaign_field *field, const struct settings *settings)
{
    return field->shapes == 0 || field->shapes & CAMPAIGN_BIT(settings->shape);
}

static bool carrier_uses(const struct campaign_field *field, const struct settings *settings)
{
    return field->carriers == 0 || field->carriers & (settings->scheme.outside ? CARRIED_BY_PROGRAMS : CARRIED_BY_AGENTS);
}

bool campaign_field_used(const struct campaign_field *field, const struct settings *settings)
{
    return carrier_uses(field, settings) && model_uses(field, settings) && shape_uses(field, settings);
}

const char *campaign_field_refuser(const struct campaign_field *field, const struct settings *settings, struct arena *arena)
{
    if (!carrier_uses(field, settings))
        return settings->scheme.outside ? "an outside program (workload.exec)"
                                        : arena_printf(arena, "scheme %s", settings->scheme.name);
    return model_uses(field, settings) ? arena_printf(arena, "topology.shape %s", shape_names[settings->shape])
                                       : arena_printf(arena, "workload.model %s", model_names[settings->workload.model]);
}

const char *campaign_keys_beneath(struct arena *arena, const char *prefix)
{
    const char *list = "", *last = "";
    size_t prefix_length = strlen(prefix), last_length = 0;
    for (int i = 0; i < campaign_field_count; i++) {
        const char *path = campaign_fields[i].path;
        if (strncmp(path, prefix, prefix_length) != 0)
            continue;
        path += prefix_length;
        size_t length = strcspn(path, ".");
        if (length == last_length && strncmp(path, last, length) == 0)
            continue;
        list = arena_printf(arena, "%s%s%.*s", list, *list ? ", " : "", (int)length, path);
        last = path;
        last_length = length;
    }
    return list;
}

static const char *known_beneath(struct arena *arena, const char *prefix)
{
    const char *list = campaign_keys_beneath(arena, prefix);
    return *list ? arena_printf(arena, " Known are: %s", list) : " `laggard fields` lists the known ones";
}

/* The first field, anywhere, whose last word is this one; NULL: there is none. */
static const char *field_of_last_word(const char *word)
{
    for (int i = 0; i < campaign_field_count; i++) {
        const char *dot = strrchr(campaign_fields[i].path, '.');
        if (dot && strcmp(dot + 1, word) == 0)
            return campaign_fields[i].path;
    }
    return NULL;
}

/* Keys that could have been meant: those of the same mapping, and a field elsewhere whose last word is the same. In a mapping the
 * latter comes second, and its own keys are listed, too: a link's 'latency' is its delay, not the field of that name. */
int campaign_field_unknown(const struct reader *reader, const struct yaml_value *value, const char *prefix, const char *key)
{
    enum { CANDIDATES_MAX = 2 * CAMPAIGN_FIELDS_MAX + 3 };
    const char *candidates[CANDIDATES_MAX] = {0};
    size_t count = 0, prefix_length = strlen(prefix);
    for (int i = 0; i < campaign_field_count && count + 2 < CANDIDATES_MAX; i++) {
        const char *path = campaign_fields[i].path;
        if (strncmp(path, prefix, prefix_length) != 0)
            continue;
        path += prefix_length;
        candidates[count++] = path;
        candidates[count++] = arena_strndup(reader->arena, path, strcspn(path, "."));
    }
    if (!*prefix) {
        candidates[count++] = "matrix";
        candidates[count++] = "arms";
        candidates[count++] = "gate";
    }
    const char *near = campaign_suggest(reader->arena, key, candidates, count), *elsewhere = field_of_last_word(key);
    const bool is_near = *near != '.' && !(elsewhere && !*prefix);
    if (elsewhere && !is_near)
        near = arena_printf(reader->arena, ", did you mean '%s'?", elsewhere);
    const char *known = is_near || (elsewhere && !*prefix) ? ""
                        : *prefix                          ? known_beneath(reader->arena, prefix)
                                                           : " `laggard fields` lists the known ones";
    return campaign_fail_key(reader, value, NULL, "unknown key '%s%s'%s%s", prefix, yaml_document_printable(key).text, near, known);
}
