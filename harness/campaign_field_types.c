/* campaign_field_types.c: how each type of field gets from YAML into struct settings and back; one row of operations a type. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "campaign_internal.h"
#include "yaml_document.h"

/* ---- plain values: stored by the member's type ---- */
static void store_value(const struct campaign_field *field, double value, struct settings *settings)
{
    void *place = (char *)settings + field->offset;
    switch (field->store) {
    case STORE_INT:
    case STORE_ENUM:
        *(int *)place = (int)value;
        break;
    case STORE_INT64:
        *(int64_t *)place = (int64_t)value;
        break;
    case STORE_UINT64:
        *(uint64_t *)place = (uint64_t)value;
        break;
    case STORE_DOUBLE:
        *(double *)place = value;
        break;
    case STORE_BOOL:
        *(bool *)place = value != 0;
        break;
    case STORE_STRING:
    case STORE_SPECIAL:
        break;
    }
}

static double stored_value(const struct campaign_field *field, const struct settings *settings)
{
    const void *place = (const char *)settings + field->offset;
    switch (field->store) {
    case STORE_INT:
    case STORE_ENUM:
        return *(const int *)place;
    case STORE_INT64:
        return (double)*(const int64_t *)place;
    case STORE_UINT64:
        return (double)*(const uint64_t *)place;
    case STORE_DOUBLE:
        return *(const double *)place;
    case STORE_BOOL:
        return *(const bool *)place;
    case STORE_STRING:
    case STORE_SPECIAL:
        break;
    }
    return NAN;
}

static int read_plain(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                      const char *key, struct settings *settings)
{
    double number;
    int status = campaign_read_value(reader, value, key, &field->rule, &number);
    if (status == 0)
        store_value(field, number, settings);
    return status;
}

static bool spell_plain(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    double value = stored_value(field, settings);
    bool is_word = field->rule.type == VALUE_CHOICE || field->rule.type == VALUE_BOOL;
    if (value == 0 && !field->rule.zero && !is_word && field->rule.minimum > 0)
        return false;
    campaign_spell_value(&field->rule, value, out);
    return true;
}

static void allowed_plain(const struct campaign_field *field, struct text *out)
{
    campaign_allowed_value(&field->rule, out);
}

static void schema_plain(const struct campaign_field *field, struct json *json)
{
    campaign_schema_value(&field->rule, json);
}

/* ---- the seed: the one number that needs all of its 64 bits ---- */
static int read_seed(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                     const char *key, struct settings *settings)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    uint64_t seed;
    if (units_parse_unsigned(value->text, 0, UINT64_MAX, &seed, NULL) < 0)
        return campaign_fail(reader, value, key, "found '%s', a whole number from 0 to %llu is needed",
                             yaml_document_printable(value->text).text, (unsigned long long)UINT64_MAX);
    *(uint64_t *)((char *)settings + field->offset) = seed;
    return 0;
}

static bool spell_seed(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    text_printf(out, "%llu", (unsigned long long)*(const uint64_t *)((const char *)settings + field->offset));
    return true;
}

static void allowed_seed(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_printf(out, "whole number 0 to %llu", (unsigned long long)UINT64_MAX);
}

static void schema_seed(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_begin_array(json, "anyOf");
    json_begin_object(json, NULL);
    json_string(json, "type", "integer");
    json_integer(json, "minimum", 0);
    json_end_object(json);
    json_begin_object(json, NULL);
    json_string(json, "type", "string");
    json_string(json, "pattern", "^[0-9]+$");
    json_end_object(json);
    json_end_array(json);
}

/* ---- strings ---- */
static bool in_pattern(const char *pattern, char c)
{
    for (; *pattern; pattern++) {
        bool is_range = pattern[1] == '-' && pattern[2];
        if (is_range && c >= pattern[0] && c <= pattern[2])
            return true;
        if (!is_range && c == *pattern)
            return true;
        pattern += is_range ? 2 : 0;
    }
    return false;
}

