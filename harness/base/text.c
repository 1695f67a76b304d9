/* text.c: a growing string on the heap. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

static _Noreturn void out_of_memory(size_t bytes)
{
    fprintf(stderr, "laggard: out of memory (a text of %zu bytes)\n", bytes);
    _exit(err_exit_code(ERR_HOST));
}

void text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

void text_clear(struct text *text)
{
    text->length = 0;
    if (text->bytes)
        text->bytes[0] = '\0';
}

/* Makes room for `more` bytes and the NUL. */
static void reserve(struct text *text, size_t more)
{
    if (more > (size_t)PTRDIFF_MAX - 1 - text->length)
        out_of_memory(more);
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return;
    size_t capacity = text->capacity < 64 ? 64 : text->capacity + text->capacity / 2;
    if (capacity < needed)
        capacity = needed;
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes)
        out_of_memory(capacity);
    text->bytes = bytes;
    text->capacity = capacity;
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    reserve(text, length);
    if (length)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

size_t text_sequence_length(const char *utf8)
{
    const unsigned char *p = (const unsigned char *)utf8;
    size_t length = p[0] < 0x80                   ? 1
                    : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                    : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                    : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++) /* a NUL ends this, too */
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] >= 0x90))
        return 0;
    return length;
}

void text_add_utf8(struct text *text, const char *bytes, size_t length)
{
    const char *good = bytes, *p = bytes, *end = bytes + length;
    while (p < end) {
        size_t sequence = *p ? text_sequence_length(p) : 0;
        if (sequence > 0) {
            p += sequence;
            continue;
        }
        text_add_bytes(text, good, (size_t)(p - good));
        text_add(text, "\xef\xbf\xbd");
        good = ++p;
    }
    text_add_bytes(text, good, (size_t)(p - good));
}

/* Of the well-formed sequence at the place. */
static bool is_control(const char *utf8)
{
    const unsigned char *c = (const unsigned char *)utf8;
    return c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0) || (c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe);
}

void text_add_line(struct text *text, const char *string, char instead)
{
    struct text utf8 = {0};
    if (string)
        text_add_utf8(&utf8, string, strlen(string));
    for (const char *c = utf8.bytes ? utf8.bytes : ""; *c;) {
        size_t length = text_sequence_length(c);
        if (is_control(c))
            text_add_bytes(text, &instead, 1);
        else
            text_add_bytes(text, c, length);
        c += length;
    }
    text_free(&utf8);
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    reserve(text, 63);
    size_t room = text->capacity - text->length;
    int length = vsnprintf(text->bytes + text->length, room, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length >= room) {
        reserve(text, (size_t)length);
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
    }
    va_end(again);
    if (length > 0)
        text->length += (size_t)length;
    text->bytes[text->length] = '\0';
}

/* Reads one code point at `*cursor` and moves past it; a byte that is not UTF-8 counts as a code point of its own. */
static uint32_t next_code_point(const unsigned char **cursor)
{
    const unsigned char *p = *cursor;
    uint32_t code = *p++;
    int following = code >= 0xf0 && code < 0xf8 ? 3 : code >= 0xe0 && code < 0xf0 ? 2 : code >= 0xc0 && code < 0xe0 ? 1 : 0;
    if (following)
        code &= 0x3fu >> following;
    for (; following && (*p & 0xc0) == 0x80; following--)
        code = code << 6 | (*p++ & 0x3fu);
    *cursor = p;
    return code;
}

static bool is_combining(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x0300, 0x036f}, /* combining diacritical marks */
        {0x0483, 0x0489}, /* Cyrillic */
        {0x0591, 0x05bd}, /* Hebrew points */
        {0x064b, 0x065f}, /* Arabic marks */
        {0x1ab0, 0x1aff}, /* marks, extended */
        {0x1dc0, 0x1dff}, /* marks, supplement */
        {0x200b, 0x200f}, /* zero width space, joiners, direction marks */
        {0x20d0, 0x20ff}, /* marks for symbols */
        {0xfe00, 0xfe0f}, /* variation selectors */
        {0xfe20, 0xfe2f}, /* half marks */
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

size_t text_width(const char *utf8)
{
    size_t width = 0;
    for (const unsigned char *cursor = (const unsigned char *)utf8; *cursor;)
        if (!is_combining(next_code_point(&cursor)))
            width++;
    return width;
}

void text_pad_to(struct text *text, size_t column)
{
    reserve(text, 0);
    text->bytes[text->length] = '\0';
    const char *newline = memrchr(text->bytes, '\n', text->length);
    for (size_t width = text_width(newline ? newline + 1 : text->bytes); width < column; width++)
        text_add_bytes(text, " ", 1);
}
