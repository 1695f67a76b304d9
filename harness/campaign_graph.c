/* campaign_graph.c: networks written out: lists of names, links between them, and matrices between sites. */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

enum { NAME_BYTES_MAX = 63, ENTRIES_MAX = 100000, SITES_MAX = 256 };

/* ---- names ---- */
static int read_name(const struct reader *reader, const struct yaml_value *value, const char *key, const char **name)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    size_t length = strlen(value->text);
    if (length == 0 || length > NAME_BYTES_MAX || strspn(value->text, "0123456789") == length ||
        strspn(value->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != length)
        return campaign_fail(reader, value, key, "found '%s', a name is needed: 1 to %d of A-Za-z0-9._-, not digits alone",
                             yaml_document_printable(value->text).text, NAME_BYTES_MAX);
    *name = arena_strdup(reader->arena, value->text);
    return 0;
}

static int read_names(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                      const char *key, struct settings *settings)
{
    int status = campaign_need_list(reader, value, key, "[a, b]", ENTRIES_MAX);
    if (status < 0)
        return status;
    const char **names = arena_new_array(reader->arena, const char *, (size_t)value->count);
    struct name_list list = {.names = names, .count = value->count};
    for (const struct yaml_value *child = value->first; child && status == 0; child = child->next)
        status = read_name(reader, child, key, names++);
    if (status == 0)
        memcpy((char *)settings + field->offset, &list, sizeof(list));
    return status;
}

static bool spell_names(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    struct name_list list;
    memcpy(&list, (const char *)settings + field->offset, sizeof(list));
    for (int i = 0; i < list.count; i++) {
        text_add(out, i ? ", " : "[");
        campaign_spell_string(list.names[i], out);
    }
    if (list.count > 0)
        text_add(out, "]");
    return list.count > 0;
}

static void allowed_names(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "list of names");
}

static void schema_names(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_begin_object(json, "items");
    json_string(json, "type", "string");
    json_string(json, "pattern", "^[A-Za-z0-9._-]+$");
    json_end_object(json);
}

const struct field_operations campaign_names_operations = {
    .read = read_names, .spell = spell_names, .allowed = allowed_names, .schema = schema_names};

/* ---- links ---- */
static const char *const link_keys[] = {"from", "to", "name"};
static const char link_example[] = "[{from: w0, to: core, rate: 10mbit}]";

static int read_link(const struct reader *reader, const struct yaml_value *entry, const char *key, struct graph_link *link)
{
    int status = campaign_read_link_change(reader, entry, key, link_keys, 3, &link->change);
    const char **places[] = {&link->from, &link->to, &link->name};
    for (int i = 0; i < 3 && status == 0; i++) {
        const struct yaml_value *value = yaml_document_child(entry, link_keys[i]);
        if (value)
            status = read_name(reader, value, arena_printf(reader->arena, "%s.%s", key, link_keys[i]), places[i]);
        else if (i < 2)
            status = campaign_fail(reader, entry, key, "the key '%s' is missing: %s", link_keys[i], link_example);
    }
    return status;
}

static int read_links(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                      const char *key, struct settings *settings)
{
    (void)field;
    int status = campaign_need_list(reader, value, key, link_example, ENTRIES_MAX), count = 0;
    if (status < 0)
        return status;
    struct graph_link *links = arena_new_array(reader->arena, struct graph_link, (size_t)value->count);
    for (const struct yaml_value *child = value->first; child && status == 0; child = child->next, count++)
        status = read_link(reader, child, arena_printf(reader->arena, "%s.%d", key, count), &links[count]);
    if (status == 0)
        settings->links = (struct graph_link_list){.links = links, .count = count};
    return status;
}

