/* campaign_cpu_limits.c: cpu_limits, how much of the processors nodes may use: [{nodes: [1, s0], processors: 0.5}]. Whether the
 * nodes exist depends on the cell's network: cpu_limit_plan.h checks that. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

enum { ENTRIES_MAX = 1000, NODES_MAX = 1000, NAME_BYTES_MAX = 80 };

static const char example[] = "[{nodes: [1], processors: 0.5}]";
static const char *const keys[] = {"nodes", "processors", "period"};
static const char *const who_names[LIMITED_COUNT + 1] = {"listed", "all", "workers", "servers", NULL};

static const struct value_rule processors_rule = {.type = VALUE_NUMBER, .minimum = 0.001, .maximum = 1024};
static const struct value_rule period_rule = {
    .type = VALUE_TIME, .minimum = NS_PER_MS, .maximum = NS_PER_S, .example = "10ms"}; /* the kernel's range */
static const double QUOTA_LEAST_NS = NS_PER_MS;                                        /* likewise */
static const int64_t USUAL_PERIOD_NS = 10 * NS_PER_MS;

static int read_names(const struct reader *reader, const struct yaml_value *list, const char *key, struct cpu_limit_setting *limit)
{
    if (list->count == 0 || list->count > NODES_MAX)
        return campaign_fail(reader, list, key, "a list of 1 to %d nodes is needed, by name or index, for example [1, s0]",
                             NODES_MAX);
    const char **names = arena_new_array(reader->arena, const char *, (size_t)list->count);
    int count = 0;
    for (const struct yaml_value *child = list->first; child; child = child->next) {
        int status = campaign_need_scalar(reader, child, key);
        if (status < 0)
            return status;
        if (!*child->text || strlen(child->text) > NAME_BYTES_MAX)
            return campaign_fail(reader, child, key, "a name or an index is needed, at most %d characters", NAME_BYTES_MAX);
        names[count++] = arena_strdup(reader->arena, child->text);
    }
    limit->nodes = names;
    limit->node_count = count;
    return 0;
}

/* A list, or one of the words for many. */
static int read_nodes(const struct reader *reader, const struct yaml_value *value, const char *key, struct cpu_limit_setting *limit)
{
    if (value->shape == YAML_SHAPE_LIST)
        return read_names(reader, value, key, limit);
    for (int who = LIMITED_ALL; who < LIMITED_COUNT && value->shape == YAML_SHAPE_SCALAR; who++)
        if (strcmp(value->text, who_names[who]) == 0) {
            limit->who = (enum limited_nodes)who;
            return 0;
        }
    return campaign_fail(reader, value, key, "a list of nodes is needed, or one of all, workers, servers: %s", example);
}

static int check_quota(const struct reader *reader, const struct yaml_value *processors, const char *key,
                       const struct cpu_limit *limit)
{
    double quota_ns = limit->processors * (double)limit->period_ns;
    if (quota_ns >= QUOTA_LEAST_NS)
        return 0;
    return campaign_fail(
        reader, processors, key,
        "%g of a processor is %.3g ms in each period of %g ms, and the kernel sets no less than 1 ms: a period of at "
        "least %.0fms is needed",
        limit->processors, quota_ns / NS_PER_MS, (double)limit->period_ns / NS_PER_MS,
        ceil(QUOTA_LEAST_NS / limit->processors / NS_PER_MS));
}

static int read_entry(const struct reader *reader, const struct yaml_value *entry, const char *key, struct cpu_limit_setting *limit)
{
    enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };
    if (entry->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, entry, key, "a mapping is needed: {nodes: [1], processors: 0.5}");
    for (const struct yaml_value *child = entry->first; child; child = child->next) {
        int row = 0;
        while (row < KEY_COUNT && strcmp(keys[row], child->key) != 0)
            row++;
        if (row == KEY_COUNT)
            return campaign_unknown_key(reader, child, key, keys, KEY_COUNT);
    }
    const struct yaml_value *nodes = yaml_document_child(entry, "nodes"), *processors = yaml_document_child(entry, "processors"),
                            *period = yaml_document_child(entry, "period");
    if (!nodes || !processors)
        return campaign_fail(reader, entry, key, "the key '%s' is missing: %s", nodes ? "processors" : "nodes", example);
    double period_ns = (double)USUAL_PERIOD_NS;
    int status = read_nodes(reader, nodes, arena_printf(reader->arena, "%s.nodes", key), limit);
    if (status == 0)
        status = campaign_read_value(reader, processors, arena_printf(reader->arena, "%s.processors", key), &processors_rule,
                                     &limit->limit.processors);
    if (status == 0 && period)
        status = campaign_read_value(reader, period, arena_printf(reader->arena, "%s.period", key), &period_rule, &period_ns);
    limit->limit.period_ns = (int64_t)period_ns / NS_PER_US * NS_PER_US;
    return status == 0 ? check_quota(reader, processors, key, &limit->limit) : status;
}

