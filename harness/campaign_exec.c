/* campaign_exec.c: workload.exec, an outside program and its arguments: [iperf3, -c, 10.0.0.2]. Whether this host has the program
 * is asked when a campaign runs (program_path.h), not when its file is read. */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

enum { WORDS_MAX = 1000, BYTES_MAX = 65536 };

static const char example[] = "[iperf3, -c, 10.0.0.2]";

/* Words may have several lines, as the scripts behind `sh -c` do. */
static size_t unprintable_at(const char *word)
{
    for (size_t i = 0; word[i]; i++)
        if (yaml_document_unprintable(word + i) && word[i] != '\n' && word[i] != '\t')
            return i + 1;
    return 0;
}

static int read_words(const struct reader *reader, const struct yaml_value *list, const char *key, const char **words)
{
    size_t bytes = 0;
    for (const struct yaml_value *child = list->first; child; child = child->next) {
        if (child->shape != YAML_SHAPE_SCALAR)
            return campaign_fail(reader, child, key, "found a %s, a word is needed: %s",
                                 child->shape == YAML_SHAPE_LIST ? "list" : "mapping", example);
        if (unprintable_at(child->text))
            return campaign_fail(reader, child, key, "found '%s', which holds a control character",
                                 yaml_document_printable(child->text).text);
        bytes += strlen(child->text) + 1;
        if (bytes > BYTES_MAX)
            return campaign_fail(reader, child, key, "up to here the command has %zu bytes, allowed are %d", bytes, BYTES_MAX);
        *words++ = arena_strdup(reader->arena, child->text);
    }
    return 0;
}

static int read_command(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                        const char *key, struct settings *settings)
{
    (void)field;
    if (value->shape != YAML_SHAPE_LIST || value->count == 0)
        return campaign_fail(reader, value, key, "a list is needed, the program and its arguments: %s", example);
    if (value->count > WORDS_MAX)
        return campaign_fail(reader, value, key, "found a list of %d words, allowed are %d", value->count, WORDS_MAX);
    const char **words = arena_new_array(reader->arena, const char *, (size_t)value->count + 1);
    int status = read_words(reader, value, key, words);
    if (status < 0)
        return status;
    if (!words[0][0])
        return campaign_fail(reader, value->first, key, "found nothing where the program is to be named");
    settings->workload.exec =
        (struct outside_command){.words = words, .count = value->count, .line = value->first->line, .column = value->first->column};
    return 0;
}

static bool spell_command(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    const struct outside_command *command = &settings->workload.exec;
    for (int i = 0; i < command->count; i++) {
        text_add(out, i ? ", " : "[");
        campaign_spell_string(command->words[i], out);
    }
    if (command->count > 0)
        text_add(out, "]");
    return command->count > 0;
}

static void allowed_command(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_printf(out, "list of 1 to %d words", WORDS_MAX);
}

static void schema_command(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    json_integer(json, "maxItems", WORDS_MAX);
    json_begin_object(json, "items");
    json_begin_array(json, "type");
    json_string(json, NULL, "string");
    json_string(json, NULL, "number");
    json_string(json, NULL, "boolean");
    json_end_array(json);
    json_end_object(json);
}

const struct field_operations campaign_command_operations = {
    .read = read_command,
    .spell = spell_command,
    .allowed = allowed_command,
    .schema = schema_command,
};