static bool spell_links(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    for (int i = 0; i < settings->links.count; i++) {
        const struct graph_link *link = &settings->links.links[i];
        text_add(out, i ? ", {from: " : "[{from: ");
        campaign_spell_string(link->from, out);
        text_add(out, ", to: ");
        campaign_spell_string(link->to, out);
        if (link->name) {
            text_add(out, ", name: ");
            campaign_spell_string(link->name, out);
        }
        campaign_spell_link_change(&link->change, ", ", out);
        text_add(out, "}");
    }
    if (settings->links.count > 0)
        text_add(out, "]");
    return settings->links.count > 0;
}

static void allowed_links(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "list of {from: NAME, to: NAME}, name, and any fields of topology.link, and back");
}

static void schema_links(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_begin_object(json, "items");
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    for (int i = 0; i < 3; i++) {
        json_begin_object(json, link_keys[i]);
        json_string(json, "type", "string");
        json_end_object(json);
    }
    campaign_schema_link(true, json);
    json_end_object(json);
    json_bool(json, "additionalProperties", false);
    json_end_object(json);
}

const struct field_operations campaign_links_operations = {
    .read = read_links, .spell = spell_links, .allowed = allowed_links, .schema = schema_links, .composite = true};

/* ---- matrices: by the field's rule ---- */

/* From a site to itself there is no link: 0 there is no value of the rule. */
static bool is_nothing(const struct value_rule *rule, const struct yaml_value *cell, bool diagonal)
{
    return diagonal && rule->zero && cell->shape == YAML_SHAPE_SCALAR && strcmp(cell->text, "0") == 0;
}

static int read_matrix(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                       const char *key, struct settings *settings)
{
    if (value->shape != YAML_SHAPE_LIST || value->count == 0 || value->count > SITES_MAX)
        return campaign_fail(reader, value, key, "a list of 1 to %d rows is needed, one a site: %s", SITES_MAX,
                             field->rule.example);
    double *cells = arena_new_array(reader->arena, double, (size_t)value->count *(size_t)value->count), *next = cells;
    int status = 0;
    for (const struct yaml_value *row = value->first; row && status == 0; row = row->next) {
        if (row->shape != YAML_SHAPE_LIST || row->count != value->count)
            return campaign_fail(reader, row, key, "a row of %d values is needed, one a site", value->count);
        for (const struct yaml_value *cell = row->first; cell && status == 0; cell = cell->next, next++)
            if (!is_nothing(&field->rule, cell, (next - cells) % (value->count + 1) == 0))
                status = campaign_read_value(reader, cell, key, &field->rule, next);
    }
    struct site_matrix matrix = {.cells = cells, .size = value->count};
    if (status == 0)
        memcpy((char *)settings + field->offset, &matrix, sizeof(matrix));
    return status;
}

static bool spell_matrix(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    struct site_matrix matrix;
    memcpy(&matrix, (const char *)settings + field->offset, sizeof(matrix));
    for (int i = 0; i < matrix.size * matrix.size; i++) {
        text_add(out, i == 0 ? "[[" : i % matrix.size == 0 ? "], [" : ", ");
        campaign_spell_value(&field->rule, matrix.cells[i], out);
    }
    if (matrix.size > 0)
        text_add(out, "]]");
    return matrix.size > 0;
}

static void allowed_matrix(const struct campaign_field *field, struct text *out)
{
    text_add(out, "a row a site, in each a value a site: ");
    campaign_allowed_value(&field->rule, out);
}

static void schema_matrix(const struct campaign_field *field, struct json *json)
{
    json_string(json, "type", "array");
    json_begin_object(json, "items");
    json_string(json, "type", "array");
    json_begin_object(json, "items");
    json_begin_array(json, "anyOf");
    json_begin_object(json, NULL);
    json_integer(json, "const", 0); /* on the diagonal */
    json_end_object(json);
    json_begin_object(json, NULL);
    campaign_schema_value(&field->rule, json);
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
    json_end_object(json);
}

const struct field_operations campaign_matrix_operations = {
    .read = read_matrix, .spell = spell_matrix, .allowed = allowed_matrix, .schema = schema_matrix};
