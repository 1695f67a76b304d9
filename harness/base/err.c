/* err.c: writes the sentence of an error; knows the exit code of each kind. */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static_assert(ERR_KIND_COUNT == 6, "a kind was added: give it an exit code below");

/* Moves a formatted text into the error. Formatting always goes through a buffer of its own, because an argument may point into the
 * very text that is being replaced. `wanted` is what snprintf returned. */
static void store(struct err *err, enum err_kind kind, char buffer[static sizeof(err->text)], int wanted)
{
    if (wanted < 0)
        snprintf(buffer, sizeof(err->text), "(a message that cannot be formatted)");
    else if ((size_t)wanted >= sizeof(err->text)) {
        size_t end = sizeof(err->text) - sizeof("...");
        while (end > 0 && ((unsigned char)buffer[end] & 0xc0) == 0x80) /* do not cut a code point in two */
            end--;
        memcpy(buffer + end, "...", sizeof("..."));
    }
    size_t length = strlen(buffer);
    while (length > 0 && buffer[length - 1] == '\n')
        length--;
    memcpy(err->text, buffer, length);
    err->text[length] = '\0';
    err->kind = kind;
}

int err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
    assert(kind > ERR_NONE && kind < ERR_KIND_COUNT);
    if (!err)
        return -(int)kind;
    char buffer[sizeof(err->text)];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(buffer, sizeof(buffer), format, arguments);
    va_end(arguments);
    store(err, kind, buffer, wanted);
    return -(int)kind;
}

int err_set_errno(struct err *err, enum err_kind kind, int error_number, const char *format, ...)
{
    assert(kind > ERR_NONE && kind < ERR_KIND_COUNT);
    if (!err)
        return -(int)kind;
    char buffer[sizeof(err->text)];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(buffer, sizeof(buffer), format, arguments);
    va_end(arguments);
    if (wanted >= 0 && (size_t)wanted < sizeof(buffer)) {
        char reason[128];
        int added =
            snprintf(buffer + wanted, sizeof(buffer) - (size_t)wanted, ": %s", strerror_r(error_number, reason, sizeof(reason)));
        wanted = added < 0 ? added : wanted + added;
    }
    store(err, kind, buffer, wanted);
    return -(int)kind;
}

int err_wrap(struct err *err, const char *format, ...)
{
    if (!err)
        return -ERR_HOST;
    enum err_kind kind = err->kind > ERR_NONE && err->kind < ERR_KIND_COUNT ? err->kind : ERR_HOST;
    char buffer[sizeof(err->text)];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(buffer, sizeof(buffer), format, arguments);
    va_end(arguments);
    if (wanted >= 0 && (size_t)wanted < sizeof(buffer)) {
        int added = snprintf(buffer + wanted, sizeof(buffer) - (size_t)wanted, ": %s", err->text);
        wanted = added < 0 ? added : wanted + added;
    }
    store(err, kind, buffer, wanted);
    return -(int)kind;
}

int err_exit_code(enum err_kind kind)
{
    switch (kind) {
    case ERR_NONE:
        return 0;
    case ERR_USAGE:
        return 2;
    case ERR_HOST:
        return 3;
    case ERR_TRIAL:
        return 4;
    case ERR_BASELINE:
        return 6;
    case ERR_INTERRUPTED:
        return 130;
    case ERR_KIND_COUNT:
        break;
    }
    return 3;
}
