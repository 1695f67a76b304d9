/* campaign_capture.c: capture, the links whose packets are written to files: all, [w0-router, 3], {links: all, snap: 64KiB}. */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "capture_links.h"
#include "yaml_document.h"

enum { WORD_BYTES_MAX = 127, LIST_MAX = 10000, PATH_BYTES_MAX = 1024 };

static const char *const keys[] = {"links", "directory", "snap", "size"};
enum { KEY_LINKS, KEY_DIRECTORY, KEY_SNAP, KEY_SIZE, KEY_COUNT };

static const struct value_rule snap_rule = {.type = VALUE_SIZE, .minimum = 64, .maximum = 128 << 10, .example = "128B"};
static const struct value_rule size_rule = {
    .type = VALUE_SIZE, .minimum = 4096, .maximum = 0x1p40, .zero = "unlimited", .example = "64MiB"};
static const char example[] = "[w0-router, 3], all, none, or {links: all, snap: 128B}";

static int read_word(const struct reader *reader, const struct yaml_value *value, const char *key, const char **word)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status == 0 && (!*value->text || strlen(value->text) > WORD_BYTES_MAX))
        return campaign_fail(reader, value, key, "the name or the index of a link is needed, at most %d characters",
                             WORD_BYTES_MAX);
    if (status == 0)
        *word = arena_strdup(reader->arena, value->text);
    return status;
}

/* `all` and `none` are words of ours where they stand alone; in a list they are names. */
static int read_links(const struct reader *reader, const struct yaml_value *value, const char *key,
                      struct capture_settings *capture)
{
    capture->all = false;
    capture->links = NULL;
    capture->link_count = 0;
    if (value->shape == YAML_SHAPE_MAPPING)
        return campaign_fail(reader, value, key, "names or indexes of links are needed: %s", example);
    bool alone = value->shape == YAML_SHAPE_SCALAR;
    if (alone && strcmp(value->text, "none") == 0)
        return 0;
    if (alone && strcmp(value->text, "all") == 0) {
        capture->all = true;
        return 0;
    }
    int count = alone ? 1 : value->count;
    if (count == 0 || count > LIST_MAX)
        return campaign_fail(reader, value, key, "found a list of %d links, allowed are 1 to %d", count, LIST_MAX);
    const char **links = arena_new_array(reader->arena, const char *, (size_t)count);
    const struct yaml_value *next = alone ? value : value->first;
    for (int i = 0; i < count; i++, next = next->next) {
        int status = read_word(reader, next, key, &links[i]);
        if (status < 0)
            return status;
    }
    capture->links = links;
    capture->link_count = count;
    return 0;
}

static int read_directory(const struct reader *reader, const struct yaml_value *value, const char *key, const char **directory)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    bool good = *value->text && strlen(value->text) <= PATH_BYTES_MAX;
    for (const char *c = value->text; *c && good; c++)
        good = !yaml_document_unprintable(c);
    if (!good)
        return campaign_fail(reader, value, key, "found '%s', a path of 1 to %d printable characters is needed",
                             yaml_document_printable(value->text).text, PATH_BYTES_MAX);
    *directory = arena_strdup(reader->arena, value->text);
    return 0;
}

static int read_member(const struct reader *reader, const struct yaml_value *value, const char *key,
                       struct capture_settings *capture)
{
    int which = 0;
    while (which < KEY_COUNT && strcmp(value->key, keys[which]) != 0)
        which++;
    const char *full = arena_printf(reader->arena, "%s.%s", key, value->key);
    double bytes = 0;
    int status = 0;
    switch (which) {
    case KEY_LINKS:
        return read_links(reader, value, full, capture);
    case KEY_DIRECTORY:
        return read_directory(reader, value, full, &capture->directory);
    case KEY_SNAP:
        status = campaign_read_value(reader, value, full, &snap_rule, &bytes);
        capture->snap_bytes = status == 0 ? (uint64_t)bytes : 0;
        return status;
    case KEY_SIZE:
        status = campaign_read_value(reader, value, full, &size_rule, &bytes);
        capture->size_bytes = status == 0 ? (uint64_t)bytes : 0;
        return status;
    default:
        return campaign_unknown_key(reader, value, key, keys, KEY_COUNT);
    }
}

static int read_capture(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                        const char *key, struct settings *settings)
{
    (void)field;
    struct capture_settings capture = capture_links_standard();
    int status = 0;
    if (value->shape != YAML_SHAPE_MAPPING) {
        status = read_links(reader, value, key, &capture);
    } else {
        capture.all = true;
        for (const struct yaml_value *child = value->first; child && status == 0; child = child->next)
            status = read_member(reader, child, key, &capture);
    }
    if (status == 0)
        settings->capture = capture.all || capture.link_count > 0 ? capture : (struct capture_settings){0};
    return status;
}

static bool spell_capture(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    const struct capture_settings *capture = &settings->capture;
    if (!capture->all && capture->link_count == 0) {
        text_add(out, "none");
        return true;
    }
    text_add(out, capture->all ? "{links: all" : "{links: [");
    for (int i = 0; i < capture->link_count; i++) {
        text_add(out, i ? ", " : "");
        campaign_spell_string(capture->links[i], out);
    }
    text_add(out, capture->all ? ", directory: " : "], directory: ");
    campaign_spell_string(capture->directory, out);
    text_add(out, ", snap: ");
    campaign_spell_value(&snap_rule, (double)capture->snap_bytes, out);
    text_add(out, ", size: ");
    campaign_spell_value(&size_rule, (double)capture->size_bytes, out);
    text_add(out, "}");
    return true;
}

static void allowed_capture(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out,
             "none, all, a list of names or indexes of links, or {links: those, directory: PATH, snap: SIZE, size: SIZE}, snap a ");
    campaign_allowed_value(&snap_rule, out);
    text_add(out, ", size a ");
    campaign_allowed_value(&size_rule, out);
}

static void schema_links(struct json *json)
{
    json_begin_array(json, "anyOf");
    for (int list = 0; list < 2; list++) {
        json_begin_object(json, NULL);
        if (list) {
            json_string(json, "type", "array");
            json_integer(json, "minItems", 1);
            json_begin_object(json, "items");
        }
        json_begin_array(json, "type");
        json_string(json, NULL, "string");
        json_string(json, NULL, "integer");
        json_end_array(json);
        if (list)
            json_end_object(json);
        json_end_object(json);
    }
}

static void schema_capture(const struct campaign_field *field, struct json *json)
{
    (void)field;
    schema_links(json);
    json_begin_object(json, NULL);
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    json_begin_object(json, "links");
    schema_links(json);
    json_end_array(json);
    json_end_object(json);
    json_begin_object(json, "directory");
    json_string(json, "type", "string");
    json_end_object(json);
    json_begin_object(json, "snap");
    campaign_schema_value(&snap_rule, json);
    json_end_object(json);
    json_begin_object(json, "size");
    campaign_schema_value(&size_rule, json);
    json_end_object(json);
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
    json_end_array(json);
}

const struct field_operations campaign_capture_operations = {
    .read = read_capture,
    .spell = spell_capture,
    .allowed = allowed_capture,
    .schema = schema_capture,
    .composite = true,
    .optional = true,
    .name_key = "links",
};
