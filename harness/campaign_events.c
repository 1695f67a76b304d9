/* campaign_events.c: events, what happens while a trial runs: [{at: 2s, do: set, link: w0-router, to: {rate: 10mbit}}].
 *
 * One row a kind says which keys an event needs and may have. What names mean in a network, event_plan.c decides for each cell. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_events_internal.h"
#include "harness/link_trace.h"
#include "yaml_document.h"

enum { EVENTS_MAX = 1000 };
#define BIT(key) (1u << (key))

/* ---- which keys an event has ---- */
static const struct kind_row {
    unsigned needs, may; /* beside one of at and round, and do */
    const char *example;
} kind_rows[] = {
    [EVENT_SET] = {BIT(KEY_LINK) | BIT(KEY_TO), 0, "{at: 2s, do: set, link: w0-router, to: {rate: 10mbit}}"},
    [EVENT_DOWN] = {BIT(KEY_LINK), BIT(KEY_DIRECTION), "{at: 1s, do: down, link: w1-router}"},
    [EVENT_UP] = {BIT(KEY_LINK), BIT(KEY_DIRECTION), "{at: 2s, do: up, link: w1-router}"},
    [EVENT_FLAP] = {BIT(KEY_LINK) | BIT(KEY_DOWN) | BIT(KEY_UP) | BIT(KEY_TIMES), BIT(KEY_DIRECTION),
                    "{at: 1s, do: flap, link: w1-router, down: 50ms, up: 200ms, times: 5}"},
    [EVENT_PARTITION] = {BIT(KEY_NODES), 0, "{at: 1s, do: partition, nodes: [w0, w1]}"},
    [EVENT_HEAL] = {0, 0, "{at: 2s, do: heal}"},
    [EVENT_PAUSE] = {BIT(KEY_NODE) | BIT(KEY_FOR), 0, "{round: 5, do: pause, node: w2, for: 200ms}"},
    [EVENT_CRASH] = {BIT(KEY_NODE), 0, "{round: 8, do: crash, node: w3}"},
    [EVENT_TRACE] = {BIT(KEY_LINK) | BIT(KEY_FILE) | BIT(KEY_FORMAT), BIT(KEY_DIRECTION) | BIT(KEY_REPEAT),
                     "{at: 0s, do: trace, link: w0-router, file: link.csv, format: csv}"},
};
static_assert(sizeof(kind_rows) / sizeof(kind_rows[0]) == EVENT_COUNT, "one row a kind of event");

/* ---- events ---- */
static int unknown_key(const struct reader *reader, const struct yaml_value *child, const char *path, const char *sentence,
                       unsigned allowed)
{
    const char *names[KEY_COUNT];
    size_t count = 0;
    cleanup(text_free) struct text list = {0};
    for (int key = 0; key < KEY_COUNT; key++)
        if (allowed & BIT(key)) {
            text_printf(&list, "%s%s", count ? ", " : "", campaign_event_key_name((enum event_key)key));
            names[count++] = campaign_event_key_name((enum event_key)key);
        }
    return campaign_fail_key(reader, child, path, "%s%s Known are: %s", sentence,
                             campaign_suggest(reader->arena, child->key, names, count), list.bytes);
}

static int check_keys(const struct reader *reader, const struct yaml_value *entry, const char *path, enum event_kind kind)
{
    const struct kind_row *row = &kind_rows[kind];
    unsigned allowed = row->needs | row->may | BIT(KEY_AT) | BIT(KEY_ROUND) | BIT(KEY_DO);
    for (const struct yaml_value *child = entry->first; child; child = child->next) {
        int key = campaign_event_key_find(child->key);
        if (key < 0 || !(allowed & BIT(key)))
            return unknown_key(reader, child, path,
                               arena_printf(reader->arena, "'do: %s' has no key '%s'", event_names[kind],
                                            yaml_document_printable(child->key).text),
                               allowed);
    }
    for (int key = 0; key < KEY_COUNT; key++)
        if ((row->needs & BIT(key)) && !yaml_document_child(entry, campaign_event_key_name((enum event_key)key)))
            return campaign_fail(reader, entry, path, "the key '%s' is missing: %s", campaign_event_key_name((enum event_key)key),
                                 row->example);
    const struct yaml_value *at = yaml_document_child(entry, "at"), *round = yaml_document_child(entry, "round");
    if (at && round)
        return campaign_fail_key(reader, round, path, "an event comes at a time or before a round, not both ('at' is on line %d)",
                                 at->line);
    if (!at && !round)
        return campaign_fail(reader, entry, path, "either 'at' or 'round' is needed: %s", row->example);
    return 0;
}

/* Cells that read the same file share its steps. */
struct trace_cache {
    const char *path;
    enum trace_format format;
    struct link_trace trace;
    struct trace_cache *next;
};

