/* yaml_document.c: bytes to a tree of values with marks. The only file that includes yaml.h.
 *
 * libyaml's events are read one by one and bounded while they come: an anchor, an alias or a tag ends the parse where it stands, so
 * that no text can grow in memory ("billion laughs"), and the depth is bounded before anything recurses further. Keys of one
 * mapping are compared pair by pair, which is why their number is bounded too; lists may be as long as the text allows. */
#include "yaml_document.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

#define DEPTH_TEXT "16"
static_assert(YAML_DOCUMENT_DEPTH_MAX == 16, "DEPTH_TEXT says the same");

struct loader {
    yaml_parser_t parser;
    const char *file, *text;
    size_t length;
    size_t mark_bytes; /* of a byte order mark, which is not part of the text */
    struct arena *arena;
    struct err *err;
};

static void loader_free(struct loader *loader)
{
    yaml_parser_delete(&loader->parser);
}

static int refuse(struct loader *loader, yaml_mark_t mark, const char *sentence)
{
    return err_set(loader->err, ERR_USAGE, "%s:%zu:%zu: %s", loader->file, mark.line + 1, mark.column + 1, sentence);
}

/* libyaml gives the place of a byte that is no UTF-8 as an offset only. */
static yaml_mark_t mark_of_offset(const struct loader *loader, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset && i < loader->length; i++) {
        if (loader->text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)loader->text[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

static bool is_indented_by_tab(const struct loader *loader, size_t line)
{
    const char *start = loader->text, *end = loader->text + loader->length;
    for (; line > 0 && start; line--) {
        const char *newline = memchr(start, '\n', (size_t)(end - start));
        start = newline ? newline + 1 : NULL;
    }
    while (start && start < end && *start == ' ')
        start++;
    return start && start < end && *start == '\t';
}

static int refuse_syntax(struct loader *loader)
{
    const yaml_parser_t *parser = &loader->parser;
    char sentence[400];
    if (parser->error == YAML_MEMORY_ERROR)
        return err_set(loader->err, ERR_HOST, "%s: out of memory while reading YAML", loader->file);
    if (parser->error == YAML_READER_ERROR) {
        snprintf(sentence, sizeof(sentence), "this is not text in UTF-8 (%s, byte %zu of the file)", parser->problem,
                 parser->problem_offset + loader->mark_bytes);
        return refuse(loader, mark_of_offset(loader, parser->problem_offset), sentence);
    }
    snprintf(sentence, sizeof(sentence), "this is not valid YAML: %s%s%s%s", parser->problem ? parser->problem : "syntax error",
             parser->context ? ", " : "", parser->context ? parser->context : "",
             is_indented_by_tab(loader, parser->problem_mark.line) ? " (the line starts with a tab, YAML is indented with spaces)"
                                                                   : "");
    return refuse(loader, parser->problem_mark, sentence);
}

static int next_event(struct loader *loader, yaml_event_t *event)
{
    return yaml_parser_parse(&loader->parser, event) ? 0 : refuse_syntax(loader);
}

static struct yaml_value *new_value(struct loader *loader, enum yaml_shape shape, yaml_mark_t mark)
{
    struct yaml_value *value = arena_new_object(loader->arena, struct yaml_value);
    value->shape = shape;
    value->line = (int)mark.line + 1;
    value->column = (int)mark.column + 1;
    return value;
}

/* What every kind of value may carry and we do not take. */
static int check_properties(struct loader *loader, const yaml_event_t *event, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        return refuse(loader, event->start_mark, "anchors ('&') are not supported, write the value out");
    if (tag)
        return refuse(loader, event->start_mark, "tags ('!') are not supported, write the bare value");
    return 0;
}

static int read_scalar(struct loader *loader, const yaml_event_t *event, struct yaml_value **out)
{
    int status = check_properties(loader, event, event->data.scalar.anchor, event->data.scalar.tag);
    if (status < 0)
        return status;
    const char *bytes = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (memchr(bytes, '\0', length))
        return refuse(loader, event->start_mark, "a value must not hold a NUL character");
    struct yaml_value *value = new_value(loader, YAML_SHAPE_SCALAR, event->start_mark);
    value->text = arena_strndup(loader->arena, bytes, length);
    *out = value;
    return 0;
}

static int read_value(struct loader *loader, const yaml_event_t *event, int depth, struct yaml_value **out);

static int read_list(struct loader *loader, const yaml_event_t *start, int depth, struct yaml_value **out)
{
    int status = check_properties(loader, start, start->data.sequence_start.anchor, start->data.sequence_start.tag);
    if (status < 0)
        return status;
    struct yaml_value *list = new_value(loader, YAML_SHAPE_LIST, start->start_mark);
    struct yaml_value **tail = &list->first;
    for (;;) {
        cleanup(yaml_event_delete) yaml_event_t event = {0};
        status = next_event(loader, &event);
        if (status < 0)
            return status;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            break;
        status = read_value(loader, &event, depth + 1, tail);
        if (status < 0)
            return status;
        tail = &(*tail)->next;
        list->count++;
    }
    *out = list;
    return 0;
}

/* One "key: value" of a mapping. *out stays NULL at the mapping's end. */
static int read_pair(struct loader *loader, const struct yaml_value *mapping, int depth, struct yaml_value **out)
{
    cleanup(yaml_event_delete) yaml_event_t key_event = {0}, value_event = {0};
    int status = next_event(loader, &key_event);
    if (status < 0 || key_event.type == YAML_MAPPING_END_EVENT)
        return status;
    if (key_event.type == YAML_SEQUENCE_START_EVENT || key_event.type == YAML_MAPPING_START_EVENT)
        return refuse(loader, key_event.start_mark, "a key must be a word, not a list or a mapping");
    struct yaml_value *key;
    status = read_value(loader, &key_event, depth + 1, &key);
    if (status < 0)
        return status;
    if (mapping->count == YAML_DOCUMENT_KEYS_MAX) {
        char sentence[100];
        snprintf(sentence, sizeof(sentence), "this mapping has too many keys, allowed are %d", YAML_DOCUMENT_KEYS_MAX);
        return refuse(loader, key_event.start_mark, sentence);
    }
    const struct yaml_value *earlier = yaml_document_child(mapping, key->text);
    if (earlier) {
        char sentence[200];
        snprintf(sentence, sizeof(sentence), "the key '%s' comes twice, first on line %d", yaml_document_printable(key->text).text,
                 earlier->key_line);
        return refuse(loader, key_event.start_mark, sentence);
    }
    status = next_event(loader, &value_event);
    if (status < 0)
        return status;
    struct yaml_value *value;
    status = read_value(loader, &value_event, depth + 1, &value);
    if (status < 0)
        return status;
    value->key = key->text;
    value->key_line = key->line;
    value->key_column = key->column;
    *out = value;
    return 0;
}

static int read_mapping(struct loader *loader, const yaml_event_t *start, int depth, struct yaml_value **out)
{
    int status = check_properties(loader, start, start->data.mapping_start.anchor, start->data.mapping_start.tag);
    if (status < 0)
        return status;
    struct yaml_value *mapping = new_value(loader, YAML_SHAPE_MAPPING, start->start_mark);
    struct yaml_value **tail = &mapping->first;
    for (;;) {
        status = read_pair(loader, mapping, depth, tail);
        if (status < 0)
            return status;
        if (!*tail)
            break;
        tail = &(*tail)->next;
        mapping->count++;
    }
    *out = mapping;
    return 0;
}

static int read_value(struct loader *loader, const yaml_event_t *event, int depth, struct yaml_value **out)
{
    if (depth > YAML_DOCUMENT_DEPTH_MAX)
        return refuse(loader, event->start_mark,
                      "lists and mappings are nested too deeply here (" DEPTH_TEXT " levels are allowed)");
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(loader, event, out);
    case YAML_SEQUENCE_START_EVENT:
        return read_list(loader, event, depth, out);
    case YAML_MAPPING_START_EVENT:
        return read_mapping(loader, event, depth, out);
    case YAML_ALIAS_EVENT:
        return refuse(loader, event->start_mark, "aliases ('*') are not supported, write the value out");
    default:
        return refuse(loader, event->start_mark, "this is not valid YAML: a value was expected");
    }
}

static int read_stream(struct loader *loader, struct yaml_value **root)
{
    bool started = false;
    for (;;) {
        cleanup(yaml_event_delete) yaml_event_t event = {0};
        int status = next_event(loader, &event);
        if (status < 0)
            return status;
        switch (event.type) {
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
            break;
        case YAML_DOCUMENT_START_EVENT:
            if (started)
                return refuse(loader, event.start_mark, "a second document starts here, a file holds one campaign");
            started = true;
            break;
        case YAML_STREAM_END_EVENT:
            if (!started)
                return err_set(loader->err, ERR_USAGE, "%s:1:1: the file is empty", loader->file);
            return 0;
        default:
            status = read_value(loader, &event, 1, root);
            if (status < 0)
                return status;
        }
    }
}

int yaml_document_parse(const char *file, const char *text, size_t length, struct arena *arena, const struct yaml_value **root,
                        struct err *err)
{
    if (length > YAML_DOCUMENT_BYTES_MAX)
        return err_set(err, ERR_USAGE, "%s:1:1: the file has %zu bytes, allowed are %d", file, length, YAML_DOCUMENT_BYTES_MAX);
    if (length >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        return err_set(err, ERR_USAGE, "%s:1:1: this is text in UTF-16; save it as UTF-8, or: iconv -f UTF-16 -t UTF-8", file);
    const size_t mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    cleanup(loader_free) struct loader loader = {
        .file = file, .text = text + mark, .length = length - mark, .mark_bytes = mark, .arena = arena, .err = err};
    if (!yaml_parser_initialize(&loader.parser))
        return err_set(err, ERR_HOST, "%s: out of memory while reading YAML", file);
    /* It would read UTF-16, too, but a database keeps the text as it is, and as UTF-8. */
    yaml_parser_set_encoding(&loader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&loader.parser, (const unsigned char *)loader.text, loader.length);
    struct yaml_value *tree = NULL;
    int status = read_stream(&loader, &tree);
    if (status < 0)
        return status;
    *root = tree;
    return 0;
}

const struct yaml_value *yaml_document_child(const struct yaml_value *mapping, const char *key)
{
    for (const struct yaml_value *child = mapping->first; child; child = child->next)
        if (child->key && strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

int yaml_document_is_null(const struct yaml_value *value)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
        if (value->shape == YAML_SHAPE_SCALAR && strcmp(value->text, nulls[i]) == 0)
            return 1;
    return 0;
}

size_t yaml_document_unprintable(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x20 || p[0] == 0x7f)
        return 1;
    if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) /* U+0080 .. U+009F */
        return 2;
    bool is_separator_or_direction = p[0] == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) || /* U+2028 .. U+202E */
                                                      (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));  /* U+2066 .. U+2069 */
    bool is_byte_order_mark = p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf;
    return is_separator_or_direction || is_byte_order_mark ? 3 : 0;
}

struct yaml_printable yaml_document_printable(const char *text)
{
    enum { SHOWN = 76 };
    struct yaml_printable printable;
    size_t length = 0;
    while (*text && length < SHOWN) {
        size_t unprintable = yaml_document_unprintable(text);
        printable.text[length++] = unprintable ? '?' : *text;
        text += unprintable ? unprintable : 1;
    }
    if (*text) {
        while (length > 0 && (*text & 0xc0) == 0x80) /* not in the middle of a character */
            text--, length--;
        memcpy(printable.text + length, "...", 3);
        length += 3;
    }
    printable.text[length] = '\0';
    return printable;
}
