/* campaign_scheme.c: the choice of a scheme: a bare name or {name: ring, segment: 64KiB}. Names, parameters, ranges and defaults
 * are those of the scheme table alone. */
#include <assert.h>
#include <string.h>

#include "agents/scheme.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

static const enum value_type type_of_unit[] = {
    [PARAM_COUNT] = VALUE_INTEGER, [PARAM_BYTES] = VALUE_SIZE,    [PARAM_TIME] = VALUE_TIME,
    [PARAM_NUMBER] = VALUE_NUMBER, [PARAM_CHOICE] = VALUE_CHOICE, [PARAM_BOOL] = VALUE_BOOL,
};

static struct value_rule parameter_rule(const struct scheme *scheme, int parameter)
{
    const struct param *param = &scheme->params[parameter];
    return (struct value_rule){
        .type = type_of_unit[param->unit],
        .minimum = param->minimum,
        .maximum = param->maximum,
        .choices = param->choices,
    };
}

/* ---- no scheme of ours ---- */
static const struct yaml_value *name_of(const struct yaml_value *value)
{
    return value->shape == YAML_SHAPE_MAPPING ? yaml_document_child(value, "name") : value;
}

bool campaign_scheme_is_outside(const struct yaml_value *value)
{
    const struct yaml_value *name = name_of(value);
    return name && name->shape == YAML_SHAPE_SCALAR && strcmp(name->text, OUTSIDE_SCHEME) == 0;
}

static int read_outside(const struct reader *reader, const struct yaml_value *value, const char *key, struct settings *settings)
{
    for (const struct yaml_value *child = value->first; child; child = child->next)
        if (strcmp(child->key, "name") != 0)
            return campaign_fail_key(reader, child, key,
                                     "unknown parameter '%s': " OUTSIDE_SCHEME " takes none, the program is "
                                     "workload.exec",
                                     yaml_document_printable(child->key).text);
    settings->scheme = (struct scheme_choice){.name = OUTSIDE_SCHEME, .outside = true};
    return 0;
}

