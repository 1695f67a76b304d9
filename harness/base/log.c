/* log.c: messages to standard error, one write() each, so that lines of several processes do not mix. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level highest_level = LOG_WARNING;
static const char *line_prefix = "laggard";

void log_set_level(enum log_level level)
{
    highest_level = level;
}

void log_set_prefix(const char *prefix)
{
    line_prefix = prefix;
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
