/* campaign_arms.c: `arms`, the builds or settings that a campaign compares: every cell runs once a block under each of them. An arm
 * changes what the campaign says, by dotted path, for its own trials. */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

enum { NAME_LENGTH_MAX = 64, PATH_LENGTH_MAX = 1024, VARIABLES_MAX = 64 };

static const char name_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (yaml_document_unprintable(text))
            return false;
    return true;
}

static int read_name(const struct reader *reader, const struct yaml_value *value, const char *key, const char **name)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    size_t length = strlen(value->text);
    if (length < 1 || length > NAME_LENGTH_MAX || strspn(value->text, name_characters) != length)
        return campaign_fail(reader, value, key, "found '%s', allowed are 1 to %d of the characters A-Za-z0-9._+-",
                             yaml_document_printable(value->text).text, NAME_LENGTH_MAX);
    *name = arena_strdup(reader->arena, value->text);
    return 0;
}

static int read_path(const struct reader *reader, const struct yaml_value *value, const char *key, const char **path)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    if (!*value->text || strlen(value->text) > PATH_LENGTH_MAX || !is_printable(value->text))
        return campaign_fail(reader, value, key, "found '%s', a path of 1 to %d characters is needed",
                             yaml_document_printable(value->text).text, PATH_LENGTH_MAX);
    *path = arena_strdup(reader->arena, value->text);
    return 0;
}

static int read_environment(const struct reader *reader, const struct yaml_value *mapping, const char *key,
                            const char *const **environment)
{
    if (mapping->shape != YAML_SHAPE_MAPPING || mapping->count > VARIABLES_MAX)
        return campaign_fail(reader, mapping, key, "a mapping of at most %d variables is needed: {OPENBLAS_CORETYPE: Haswell}",
                             VARIABLES_MAX);
    const char **variables = arena_new_array(reader->arena, const char *, (size_t)mapping->count + 1);
    int count = 0;
    for (const struct yaml_value *child = mapping->first; child; child = child->next) {
        if (!*child->key || strchr(child->key, '=') || !is_printable(child->key))
            return campaign_fail_key(reader, child, key, "'%s' is no name of a variable", yaml_document_printable(child->key).text);
        if (strncmp(child->key, "LAGGARD_", 8) == 0)
            return campaign_fail_key(reader, child, key, "'%s' is laggard's own, and set by it",
                                     yaml_document_printable(child->key).text);
        if (child->shape != YAML_SHAPE_SCALAR)
            return campaign_fail(reader, child, key, "found a %s, one value is needed",
                                 child->shape == YAML_SHAPE_LIST ? "list" : "mapping");
        variables[count++] = arena_printf(reader->arena, "%s=%s", child->key, child->text);
    }
    *environment = variables;
    return 0;
}

/* Whether one of two dotted paths is the other or a part of it, as compute.slow.0.factor is of compute.slow. */
static bool paths_overlap(const char *a, const char *b)
{
    size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return strncmp(a, b, length) == 0 && (!a[length] || a[length] == '.') && (!b[length] || b[length] == '.');
}

/* Cells are told apart by these, and arms share their cells. */
static bool tells_cells_apart(const char *path)
{
    return strcmp(path, "scheme") == 0 || strcmp(path, "scheme.name") == 0 || strcmp(path, "workers") == 0;
}

static int read_setting(const struct reading *reading, const struct yaml_value *value, const char *key, struct arm_setting *setting)
{
    const struct reader *reader = &reading->reader;
    int status = matrix_find_field(reading, value, key, &setting->axis);
    if (status < 0)
        return status;
    struct axis *axis = &setting->axis;
    axis->list = value;
    axis->replaces = true;
    setting->value = value;
    if (axis->field->fixed)
        return campaign_fail_key(reader, value, key, "%s is the same for the whole campaign", axis->path);
    if (tells_cells_apart(axis->path))
        return campaign_fail_key(reader, value, key, "%s tells cells apart, and arms share their cells: sweep it in the matrix",
                                 axis->path);
    for (int i = 0; i < reading->axis_count; i++)
        if (paths_overlap(reading->axes[i].path, axis->path))
            return campaign_fail_key(reader, value, key, "the matrix sweeps %s on line %d, leave one of the two out",
                                     reading->axes[i].path, reading->axes[i].list->key_line);
    return 0;
}

