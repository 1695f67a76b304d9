/* log.c: messages to standard error, one write() each, so that lines of several processes do not mix. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum log_level highest_level = LOG_WARNING;
static const char *line_prefix = "laggard";

void log_set_level(enum log_level level)
{
    highest_level = level;
}

void log_follow_environment(void)
{
    static const char *const names[] = {[LOG_ERROR] = "error", [LOG_WARNING] = "warning", [LOG_DEBUG] = "debug"};
    const char *asked = getenv("LAGGARD_LOG");
    if (!asked || !asked[0])
        return;
    for (int level = LOG_ERROR; level <= LOG_DEBUG; level++)
        if (strcmp(asked, names[level]) == 0) {
            highest_level = (enum log_level)level;
            return;
        }
    log_warning("LAGGARD_LOG: found '%s', allowed are error, warning, debug; warnings it is", asked);
}

void log_set_prefix(const char *prefix)
{
    line_prefix = prefix;
}

/* A name or a file's bytes inside a message cannot end its line or command a terminal: control characters, also the two-byte ones
 * (U+0080 to U+009F), become question marks, and what only parts words a blank. */
static void make_one_line(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i], next = i + 1 < length ? (unsigned char)text[i + 1] : 0;
        if (byte == '\n' || byte == '\t')
            text[i] = ' ';
        else if (byte < 0x20 || byte == 0x7f)
            text[i] = '?';
        else if (byte == 0xc2 && next >= 0x80 && next < 0xa0)
            text[i] = text[i + 1] = '?';
    }
}

void log_message(enum log_level level, const char *format, ...)
{
    static const char *const labels[] = {[LOG_ERROR] = "error: ", [LOG_WARNING] = "warning: ", [LOG_DEBUG] = "debug: "};
    if (level > highest_level)
        return;
    int saved_errno = errno;
    char line[4096];
    size_t room = sizeof(line) - 1; /* the newline's place is kept */
    int head = snprintf(line, room, "%s: %s", line_prefix, labels[level]);
    size_t length = head < 0 ? 0 : (size_t)head < room ? (size_t)head : room - 1;
    va_list arguments;
    va_start(arguments, format);
    int body = vsnprintf(line + length, room - length, format, arguments);
    va_end(arguments);
    if (body > 0)
        length = (size_t)body < room - length ? length + (size_t)body : room - 1;
    make_one_line(line, length);
    line[length++] = '\n';
    for (size_t written = 0; written < length;) {
        ssize_t count = write(STDERR_FILENO, line + written, length - written);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break; /* there is nowhere left to complain to */
        written += (size_t)count;
    }
    errno = saved_errno;
}
