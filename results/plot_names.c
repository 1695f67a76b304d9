/* results/plot_names.c: see plot_names.h.
 *
 * Labels of one campaign have the same settings in the same order, so that names are a table: a column a setting, one for the
 * arm, one for the node. What is too wide becomes narrower column by column, so that the same setting looks the same in every
 * name, and one step is taken only when those before it were not enough:
 *   1. paths lose what they can without becoming ambiguous: topology.overrides.0.rate is rate
 *   2. a column with one value alone is left out: it tells nothing apart
 *   3. the widest column's values are cut at their end, but never in front of the character by which two of them differ; and
 *      when that is not enough they lose the beginning that all of them share
 *   4. what is left is cut at the end
 * Names that are then alike get their place in front. Labels that are not settings in the same order are one column.
 *
 * Example, 40 characters: "compute.time=exponential(mean=10ms) scheme=ps-sync" and
 * "compute.time=lognormal(mu=3,sigma=0.1,unit=ms) scheme=ring" become "time=exponential(mean=10… scheme=ps-sync" and
 * "time=lognormal(mu=3,sigm… scheme=ring". */
#include "results/plot_names.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "results/plot_internal.h"

enum { VALUE_LEAST = 6, CONTEXT = 2 };
#define ELLIPSIS "…"

static void clear_parts(struct plot_name_part *parts)
{
    for (int c = 0; c < PLOT_NAME_PARTS_MAX; c++) {
        text_free(&parts[c].path);
        text_free(&parts[c].value);
    }
}

void plot_names_free(struct plot_names *names)
{
    for (int row = 0; row < names->count; row++) {
        clear_parts(names->parts[row]);
        text_free(&names->labels[row]);
        text_free(&names->arms[row]);
        text_free(&names->nodes[row]);
        text_free(&names->shown[row]);
    }
    names->count = 0;
}

void plot_names_add(struct plot_names *names, const char *label, const char *arm, const char *node)
{
    if (names->count == PLOT_NAMES_MAX)
        return;
    int row = names->count++;
    plot_add_line(&names->labels[row], label && label[0] ? label : "the only cell");
    plot_add_line(&names->arms[row], arm);
    plot_add_line(&names->nodes[row], node);
}

static const char *string_of(const struct text *text)
{
    return text->bytes ? text->bytes : "";
}

static const char *skip_characters(const char *text, size_t count)
{
    for (; *text && count > 0; count--)
        text += text_sequence_length(text);
    return text;
}

/* ---- names as a table ---- */

/* A word such as a.b=value begins a setting. */
static size_t path_length(const char *word)
{
    size_t length = strcspn(word, "= ");
    return word[length] == '=' ? length : 0;
}

/* The label's settings as parts; a word that is none goes on with the value in front of it. Returns how many, 0 when it is no
 * list of settings. */
static int split(const char *label, struct plot_name_part *parts)
{
    int count = 0;
    while (*label) {
        size_t path = path_length(label), length = strcspn(label, " ");
        if (path > 0 ? count == PLOT_NAME_PARTS_MAX - 2 : count == 0)
            return 0;
        if (path > 0)
            text_add_bytes(&parts[count++].path, label, path++);
        else
            text_add(&parts[count - 1].value, " ");
        text_add_bytes(&parts[count - 1].value, label + path, length - path);
        label += length + (label[length] == ' ');
    }
    return count;
}

/* Returns the number of settings, 0 when the labels are not the same settings in the same order. */
static int split_all(struct plot_names *names)
{
    int count = 0;
    for (int row = 0; row < names->count; row++) {
        int found = split(string_of(&names->labels[row]), names->parts[row]);
        if (found == 0 || (row > 0 && found != count))
            return 0;
        count = found;
        for (int c = 0; c < count; c++)
            if (strcmp(string_of(&names->parts[row][c].path), string_of(&names->parts[0][c].path)) != 0)
                return 0;
    }
    return count;
}