/* Reads one more setting; the arm's earlier ones may not have set any of it. */
static int add_setting(const struct reading *reading, const struct yaml_value *value, const char *key, struct arm_setting *settings,
                       int *count)
{
    struct arm_setting *added = &settings[*count];
    int status = read_setting(reading, value, key, added);
    if (status < 0)
        return status;
    for (int i = 0; i < *count; i++)
        if (paths_overlap(settings[i].axis.path, added->axis.path))
            return campaign_fail_key(&reading->reader, value, key, "this arm sets %s on line %d, leave one of the two out",
                                     settings[i].axis.path, settings[i].value->key_line);
    (*count)++;
    return 0;
}

/* Settings by dotted path; `exec` is short for the setting workload.exec. */
static int read_settings(const struct reading *reading, const struct yaml_value *mapping, const struct yaml_value *exec,
                         const char *key, struct arm_reading *arm)
{
    const struct reader *reader = &reading->reader;
    if (mapping && mapping->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, mapping, key, "a mapping of dotted paths is needed: {congestion_control: reno}");
    int count = (mapping ? mapping->count : 0) + (exec ? 1 : 0), status = 0;
    struct arm_setting *settings = arena_new_array(reader->arena, struct arm_setting, (size_t)count + 1);
    for (const struct yaml_value *child = mapping ? mapping->first : NULL; child && status == 0; child = child->next)
        status = add_setting(reading, child, key, settings, &arm->setting_count);
    if (status == 0 && exec) {
        struct yaml_value *named = arena_copy(reader->arena, exec, sizeof(*exec));
        named->key = "workload.exec";
        status = add_setting(reading, named, key, settings, &arm->setting_count);
    }
    arm->settings = settings;
    return status;
}

static void describe_value(const struct yaml_value *value, struct json *json, const char *key)
{
    if (value->shape == YAML_SHAPE_SCALAR) {
        json_string(json, key, value->text);
        return;
    }
    if (value->shape == YAML_SHAPE_LIST)
        json_begin_array(json, key);
    else
        json_begin_object(json, key);
    for (const struct yaml_value *child = value->first; child; child = child->next)
        describe_value(child, json, value->shape == YAML_SHAPE_LIST ? NULL : child->key);
    if (value->shape == YAML_SHAPE_LIST)
        json_end_array(json);
    else
        json_end_object(json);
}

/* What the arm changes, as a JSON object: all its keys but the name. */
static const char *describe(const struct reader *reader, const struct yaml_value *entry)
{
    cleanup(text_free) struct text text = {0};
    struct json json = {.out = &text};
    json_begin_object(&json, NULL);
    for (const struct yaml_value *child = entry->first; child; child = child->next)
        if (strcmp(child->key, "name") != 0 && (child->shape == YAML_SHAPE_SCALAR || child->count > 0))
            describe_value(child, &json, child->key);
    json_end_object(&json);
    return arena_strdup(reader->arena, text.bytes);
}

static int read_arm(const struct reading *reading, const struct yaml_value *entry, int index, struct arm_reading *arm)
{
    static const char *const keys[] = {"name", "agent", "environment", "settings", "exec"};
    const struct reader *reader = &reading->reader;
    const char *key = arena_printf(reader->arena, "arms.%d", index);
    if (entry->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, entry, key, "a mapping is needed: {name: after, settings: {congestion_control: reno}}");
    for (const struct yaml_value *child = entry->first; child; child = child->next) {
        bool known = false;
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            known = known || strcmp(keys[i], child->key) == 0;
        if (!known)
            return campaign_unknown_key(reader, child, key, keys, sizeof(keys) / sizeof(keys[0]));
    }
    const struct yaml_value *name = yaml_document_child(entry, "name"), *agent = yaml_document_child(entry, "agent"),
                            *environment = yaml_document_child(entry, "environment");
    if (!name)
        return campaign_fail(reader, entry, key, "the key 'name' is missing: {name: after, agent: build/new/laggard-agent}");
    int status = read_name(reader, name, arena_printf(reader->arena, "%s.name", key), &arm->arm.name);
    if (status == 0 && agent)
        status = read_path(reader, agent, arena_printf(reader->arena, "%s.agent", key), &arm->arm.agent);
    if (status == 0 && environment)
        status = read_environment(reader, environment, arena_printf(reader->arena, "%s.environment", key), &arm->arm.environment);
    if (status == 0)
        status = read_settings(reading, yaml_document_child(entry, "settings"), yaml_document_child(entry, "exec"),
                               arena_printf(reader->arena, "%s.settings", key), arm);
    if (status == 0)
        arm->arm.text = describe(reader, entry);
    return status;
}