static int load_trace(const struct reader *reader, const struct yaml_value *entry, const char *path, struct event_request *request)
{
    for (const struct trace_cache *known = *reader->traces; known; known = known->next)
        if (known->format == (enum trace_format)request->trace_format && strcmp(known->path, request->trace_path) == 0) {
            request->trace = &known->trace;
            return 0;
        }
    struct trace_cache *loaded = arena_new_object(reader->arena, struct trace_cache);
    struct err err;
    if (link_trace_load((enum trace_format)request->trace_format, request->trace_path, reader->arena, &loaded->trace, &err) < 0)
        return campaign_fail(reader, yaml_document_child(entry, "file"), arena_printf(reader->arena, "%s.file", path), "%s",
                             err.text);
    campaign_note_file(reader, request->trace_path, request->trace_written);
    loaded->path = request->trace_path;
    loaded->format = (enum trace_format)request->trace_format;
    loaded->next = *reader->traces;
    *reader->traces = loaded;
    request->trace = &loaded->trace;
    return 0;
}

static int read_event(const struct reader *reader, const struct yaml_value *entry, const char *path, struct event_request *request)
{
    *request = (struct event_request){.round = EVENT_BY_TIME, .repeat = true};
    if (entry->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, entry, path, "a mapping is needed: %s", kind_rows[EVENT_SET].example);
    const struct yaml_value *what = yaml_document_child(entry, "do");
    if (!what)
        return campaign_fail(reader, entry, path, "the key 'do' is missing: %s", kind_rows[EVENT_SET].example);
    int status = campaign_event_key_read(reader, what, path, KEY_DO, request);
    if (status == 0)
        status = check_keys(reader, entry, path, request->kind);
    for (const struct yaml_value *child = entry->first; child && status == 0; child = child->next)
        status = campaign_event_key_read(reader, child, path, (enum event_key)campaign_event_key_find(child->key), request);
    if (status == 0 && request->kind == EVENT_TRACE)
        status = load_trace(reader, entry, path, request);
    return status;
}

static int read_events(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                       const char *key, struct settings *settings)
{
    (void)field;
    int status =
        campaign_need_list(reader, value, key, arena_printf(reader->arena, "[%s]", kind_rows[EVENT_SET].example), EVENTS_MAX);
    if (status < 0)
        return status;
    struct event_request *events = arena_new_array(reader->arena, struct event_request, (size_t)value->count + 1);
    int count = 0;
    for (const struct yaml_value *child = value->first; child && status == 0; child = child->next, count++)
        status = read_event(reader, child, arena_printf(reader->arena, "%s.%d", key, count), &events[count]);
    if (status < 0)
        return status;
    settings->events = count ? events : NULL;
    settings->event_count = count;
    return 0;
}

static void spell_event(const struct event_request *request, struct text *out)
{
    const struct kind_row *kind = &kind_rows[request->kind];
    unsigned keys = kind->needs | kind->may | BIT(KEY_DO) | BIT(request->round == EVENT_BY_TIME ? KEY_AT : KEY_ROUND);
    const char *before = "{";
    for (int key = 0; key < KEY_COUNT; key++) {
        if (!(keys & BIT(key)))
            continue;
        text_printf(out, "%s%s: ", before, campaign_event_key_name((enum event_key)key));
        campaign_event_key_spell((enum event_key)key, request, out);
        before = ", ";
    }
    text_add(out, "}");
}

static bool spell_events(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    for (int i = 0; i < settings->event_count; i++) {
        text_add(out, i ? ", " : "[");
        spell_event(&settings->events[i], out);
    }
    if (settings->event_count > 0)
        text_add(out, "]");
    return settings->event_count > 0;
}

static void allowed_events(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "list of {at: TIME, do: WHAT ...} and {round: N, do: WHAT ...}, WHAT one of ");
    for (int kind = 0; kind < EVENT_COUNT; kind++)
        text_printf(out, "%s%s", kind ? ", " : "", event_names[kind]);
}

static void schema_events(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_integer(json, "maxItems", EVENTS_MAX);
    json_begin_object(json, "items");
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    for (int key = 0; key < KEY_COUNT; key++) {
        json_begin_object(json, campaign_event_key_name((enum event_key)key));
        campaign_event_key_schema((enum event_key)key, json);
        json_end_object(json);
    }
    json_end_object(json);
    json_bool(json, "additionalProperties", false); /* no key is required: it may stand in the matrix */
    json_end_object(json);
}

const struct field_operations campaign_events_operations = {
    .read = read_events,
    .spell = spell_events,
    .allowed = allowed_events,
    .schema = schema_events,
    .composite = true,
};
