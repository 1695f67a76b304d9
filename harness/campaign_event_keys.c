/* campaign_event_keys.c: the keys of an event in a campaign file, one row each: how its value is read, spelled and described. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"
#include "campaign_events_internal.h"
#include "yaml_document.h"

enum { NODES_MAX = 100000 };
#define HOUR_NS (3600.0 * NS_PER_S)

static const char *const direction_words[EVENT_DIRECTION_COUNT + 1] = {"both", "forward", "backward", NULL};

/* ---- values that are no single words ---- */
static int read_link(const struct reader *reader, const struct yaml_value *value, const char *key, struct event_request *request)
{
    return campaign_read_name(reader, value, key, &request->link);
}

static int read_node(const struct reader *reader, const struct yaml_value *value, const char *key, struct event_request *request)
{
    const char **name = arena_new_array(reader->arena, const char *, 1);
    request->nodes = (struct name_list){.names = name, .count = 1};
    return campaign_read_name(reader, value, key, name);
}

static int read_nodes(const struct reader *reader, const struct yaml_value *value, const char *key, struct event_request *request)
{
    if (value->shape != YAML_SHAPE_LIST || value->count == 0 || value->count > NODES_MAX)
        return campaign_fail(reader, value, key, "a list of nodes is needed, by name or index: [w0, w1]");
    const char **names = arena_new_array(reader->arena, const char *, (size_t)value->count);
    request->nodes = (struct name_list){.names = names, .count = value->count};
    int status = 0;
    for (const struct yaml_value *child = value->first; child && status == 0; child = child->next)
        status = campaign_read_name(reader, child, key, names++);
    return status;
}

static const struct yaml_value *rate_of(const struct yaml_value *to)
{
    const struct yaml_value *rate = yaml_document_child(to, "rate");
    return rate ? rate : to;
}

static int read_to(const struct reader *reader, const struct yaml_value *value, const char *key, struct event_request *request)
{
    int status = campaign_read_link_change(reader, value, key, NULL, 0, &request->change);
    if (status < 0)
        return status;
    const struct yaml_value *back = yaml_document_child(value, "back");
    if (value->count == 0 || (back && back->count == 0))
        return campaign_fail(reader, back ? back : value, key, "nothing is to change here, for example {rate: 10mbit}");
    const size_t rate = offsetof(struct link_settings, rate_bps);
    const struct link_patch *const patches[] = {&request->change.both, &request->change.back};
    for (int i = 0; i < 2; i++)
        if (patches[i]->replaces[rate] && patches[i]->values.rate_bps == 0)
            return campaign_fail(reader, rate_of(i == 0 ? value : back), key,
                                 "a rate is needed, 8kbit to 400gbit: a link keeps having one; 'do: down' cuts it");
    return 0;
}

static int read_path(const struct reader *reader, const struct yaml_value *value, const char *key, struct event_request *request)
{
    return campaign_read_path(reader, value, key, &request->trace_path, &request->trace_written);
}

static void spell_link(const struct event_request *request, struct text *out)
{
    campaign_spell_string(request->link, out);
}

static void spell_node(const struct event_request *request, struct text *out)
{
    campaign_spell_string(request->nodes.names[0], out);
}

static void spell_nodes(const struct event_request *request, struct text *out)
{
    for (int i = 0; i < request->nodes.count; i++) {
        text_add(out, i ? ", " : "[");
        campaign_spell_string(request->nodes.names[i], out);
    }
    text_add(out, "]");
}

static void spell_to(const struct event_request *request, struct text *out)
{
    text_add(out, "{");
    campaign_spell_link_change(&request->change, "", out);
    text_add(out, "}");
}

static void spell_path(const struct event_request *request, struct text *out)
{
    campaign_spell_string(request->trace_written, out);
}

static void schema_name(struct json *json)
{
    json_begin_array(json, "type");
    json_string(json, NULL, "string");
    json_string(json, NULL, "integer");
    json_end_array(json);
}

static void schema_names(struct json *json)
{
    json_string(json, "type", "array");
    json_begin_object(json, "items");
    schema_name(json);
    json_end_object(json);
}

static void schema_to(struct json *json)
{
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    campaign_schema_link(true, json);
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
}

static void schema_path(struct json *json)
{
    json_string(json, "type", "string");
}

