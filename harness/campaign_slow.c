/* campaign_slow.c: compute.slow, the workers whose compute times are multiplied: [{workers: [1], factor: 4}]. */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

enum { WORKERS_MAX = 1000 };

static const struct value_rule factor_rule = {.type = VALUE_NUMBER, .minimum = 1e-6, .maximum = 1e6};
static const struct value_rule worker_rule = {.type = VALUE_INTEGER, .minimum = 0, .maximum = WORKERS_MAX - 1};

/* Which value slowed a worker first, so that the second one can name it. */
struct slowed {
    const struct yaml_value *by[WORKERS_MAX];
};

static int read_workers(const struct reader *reader, const struct yaml_value *list, const char *key, struct slowed *slowed,
                        struct slow_workers *slow)
{
    if (list->shape != YAML_SHAPE_LIST || list->count == 0)
        return campaign_fail(reader, list, key, "a list of workers is needed, counted from 0, for example [1]");
    if (list->count > WORKERS_MAX)
        return campaign_fail(reader, list, key, "found a list of %d workers, allowed are %d", list->count, WORKERS_MAX);
    int *workers = arena_new_array(reader->arena, int, (size_t)list->count);
    int count = 0;
    for (const struct yaml_value *child = list->first; child; child = child->next) {
        double worker;
        int status = campaign_read_value(reader, child, key, &worker_rule, &worker);
        if (status < 0)
            return status;
        const struct yaml_value **by = &slowed->by[(int)worker];
        if (*by)
            return campaign_fail(reader, child, key, "worker %d is slowed twice, first on line %d", (int)worker, (*by)->line);
        *by = child;
        workers[count++] = (int)worker;
    }
    slow->workers = workers;
    slow->worker_count = count;
    return 0;
}

static int read_entry(const struct reader *reader, const struct yaml_value *entry, const char *key, struct slowed *slowed,
                      struct slow_workers *slow)
{
    static const char *const keys[] = {"workers", "factor"};
    if (entry->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, entry, key, "a mapping is needed: {workers: [1], factor: 4}");
    for (const struct yaml_value *child = entry->first; child; child = child->next)
        if (strcmp(child->key, keys[0]) != 0 && strcmp(child->key, keys[1]) != 0)
            return campaign_unknown_key(reader, child, key, keys, 2);
    const struct yaml_value *workers = yaml_document_child(entry, "workers"), *factor = yaml_document_child(entry, "factor");
    if (!workers || !factor)
        return campaign_fail(reader, entry, key, "the key '%s' is missing: {workers: [1], factor: 4}",
                             workers ? "factor" : "workers");
    int status = campaign_read_value(reader, factor, arena_printf(reader->arena, "%s.factor", key), &factor_rule, &slow->factor);
    if (status < 0)
        return status;
    return read_workers(reader, workers, arena_printf(reader->arena, "%s.workers", key), slowed, slow);
}

static int read_slow(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                     const char *key, struct settings *settings)
{
    (void)field;
    int status = campaign_need_list(reader, value, key, "[{workers: [1], factor: 4}]", WORKERS_MAX);
    if (status < 0)
        return status;
    struct slow_workers *slow = arena_new_array(reader->arena, struct slow_workers, (size_t)value->count);
    struct slowed slowed = {0};
    int count = 0;
    for (const struct yaml_value *child = value->first; child; child = child->next, count++) {
        status = read_entry(reader, child, arena_printf(reader->arena, "%s.%d", key, count), &slowed, &slow[count]);
        if (status < 0)
            return status;
    }
    settings->slow = count ? slow : NULL;
    settings->slow_count = count;
    return 0;
}

static bool spell_slow(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    for (int i = 0; i < settings->slow_count; i++) {
        const struct slow_workers *slow = &settings->slow[i];
        text_add(out, i ? ", {workers: [" : "[{workers: [");
        for (int w = 0; w < slow->worker_count; w++)
            text_printf(out, "%s%d", w ? ", " : "", slow->workers[w]);
        text_add(out, "], factor: ");
        campaign_spell_value(&factor_rule, slow->factor, out);
        text_add(out, "}");
    }
    if (settings->slow_count > 0)
        text_add(out, "]");
    return settings->slow_count > 0;
}

static void allowed_slow(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "list of {workers: [INDEX ...], factor: F}, F a ");
    campaign_allowed_value(&factor_rule, out);
}

/* Neither key is required here: it may stand in the matrix. */
static void schema_slow(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_begin_object(json, "items");
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    json_begin_object(json, "workers");
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    json_begin_object(json, "items");
    campaign_schema_value(&worker_rule, json);
    json_end_object(json);
    json_end_object(json);
    json_begin_object(json, "factor");
    campaign_schema_value(&factor_rule, json);
    json_end_object(json);
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
}

const struct field_operations campaign_slow_operations = {
    .read = read_slow,
    .spell = spell_slow,
    .allowed = allowed_slow,
    .schema = schema_slow,
    .composite = true,
};
