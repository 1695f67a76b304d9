/* campaign_scheme_objects.c: the field schemes: shared objects with schemes of the user's own, ./mine.so or {file: ./mine.so,
 * sha256: ...}. They are loaded while the file is read, before any scheme's name is looked for; where a digest stands, no other
 * file is loaded. Settings are spelled with the digest, so that what is stored says what ran. */
#include <string.h>

#include "agents/scheme_object.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "scheme_guard.h"
#include "yaml_document.h"

enum { OBJECTS_MAX = 16, DIGITS = 64 };
static const char *const keys[] = {"file", "sha256"};
static const char example[] = "[./mine.so]";

static int check_digest(const struct reader *reader, const struct yaml_value *value, const char *key)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status == 0 && (strlen(value->text) != DIGITS || strspn(value->text, "0123456789abcdef") != DIGITS))
        status = campaign_fail(reader, value, key, "found '%s', a SHA-256 is needed: %d digits of 0 to 9 and a to f",
                               yaml_document_printable(value->text).text, DIGITS);
    return status;
}

static int read_object(const struct reader *reader, const struct yaml_value *value, const char *key, struct scheme_object *object)
{
    const struct yaml_value *file = value, *digest = NULL;
    if (value->shape == YAML_SHAPE_MAPPING) {
        file = yaml_document_child(value, keys[0]);
        digest = yaml_document_child(value, keys[1]);
        for (const struct yaml_value *child = value->first; child; child = child->next)
            if (child != file && child != digest)
                return campaign_unknown_key(reader, child, key, keys, sizeof(keys) / sizeof(keys[0]));
        if (!file)
            return campaign_fail(reader, value, key, "the key 'file' is missing: {file: ./mine.so}");
    }
    const char *path, *written;
    struct err err;
    int status = campaign_read_path(reader, file, key, &path, &written);
    if (status == 0 && digest)
        status = check_digest(reader, digest, arena_printf(reader->arena, "%s.sha256", key));
    if (status == 0)
        scheme_guard_watch(written);
    if (status == 0 && scheme_object_load(path, digest ? digest->text : NULL, object, &err) < 0)
        status = campaign_fail(reader, file, key, "%s", err.text);
    if (status == 0)
        object->path = written;
    return status;
}

static int read_objects(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                        const char *key, struct settings *settings)
{
    (void)field;
    if (value->shape != YAML_SHAPE_LIST || value->count == 0 || value->count > OBJECTS_MAX)
        return campaign_fail(reader, value, key, "a list of 1 to %d shared objects is needed: %s", OBJECTS_MAX, example);
    struct scheme_object *objects = arena_new_array(reader->arena, struct scheme_object, (size_t)value->count);
    const struct yaml_value *child = value->first;
    for (int i = 0; i < value->count; i++, child = child->next) {
        int status = read_object(reader, child, key, &objects[i]);
        if (status < 0)
            return status;
    }
    settings->scheme_objects = objects;
    settings->scheme_object_count = value->count;
    return 0;
}

static bool spell_objects(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    for (int i = 0; i < settings->scheme_object_count; i++) {
        text_add(out, i ? ", {file: " : "[{file: ");
        campaign_spell_string(settings->scheme_objects[i].path, out);
        text_printf(out, ", sha256: \"%s\"}", settings->scheme_objects[i].sha256);
    }
    if (settings->scheme_object_count > 0)
        text_add(out, "]");
    return settings->scheme_object_count > 0;
}

static void allowed_objects(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "list of paths, or of {file: PATH, sha256: DIGEST}");
}

static void schema_objects(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    json_integer(json, "maxItems", OBJECTS_MAX);
    json_begin_object(json, "items");
    json_begin_array(json, "anyOf");
    json_begin_object(json, NULL);
    json_string(json, "type", "string");
    json_end_object(json);
    json_begin_object(json, NULL);
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_begin_object(json, keys[i]);
        json_string(json, "type", "string");
        json_end_object(json);
    }
    json_end_object(json);
    json_begin_array(json, "required");
    json_string(json, NULL, keys[0]);
    json_end_array(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
}

const struct field_operations campaign_scheme_objects_operations = {
    .read = read_objects,
    .spell = spell_objects,
    .allowed = allowed_objects,
    .schema = schema_objects,
};
