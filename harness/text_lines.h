/* harness/text_lines.h: the lines and words of a small text file that a campaign names, with their places for messages. Pure. */
#ifndef LAGGARD_HARNESS_TEXT_LINES_H
#define LAGGARD_HARNESS_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct err;

enum { TEXT_WORD_MOST = 63 };
struct text_lines {
    const char *file, *at, *end;
    int line; /* of the last one that was taken; 0: none yet */
};
struct text_word {
    char text[TEXT_WORD_MOST + 1];
    int column; /* from 1 */
};

/* "file:line:column: sentence", ERR_USAGE. */
int text_lines_refuse(const struct text_lines *lines, int column, struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The next line without its end; false: there is none. */
bool text_lines_next(struct text_lines *lines, const char **line, size_t *length);
bool text_lines_is_blank(char c);
/* Whether nothing is on a line, or a remark, which begins with '#'. */
bool text_lines_left_out(const char *line, size_t length);
/* Bytes [from, to) of a line without the blanks around them, in printable ASCII. */
int text_lines_word(const struct text_lines *lines, const char *line, size_t from, size_t to, struct text_word *word,
                    struct err *err);

#endif
