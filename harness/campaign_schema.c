/* campaign_schema.c: the field table as a JSON schema (draft 2020-12), so that editors check a campaign file while it is typed.
 *
 * Every field is a definition of its own; the nested spelling, the dotted one and the lists of the matrix refer to it. What more
 * than one field decides, and fields that are required only outside the matrix, a schema cannot say: the program does. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "campaign.h"
#include "campaign_internal.h"
#include "gate_rules.h"

static void schema_reference(struct json *json, const char *key, const char *path)
{
    char reference[80];
    snprintf(reference, sizeof(reference), "#/$defs/%s", path);
    json_begin_object(json, key);
    json_string(json, "$ref", reference);
    json_end_object(json);
}

static void schema_definitions(struct json *json)
{
    json_begin_object(json, "$defs");
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        json_begin_object(json, field->path);
        json_string(json, "description", field->help);
        if (field->standard)
            json_string(json, "default", field->standard);
        campaign_field_operations(field)->schema(field, json);
        json_end_object(json);
    }
    json_end_object(json);
}

/* The fields below a prefix as nested properties; rows of one group stand together in the table. */
static void schema_group(struct json *json, const char *prefix, int *index)
{
    size_t length = strlen(prefix);
    while (*index < campaign_field_count && strncmp(campaign_fields[*index].path, prefix, length) == 0) {
        const char *path = campaign_fields[*index].path, *rest = path + length, *dot = strchr(rest, '.');
        if (!dot) {
            schema_reference(json, rest, path);
            ++*index;
            continue;
        }
        char key[64], below[64];
        snprintf(key, sizeof(key), "%.*s", (int)(dot - rest), rest);
        snprintf(below, sizeof(below), "%.*s", (int)(dot + 1 - path), path);
        json_begin_object(json, key);
        json_string(json, "type", "object");
        json_begin_object(json, "properties");
        schema_group(json, below, index);
        json_end_object(json);
        json_bool(json, "additionalProperties", false);
        json_end_object(json);
    }
}

/* The same fields by dotted path, as campaign_dump() writes them, and the short forms. */
static void schema_dotted(struct json *json)
{
    const char *alias, *path;
    for (int i = 0; i < campaign_field_count; i++)
        if (strchr(campaign_fields[i].path, '.'))
            schema_reference(json, campaign_fields[i].path, campaign_fields[i].path);
    for (int i = 0; campaign_field_alias(i, &alias, &path); i++)
        schema_reference(json, alias, path);
}

/* A list of values of the field at `path`; NULL: of anything. */
static void schema_list(struct json *json, const char *key, const char *path)
{
    json_begin_object(json, key);
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    if (path)
        schema_reference(json, "items", path);
    json_end_object(json);
}

/* Whole fields by their path; parts of composite ones by what starts with it. */
static void schema_matrix(struct json *json)
{
    const char *alias, *path;
    json_begin_object(json, "matrix");
    json_begin_array(json, "type");
    json_string(json, NULL, "object");
    json_string(json, NULL, "null");
    json_end_array(json);
    json_string(json, "description", "fields to sweep by dotted path, each with a list of values; the first one varies slowest");
    json_begin_object(json, "properties");
    for (int i = 0; i < campaign_field_count; i++)
        if (!campaign_fields[i].fixed)
            schema_list(json, campaign_fields[i].path, campaign_fields[i].path);
    for (int i = 0; campaign_field_alias(i, &alias, &path); i++)
        schema_list(json, alias, path);
    json_end_object(json);
    json_begin_object(json, "patternProperties");
    for (int i = 0; i < campaign_field_count; i++) {
        if (!campaign_field_operations(&campaign_fields[i])->composite)
            continue;
        cleanup(text_free) struct text pattern = {0};
        text_add(&pattern, "^");
        for (const char *c = campaign_fields[i].path; *c; c++)
            text_printf(&pattern, "%s%c", *c == '.' ? "\\" : "", *c);
        text_add(&pattern, "\\..");
        schema_list(json, pattern.bytes, NULL);
    }
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
}

/* One value a line, so that a change of the table is a readable difference. */
static void add_indented(const char *compact, struct text *out)
{
    int depth = 0;
    bool in_string = false;
    for (const char *c = compact; *c; c++) {
        bool opens = !in_string && strchr("{[", *c), closes = !in_string && strchr("}]", *c);
        depth += opens - closes;
        if (closes)
            text_printf(out, "\n%*s", 2 * depth, "");
        text_add_bytes(out, c, 1);
        if (in_string && *c == '\\') {
            text_add_bytes(out, ++c, 1);
            continue;
        }
        if (*c == '"')
            in_string = !in_string;
        if (opens || (!in_string && *c == ','))
            text_printf(out, "\n%*s", 2 * depth, "");
        else if (!in_string && *c == ':')
            text_add(out, " ");
    }
    text_add(out, "\n");
}

void campaign_json_schema(struct text *out)
{
    cleanup(text_free) struct text compact = {0};
    struct json json = {.out = &compact};
    int index = 0;
    json_begin_object(&json, NULL);
    json_string(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_string(&json, "title", "laggard campaign file");
    json_string(&json, "type", "object");
    json_begin_object(&json, "properties");
    schema_group(&json, "", &index);
    schema_dotted(&json);
    schema_matrix(&json);
    json_begin_object(&json, "arms");
    campaign_schema_arms(&json);
    json_end_object(&json);
    json_begin_object(&json, "gate");
    gate_rules_schema(&json);
    json_end_object(&json);
    json_end_object(&json);
    json_begin_array(&json, "required");
    for (int i = 0; i < campaign_field_count; i++)
        if (campaign_fields[i].required && campaign_fields[i].fixed)
            json_string(&json, NULL, campaign_fields[i].path);
    json_end_array(&json);
    json_bool(&json, "additionalProperties", false);
    schema_definitions(&json);
    json_end_object(&json);
    add_indented(compact.bytes, out);
}
