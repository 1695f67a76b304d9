/* options.c: command lines from one table, over getopt_long. Values are first collected and checked, and stored into the target
 * only when the whole command line is right. */
#include "base/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"

static_assert(OPTION_TYPE_COUNT == 6, "a type was added: parse, store and describe it");

enum {
    LONG_BASE = 256,
    HELP_VALUE = 1 << 20,
    POSITIONAL_VALUE = 1,
    NEAREST_BYTES_MAX = 64
}; /* getopt values: letters lie below LONG_BASE */

struct value {
    const struct option_row *row;
    union {
        const char *string;
        int64_t integer;
        uint64_t unsigned_integer;
        int choice;
    } as;
};

static size_t row_count(const struct option_table *table)
{
    size_t count = 0;
    while (table->rows && table->rows[count].name)
        count++;
    return count;
}

static bool has_limits(const struct option_row *row)
{
    return row->minimum != 0 || row->maximum != 0;
}

static size_t choice_count(const struct option_row *row)
{
    size_t count = 0;
    while (row->choices[count])
        count++;
    return count;
}

/* Levenshtein's distance, one row of the table at a time. */
static size_t edit_distance(const char *a, const char *b, size_t b_length)
{
    size_t rows[3][NEAREST_BYTES_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = j;
    for (size_t i = 0; a[i]; i++) {
        row[0] = i + 1;
        for (size_t j = 0; j < b_length; j++) {
            size_t distance = last[j] + (a[i] != b[j]);
            distance = distance < last[j + 1] + 1 ? distance : last[j + 1] + 1;
            distance = distance < row[j] + 1 ? distance : row[j] + 1;
            /* Two letters changed about are one slip of the fingers. */
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] && before[j - 1] + 1 < distance)
                distance = before[j - 1] + 1;
            row[j + 1] = distance;
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b_length];
}

const char *options_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word);
    size_t nearest = (length + 2) / 3 + 1; /* one past the farthest that is still near: a third of the letters may be wrong */
    const char *found = NULL;
    for (size_t i = 0; i < count && length <= NEAREST_BYTES_MAX; i++) {
        size_t candidate_length = strlen(candidates[i]);
        const size_t differ = candidate_length > length ? candidate_length - length : length - candidate_length;
        if (candidate_length > NEAREST_BYTES_MAX || differ >= nearest) /* so many letters at least are wrong */
            continue;
        size_t distance = edit_distance(word, candidates[i], candidate_length);
        if (distance < nearest && distance < length) {
            nearest = distance;
            found = candidates[i];
        }
    }
    return found;
}

static int parse_choice(const struct option_row *row, const char *argument, int *choice, struct err *err)
{
    size_t count = choice_count(row);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(argument, row->choices[i]) == 0) {
            *choice = (int)i;
            return 0;
        }
    }
    cleanup(text_free) struct text allowed = {0};
    for (size_t i = 0; i < count; i++)
        text_printf(&allowed, " %s", row->choices[i]);
    const char *near = options_nearest(argument, row->choices, count);
    if (near)
        return err_set(err, ERR_USAGE, "found '%.60s', did you mean '%s'? Allowed are:%s", argument, near, allowed.bytes);
    return err_set(err, ERR_USAGE, "found '%.60s', allowed are:%s", argument, count ? allowed.bytes : " none");
}

static int parse_value(const struct option_row *row, const char *argument, struct value *value, struct err *err)
{
    bool limits = has_limits(row);
    value->row = row;
    switch (row->type) {
    case OPTION_FLAG:
        return 0;
    case OPTION_STRING:
        value->as.string = argument;
        return 0;
    case OPTION_INTEGER:
        return units_parse_integer(argument, limits ? row->minimum : INT64_MIN, limits ? row->maximum : INT64_MAX,
                                   &value->as.integer, err);
    case OPTION_UNSIGNED:
        return units_parse_unsigned(argument, limits ? (uint64_t)row->minimum : 0, limits ? (uint64_t)row->maximum : UINT64_MAX,
                                    &value->as.unsigned_integer, err);
    case OPTION_TIME:
        return units_parse_time(argument, limits ? row->minimum : 0, limits ? row->maximum : INT64_MAX, &value->as.integer, err);
    case OPTION_CHOICE:
        return parse_choice(row, argument, &value->as.choice, err);
    case OPTION_TYPE_COUNT:
        break;
    }
    return err_set(err, ERR_USAGE, "has a type that the parser does not know");
}

