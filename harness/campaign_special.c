/* campaign_special.c: values of a campaign that are lists or mappings: distributions of compute times, slow workers, layers. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/detmath.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "campaign_internal.h"
#include "yaml_document.h"

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define HOUR_NS (3600.0 * NS_PER_S)

/* ---- distributions: one row a parameter, all of them required ---- */
struct parameter {
    const char *name;
    size_t offset; /* into struct distribution */
    struct value_rule rule;
};
#define TIME_PARAMETER(key, member, least)                                                                                         \
    {                                                                                                                              \
        .name = key, .offset = offsetof(struct distribution, member), .rule = {                                                    \
            .type = VALUE_TIME,                                                                                                    \
            .minimum = least,                                                                                                      \
            .maximum = HOUR_NS                                                                                                     \
        }                                                                                                                          \
    }
#define NUMBER_PARAMETER(key, member, least, most)                                                                                 \
    {                                                                                                                              \
        .name = key, .offset = offsetof(struct distribution, member), .rule = {                                                    \
            .type = VALUE_NUMBER,                                                                                                  \
            .minimum = least,                                                                                                      \
            .maximum = most                                                                                                        \
        }                                                                                                                          \
    }

static const struct parameter constant_parameters[] = {TIME_PARAMETER("value", value_ns, 0)};
static const struct parameter exponential_parameters[] = {TIME_PARAMETER("mean", mean_ns, 1)};
static const struct parameter shifted_parameters[] = {TIME_PARAMETER("shift", shift_ns, 0), TIME_PARAMETER("mean", mean_ns, 1)};
static const struct parameter lognormal_parameters[] = {
    NUMBER_PARAMETER("mu", mu, -50, 50),
    NUMBER_PARAMETER("sigma", sigma, 0, 10),
    {.name = "unit", .offset = offsetof(struct distribution, unit_ns), .rule = {.type = VALUE_UNIT}},
};
static const struct parameter pareto_parameters[] = {TIME_PARAMETER("scale", scale_ns, 1),
                                                     NUMBER_PARAMETER("shape", shape, 0.01, 1000)};

static const struct {
    const struct parameter *parameters;
    int count;
} distributions[] = {
    [DISTRIBUTION_MEASURED] = {NULL, 0},
    [DISTRIBUTION_CONSTANT] = {constant_parameters, COUNT_OF(constant_parameters)},
    [DISTRIBUTION_EXPONENTIAL] = {exponential_parameters, COUNT_OF(exponential_parameters)},
    [DISTRIBUTION_SHIFTED_EXPONENTIAL] = {shifted_parameters, COUNT_OF(shifted_parameters)},
    [DISTRIBUTION_LOGNORMAL] = {lognormal_parameters, COUNT_OF(lognormal_parameters)},
    [DISTRIBUTION_PARETO] = {pareto_parameters, COUNT_OF(pareto_parameters)},
};
static_assert(sizeof(distributions) / sizeof(distributions[0]) == DISTRIBUTION_COUNT, "one row a distribution");

static const struct value_rule kind_rule = {.type = VALUE_CHOICE, .choices = distribution_names};

static double *parameter_place(const struct parameter *parameter, struct distribution *distribution)
{
    return (void *)((char *)distribution + parameter->offset);
}

static void list_parameters(enum distribution_kind kind, struct text *out)
{
    for (int i = 0; i < distributions[kind].count; i++)
        text_printf(out, "%s%s", i ? ", " : "", distributions[kind].parameters[i].name);
}

static int read_parameter(const struct reader *reader, const struct yaml_value *value, const char *key,
                          struct distribution *distribution)
{
    const char *names[8];
    int count = distributions[distribution->kind].count;
    for (int i = 0; i < count; i++) {
        const struct parameter *parameter = &distributions[distribution->kind].parameters[i];
        names[i] = parameter->name;
        if (strcmp(parameter->name, value->key) == 0)
            return campaign_read_value(reader, value, arena_printf(reader->arena, "%s.%s", key, value->key), &parameter->rule,
                                       parameter_place(parameter, distribution));
    }
    cleanup(text_free) struct text list = {0};
    list_parameters(distribution->kind, &list);
    return campaign_fail_key(reader, value, key, "unknown parameter '%s' of %s%s Known are: %s",
                             yaml_document_printable(value->key).text, distribution_names[distribution->kind],
                             campaign_suggest(reader->arena, value->key, names, (size_t)count), count ? list.bytes : "none");
}

static int check_lognormal(const struct reader *reader, const struct yaml_value *value, const char *key,
                           const struct distribution *distribution)
{
    if (distribution->kind != DISTRIBUTION_LOGNORMAL)
        return 0;
    double median_ns = detmath_exp(distribution->mu) * distribution->unit_ns;
    if (median_ns >= 1 && median_ns <= HOUR_NS)
        return 0;
    const struct yaml_value *mu = yaml_document_child(value, "mu");
    char shown[UNITS_TEXT_BYTES];
    return campaign_fail(reader, mu ? mu : value, key, "the median exp(mu) is %s, allowed is 1ns to 1h",
                         units_show_time(shown, sizeof(shown), median_ns));
}