static int read_string(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                       const char *key, struct settings *settings)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    size_t length = strlen(value->text);
    bool good = length <= (size_t)field->length_max;
    for (size_t i = 0; i < length && good; i++)
        good = field->pattern ? in_pattern(field->pattern, value->text[i]) : !yaml_document_unprintable(value->text + i);
    if (!good)
        return campaign_fail(reader, value, key, "found '%s', allowed are 1 to %d %s%s", yaml_document_printable(value->text).text,
                             field->length_max, field->pattern ? "of the characters " : "printable characters",
                             field->pattern ? field->pattern : "");
    *(const char **)((char *)settings + field->offset) = arena_strdup(reader->arena, value->text);
    return 0;
}

static bool spell_string(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    const char *string = *(const char *const *)((const char *)settings + field->offset);
    if (string)
        campaign_spell_string(string, out);
    return string;
}

static void allowed_string(const struct campaign_field *field, struct text *out)
{
    text_printf(out, "1 to %d %s%s", field->length_max, field->pattern ? "of " : "characters",
                field->pattern ? field->pattern : "");
}

static void schema_string(const struct campaign_field *field, struct json *json)
{
    char pattern[80];
    json_begin_array(json, "type");
    json_string(json, NULL, "string");
    json_string(json, NULL, "number"); /* `name: 2026` is a number to YAML and a name to us */
    json_end_array(json);
    json_integer(json, "minLength", 1);
    json_integer(json, "maxLength", field->length_max);
    if (field->pattern) {
        snprintf(pattern, sizeof(pattern), "^[%s]+$", field->pattern);
        json_string(json, "pattern", pattern);
    }
}

static const struct field_operations *operations_of(enum field_type type)
{
    static const struct field_operations plain = {read_plain, spell_plain, allowed_plain, schema_plain, false, false, NULL};
    static const struct field_operations seed = {read_seed, spell_seed, allowed_seed, schema_seed, false, false, NULL};
    static const struct field_operations string = {read_string, spell_string, allowed_string, schema_string, false, false, NULL};
    static const struct field_operations *const table[] = {
        [FIELD_VALUE] = &plain,
        [FIELD_STRING] = &string,
        [FIELD_SEED] = &seed,
        [FIELD_SCHEME] = &campaign_scheme_operations,
        [FIELD_DISTRIBUTION] = &campaign_distribution_operations,
        [FIELD_SLOW] = &campaign_slow_operations,
        [FIELD_LAYERS] = &campaign_layers_operations,
        [FIELD_SIZES] = &campaign_sizes_operations,
        [FIELD_JITTER_TABLE] = &campaign_jitter_table_operations,
        [FIELD_LINK] = &campaign_link_operations,
        [FIELD_OVERRIDES] = &campaign_overrides_operations,
        [FIELD_NAMES] = &campaign_names_operations,
        [FIELD_GRAPH_LINKS] = &campaign_links_operations,
        [FIELD_MATRIX] = &campaign_matrix_operations,
        [FIELD_CAPTURE] = &campaign_capture_operations,
        [FIELD_COMMAND] = &campaign_command_operations,
        [FIELD_EVENTS] = &campaign_events_operations,
        [FIELD_TRAFFIC] = &campaign_traffic_operations,
        [FIELD_CPU_LIMITS] = &campaign_cpu_limits_operations,
        [FIELD_WORKER_GRAPH] = &campaign_worker_graph_operations,
        [FIELD_BYZANTINE] = &campaign_byzantine_operations,
        [FIELD_SCHEME_OBJECTS] = &campaign_scheme_objects_operations,
    };
    static_assert(sizeof(table) / sizeof(table[0]) == FIELD_TYPE_COUNT, "one row a type");
    return table[type];
}

const struct field_operations *campaign_field_operations(const struct campaign_field *field)
{
    return operations_of(field->type);
}

bool campaign_field_is_name_key(const char *key)
{
    for (int type = 0; type < FIELD_TYPE_COUNT; type++) {
        const char *name_key = operations_of((enum field_type)type)->name_key;
        if (name_key && strcmp(name_key, key) == 0)
            return true;
    }
    return false;
}