int campaign_read_arms(struct reading *reading, const struct yaml_value *list)
{
    const struct reader *reader = &reading->reader;
    if (yaml_document_is_null(list))
        return 0;
    if (list->shape != YAML_SHAPE_LIST || list->count < 1 || list->count > ARMS_MAX)
        return campaign_fail(reader, list, "arms",
                             "a list of 1 to %d arms is needed: [{name: before}, {name: after, settings: ...}]", ARMS_MAX);
    struct arm_reading *arms = arena_new_array(reader->arena, struct arm_reading, (size_t)list->count);
    int count = 0;
    for (const struct yaml_value *entry = list->first; entry; entry = entry->next, count++) {
        int status = read_arm(reading, entry, count, &arms[count]);
        if (status < 0)
            return status;
        for (int i = 0; i < count; i++)
            if (strcmp(arms[i].arm.name, arms[count].arm.name) == 0)
                return campaign_fail(reader, yaml_document_child(entry, "name"), arena_printf(reader->arena, "arms.%d.name", count),
                                     "two arms are called '%s'", arms[i].arm.name);
    }
    reading->arms = arms;
    reading->arm_count = count;
    return 0;
}

bool campaign_arm_sets(const struct arm_reading *arm, const struct campaign_field *field)
{
    for (int i = 0; arm && i < arm->setting_count; i++)
        if (arm->settings[i].axis.field == field)
            return true;
    return false;
}

bool campaign_arms_all_set(const struct reading *reading, const struct campaign_field *field)
{
    for (int i = 0; i < reading->arm_count; i++)
        if (!campaign_arm_sets(&reading->arms[i], field))
            return false;
    return reading->arm_count > 0;
}

/* In the virtual world there is no agent program, and nothing has an environment. */
int campaign_check_arms(const struct reading *reading, const struct yaml_value *list, const struct cell *cells, int cell_count)
{
    for (int c = 0; c < cell_count; c++)
        if (cells[c].settings.world == WORLD_EMULATED)
            return 0;
    const struct yaml_value *entry = reading->arm_count > 0 ? list->first : NULL;
    for (int a = 0; entry; a++, entry = entry->next) {
        const struct yaml_value *agent = yaml_document_child(entry, "agent"),
                                *environment = yaml_document_child(entry, "environment");
        if (agent || environment)
            return campaign_fail_key(&reading->reader, agent ? agent : environment,
                                     arena_printf(reading->reader.arena, "arms.%d", a),
                                     "world virtual runs no agent program, so an arm can change its settings alone");
    }
    return 0;
}

static void schema_typed(struct json *json, const char *key, const char *type)
{
    json_begin_object(json, key);
    json_string(json, "type", type);
    json_end_object(json);
}

/* Members of the open property. What a setting may be is said by the field that it names, which a schema cannot look up. */
void campaign_schema_arms(struct json *json)
{
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    json_integer(json, "maxItems", ARMS_MAX);
    json_string(json, "description", "builds or settings under comparison; every cell runs under each of them, side by side");
    json_begin_object(json, "items");
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    json_begin_object(json, "name");
    json_begin_array(json, "type");
    json_string(json, NULL, "string");
    json_string(json, NULL, "number");
    json_end_array(json);
    json_string(json, "pattern", "^[A-Za-z0-9._+-]{1,64}$");
    json_end_object(json);
    schema_typed(json, "agent", "string");
    schema_typed(json, "environment", "object");
    schema_typed(json, "settings", "object");
    schema_typed(json, "exec", "array");
    json_end_object(json);
    json_begin_array(json, "required");
    json_string(json, NULL, "name");
    json_end_array(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
}
