/* json.c: the small writer of JSON. It places commas and colons, escapes strings, and spells doubles in the shortest form that
 * reads back the same. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void add_quoted(struct text *out, const char *value)
{
    text_add_bytes(out, "\"", 1);
    for (const unsigned char *p = (const unsigned char *)value; *p;) {
        size_t length = text_sequence_length((const char *)p);
        if (length == 0) {
            text_add(out, "\xef\xbf\xbd"); /* U+FFFD */
            length = 1;
        } else if (*p == '"' || *p == '\\') {
            text_printf(out, "\\%c", *p);
        } else if (*p == '\n') {
            text_add(out, "\\n");
        } else if (*p == '\r') {
            text_add(out, "\\r");
        } else if (*p == '\t') {
            text_add(out, "\\t");
        } else if (*p < 0x20 || *p == 0x7f) {
            text_printf(out, "\\u%04x", *p);
        } else {
            text_add_bytes(out, (const char *)p, length);
        }
        p += length;
    }
    text_add_bytes(out, "\"", 1);
}

/* What comes before every value. At top level nothing separates documents: the caller writes its own newline between them. */
static void begin_value(struct json *json, const char *key)
{
    if (json->need_comma)
        text_add_bytes(json->out, ",", 1);
    if (key) {
        add_quoted(json->out, key);
        text_add_bytes(json->out, ":", 1);
    }
    json->need_comma = json->depth > 0;
}

static void open_container(struct json *json, const char *key, const char *bracket)
{
    begin_value(json, key);
    text_add(json->out, bracket);
    json->depth++;
    json->need_comma = false;
}

static void close_container(struct json *json, const char *bracket)
{
    assert(json->depth > 0);
    text_add(json->out, bracket);
    json->depth--;
    json->need_comma = json->depth > 0;
}

void json_begin_object(struct json *json, const char *key)
{
    open_container(json, key, "{");
}

void json_end_object(struct json *json)
{
    close_container(json, "}");
}

void json_begin_array(struct json *json, const char *key)
{
    open_container(json, key, "[");
}

void json_end_array(struct json *json)
{
    close_container(json, "]");
}

void json_string(struct json *json, const char *key, const char *value)
{
    begin_value(json, key);
    if (value)
        add_quoted(json->out, value);
    else
        text_add(json->out, "null");
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    text_printf(json->out, "%" PRId64, value);
}

void json_double(struct json *json, const char *key, double value)
{
    begin_value(json, key);
    if (!isfinite(value)) {
        text_add(json->out, "null");
        return;
    }
    char spelled[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(spelled, sizeof(spelled), "%.*g", digits, value);
        if (strtod(spelled, NULL) == value)
            break;
    }
    text_add(json->out, spelled);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    text_add(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    begin_value(json, key);
    text_add(json->out, "null");
}