static void store_value(const struct value *value, char *target)
{
    char *place = target + value->row->offset;
    if (value->row->given)
        *(bool *)(target + value->row->given) = true;
    switch (value->row->type) {
    case OPTION_FLAG:
        *(bool *)place = true;
        break;
    case OPTION_STRING:
        *(const char **)place = value->as.string;
        break;
    case OPTION_INTEGER:
    case OPTION_TIME:
        *(int64_t *)place = value->as.integer;
        break;
    case OPTION_UNSIGNED:
        *(uint64_t *)place = value->as.unsigned_integer;
        break;
    case OPTION_CHOICE:
        *(int *)place = value->as.choice;
        break;
    case OPTION_TYPE_COUNT:
        break;
    }
}

/* getopt's own two tables, made from ours. */
struct getopt_tables {
    struct option *long_options;
    struct text short_options;
};

static void getopt_tables_free(struct getopt_tables *tables)
{
    free(tables->long_options);
    text_free(&tables->short_options);
}

static bool make_getopt_tables(const struct option_table *table, struct getopt_tables *tables)
{
    size_t count = row_count(table);
    tables->long_options = calloc(count + 2, sizeof(*tables->long_options));
    if (!tables->long_options)
        return false;
    if (table->command_position > 0)
        text_add(&tables->short_options, "-"); /* positional arguments are told one by one */
    text_add(&tables->short_options, ":");     /* a missing value is told apart from an unknown option */
    bool letter_h_is_free = true;
    for (size_t i = 0; i < count; i++) {
        const struct option_row *row = &table->rows[i];
        int takes_value = row->type == OPTION_FLAG ? no_argument : required_argument;
        tables->long_options[i] = (struct option){.name = row->name, .has_arg = takes_value, .val = LONG_BASE + (int)i};
        if (row->letter)
            text_printf(&tables->short_options, "%c%s", row->letter, takes_value == required_argument ? ":" : "");
        letter_h_is_free = letter_h_is_free && row->letter != 'h';
    }
    tables->long_options[count] = (struct option){.name = "help", .has_arg = no_argument, .val = HELP_VALUE};
    if (letter_h_is_free)
        text_add(&tables->short_options, "h");
    return true;
}

static const struct option_row *row_of(const struct option_table *table, int getopt_value)
{
    size_t count = row_count(table);
    if (getopt_value >= LONG_BASE && (size_t)(getopt_value - LONG_BASE) < count)
        return &table->rows[getopt_value - LONG_BASE];
    for (size_t i = 0; i < count; i++)
        if (table->rows[i].letter && table->rows[i].letter == getopt_value)
            return &table->rows[i];
    return NULL;
}

static int unknown_option(const struct option_table *table, const char *word, struct err *err)
{
    const char *command = table->command;
    if (optopt >= LONG_BASE) { /* a flag that was given a value */
        const struct option_row *row = row_of(table, optopt);
        return err_set(err, ERR_USAGE, "%s: option --%s takes no value, found '%.60s'", command, row ? row->name : "help", word);
    }
    if (optopt)
        return err_set(err, ERR_USAGE, "%s: unknown option '-%c' (laggard %s --help lists them)", command, optopt, command);
    char name[NEAREST_BYTES_MAX + 1];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    size_t count = row_count(table), matches = 0;
    cleanup(text_free) struct text matching = {0};
    cleanup(free_pointer) const char **names = calloc(count + 1, sizeof(*names));
    for (size_t i = 0; names && i < count; i++) {
        names[i] = table->rows[i].name;
        if (strncmp(names[i], name, strlen(name)) == 0) {
            matches++;
            text_printf(&matching, " --%s", names[i]);
        }
    }
    if (matches > 1)
        return err_set(err, ERR_USAGE, "%s: option '--%s' could be any of:%s", command, name, matching.bytes);
    const char *near = names ? options_nearest(name, names, count) : NULL;
    if (near)
        return err_set(err, ERR_USAGE, "%s: unknown option '--%s', did you mean '--%s'?", command, name, near);
    return err_set(err, ERR_USAGE, "%s: unknown option '--%s' (laggard %s --help lists them)", command, name, command);
}

static int check_positional(const struct option_table *table, int count, char *const *argv, struct err *err)
{
    if (count < table->positional_minimum)
        return err_set(err, ERR_USAGE, "%s: found %d argument%s, at least %d needed; usage: laggard %s %s", table->command, count,
                       units_plural(count), table->positional_minimum, table->command, table->usage);
    if (table->positional_maximum >= 0 && count > table->positional_maximum)
        return err_set(err, ERR_USAGE, "%s: found '%.60s', which is one argument too many; usage: laggard %s %s", table->command,
                       argv[table->positional_maximum], table->command, table->usage);
    return 0;
}