/* How many characters two values have in common at their beginning. */
static size_t common(const char *a, const char *b)
{
    size_t count = 0;
    for (size_t length; *a && (length = text_sequence_length(a)) == text_sequence_length(b) && memcmp(a, b, length) == 0;) {
        a += length;
        b += length;
        count++;
    }
    return count;
}

static void measure_column(struct plot_names *names, int c)
{
    struct plot_name_column *column = &names->columns[c];
    *column = (struct plot_name_column){.shared = SIZE_MAX, .limit = SIZE_MAX, .setting = names->parts[0][c].path.length > 0};
    for (int row = 1; row < names->count; row++)
        for (int other = 0; other < row; other++) {
            const char *a = string_of(&names->parts[row][c].value), *b = string_of(&names->parts[other][c].value);
            if (strcmp(a, b) == 0)
                continue;
            size_t alike = common(a, b);
            column->shared = alike < column->shared ? alike : column->shared;
            column->need = alike + 1 > column->need ? alike + 1 : column->need;
        }
}

static void make_table(struct plot_names *names)
{
    int settings = split_all(names);
    names->column_count = (settings ? settings : 1) + 2;
    for (int row = 0; row < names->count; row++) {
        struct plot_name_part *parts = names->parts[row];
        if (settings == 0) {
            clear_parts(parts);
            text_add(&parts[0].value, string_of(&names->labels[row]));
        }
        text_add(&parts[names->column_count - 2].value, string_of(&names->arms[row]));
        text_add(&parts[names->column_count - 1].value, string_of(&names->nodes[row]));
    }
    for (int c = 0; c < names->column_count; c++)
        measure_column(names, c);
}

/* ---- how a name is shown ---- */

static void add_value(const struct plot_name_column *column, const char *value, struct text *out)
{
    if (column->skipped > 0)
        text_add(out, ELLIPSIS);
    value = skip_characters(value, column->skipped);
    const char *end = skip_characters(value, column->limit);
    if (*end)
        end = skip_characters(value, column->limit - 1);
    text_add_bytes(out, value, (size_t)(end - value));
    if (*end)
        text_add(out, ELLIPSIS);
}

static void compose(struct plot_names *names)
{
    for (int row = 0; row < names->count; row++) {
        struct text *out = &names->shown[row];
        text_clear(out);
        for (int c = 0; c < names->column_count; c++) {
            const struct plot_name_column *column = &names->columns[c];
            const char *path = string_of(&names->parts[row][c].path), *value = string_of(&names->parts[row][c].value);
            if (column->dropped || (!column->setting && !value[0]))
                continue;
            text_add(out, out->length == 0 ? "" : column->setting ? " " : ", ");
            if (column->setting)
                text_printf(out, "%s=", path + column->path_skipped);
            add_value(column, value, out);
        }
    }
}

size_t plot_names_width(const struct plot_names *names)
{
    size_t most = 0;
    for (int row = 0; row < names->count; row++) {
        size_t width = text_width(plot_names_get(names, row));
        most = width > most ? width : most;
    }
    return most;
}

/* Of the values of a column, as they are shown. */
static size_t column_width(const struct plot_names *names, int c)
{
    size_t most = 0;
    for (int row = 0; row < names->count; row++) {
        cleanup(text_free) struct text value = {0};
        add_value(&names->columns[c], string_of(&names->parts[row][c].value), &value);
        size_t width = text_width(string_of(&value));
        most = width > most ? width : most;
    }
    return most;
}

/* ---- the steps ---- */

static bool ends_alike(const char *path, const char *tail)
{
    size_t length = strlen(path), end = strlen(tail);
    return length >= end && strcmp(path + length - end, tail) == 0 && (length == end || path[length - end - 1] == '.');
}

