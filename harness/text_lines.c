/* text_lines.c: lines and words with their places; see text_lines.h. */
#include "harness/text_lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

int text_lines_refuse(const struct text_lines *lines, int column, struct err *err, const char *format, ...)
{
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return err_set(err, ERR_USAGE, "%s:%d:%d: %s", lines->file, lines->line, column, sentence);
}

bool text_lines_next(struct text_lines *lines, const char **line, size_t *length)
{
    if (lines->at == lines->end)
        return false;
    const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    *line = lines->at;
    *length = (size_t)((newline ? newline : lines->end) - lines->at);
    lines->at = newline ? newline + 1 : lines->end;
    lines->line++;
    if (*length > 0 && (*line)[*length - 1] == '\r')
        --*length;
    return true;
}

bool text_lines_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool text_lines_left_out(const char *line, size_t length)
{
    while (length > 0 && text_lines_is_blank(*line))
        line++, length--;
    return length == 0 || *line == '#';
}

int text_lines_word(const struct text_lines *lines, const char *line, size_t from, size_t to, struct text_word *word,
                    struct err *err)
{
    while (from < to && text_lines_is_blank(line[from]))
        from++;
    while (to > from && text_lines_is_blank(line[to - 1]))
        to--;
    word->column = (int)from + 1;
    if (to - from > TEXT_WORD_MOST)
        return text_lines_refuse(lines, word->column, err, "found %zu characters where a number is needed", to - from);
    for (size_t i = from; i < to; i++)
        if (line[i] < ' ' || line[i] > '~') /* above ASCII, too, where char has a sign or none */
            return text_lines_refuse(lines, (int)i + 1, err, "found the byte 0x%02x where a number or a name is needed",
                                     (unsigned char)line[i]);
    memcpy(word->text, line + from, to - from);
    word->text[to - from] = '\0';
    return 0;
}
