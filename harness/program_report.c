/* program_report.c: lines of an outside program to records; see program_report.h. */
#include "harness/program_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "harness/yaml_document.h"
#include "schemas/names.h"

enum { WORDS_MAX = 6 };

struct line {
    char *words[WORDS_MAX];
    int count;
    int64_t now_ns;
};

/* The array with room for one more: doubled when it is full. NULL: it stays as it is. */
static void *make_room(void *array, uint32_t count, uint32_t *room, size_t bytes_each, struct err *err)
{
    if (count < *room)
        return array;
    uint32_t wanted = *room ? *room * 2 : 64;
    void *larger = realloc(array, wanted * bytes_each);
    if (larger)
        *room = wanted;
    else
        err_set(err, ERR_TRIAL, "there is no memory for %u records", wanted);
    return larger;
}

static int read_number(const struct line *line, int word, uint64_t maximum, uint64_t *value, struct err *err)
{
    struct err why;
    if (units_parse_unsigned(line->words[word], 0, maximum, value, &why) < 0)
        return err_set(err, ERR_TRIAL, "word %d: %s", word + 1, why.text);
    return 0;
}

/* A time of CLOCK_MONOTONIC becomes one of the trial. */
static int read_time(const struct program_report *report, const struct line *line, int word, int64_t *ns, struct err *err)
{
    uint64_t value;
    int result = read_number(line, word, INT64_MAX, &value, err);
    if (result < 0)
        return result;
    if ((int64_t)value < report->earliest_ns || (int64_t)value > line->now_ns)
        return err_set(err, ERR_TRIAL,
                       "word %d: %" PRIu64
                       " is no time of CLOCK_MONOTONIC in ns between the program's start and now, which are %" PRId64
                       " and %" PRId64,
                       word + 1, value, report->earliest_ns, line->now_ns);
    *ns = (int64_t)value > report->start_ns ? (int64_t)value - report->start_ns : 0;
    return 0;
}

static int take_round(struct program_report *report, const struct line *line, struct err *err)
{
    uint64_t round;
    int64_t held_ns = line->now_ns > report->start_ns ? line->now_ns - report->start_ns : 0;
    int result = read_number(line, 1, UINT32_MAX, &round, err);
    if (result == 0 && line->count > 2)
        result = read_time(report, line, 2, &held_ns, err);
    if (result < 0)
        return result;
    if (round != report->round_count)
        return err_set(err, ERR_TRIAL, "found round %" PRIu64 ", round %u was due", round, report->round_count);
    if (report->round_count == report->rounds_most)
        return err_set(err, ERR_TRIAL, "a node may report %u rounds at most here", report->rounds_most);
    if (round > 0 && held_ns < report->rounds[round - 1].held_ns)
        return err_set(err, ERR_TRIAL, "round %" PRIu64 " was over before the round before it", round);
    struct round_record *rounds = make_room(report->rounds, report->round_count, &report->round_room, sizeof(*report->rounds), err);
    if (!rounds)
        return -ERR_TRIAL;
    report->rounds = rounds;
    report->rounds[report->round_count++] = (struct round_record){.round = (uint32_t)round, .held_ns = held_ns};
    return 0;
}

static int read_kind(const struct line *line, uint32_t *kind, struct err *err)
{
    for (uint32_t k = 0; k < SPAN_COUNT; k++)
        if (strcmp(span_names[k], line->words[1]) == 0) {
            *kind = k;
            return 0;
        }
    return err_set(err, ERR_TRIAL, "word 2: there is no kind of span '%s': compute, send, receive, reduce, apply, wait, evaluate",
                   line->words[1]);
}

static int take_span(struct program_report *report, const struct line *line, struct err *err)
{
    struct span_record span = {.peer = NO_PEER};
    uint64_t round = 0;
    int result = read_kind(line, &span.kind, err);
    if (result == 0)
        result = read_number(line, 2, report->rounds_most ? report->rounds_most - 1 : 0, &round, err);
    if (result == 0)
        result = read_time(report, line, 3, &span.begin_ns, err);
    if (result == 0)
        result = read_time(report, line, 4, &span.end_ns, err);
    if (result == 0 && line->count > 5)
        result = read_number(line, 5, INT64_MAX, &span.bytes, err);
    if (result < 0)
        return result;
    span.round = (uint32_t)round;
    if (span.end_ns < span.begin_ns)
        return err_set(err, ERR_TRIAL, "the span ends before it begins");
    if (report->drop_spans)
        return 0;
    if (report->span_count == report->spans_most)
        return err_set(err, ERR_TRIAL, "a node may report %u spans at most here", report->spans_most);
    struct span_record *spans = make_room(report->spans, report->span_count, &report->span_room, sizeof(*report->spans), err);
    if (!spans)
        return -ERR_TRIAL;
    report->spans = spans;
    report->spans[report->span_count++] = span;
    return 0;
}

static const struct {
    const char *name, *form;
    int words_least, words_most;
    int (*take)(struct program_report *report, const struct line *line, struct err *err);
} line_kinds[] = {
    {"round", "round N [NS]", 2, 3, take_round},
    {"span", "span KIND ROUND BEGIN_NS END_NS [BYTES]", 5, 6, take_span},
};
enum { LINE_KINDS = sizeof(line_kinds) / sizeof(line_kinds[0]) };

/* Splits at single spaces; a word of nothing is no word of any line. More words than any line has are counted, not kept. */
static void split(char *text, struct line *line)
{
    for (char *word = text; word; line->count++) {
        char *space = strchr(word, ' ');
        if (space)
            *space++ = '\0';
        if (line->count < WORDS_MAX)
            line->words[line->count] = word;
        word = space;
    }
}

static int take_line(struct program_report *report, int64_t now_ns, struct err *err)
{
    struct yaml_printable shown = yaml_document_printable(report->text);
    struct line line = {.now_ns = now_ns};
    if (strlen(report->text) != report->length)
        return err_set(err, ERR_TRIAL, "it holds a NUL");
    split(report->text, &line);
    for (int k = 0; k < LINE_KINDS; k++) {
        if (strcmp(line_kinds[k].name, line.words[0]) != 0)
            continue;
        if (line.count < line_kinds[k].words_least || line.count > line_kinds[k].words_most)
            return err_set(err, ERR_TRIAL, "found '%s', the line's form is: %s", shown.text, line_kinds[k].form);
        return line_kinds[k].take(report, &line, err);
    }
    return err_set(err, ERR_TRIAL, "found '%s', a line is: %s, or: %s", shown.text, line_kinds[0].form, line_kinds[1].form);
}

int program_report_feed(struct program_report *report, const char *bytes, size_t length, int64_t now_ns, struct err *err)
{
    for (size_t i = 0; i < length; i++) {
        if (report->length == 0)
            report->line++;
        if (bytes[i] != '\n') {
            if (report->length == PROGRAM_REPORT_LINE_BYTES)
                return err_set(err, ERR_TRIAL, "line %" PRIu64 ": it is longer than %d bytes", report->line,
                               PROGRAM_REPORT_LINE_BYTES);
            report->text[report->length++] = bytes[i];
            continue;
        }
        report->text[report->length] = '\0';
        int result = take_line(report, now_ns, err);
        if (result < 0) {
            err_wrap(err, "line %" PRIu64, report->line);
            return result;
        }
        report->length = 0;
    }
    return 0;
}

int program_report_finish(const struct program_report *report, struct err *err)
{
    if (report->length == 0)
        return 0;
    return err_set(err, ERR_TRIAL, "line %" PRIu64 ": it does not end with a newline", report->line);
}

void program_report_free(struct program_report *report)
{
    free(report->rounds);
    free(report->spans);
    report->rounds = NULL;
    report->spans = NULL;
}
