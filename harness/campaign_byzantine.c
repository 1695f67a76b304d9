/* campaign_byzantine.c: byzantine, the workers whose gradients are falsified: {workers: [1, 3], attack: sign-flip, factor: 10}, or
 * none. */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

enum { WORKERS_MAX = 1000 };

/* Up to where a float32 gradient of 1 becomes infinite, so that this can be tried, too. */
static const struct value_rule factor_rule = {.type = VALUE_NUMBER, .minimum = 1e-6, .maximum = 1e38};
static const struct value_rule attack_rule = {.type = VALUE_CHOICE, .choices = attack_names};
static const struct value_rule worker_rule = {.type = VALUE_INTEGER, .minimum = 0, .maximum = 99999};
static const double FACTOR_STANDARD = 10;
static const char none[] = "none", example[] = "{workers: [1, 3], attack: sign-flip, factor: 10}";
static const char *const keys[] = {"workers", "attack", "factor"};
enum { KEY_WORKERS, KEY_ATTACK, KEY_FACTOR, KEY_COUNT };

static int read_workers(const struct reader *reader, const struct yaml_value *list, const char *key,
                        struct byzantine_workers *byzantine)
{
    if (list->shape != YAML_SHAPE_LIST || list->count == 0 || list->count > WORKERS_MAX)
        return campaign_fail(reader, list, key, "a list of 1 to %d workers is needed, counted from 0, for example [1, 3]",
                             WORKERS_MAX);
    int *workers = arena_new_array(reader->arena, int, (size_t)list->count);
    int count = 0;
    for (const struct yaml_value *child = list->first; child; child = child->next) {
        double worker;
        int status = campaign_read_value(reader, child, key, &worker_rule, &worker);
        if (status < 0)
            return status;
        for (int i = 0; i < count; i++)
            if (workers[i] == (int)worker)
                return campaign_fail(reader, child, key, "worker %d is listed twice", (int)worker);
        workers[count++] = (int)worker;
    }
    byzantine->workers = workers;
    byzantine->worker_count = count;
    return 0;
}

static int read_mapping(const struct reader *reader, const struct yaml_value *mapping, const char *key,
                        struct byzantine_workers *byzantine)
{
    const struct yaml_value *values[KEY_COUNT] = {0};
    double attack, factor = FACTOR_STANDARD;
    for (const struct yaml_value *child = mapping->first; child; child = child->next) {
        int which = 0;
        while (which < KEY_COUNT && strcmp(child->key, keys[which]) != 0)
            which++;
        if (which == KEY_COUNT)
            return campaign_unknown_key(reader, child, key, keys, KEY_COUNT);
        values[which] = child;
    }
    if (!values[KEY_WORKERS] || !values[KEY_ATTACK])
        return campaign_fail(reader, mapping, key, "the key '%s' is missing: %s",
                             keys[values[KEY_WORKERS] ? KEY_ATTACK : KEY_WORKERS], example);
    int status =
        campaign_read_value(reader, values[KEY_ATTACK], arena_printf(reader->arena, "%s.attack", key), &attack_rule, &attack);
    if (status == 0 && values[KEY_FACTOR])
        status =
            campaign_read_value(reader, values[KEY_FACTOR], arena_printf(reader->arena, "%s.factor", key), &factor_rule, &factor);
    if (status < 0)
        return status;
    byzantine->attack = (enum attack_kind)attack;
    byzantine->factor = byzantine->attack == ATTACK_LABEL_FLIP ? 1 : factor; /* a sweep over attacks may have one for the others */
    return read_workers(reader, values[KEY_WORKERS], arena_printf(reader->arena, "%s.workers", key), byzantine);
}

static int read_byzantine(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                          const char *key, struct settings *settings)
{
    (void)field;
    struct byzantine_workers byzantine = {0};
    int status = 0;
    if (value->shape == YAML_SHAPE_MAPPING)
        status = read_mapping(reader, value, key, &byzantine);
    else if (value->shape != YAML_SHAPE_SCALAR || strcmp(value->text, none) != 0)
        status = campaign_fail(reader, value, key, "none or a mapping is needed: %s", example);
    if (status == 0)
        settings->workload.byzantine = byzantine;
    return status;
}

static bool spell_byzantine(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    const struct byzantine_workers *byzantine = &settings->workload.byzantine;
    if (byzantine->worker_count == 0) {
        text_add(out, none);
        return true;
    }
    text_add(out, "{workers: [");
    for (int i = 0; i < byzantine->worker_count; i++)
        text_printf(out, "%s%d", i ? ", " : "", byzantine->workers[i]);
    text_printf(out, "], attack: %s", attack_names[byzantine->attack]);
    if (byzantine->attack != ATTACK_LABEL_FLIP) {
        text_add(out, ", factor: ");
        campaign_spell_value(&factor_rule, byzantine->factor, out);
    }
    text_add(out, "}");
    return true;
}

static void allowed_byzantine(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "none, or {workers: [INDEX ...], attack: A, factor: F}, A one of ");
    campaign_allowed_value(&attack_rule, out);
    text_add(out, ", F (10; not of label-flip) a ");
    campaign_allowed_value(&factor_rule, out);
}

/* No key is required here: it may stand in the matrix. */
static void schema_byzantine(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_begin_array(json, "anyOf");
    json_begin_object(json, NULL);
    json_string(json, "const", none);
    json_end_object(json);
    json_begin_object(json, NULL);
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    json_begin_object(json, keys[KEY_WORKERS]);
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    json_integer(json, "maxItems", WORKERS_MAX);
    json_begin_object(json, "items");
    campaign_schema_value(&worker_rule, json);
    json_end_object(json);
    json_end_object(json);
    json_begin_object(json, keys[KEY_ATTACK]);
    campaign_schema_value(&attack_rule, json);
    json_end_object(json);
    json_begin_object(json, keys[KEY_FACTOR]);
    campaign_schema_value(&factor_rule, json);
    json_end_object(json);
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
    json_end_array(json);
}

const struct field_operations campaign_byzantine_operations = {
    .read = read_byzantine,
    .spell = spell_byzantine,
    .allowed = allowed_byzantine,
    .schema = schema_byzantine,
    .composite = true,
    .optional = true,
};