static int read_cpu_limits(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                           const char *key, struct settings *settings)
{
    (void)field;
    int status = campaign_need_list(reader, value, key, example, ENTRIES_MAX);
    if (status < 0)
        return status;
    struct cpu_limit_setting *limits = arena_new_array(reader->arena, struct cpu_limit_setting, (size_t)value->count);
    int count = 0;
    for (const struct yaml_value *child = value->first; child; child = child->next, count++) {
        status = read_entry(reader, child, arena_printf(reader->arena, "%s.%d", key, count), &limits[count]);
        if (status < 0)
            return status;
    }
    settings->cpu_limits = (struct cpu_limit_list){.limits = count ? limits : NULL, .count = count};
    return 0;
}

static void spell_entry(const struct cpu_limit_setting *limit, struct text *out)
{
    text_add(out, "{nodes: ");
    if (limit->who != LIMITED_LISTED)
        text_add(out, who_names[limit->who]);
    for (int i = 0; i < limit->node_count; i++) {
        text_add(out, i ? ", " : "[");
        campaign_spell_string(limit->nodes[i], out);
    }
    text_printf(out, "%s, processors: ", limit->node_count > 0 ? "]" : "");
    campaign_spell_value(&processors_rule, limit->limit.processors, out);
    text_add(out, ", period: ");
    campaign_spell_value(&period_rule, (double)limit->limit.period_ns, out);
    text_add(out, "}");
}

static bool spell_cpu_limits(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    for (int i = 0; i < settings->cpu_limits.count; i++) {
        text_add(out, i ? ", " : "[");
        spell_entry(&settings->cpu_limits.limits[i], out);
    }
    if (settings->cpu_limits.count > 0)
        text_add(out, "]");
    return settings->cpu_limits.count > 0;
}

static void allowed_cpu_limits(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "list of {nodes: [NODE ...], processors: N}, and period; in place of the list all, workers or servers; N a ");
    campaign_allowed_value(&processors_rule, out);
    text_add(out, ", the period a ");
    campaign_allowed_value(&period_rule, out);
}

static void schema_nodes(struct json *json)
{
    json_begin_array(json, "anyOf");
    json_begin_object(json, NULL);
    json_begin_array(json, "enum");
    for (int who = LIMITED_ALL; who < LIMITED_COUNT; who++)
        json_string(json, NULL, who_names[who]);
    json_end_array(json);
    json_end_object(json);
    json_begin_object(json, NULL);
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    json_begin_object(json, "items");
    json_begin_array(json, "type"); /* an index is a number to YAML */
    json_string(json, NULL, "string");
    json_string(json, NULL, "integer");
    json_end_array(json);
    json_end_object(json);
    json_end_object(json);
    json_end_array(json);
}

static void schema_cpu_limits(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_begin_object(json, "items");
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    json_begin_object(json, "nodes");
    schema_nodes(json);
    json_end_object(json);
    json_begin_object(json, "processors");
    campaign_schema_value(&processors_rule, json);
    json_end_object(json);
    json_begin_object(json, "period");
    campaign_schema_value(&period_rule, json);
    json_end_object(json);
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
}

const struct field_operations campaign_cpu_limits_operations = {
    .read = read_cpu_limits,
    .spell = spell_cpu_limits,
    .allowed = allowed_cpu_limits,
    .schema = schema_cpu_limits,
    .composite = true,
};