/* ---- the keys ---- */
#define PLACE(member) .offset = offsetof(struct event_request, member), .bytes = sizeof(((struct event_request *)0)->member)
static const struct key_row {
    const char *name;
    struct value_rule rule; /* of a single value, which is stored by its member's size ... */
    size_t offset, bytes;
    int (*read)(const struct reader *, const struct yaml_value *, const char *key, struct event_request *); /* ... or not NULL */
    void (*spell)(const struct event_request *, struct text *);
    void (*schema)(struct json *);
} key_rows[] = {
    [KEY_AT] = {"at", {.type = VALUE_TIME, .minimum = 0, .maximum = 168 * HOUR_NS, .example = "2s"}, PLACE(at_ns)},
    [KEY_ROUND] = {"round", {.type = VALUE_INTEGER, .minimum = 0, .maximum = 1e6 - 1}, PLACE(round)},
    [KEY_DO] = {"do", {.type = VALUE_CHOICE, .choices = event_names}, PLACE(kind)},
    [KEY_LINK] = {"link", .read = read_link, .spell = spell_link, .schema = schema_name},
    [KEY_NODE] = {"node", .read = read_node, .spell = spell_node, .schema = schema_name},
    [KEY_NODES] = {"nodes", .read = read_nodes, .spell = spell_nodes, .schema = schema_names},
    [KEY_DIRECTION] = {"direction", {.type = VALUE_CHOICE, .choices = direction_words}, PLACE(direction)},
    [KEY_TO] = {"to", .read = read_to, .spell = spell_to, .schema = schema_to},
    [KEY_DOWN] = {"down", {.type = VALUE_TIME, .minimum = NS_PER_MS, .maximum = HOUR_NS, .example = "50ms"}, PLACE(down_ns)},
    [KEY_UP] = {"up", {.type = VALUE_TIME, .minimum = NS_PER_MS, .maximum = HOUR_NS, .example = "200ms"}, PLACE(up_ns)},
    [KEY_TIMES] = {"times", {.type = VALUE_INTEGER, .minimum = 1, .maximum = 10000}, PLACE(times)},
    [KEY_FOR] = {"for",
                 {.type = VALUE_TIME, .minimum = NS_PER_MS, .maximum = 600.0 * NS_PER_S, .example = "200ms"},
                 PLACE(pause_ns)},
    [KEY_FILE] = {"file", .read = read_path, .spell = spell_path, .schema = schema_path},
    [KEY_FORMAT] = {"format", {.type = VALUE_CHOICE, .choices = trace_format_names}, PLACE(trace_format)},
    [KEY_REPEAT] = {"repeat", {.type = VALUE_BOOL}, PLACE(repeat)},
};
static_assert(sizeof(key_rows) / sizeof(key_rows[0]) == KEY_COUNT, "one row a key");

static void store(const struct key_row *row, double value, struct event_request *request)
{
    void *place = (char *)request + row->offset;
    if (row->bytes == sizeof(int64_t))
        *(int64_t *)place = (int64_t)value;
    else if (row->bytes == sizeof(int))
        *(int *)place = (int)value;
    else
        *(bool *)place = value != 0;
}

static double stored(const struct key_row *row, const struct event_request *request)
{
    const void *place = (const char *)request + row->offset;
    if (row->bytes == sizeof(int64_t))
        return (double)*(const int64_t *)place;
    return row->bytes == sizeof(int) ? *(const int *)place : *(const bool *)place;
}

const char *campaign_event_key_name(enum event_key key)
{
    return key_rows[key].name;
}

int campaign_event_key_find(const char *word)
{
    for (int key = 0; key < KEY_COUNT; key++)
        if (strcmp(key_rows[key].name, word) == 0)
            return key;
    return -1;
}

int campaign_event_key_read(const struct reader *reader, const struct yaml_value *value, const char *path, enum event_key key,
                            struct event_request *request)
{
    const struct key_row *row = &key_rows[key];
    path = arena_printf(reader->arena, "%s.%s", path, row->name);
    if (row->read)
        return row->read(reader, value, path, request);
    double number;
    int status = campaign_read_value(reader, value, path, &row->rule, &number);
    if (status == 0)
        store(row, number, request);
    return status;
}

void campaign_event_key_spell(enum event_key key, const struct event_request *request, struct text *out)
{
    const struct key_row *row = &key_rows[key];
    if (row->spell)
        row->spell(request, out);
    else
        campaign_spell_value(&row->rule, stored(row, request), out);
}

void campaign_event_key_schema(enum event_key key, struct json *json)
{
    if (key_rows[key].schema)
        key_rows[key].schema(json);
    else
        campaign_schema_value(&key_rows[key].rule, json);
}