static int unknown_scheme(const struct reader *reader, const struct yaml_value *value, const char *key)
{
    enum { SHOWN_MAX = 64 };
    const char *names[SHOWN_MAX];
    int count = scheme_count() < SHOWN_MAX ? scheme_count() : SHOWN_MAX;
    cleanup(text_free) struct text list = {0};
    for (int i = 0; i < count; i++) {
        names[i] = scheme_at(i)->name;
        text_printf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    return campaign_fail(reader, value, key, "unknown scheme '%s'%s Known are: %s", yaml_document_printable(value->text).text,
                         campaign_suggest(reader->arena, value->text, names, (size_t)count), count ? list.bytes : "none");
}

static int find_parameter(const struct reader *reader, const struct scheme *scheme, const struct yaml_value *value, const char *key)
{
    const char *names[SCHEME_PARAMS_MAX];
    cleanup(text_free) struct text list = {0};
    for (int i = 0; i < scheme->param_count; i++) {
        if (strcmp(scheme->params[i].name, value->key) == 0)
            return i;
        names[i] = scheme->params[i].name;
        text_printf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    if (scheme->param_count == 0)
        return campaign_fail_key(reader, value, key, "unknown parameter '%s': %s takes none",
                                 yaml_document_printable(value->key).text, scheme->name);
    return campaign_fail_key(reader, value, key, "unknown parameter '%s' of %s%s Known are: %s",
                             yaml_document_printable(value->key).text, scheme->name,
                             campaign_suggest(reader->arena, value->key, names, (size_t)scheme->param_count), list.bytes);
}

static int read_parameters(const struct reader *reader, const struct scheme *scheme, const struct yaml_value *mapping,
                           const char *key, struct scheme_choice *choice)
{
    for (const struct yaml_value *child = mapping->first; child; child = child->next) {
        if (strcmp(child->key, "name") == 0)
            continue;
        int parameter = find_parameter(reader, scheme, child, key);
        if (parameter < 0)
            return parameter;
        struct value_rule rule = parameter_rule(scheme, parameter);
        const char *full = arena_printf(reader->arena, "%s.%s", key, child->key);
        int status = campaign_read_value(reader, child, full, &rule, &choice->values[parameter]);
        if (status < 0)
            return status;
    }
    return 0;
}

static int read_scheme(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                       const char *key, struct settings *settings)
{
    (void)field;
    const struct yaml_value *name = name_of(value);
    if (!name)
        return campaign_fail(reader, value, key, "the key 'name' is missing: {name: ring, segment: 64KiB}");
    if (campaign_scheme_is_outside(value))
        return read_outside(reader, value, key, settings);
    int status = campaign_need_scalar(reader, name, key);
    if (status < 0)
        return status;
    const struct scheme *scheme = scheme_find(name->text);
    if (!scheme)
        return unknown_scheme(reader, name, key);
    struct scheme_choice choice = {.name = scheme->name};
    for (int i = 0; i < scheme->param_count; i++)
        choice.values[i] = scheme->params[i].standard;
    if (value->shape == YAML_SHAPE_MAPPING) {
        status = read_parameters(reader, scheme, value, key, &choice);
        if (status < 0)
            return status;
    }
    settings->scheme = choice;
    return 0;
}

/* With every parameter, defaults included: what is stored says what ran. */
static bool spell_scheme(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    if (settings->scheme.outside) {
        text_add(out, OUTSIDE_SCHEME);
        return true;
    }
    const struct scheme *scheme = settings->scheme.name ? scheme_find(settings->scheme.name) : NULL;
    if (!scheme)
        return false;
    if (scheme->param_count == 0) {
        text_add(out, scheme->name);
        return true;
    }
    text_printf(out, "{name: %s", scheme->name);
    for (int i = 0; i < scheme->param_count; i++) {
        struct value_rule rule = parameter_rule(scheme, i);
        text_printf(out, ", %s: ", scheme->params[i].name);
        campaign_spell_value(&rule, settings->scheme.values[i], out);
    }
    text_add(out, "}");
    return true;
}

static void allowed_schemes(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "NAME or {name: NAME, PARAMETER: VALUE ...}, NAME one of ");
    for (int i = 0; i < scheme_count(); i++)
        text_printf(out, "%s%s", i ? ", " : "", scheme_at(i)->name);
    text_add(out, "; or " OUTSIDE_SCHEME);
}

static void schema_scheme(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_begin_array(json, "anyOf");
    json_begin_object(json, NULL);
    json_begin_array(json, "enum");
    for (int i = 0; i < scheme_count(); i++)
        json_string(json, NULL, scheme_at(i)->name);
    json_string(json, NULL, OUTSIDE_SCHEME);
    json_end_array(json);
    json_end_object(json);
    for (int i = 0; i < scheme_count(); i++) {
        const struct scheme *scheme = scheme_at(i);
        json_begin_object(json, NULL);
        json_string(json, "type", "object");
        json_string(json, "description", scheme->summary);
        json_begin_object(json, "properties");
        json_begin_object(json, "name");
        json_string(json, "const", scheme->name);
        json_end_object(json);
        for (int p = 0; p < scheme->param_count; p++) {
            struct value_rule rule = parameter_rule(scheme, p);
            json_begin_object(json, scheme->params[p].name);
            json_string(json, "description", scheme->params[p].help);
            campaign_schema_value(&rule, json);
            json_end_object(json);
        }
        json_end_object(json);
        json_begin_array(json, "required");
        json_string(json, NULL, "name");
        json_end_array(json);
        json_bool(json, "additionalProperties", false);
        json_end_object(json);
    }
    json_end_array(json);
}

const struct field_operations campaign_scheme_operations = {
    .read = read_scheme,
    .spell = spell_scheme,
    .allowed = allowed_schemes,
    .schema = schema_scheme,
    .composite = true,
    .name_key = "name",
};
