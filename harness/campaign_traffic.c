/* campaign_traffic.c: traffic, flows of packets beside what the nodes send: [{from: w0, to: w1, rate: 100mbit}]. Whether their ends
 * exist depends on the cell's network: netem/traffic.h checks that. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

static const char example[] = "[{from: w0, to: w1, rate: 100mbit}]";

/* What a flow's mapping may hold; a row without a rule is a name. */
enum flow_store { FLOW_NAME, FLOW_U32, FLOW_U64, FLOW_NS, FLOW_CHOICE };
struct flow_key {
    const char *name;
    enum flow_store store;
    size_t offset; /* into struct traffic_setting */
    bool required;
    struct value_rule rule;
};
#define FLOW(member) .offset = offsetof(struct traffic_setting, member)
#define WEEK_NS (7 * 24 * 3600.0 * NS_PER_S)
#define HOUR_NS (3600.0 * NS_PER_S)
static const struct flow_key flow_keys[] = {
    {"from", FLOW_NAME, FLOW(from), .required = true},
    {"to", FLOW_NAME, FLOW(to), .required = true},
    {"rate", FLOW_U64, FLOW(rate_bps), .required = true,
     .rule = {.type = VALUE_RATE, .minimum = 1e3, .maximum = 400e9, .example = "100mbit"}},
    {"transport", FLOW_CHOICE, FLOW(transport), .rule = {.type = VALUE_CHOICE, .choices = transport_names}},
    {"packet", FLOW_U32, FLOW(packet_bytes), .rule = {.type = VALUE_SIZE, .minimum = 16, .maximum = 8972, .example = "1400B"}},
    {"on", FLOW_NS, FLOW(on_ns), .rule = {.type = VALUE_TIME, .minimum = 1e5, .maximum = HOUR_NS, .example = "10ms"}},
    {"off", FLOW_NS, FLOW(off_ns), .rule = {.type = VALUE_TIME, .minimum = 1e5, .maximum = HOUR_NS, .example = "10ms"}},
    {"spread", FLOW_CHOICE, FLOW(spread), .rule = {.type = VALUE_CHOICE, .choices = spread_names}},
    {"start", FLOW_NS, FLOW(start_ns), .rule = {.type = VALUE_TIME, .minimum = 0, .maximum = WEEK_NS, .example = "1s"}},
    {"stop", FLOW_NS, FLOW(stop_ns), .rule = {.type = VALUE_TIME, .minimum = 1e5, .maximum = WEEK_NS, .example = "5s"}},
};
enum { KEY_COUNT = sizeof(flow_keys) / sizeof(flow_keys[0]) };

static int unknown_key(const struct reader *reader, const struct yaml_value *child, const char *key)
{
    const char *names[KEY_COUNT];
    for (int i = 0; i < KEY_COUNT; i++)
        names[i] = flow_keys[i].name;
    return campaign_unknown_key(reader, child, key, names, KEY_COUNT);
}

static int read_key(const struct reader *reader, const struct flow_key *row, const struct yaml_value *value, const char *key,
                    struct traffic_setting *flow)
{
    void *place = (char *)flow + row->offset;
    double number = 0;
    int status = row->store == FLOW_NAME ? campaign_read_name(reader, value, key, place)
                                         : campaign_read_value(reader, value, key, &row->rule, &number);
    if (status < 0)
        return status;
    switch (row->store) {
    case FLOW_NAME:
        break;
    case FLOW_U32:
        *(uint32_t *)place = (uint32_t)number;
        break;
    case FLOW_U64:
        *(uint64_t *)place = (uint64_t)number;
        break;
    case FLOW_NS:
        *(int64_t *)place = (int64_t)number;
        break;
    case FLOW_CHOICE:
        *(int *)place = (int)number;
        break;
    }
    return 0;
}

static double value_of(const struct flow_key *row, const struct traffic_setting *flow)
{
    const void *place = (const char *)flow + row->offset;
    switch (row->store) {
    case FLOW_U32:
        return *(const uint32_t *)place;
    case FLOW_U64:
        return (double)*(const uint64_t *)place;
    case FLOW_NS:
        return (double)*(const int64_t *)place;
    case FLOW_CHOICE:
        return *(const int *)place;
    case FLOW_NAME:
        break;
    }
    return NAN;
}

