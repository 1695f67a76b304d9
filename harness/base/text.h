/* text.h: a growing string on the heap, and the small writer of JSON on top of it. Out of memory ends the process. */
#ifndef LAGGARD_BASE_TEXT_H
#define LAGGARD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes; /* always NUL-terminated once something was added; NULL while empty */
    size_t length, capacity;
};

void text_free(struct text *text);  /* also for cleanup() */
void text_clear(struct text *text); /* empty, its memory kept for what comes next */
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
/* Bytes from anywhere as UTF-8 without NUL: what is neither becomes U+FFFD, a byte each. bytes[length] must be there and no
 * continuation byte, as the NUL behind a string. */
void text_add_utf8(struct text *text, const char *bytes, size_t length);
/* A string from anywhere as one line that every terminal, log and XML parser takes as letters: `instead` in place of each control
 * character (C0, DEL, C1) and of U+FFFE and U+FFFF, U+FFFD in place of what is not UTF-8. NULL: nothing. */
void text_add_line(struct text *text, const char *string, char instead);
/* Of the well-formed UTF-8 sequence at the place, in bytes, or 0. Overlong forms, surrogates and what lies above U+10FFFF are not
 * well-formed; does not read past a NUL. */
size_t text_sequence_length(const char *utf8);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Pads with spaces until the text's display width (UTF-8 code points) since column 0 of its last line is `column`. */
void text_pad_to(struct text *text, size_t column);
size_t text_width(const char *utf8); /* display columns: code points, combining marks not counted */

/* JSON. Commas and colons are placed by the writer; keys may be NULL inside an array or at top level. Strings are escaped; bytes
 * that are not UTF-8 become U+FFFD. A double that is not finite becomes null. */
struct json {
    struct text *out;
    unsigned depth;
    bool need_comma;
};
void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);
void json_string(struct json *json, const char *key, const char *value); /* NULL value becomes null */
void json_integer(struct json *json, const char *key, int64_t value);
void json_double(struct json *json, const char *key, double value); /* shortest form that reads back the same */
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif
