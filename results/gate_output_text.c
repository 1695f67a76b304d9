/* results/gate_output_text.c: a gate's result for people: the table in a terminal, and Markdown for a merge request. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "results/gate_output.h"

#define UNDEFINED "–"

enum { SHOWN_BYTES = 120, COLUMNS = 9 };

const char *gate_show_value(char *text, unsigned long size, double value, const char *unit)
{
    if (!isfinite(value))
        snprintf(text, size, UNDEFINED);
    else if (strcmp(unit, "ns") == 0)
        units_show_time(text, size, value);
    else
        snprintf(text, size, "%.4g", value);
    return text;
}

/* As a ratio where there is one, else as a difference in the metric's unit. */
const char *gate_show_change(char *text, unsigned long size, const struct gate_row *row)
{
    const struct gate_numbers *n = &row->numbers;
    char change[40], low[40], high[40];
    if (row->threshold->form == GATE_ABSOLUTE || !isfinite(n->difference)) {
        snprintf(text, size, UNDEFINED);
    } else if (isfinite(n->ratio) && row->threshold->form == GATE_RATIO) {
        if (isfinite(n->ratio_low))
            snprintf(text, size, "%+.2f %% [%+.2f, %+.2f]", 100 * (n->ratio - 1), 100 * (n->ratio_low - 1),
                     100 * (n->ratio_high - 1));
        else
            snprintf(text, size, "%+.2f %%", 100 * (n->ratio - 1));
    } else if (isfinite(n->difference_low)) {
        snprintf(text, size, "%s [%s, %s]", gate_show_value(change, sizeof(change), n->difference, row->unit),
                 gate_show_value(low, sizeof(low), n->difference_low, row->unit),
                 gate_show_value(high, sizeof(high), n->difference_high, row->unit));
    } else {
        gate_show_value(text, size, n->difference, row->unit);
    }
    return text;
}

const char *gate_show_where(const struct gate_row *row)
{
    return row->label[0] ? row->label : "the cell";
}

/* ---- rows as texts ---- */

static const char *const titles[COLUMNS] = {"verdict",           "cell", "arm",   "threshold", "baseline", "now",
                                            "change [interval]", "p",    "trials"};

struct line {
    char *cells[COLUMNS];
    char *notes; /* why, and what else; NULL */
};

static char *spelled(const char *text)
{
    struct text out = {0};
    text_add_line(&out, text, '?'); /* a name may not break the table, nor speak to the terminal */
    if (!out.bytes)
        text_add(&out, "");
    return out.bytes;
}

static void make_line(const struct gate_row *row, struct line *line)
{
    char value[SHOWN_BYTES];
    cleanup(text_free) struct text notes = {0}, verdict = {0};
    text_printf(&verdict, "%s%s", gate_verdicts[row->verdict].name, row->waiver ? " (waived)" : "");
    const struct gate_numbers *n = &row->numbers;
    line->cells[0] = spelled(verdict.bytes);
    line->cells[1] = spelled(gate_show_where(row));
    line->cells[2] = spelled(row->arm);
    line->cells[3] = spelled(row->threshold->text);
    line->cells[4] = spelled(
        row->threshold->form == GATE_ABSOLUTE ? UNDEFINED : gate_show_value(value, sizeof(value), n->base_median, row->unit));
    line->cells[5] = spelled(gate_show_value(value, sizeof(value), n->median, row->unit));
    line->cells[6] = spelled(gate_show_change(value, sizeof(value), row));
    if (isfinite(n->adjusted_p))
        snprintf(value, sizeof(value), "%.3g", n->adjusted_p);
    else
        snprintf(value, sizeof(value), UNDEFINED);
    line->cells[7] = spelled(value);
    if (row->threshold->form == GATE_ABSOLUTE)
        snprintf(value, sizeof(value), "%d", row->count);
    else
        snprintf(value, sizeof(value), "%d/%d", row->base_count, row->count);
    line->cells[8] = spelled(value);
    if (row->reason)
        text_add(&notes, row->reason);
    if (row->remark)
        text_printf(&notes, "%s%s", notes.length > 0 ? "; " : "", row->remark);
    if (row->waiver)
        text_printf(&notes, "%swaived by %s until %s%s%s", notes.length > 0 ? "; " : "", row->waiver->owner, row->waiver->expires,
                    row->waiver->reason ? ": " : "", row->waiver->reason ? row->waiver->reason : "");
    line->notes = notes.length > 0 ? spelled(notes.bytes) : NULL;
}

static void free_line(struct line *line)
{
    for (int c = 0; c < COLUMNS; c++)
        free(line->cells[c]);
    free(line->notes);
}

/* "3 pass, 1 regressed" */
static void count_verdicts(const struct gate_result *result, struct text *out)
{
    const char *comma = "";
    for (int v = GATE_VERDICT_COUNT; v-- > 0;)
        if (result->counts[v] > 0) {
            text_printf(out, "%s%d %s", comma, result->counts[v], gate_verdicts[v].name);
            comma = ", ";
        }
    if (result->waived > 0)
        text_printf(out, "%s%d waived", comma, result->waived);
}

/* A campaign that is still running, or that was ended, has fewer trials than it was to have. */
static void add_unfinished(const struct gate_result *result, struct text *out)
{
    const struct gate_data *data = result->question->campaign;
    if (data->trial_count < data->planned_count)
        text_printf(out, "; %lld of %lld planned trials have not ended", (long long)(data->planned_count - data->trial_count),
                    (long long)data->planned_count);
}

static void describe(const struct gate_result *result, struct text *out)
{
    const struct gate_question *question = result->question;
    cleanup(text_free) struct text name = {0};
    text_printf(&name, "campaign %s (%lld)", question->campaign->name, (long long)question->campaign->campaign_id);
    if (question->baseline)
        text_printf(&name, " against %s (%lld) of %s", question->baseline->name, (long long)question->baseline->campaign_id,
                    question->baseline->path);
    if (question->confirmation)
        text_printf(&name, ", rerun %lld", (long long)question->confirmation->campaign_id);
    char *shown = spelled(name.bytes);
    text_add(out, shown);
    free(shown);
}

/* ---- the table ---- */

static const char *colour_of(enum gate_verdict verdict)
{
    return gate_verdicts[verdict].fails            ? "\033[31m"
           : gate_verdicts[verdict].exit_code != 0 ? "\033[33m"
           : verdict == GATE_IMPROVED              ? "\033[32m"
                                                   : "";
}

static void print_cells(const char *const *cells, const size_t *widths, const bool *used, const char *colour, struct text *out)
{
    size_t column = 0;
    int last = 0;
    for (int c = 0; c < COLUMNS; c++)
        last = used[c] ? c : last;
    for (int c = 0; c < COLUMNS; c++) {
        if (!used[c])
            continue;
        size_t width = text_width(cells[c]);
        bool coloured = c == 0 && colour[0];
        text_printf(out, "%s%s%s", coloured ? colour : "", cells[c], coloured ? "\033[0m" : "");
        for (column = width; c != last && column < widths[c] + 2; column++)
            text_add(out, " ");
    }
    text_add(out, "\n");
}

void gate_print_table(const struct gate_result *result, bool colour, struct text *out)
{
    struct line *lines = calloc((size_t)result->row_count + 1, sizeof(*lines));
    size_t widths[COLUMNS];
    bool used[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        widths[c] = text_width(titles[c]);
        used[c] = c != 2; /* arms: where there are some */
    }
    for (int i = 0; lines && i < result->row_count; i++) {
        make_line(&result->rows[i], &lines[i]);
        used[2] = used[2] || lines[i].cells[2][0];
        for (int c = 0; c < COLUMNS; c++) {
            size_t width = text_width(lines[i].cells[c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    print_cells(titles, widths, used, "", out);
    for (int i = 0; lines && i < result->row_count; i++) {
        print_cells((const char *const *)lines[i].cells, widths, used, colour ? colour_of(result->rows[i].verdict) : "", out);
        if (lines[i].notes)
            text_printf(out, "    %s\n", lines[i].notes);
        free_line(&lines[i]);
    }
    free(lines);
    describe(result, out);
    text_add(out, ": ");
    count_verdicts(result, out);
    add_unfinished(result, out);
    text_add(out, "\n");
}

/* ---- Markdown ---- */

/* Names are text, not Markdown or HTML. */
static void add_escaped(const char *text, struct text *out)
{
    for (const char *c = text; *c; c++) {
        if (strchr("\\`*_{}[]()#+!|~", *c))
            text_printf(out, "\\%c", *c);
        else if (*c == '<')
            text_add(out, "&lt;");
        else if (*c == '>')
            text_add(out, "&gt;");
        else if (*c == '&')
            text_add(out, "&amp;");
        else if (*c == '@') /* mentions nobody */
            text_add(out, "&#64;");
        else
            text_add_bytes(out, c, 1);
    }
}

static void add_markdown_row(const struct gate_row *row, struct text *out)
{
    struct line line;
    make_line(row, &line);
    for (int c = 0; c < COLUMNS; c++) {
        text_add(out, c ? " | " : "| ");
        text_add(out, c == 0 && gate_verdicts[row->verdict].fails && !row->waiver ? "**" : "");
        add_escaped(line.cells[c], out);
        text_add(out, c == 0 && gate_verdicts[row->verdict].fails && !row->waiver ? "**" : "");
    }
    text_add(out, " | ");
    if (line.notes)
        add_escaped(line.notes, out);
    text_add(out, " |\n");
    free_line(&line);
}

void gate_print_markdown(const struct gate_result *result, struct text *out)
{
    enum { BYTES_MOST = 900 * 1000 };
    text_printf(out, "### laggard gate: %s\n\n", gate_verdicts[result->verdict].name);
    cleanup(text_free) struct text what = {0};
    describe(result, &what);
    add_escaped(what.bytes, out);
    text_add(out, ": ");
    count_verdicts(result, out);
    add_unfinished(result, out);
    text_add(out, "\n\n|");
    for (int c = 0; c < COLUMNS; c++)
        text_printf(out, " %s |", titles[c]);
    text_add(out, " remarks |\n|");
    for (int c = 0; c <= COLUMNS; c++)
        text_add(out, " --- |");
    text_add(out, "\n");
    int left = result->row_count;
    for (int verdict = GATE_VERDICT_COUNT; verdict-- > 0;)
        for (int i = 0; i < result->row_count; i++) {
            if ((int)result->rows[i].verdict != verdict || out->length > BYTES_MOST)
                continue;
            cleanup(text_free) struct text row = {0};
            add_markdown_row(&result->rows[i], &row);
            if (out->length + row.length > BYTES_MOST)
                continue;
            text_add(out, row.bytes);
            left--;
        }
    if (left > 0)
        text_printf(out, "\n%d more rows are left out.\n", left);
}