int options_parse(const struct option_table *table, int argc, char **argv, void *target, int *positional_count, struct err *err)
{
    cleanup(getopt_tables_free) struct getopt_tables tables = {0};
    cleanup(free_pointer) struct value *values = calloc((size_t)argc + 1, sizeof(*values));
    cleanup(free_pointer) char **positional = calloc((size_t)argc + 1, sizeof(*positional)); /* those that getopt told of */
    size_t capacity = (size_t)argc + 1, value_count = 0;
    int told = 0;
    if (!values || !positional || !make_getopt_tables(table, &tables))
        return err_set(err, ERR_HOST, "out of memory");
    opterr = 0;
    optind = 0; /* glibc: start afresh, forgetting an earlier command line */
    int found;
    while ((found = getopt_long(argc, argv, tables.short_options.bytes, tables.long_options, NULL)) != -1) {
        if (found == POSITIONAL_VALUE) {
            positional[told++] = optarg;
            if (told <= table->command_position)
                continue;
            break;
        }
        const struct option_row *row = row_of(table, found == ':' ? optopt : found);
        if (found == '?')
            return unknown_option(table, argv[optind - 1], err);
        if (found == ':')
            return err_set(err, ERR_USAGE, "%s: option --%s needs a value: %s", table->command, row ? row->name : "?",
                           row && row->value_name ? row->value_name : "VALUE");
        if (!row) {
            options_print_help(table, stdout);
            return 1;
        }
        if (value_count == capacity) { /* "-vvvv": more options than words */
            struct value *grown = reallocarray(values, 2 * capacity, sizeof(*values));
            if (!grown)
                return err_set(err, ERR_HOST, "out of memory");
            values = grown;
            capacity *= 2;
        }
        int status = parse_value(row, optarg, &values[value_count], err);
        if (status < 0) {
            err_wrap(err, "%s: option --%s", table->command, row->name);
            return status;
        }
        value_count++;
    }
    int count = told + argc - optind;
    for (int i = 0; i < argc - optind; i++)
        positional[told + i] = argv[optind + i];
    int status = check_positional(table, count, positional, err);
    if (status < 0)
        return status;
    for (size_t i = 0; i < value_count; i++)
        store_value(&values[i], target);
    *positional_count = count;
    memcpy(argv, positional, ((size_t)count + 1) * sizeof(*argv)); /* with a NULL at the end */
    return 0;
}

static void describe_values(const struct option_row *row, struct text *line)
{
    char low[UNITS_TEXT_BYTES], high[UNITS_TEXT_BYTES];
    if (row->type == OPTION_CHOICE) {
        text_add(line, " (");
        for (size_t i = 0; row->choices[i]; i++)
            text_printf(line, "%s%s", i ? ", " : "", row->choices[i]);
        text_add(line, ")");
        return;
    }
    bool is_number = row->type == OPTION_INTEGER || row->type == OPTION_UNSIGNED || row->type == OPTION_TIME;
    if (!is_number || !has_limits(row))
        return;
    if (row->type == OPTION_TIME) {
        units_spell_time(low, sizeof(low), row->minimum);
        units_spell_time(high, sizeof(high), row->maximum);
    } else {
        snprintf(low, sizeof(low), "%lld", (long long)row->minimum);
        snprintf(high, sizeof(high), "%lld", (long long)row->maximum);
    }
    if (row->maximum == INT64_MAX)
        text_printf(line, " (%s or more)", low);
    else
        text_printf(line, " (%s to %s)", low, high);
}

void options_print_help(const struct option_table *table, FILE *stream)
{
    enum { HELP_COLUMN = 28 };
    cleanup(text_free) struct text help = {0};
    text_printf(&help, "Usage: laggard %s %s\n\n%s\n\nOptions:\n", table->command, table->usage, table->summary);
    size_t count = row_count(table);
    bool letter_h_is_free = true;
    for (size_t i = 0; i < count; i++) {
        const struct option_row *row = &table->rows[i];
        letter_h_is_free = letter_h_is_free && row->letter != 'h';
        if (row->letter)
            text_printf(&help, "  -%c, --%s", row->letter, row->name);
        else
            text_printf(&help, "      --%s", row->name);
        if (row->type != OPTION_FLAG)
            text_printf(&help, " %s", row->value_name ? row->value_name : "VALUE");
        text_add(&help, "  ");
        text_pad_to(&help, HELP_COLUMN);
        text_add(&help, row->help);
        describe_values(row, &help);
        text_add(&help, "\n");
    }
    text_add(&help, letter_h_is_free ? "  -h, --help  " : "      --help  ");
    text_pad_to(&help, HELP_COLUMN);
    text_add(&help, "show this help\n");
    fputs(help.bytes, stream);
}
