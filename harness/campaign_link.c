/* campaign_link.c: links that differ from topology.link: {rate: 10mbit, back: {delay: 5ms}}, as a field of its own and as an
 * override.
 *
 * What may stand in such a mapping is what the fields below topology.link are, by the same rules: a new one of them can be
 * overridden without a word here. */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

static const char link_prefix[] = "topology.link.";
static const char *const override_keys[] = {"link", "node"};
enum { KEYS_MAX = 48, OVERRIDES_MAX = 1000 };

/* The fields below topology.link, one after the other; NULL: no more. `back` is none of them. */
static const struct campaign_field *next_member(const struct campaign_field *after)
{
    const struct campaign_field *field = after ? after + 1 : campaign_fields;
    for (; field < campaign_fields + campaign_field_count; field++)
        if (strncmp(field->path, link_prefix, strlen(link_prefix)) == 0 && field->type != FIELD_LINK)
            return field;
    return NULL;
}

static const char *member_key(const struct campaign_field *field)
{
    return field->path + strlen(link_prefix);
}

/* ---- reading ---- */
static void replace_member(struct link_patch *patch, const struct link_settings *from, size_t offset, size_t bytes)
{
    memcpy((char *)&patch->values + offset, (const char *)from + offset, bytes);
    memset(patch->replaces + offset, true, bytes);
}
#define REPLACE(patch, from, member) replace_member(patch, from, offsetof(struct link_settings, member), sizeof((from)->member))

static size_t member_offset(const struct campaign_field *field)
{
    return field->offset - offsetof(struct settings, link);
}

static int replace(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value, const char *key,
                   struct link_patch *patch)
{
    struct settings scratch = {0};
    int status = campaign_field_operations(field)->read(reader, field, value, key, &scratch);
    if (status < 0)
        return status;
    replace_member(patch, &scratch.link, member_offset(field), field->bytes);
    if (field->type == FIELD_JITTER_TABLE) { /* the path's contents come along */
        REPLACE(patch, &scratch.link, impairments.jitter_table);
        REPLACE(patch, &scratch.link, impairments.jitter_table_size);
    }
    return 0;
}

static int unknown_key(const struct reader *reader, const struct yaml_value *child, const char *key, const char *const *more,
                       size_t more_count)
{
    const char *keys[KEYS_MAX];
    size_t count = 0;
    cleanup(text_free) struct text list = {0};
    for (size_t i = 0; i < more_count; i++) {
        keys[count++] = more[i];
        text_printf(&list, "%s, ", more[i]);
    }
    for (const struct campaign_field *field = next_member(NULL); field && count < KEYS_MAX; field = next_member(field))
        keys[count++] = member_key(field);
    return campaign_fail_key(reader, child, key, "unknown key '%s'%s Known are: %swhat topology.link has",
                             yaml_document_printable(child->key).text, campaign_suggest(reader->arena, child->key, keys, count),
                             list.bytes ? list.bytes : "");
}

/* A member, or a group of them: gilbert_elliott: {p: 1%, r: 10%}. 1: neither. */
static int read_member(const struct reader *reader, const struct yaml_value *child, const char *path, const char *key,
                       struct link_patch *patch)
{
    size_t length = strlen(path);
    bool group = false;
    for (const struct campaign_field *field = next_member(NULL); field; field = next_member(field)) {
        if (strcmp(member_key(field), path) == 0)
            return replace(reader, field, child, arena_printf(reader->arena, "%s.%s", key, path), patch);
        group = group || (strncmp(member_key(field), path, length) == 0 && member_key(field)[length] == '.');
    }
    if (!group || child->shape != YAML_SHAPE_MAPPING)
        return 1;
    for (const struct yaml_value *inner = child->first; inner; inner = inner->next) {
        const char *inner_path = arena_printf(reader->arena, "%s.%s", path, inner->key);
        int status = read_member(reader, inner, inner_path, key, patch);
        if (status > 0)
            status = unknown_key(reader, inner, arena_printf(reader->arena, "%s.%s", key, path), NULL, 0);
        if (status < 0)
            return status;
    }
    return 0;
}

