/* campaign_reader.c: what every reader of a part of a campaign file needs: sentences with their place, names, keys that nobody
 * knows. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

enum { NAME_BYTES_MAX = 80, PATH_BYTES_MAX = 1024 };

/* Whoever quotes the file in a sentence, whole or in part, by way of a parser of values or of a file that it names: what cannot be
 * shown is not. */
static void make_printable(char *sentence)
{
    char *to = sentence;
    for (const char *from = sentence; *from; to++) {
        const size_t unprintable = yaml_document_unprintable(from);
        *to = unprintable ? '?' : *from;
        from += unprintable ? unprintable : 1;
    }
    *to = '\0';
}

static int fail_at(const struct reader *reader, int line, int column, const char *key, char *sentence)
{
    make_printable(sentence);
    return err_set(reader->err, ERR_USAGE, "%s:%d:%d: %s%s%s%s%s%s", reader->file, line, column, key ? key : "", key ? ": " : "",
                   sentence, reader->cell ? " (cell '" : "", reader->cell ? reader->cell : "", reader->cell ? "')" : "");
}

int campaign_fail(const struct reader *reader, const struct yaml_value *at, const char *key, const char *format, ...)
{
    char sentence[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return fail_at(reader, at->line, at->column, key, sentence);
}

int campaign_fail_key(const struct reader *reader, const struct yaml_value *at, const char *key, const char *format, ...)
{
    char sentence[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return fail_at(reader, at->key ? at->key_line : at->line, at->key ? at->key_column : at->column, key, sentence);
}

const char *campaign_suggest(struct arena *arena, const char *word, const char *const *candidates, size_t count)
{
    const char *near = options_nearest(word, candidates, count);
    return near ? arena_printf(arena, ", did you mean '%s'?", near) : ".";
}

int campaign_need_scalar(const struct reader *reader, const struct yaml_value *value, const char *key)
{
    if (value->shape != YAML_SHAPE_SCALAR)
        return campaign_fail(reader, value, key, "found a %s, one value is needed",
                             value->shape == YAML_SHAPE_LIST ? "list (values to sweep stand below 'matrix')" : "mapping");
    if (yaml_document_is_null(value))
        return campaign_fail(reader, value, key, "found nothing, a value is needed");
    return 0;
}

int campaign_need_list(const struct reader *reader, const struct yaml_value *value, const char *key, const char *example, int most)
{
    if (value->shape != YAML_SHAPE_LIST)
        return campaign_fail(reader, value, key, "a list is needed: %s", example);
    if (value->count > most)
        return campaign_fail(reader, value, key, "found a list of %d, allowed are %d", value->count, most);
    return 0;
}

int campaign_read_name(const struct reader *reader, const struct yaml_value *value, const char *key, const char **name)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status == 0 && (!*value->text || strlen(value->text) > NAME_BYTES_MAX))
        return campaign_fail(reader, value, key, "a name or an index is needed, at most %d characters", NAME_BYTES_MAX);
    if (status == 0)
        *name = arena_strdup(reader->arena, value->text);
    return status;
}

int campaign_read_path(const struct reader *reader, const struct yaml_value *value, const char *key, const char **path,
                       const char **written)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    size_t length = strlen(value->text);
    if (length == 0 || length > PATH_BYTES_MAX)
        return campaign_fail(reader, value, key, "found a path of %zu characters, allowed are 1 to %d", length, PATH_BYTES_MAX);
    const char *slash = strrchr(reader->file, '/');
    *written = arena_strdup(reader->arena, value->text);
    if (value->text[0] == '/' || !slash)
        *path = *written;
    else
        *path = arena_printf(reader->arena, "%.*s/%s", (int)(slash - reader->file), reader->file, value->text);
    return 0;
}

void campaign_note_file(const struct reader *reader, const char *path, const char *written)
{
    if (!reader->files)
        return;
    for (const struct plan_file *file = *reader->files; file; file = file->next)
        if (strcmp(file->path, path) == 0)
            return;
    struct plan_file *file = arena_new_object(reader->arena, struct plan_file);
    *file = (struct plan_file){.path = path, .written = written, .next = *reader->files};
    *reader->files = file;
}

int campaign_unknown_key(const struct reader *reader, const struct yaml_value *child, const char *key, const char *const *keys,
                         size_t count)
{
    cleanup(text_free) struct text list = {0};
    for (size_t i = 0; i < count; i++)
        text_printf(&list, "%s%s", i ? ", " : "", keys[i]);
    return campaign_fail_key(reader, child, key, "unknown key '%s'%s Known are: %s", yaml_document_printable(child->key).text,
                             campaign_suggest(reader->arena, child->key, keys, count), list.bytes);
}