/* To the last words by which no other path ends. */
static void shorten_path(struct plot_names *names, int c)
{
    const char *path = string_of(&names->parts[0][c].path);
    for (const char *dot = strrchr(path, '.'); dot; dot = memrchr(path, '.', (size_t)(dot - path))) {
        bool alone = true;
        for (int other = 0; other < names->column_count; other++)
            alone = alone && (other == c || !ends_alike(string_of(&names->parts[0][other].path), dot + 1));
        if (alone) {
            names->columns[c].path_skipped = (size_t)(dot + 1 - path);
            return;
        }
    }
}

static void drop_what_is_the_same(struct plot_names *names)
{
    bool any = false;
    for (int c = 0; c < names->column_count; c++)
        any = any || names->columns[c].need > 0;
    for (int c = 0; c < names->column_count && any; c++)
        names->columns[c].dropped = names->columns[c].need == 0;
}

/* The fewest characters of a column's values that still tell them apart. */
static size_t least_width(const struct plot_name_column *column)
{
    size_t least = column->need + 1 > column->skipped ? column->need + 1 - column->skipped : 0;
    return least > VALUE_LEAST ? least : VALUE_LEAST;
}

static bool can_skip(const struct plot_name_column *column)
{
    return column->need > 0 && column->skipped == 0 && column->shared > CONTEXT + 1;
}

/* The widest column that can be narrower becomes so: its end is cut, by `excess` at most, or, where that is done, its
 * beginning but for the last of it, so that it is seen where they begin. Returns whether there was one. */
static bool narrow_a_column(struct plot_names *names, size_t excess)
{
    struct plot_name_column *widest = NULL;
    size_t width = 0;
    for (int c = 0; c < names->column_count; c++) {
        struct plot_name_column *column = &names->columns[c];
        size_t here = column->dropped ? 0 : column_width(names, c) - (column->skipped > 0);
        if (here > width && (here > least_width(column) || can_skip(column))) {
            widest = column;
            width = here;
        }
    }
    if (!widest)
        return false;
    size_t least = least_width(widest);
    if (width > least) {
        widest->limit = width > least + excess ? width - excess : least;
    } else {
        widest->skipped = widest->shared - CONTEXT;
        widest->limit = SIZE_MAX;
    }
    return true;
}

static void cut(struct text *name, size_t most)
{
    if (text_width(string_of(name)) <= most)
        return;
    cleanup(text_free) struct text whole = *name;
    *name = (struct text){0};
    text_add_bytes(name, whole.bytes, (size_t)(skip_characters(whole.bytes, most - 1) - whole.bytes));
    text_add(name, ELLIPSIS);
}

static bool any_alike(const struct plot_names *names)
{
    for (int row = 1; row < names->count; row++)
        for (int other = 0; other < row; other++)
            if (strcmp(plot_names_get(names, row), plot_names_get(names, other)) == 0)
                return true;
    return false;
}

static void number(struct plot_names *names, size_t most)
{
    for (int row = 0; row < names->count; row++) {
        cleanup(text_free) struct text name = names->shown[row];
        names->shown[row] = (struct text){0};
        text_printf(&names->shown[row], "%d: %s", row + 1, string_of(&name));
        cut(&names->shown[row], most);
    }
}

void plot_names_shorten(struct plot_names *names, size_t most)
{
    if (names->count == 0)
        return;
    make_table(names);
    compose(names);
    for (int c = 0; c < names->column_count && plot_names_width(names) > most; c++) {
        shorten_path(names, c);
        compose(names);
    }
    if (plot_names_width(names) > most)
        drop_what_is_the_same(names);
    compose(names);
    for (size_t width; (width = plot_names_width(names)) > most; compose(names))
        if (!narrow_a_column(names, width - most))
            break;
    for (int row = 0; row < names->count; row++)
        cut(&names->shown[row], most);
    if (any_alike(names))
        number(names, most);
}

const char *plot_names_get(const struct plot_names *names, int row)
{
    return string_of(&names->shown[row]);
}