static int read_patch(const struct reader *reader, const struct yaml_value *value, const char *key, struct link_patch *patch)
{
    if (value->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, value, key, "a mapping is needed, for example {rate: 10mbit, delay: 1ms}");
    for (const struct yaml_value *child = value->first; child; child = child->next) {
        int status = read_member(reader, child, child->key, key, patch);
        if (status > 0)
            status = unknown_key(reader, child, key, NULL, 0);
        if (status < 0)
            return status;
    }
    return 0;
}

static bool is_one_of(const char *key, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

int campaign_read_link_change(const struct reader *reader, const struct yaml_value *mapping, const char *key,
                              const char *const *others, size_t other_count, struct link_change *change)
{
    const char *known[KEYS_MAX] = {"back"};
    for (size_t i = 0; i < other_count; i++)
        known[i + 1] = others[i];
    if (mapping->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, mapping, key, "a mapping is needed, for example {rate: 10mbit, delay: 1ms}");
    for (const struct yaml_value *child = mapping->first; child; child = child->next) {
        int status = 0;
        if (strcmp(child->key, "back") == 0)
            status = read_patch(reader, child, arena_printf(reader->arena, "%s.back", key), &change->back);
        else if (!is_one_of(child->key, others, other_count))
            status = read_member(reader, child, child->key, key, &change->both);
        if (status > 0)
            status = unknown_key(reader, child, key, known, other_count + 1);
        if (status < 0)
            return status;
    }
    return 0;
}

/* ---- spelling ---- */
static bool spell_patch(const struct link_patch *patch, const char *comma, struct text *out)
{
    struct settings scratch = {.link = patch->values};
    bool any = false;
    for (const struct campaign_field *field = next_member(NULL); field; field = next_member(field)) {
        cleanup(text_free) struct text value = {0};
        if (!patch->replaces[member_offset(field)] || !campaign_field_operations(field)->spell(field, &scratch, &value))
            continue;
        text_printf(out, "%s%s: %s", comma, member_key(field), value.bytes);
        comma = ", ";
        any = true;
    }
    return any;
}

void campaign_spell_link_change(const struct link_change *change, const char *comma, struct text *out)
{
    cleanup(text_free) struct text back = {0};
    if (spell_patch(&change->both, comma, out))
        comma = ", ";
    if (spell_patch(&change->back, "", &back))
        text_printf(out, "%sback: {%s}", comma, back.bytes);
}

static void schema_reference(const struct campaign_field *field, const char *key, struct json *json)
{
    char reference[80];
    snprintf(reference, sizeof(reference), "#/$defs/%s", field->path);
    json_begin_object(json, key);
    json_string(json, "$ref", reference);
    json_end_object(json);
}

/* The members of a group as a mapping of their own, from its first one on. */
static void schema_group(const struct campaign_field *first, struct json *json)
{
    char group[64];
    size_t length = strcspn(member_key(first), ".");
    snprintf(group, sizeof(group), "%.*s", (int)length, member_key(first));
    json_begin_object(json, group);
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    for (const struct campaign_field *field = first; field; field = next_member(field))
        if (strncmp(member_key(field), member_key(first), length + 1) == 0)
            schema_reference(field, member_key(field) + length + 1, json);
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
}

void campaign_schema_link(bool with_back, struct json *json)
{
    const char *group = "";
    for (const struct campaign_field *field = next_member(NULL); field; field = next_member(field)) {
        const char *key = member_key(field);
        schema_reference(field, key, json);
        size_t length = strcspn(key, ".");
        if (key[length] == '.' && strncmp(group, key, length + 1) != 0)
            schema_group(field, json);
        group = key;
    }
    if (with_back)
        schema_reference(campaign_field_find("topology.link.back"), "back", json);
}

/* ---- a field that is a change: topology.bottleneck, topology.uplink; or only its way back: topology.link.back ---- */
static bool is_back(const struct campaign_field *field)
{
    return strncmp(field->path, link_prefix, strlen(link_prefix)) == 0;
}

static int read_link(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                     const char *key, struct settings *settings)
{
    char *place = (char *)settings + field->offset;
    int status;
    if (is_back(field)) {
        struct link_patch *patch = arena_new_array(reader->arena, struct link_patch, 1);
        status = read_patch(reader, value, key, patch);
        if (status == 0)
            memcpy(place, &patch, sizeof(patch));
        return status;
    }
    struct link_change *change = arena_new_array(reader->arena, struct link_change, 1);
    status = campaign_read_link_change(reader, value, key, NULL, 0, change);
    if (status == 0)
        memcpy(place, &change, sizeof(change));
    return status;
}

static bool spell_link(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    const void *value;
    memcpy(&value, (const char *)settings + field->offset, sizeof(value));
    if (!value)
        return false;
    text_add(out, "{");
    if (is_back(field))
        (void)spell_patch(value, "", out);
    else
        campaign_spell_link_change(value, "", out);
    text_add(out, "}");
    return true;
}

static void allowed_link(const struct campaign_field *field, struct text *out)
{
    text_printf(out, "mapping of any fields of topology.link%s", is_back(field) ? "" : ", and back");
}

static void schema_link(const struct campaign_field *field, struct json *json)
{
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    campaign_schema_link(!is_back(field), json);
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
}

const struct field_operations campaign_link_operations = {
    .read = read_link,
    .spell = spell_link,
    .allowed = allowed_link,
    .schema = schema_link,
    .composite = true,
    .optional = true,
};

/* ---- topology.overrides ---- */
static int read_override(const struct reader *reader, const struct yaml_value *entry, const char *key,
                         struct link_override *override)
{
    int status = campaign_read_link_change(reader, entry, key, override_keys, 2, &override->change);
    if (status < 0)
        return status;
    const struct yaml_value *link = yaml_document_child(entry, "link"), *node = yaml_document_child(entry, "node");
    if (!link == !node)
        return campaign_fail(reader, entry, key, "either 'link' or 'node' is needed: [{link: w0-router, rate: 10mbit}]");
    return link ? campaign_read_name(reader, link, arena_printf(reader->arena, "%s.link", key), &override->link)
                : campaign_read_name(reader, node, arena_printf(reader->arena, "%s.node", key), &override->node);
}

static int read_overrides(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                          const char *key, struct settings *settings)
{
    (void)field;
    int status = campaign_need_list(reader, value, key, "[{node: w1, rate: 10mbit}]", OVERRIDES_MAX);
    if (status < 0)
        return status;
    struct link_override *overrides = arena_new_array(reader->arena, struct link_override, (size_t)value->count);
    int count = 0;
    for (const struct yaml_value *child = value->first; child; child = child->next, count++) {
        status = read_override(reader, child, arena_printf(reader->arena, "%s.%d", key, count), &overrides[count]);
        if (status < 0)
            return status;
    }
    settings->overrides = count ? overrides : NULL;
    settings->override_count = count;
    return 0;
}

static bool spell_overrides(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    for (int i = 0; i < settings->override_count; i++) {
        const struct link_override *override = &settings->overrides[i];
        text_printf(out, "%s{%s: ", i ? ", " : "[", override->link ? "link" : "node");
        campaign_spell_string(override->link ? override->link : override->node, out);
        campaign_spell_link_change(&override->change, ", ", out);
        text_add(out, "}");
    }
    if (settings->override_count > 0)
        text_add(out, "]");
    return settings->override_count > 0;
}

static void allowed_overrides(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "list of {link: NAME} or {node: NAME} with any fields of topology.link, and back");
}

static void schema_overrides(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_begin_object(json, "items");
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    for (size_t i = 0; i < 2; i++) {
        json_begin_object(json, override_keys[i]);
        json_begin_array(json, "type");
        json_string(json, NULL, "string");
        json_string(json, NULL, "integer");
        json_end_array(json);
        json_end_object(json);
    }
    campaign_schema_link(true, json);
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
}

const struct field_operations campaign_overrides_operations = {
    .read = read_overrides,
    .spell = spell_overrides,
    .allowed = allowed_overrides,
    .schema = schema_overrides,
    .composite = true,
};