static int read_distribution_mapping(const struct reader *reader, const struct yaml_value *value, const char *key,
                                     struct distribution *distribution)
{
    const struct yaml_value *name = yaml_document_child(value, "distribution");
    if (!name)
        return campaign_fail(reader, value, key, "the key 'distribution' is missing: {distribution: constant, value: 20ms}");
    double kind;
    int status = campaign_read_value(reader, name, key, &kind_rule, &kind);
    if (status < 0)
        return status;
    distribution->kind = (enum distribution_kind)kind;
    for (const struct yaml_value *child = value->first; child; child = child->next) {
        if (child == name)
            continue;
        status = read_parameter(reader, child, key, distribution);
        if (status < 0)
            return status;
    }
    for (int i = 0; i < distributions[distribution->kind].count; i++) {
        const char *needed = distributions[distribution->kind].parameters[i].name;
        if (yaml_document_child(value, needed))
            continue;
        cleanup(text_free) struct text list = {0};
        list_parameters(distribution->kind, &list);
        return campaign_fail(reader, value, key, "the parameter '%s' is missing, %s needs: %s", needed, name->text, list.bytes);
    }
    return check_lognormal(reader, value, key, distribution);
}

static int read_distribution(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                             const char *key, struct settings *settings)
{
    (void)field;
    struct distribution distribution = {0};
    int status;
    if (value->shape == YAML_SHAPE_MAPPING) {
        status = read_distribution_mapping(reader, value, key, &distribution);
    } else {
        double kind = 0;
        status = campaign_read_value(reader, value, key, &kind_rule, &kind);
        if (status == 0 && distributions[(int)kind].count > 0) {
            cleanup(text_free) struct text list = {0};
            list_parameters((enum distribution_kind)kind, &list);
            return campaign_fail(reader, value, key, "%s needs parameters: {distribution: %s, ...} with %s", value->text,
                                 value->text, list.bytes);
        }
    }
    if (status < 0)
        return status;
    settings->compute_time = distribution;
    return 0;
}

static bool spell_distribution(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    struct distribution distribution = settings->compute_time;
    if (distributions[distribution.kind].count == 0) {
        text_add(out, distribution_names[distribution.kind]);
        return true;
    }
    text_printf(out, "{distribution: %s", distribution_names[distribution.kind]);
    for (int i = 0; i < distributions[distribution.kind].count; i++) {
        const struct parameter *parameter = &distributions[distribution.kind].parameters[i];
        text_printf(out, ", %s: ", parameter->name);
        campaign_spell_value(&parameter->rule, *parameter_place(parameter, &distribution), out);
    }
    text_add(out, "}");
    return true;
}

static void allowed_distributions(const struct campaign_field *field, struct text *out)
{
    (void)field;
    for (int kind = 0; kind < DISTRIBUTION_COUNT; kind++) {
        text_add(out, kind ? ", or " : "");
        if (distributions[kind].count == 0) {
            text_add(out, distribution_names[kind]);
            continue;
        }
        text_printf(out, "{distribution: %s", distribution_names[kind]);
        for (int i = 0; i < distributions[kind].count; i++)
            text_printf(out, ", %s", distributions[kind].parameters[i].name);
        text_add(out, "}");
    }
}

static void schema_distribution(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_begin_array(json, "anyOf");
    for (int kind = 0; kind < DISTRIBUTION_COUNT; kind++) {
        json_begin_object(json, NULL);
        if (distributions[kind].count == 0) {
            json_string(json, "const", distribution_names[kind]);
            json_end_object(json);
            continue;
        }
        json_string(json, "type", "object");
        json_begin_object(json, "properties");
        json_begin_object(json, "distribution");
        json_string(json, "const", distribution_names[kind]);
        json_end_object(json);
        for (int i = 0; i < distributions[kind].count; i++) {
            json_begin_object(json, distributions[kind].parameters[i].name);
            campaign_schema_value(&distributions[kind].parameters[i].rule, json);
            json_end_object(json);
        }
        json_end_object(json);
        json_begin_array(json, "required");
        json_string(json, NULL, "distribution"); /* the others may stand in the matrix */
        json_end_array(json);
        json_bool(json, "additionalProperties", false);
        json_end_object(json);
    }
    json_end_array(json);
}

const struct field_operations campaign_distribution_operations = {
    .read = read_distribution,
    .spell = spell_distribution,
    .allowed = allowed_distributions,
    .schema = schema_distribution,
    .composite = true,
    .name_key = "distribution",
};

/* ---- layers ---- */
static const struct value_rule width_rule = {.type = VALUE_INTEGER, .minimum = 1, .maximum = 65536};

static int read_layers(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                       const char *key, struct settings *settings)
{
    (void)field;
    if (value->shape != YAML_SHAPE_LIST || value->count < 1 || value->count > LAYERS_MAX)
        return campaign_fail(reader, value, key, "a list of 1 to %d widths of hidden layers is needed, for example [128]",
                             LAYERS_MAX);
    int layers[LAYERS_MAX] = {0}, count = 0;
    for (const struct yaml_value *child = value->first; child; child = child->next) {
        double width;
        int status = campaign_read_value(reader, child, key, &width_rule, &width);
        if (status < 0)
            return status;
        layers[count++] = (int)width;
    }
    memcpy(settings->workload.layers, layers, sizeof(layers));
    settings->workload.layer_count = count;
    return 0;
}

static bool spell_layers(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    for (int i = 0; i < settings->workload.layer_count; i++)
        text_printf(out, "%s%d", i ? ", " : "[", settings->workload.layers[i]);
    if (settings->workload.layer_count > 0)
        text_add(out, "]");
    return settings->workload.layer_count > 0;
}

static void allowed_layers(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_printf(out, "list of 1 to %d widths, each a ", LAYERS_MAX);
    campaign_allowed_value(&width_rule, out);
}

static void schema_layers(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    json_integer(json, "maxItems", LAYERS_MAX);
    json_begin_object(json, "items");
    campaign_schema_value(&width_rule, json);
    json_end_object(json);
}

const struct field_operations campaign_layers_operations = {
    .read = read_layers,
    .spell = spell_layers,
    .allowed = allowed_layers,
    .schema = schema_layers,
};