static int check_flow(const struct reader *reader, const struct yaml_value *entry, const char *key,
                      const struct traffic_setting *flow)
{
    const struct yaml_value *on = yaml_document_child(entry, "on"), *off = yaml_document_child(entry, "off"),
                            *packet = yaml_document_child(entry, "packet"), *spread = yaml_document_child(entry, "spread"),
                            *stop = yaml_document_child(entry, "stop");
    if (!on != !off)
        return campaign_fail(reader, on ? on : off, key, "'on' and 'off' go together: without both a flow sends all the time");
    if (spread && !on)
        return campaign_fail(reader, spread, key, "'spread' is of the times in 'on' and 'off', which are not there");
    if (packet && flow->transport != TRANSPORT_UDP)
        return campaign_fail(reader, packet, key, "'packet' is for transport udp: TCP makes packets of its own");
    if (stop && flow->stop_ns <= flow->start_ns)
        return campaign_fail(reader, stop, key, "the flow stops before it starts");
    return 0;
}

static int read_flow(const struct reader *reader, const struct yaml_value *entry, const char *key, struct traffic_setting *flow)
{
    if (entry->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, entry, key, "a mapping is needed: {from: w0, to: w1, rate: 100mbit}");
    for (const struct yaml_value *child = entry->first; child; child = child->next) {
        int row = 0;
        while (row < KEY_COUNT && strcmp(flow_keys[row].name, child->key) != 0)
            row++;
        int status = row == KEY_COUNT
                         ? unknown_key(reader, child, key)
                         : read_key(reader, &flow_keys[row], child, arena_printf(reader->arena, "%s.%s", key, child->key), flow);
        if (status < 0)
            return status;
    }
    for (int i = 0; i < KEY_COUNT; i++)
        if (flow_keys[i].required && !yaml_document_child(entry, flow_keys[i].name))
            return campaign_fail(reader, entry, key, "the key '%s' is missing: %s", flow_keys[i].name, example);
    return check_flow(reader, entry, key, flow);
}

static int read_traffic(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                        const char *key, struct settings *settings)
{
    (void)field;
    int status = campaign_need_list(reader, value, key, example, TRAFFIC_FLOWS_MOST);
    if (status < 0)
        return status;
    struct traffic_setting *flows = arena_new_array(reader->arena, struct traffic_setting, (size_t)value->count);
    int count = 0;
    for (const struct yaml_value *child = value->first; child; child = child->next, count++) {
        status = read_flow(reader, child, arena_printf(reader->arena, "%s.%d", key, count), &flows[count]);
        if (status < 0)
            return status;
    }
    settings->traffic = (struct traffic_list){.flows = count ? flows : NULL, .count = count};
    return 0;
}

static void spell_flow(const struct traffic_setting *flow, struct text *out)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        const struct flow_key *row = &flow_keys[i];
        if (row->store == FLOW_NAME) {
            text_printf(out, "%s%s: ", i ? ", " : "{", row->name);
            campaign_spell_string(*(const char *const *)((const char *)flow + row->offset), out);
            continue;
        }
        double value = value_of(row, flow);
        if (value == 0 && row->store != FLOW_CHOICE) /* not set, or as if it were not */
            continue;
        if (flow->on_ns == 0 && row->offset == offsetof(struct traffic_setting, spread))
            continue;
        text_printf(out, ", %s: ", row->name);
        campaign_spell_value(&row->rule, value, out);
    }
    text_add(out, "}");
}

static bool spell_traffic(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    for (int i = 0; i < settings->traffic.count; i++) {
        text_add(out, i ? ", " : "[");
        spell_flow(&settings->traffic.flows[i], out);
    }
    if (settings->traffic.count > 0)
        text_add(out, "]");
    return settings->traffic.count > 0;
}

static void allowed_traffic(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "list of {from: NODE, to: NODE, rate: RATE}, and");
    const char *comma = " ";
    for (int i = 0; i < KEY_COUNT; i++) {
        if (flow_keys[i].required)
            continue;
        text_printf(out, "%s%s: ", comma, flow_keys[i].name);
        campaign_allowed_value(&flow_keys[i].rule, out);
        comma = "; ";
    }
}

static void schema_traffic(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_begin_object(json, "items");
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    for (int i = 0; i < KEY_COUNT; i++) {
        json_begin_object(json, flow_keys[i].name);
        if (flow_keys[i].store != FLOW_NAME)
            campaign_schema_value(&flow_keys[i].rule, json);
        else {
            json_begin_array(json, "type"); /* an index is a number to YAML */
            json_string(json, NULL, "string");
            json_string(json, NULL, "integer");
            json_end_array(json);
        }
        json_end_object(json);
    }
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
}

const struct field_operations campaign_traffic_operations = {
    .read = read_traffic,
    .spell = spell_traffic,
    .allowed = allowed_traffic,
    .schema = schema_traffic,
    .composite = true,
};
