/* link_trace.c: reads files that links follow; see link_trace.h. */
#include "harness/link_trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/input_file.h"
#include "harness/text_lines.h"
#include "harness/yaml_document.h"

#define TIME_MOST_NS (INT64_C(168) * 3600 * NS_PER_S)
#define STEP_LEAST_NS NS_PER_MS /* a change takes a good part of that */
#define RATE_MOST_BPS UINT64_C(400000000000)
enum { PACKET_BYTES = 1514, FIRST_BINS = 64 };

/* ---- mahimahi ---- */
struct bins {
    uint32_t *packets;
    int64_t capacity, last_ms; /* -1: nothing read yet */
};

static void bins_free(struct bins *bins)
{
    free(bins->packets);
}

/* As long as the times that are there need, so that a short trace takes little memory. */
static int bins_reach(struct bins *bins, int64_t bin, const char *file, struct err *err)
{
    if (bin < bins->capacity)
        return 0;
    const int64_t capacity = 2 * bin + FIRST_BINS;
    uint32_t *packets = realloc(bins->packets, (size_t)capacity * sizeof(*packets));
    if (!packets)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot read the trace '%s'", file);
    memset(packets + bins->capacity, 0, (size_t)(capacity - bins->capacity) * sizeof(*packets));
    bins->packets = packets;
    bins->capacity = capacity;
    return 0;
}

static int count_packets(struct text_lines *cursor, struct bins *bins, struct err *err)
{
    const int64_t bin_ms = LINK_TRACE_BIN_NS / NS_PER_MS, last_allowed_ms = (int64_t)LINK_TRACE_STEPS_MOST * bin_ms;
    const char *line;
    size_t length;
    bins->last_ms = -1;
    while (text_lines_next(cursor, &line, &length)) {
        struct text_word word;
        int64_t ms;
        struct err why;
        int status = text_lines_word(cursor, line, 0, length, &word, err);
        if (status < 0)
            return status;
        if (!word.text[0] && cursor->at == cursor->end)
            break; /* a blank last line */
        if (units_parse_integer(word.text, 0, last_allowed_ms, &ms, &why) < 0)
            return text_lines_refuse(cursor, word.column, err,
                                     "found '%s', a whole number of milliseconds from 0 to %lld is needed",
                                     yaml_document_printable(word.text).text, (long long)last_allowed_ms);
        if (ms < bins->last_ms)
            return text_lines_refuse(cursor, word.column, err, "found %lld after %lld: a trace does not go back in time",
                                     (long long)ms, (long long)bins->last_ms);
        status = bins_reach(bins, ms / bin_ms, cursor->file, err);
        if (status < 0)
            return status;
        bins->last_ms = ms;
        bins->packets[ms / bin_ms]++;
    }
    if (bins->last_ms <= 0) {
        cursor->line += cursor->line == 0;
        return text_lines_refuse(cursor, 1, err,
                                 "a trace ends with the millisecond that is its length, above 0; this one has none");
    }
    return 0;
}

/* A last bin of less than half a bin is part of the one before it; a packet that leaves at the very end is, too. */
static int close_bins(struct bins *bins)
{
    const int64_t bin_ms = LINK_TRACE_BIN_NS / NS_PER_MS;
    int count = (int)((bins->last_ms + bin_ms / 2) / bin_ms);
    if (count == 0)
        count = 1;
    for (int64_t i = count; i <= bins->last_ms / bin_ms; i++)
        bins->packets[count - 1] += bins->packets[i];
    return count;
}

static int parse_mahimahi(struct text_lines *cursor, struct arena *arena, struct link_trace *trace, struct err *err)
{
    cleanup(bins_free) struct bins bins = {.packets = calloc(FIRST_BINS, sizeof(*bins.packets)), .capacity = FIRST_BINS};
    if (!bins.packets)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot read the trace '%s'", cursor->file);
    int status = count_packets(cursor, &bins, err);
    if (status < 0)
        return status;
    int bin_count = close_bins(&bins), count = 0;
    int64_t period_ns = bins.last_ms * NS_PER_MS;
    struct trace_step *steps = arena_new_array(arena, struct trace_step, (size_t)bin_count);
    for (int i = 0; i < bin_count; i++) {
        int64_t begin_ns = i * LINK_TRACE_BIN_NS, end_ns = i + 1 < bin_count ? begin_ns + LINK_TRACE_BIN_NS : period_ns;
        double bits = 8.0 * PACKET_BYTES * bins.packets[i], rate = bits * (double)NS_PER_S / (double)(end_ns - begin_ns);
        if (rate > (double)RATE_MOST_BPS)
            return text_lines_refuse(cursor, 1, err, "from %lld ms on %u packets leave within a bin, allowed is what makes 400gbit",
                                     (long long)(begin_ns / NS_PER_MS), bins.packets[i]);
        uint64_t rate_bps = rate < (double)LINK_TRACE_FLOOR_BPS ? LINK_TRACE_FLOOR_BPS : (uint64_t)rint(rate);
        if (count == 0 || steps[count - 1].rate_bps != rate_bps)
            steps[count++] = (struct trace_step){.at_ns = begin_ns, .rate_bps = rate_bps};
    }
    *trace = (struct link_trace){.steps = steps, .count = count, .period_ns = period_ns, .has_rate = true};
    return 0;
}

/* ---- csv: one row a kind of column ---- */
enum column_kind { COLUMN_TIME, COLUMN_RATE, COLUMN_DELAY, COLUMN_LOSS, COLUMN_COUNT };
struct column {
    enum column_kind kind;
    double factor; /* of numbers whose unit is in the column's name; 0: values carry it */
};

static int read_time(const char *text, double least, double most, double *value, struct err *err)
{
    int64_t ns;
    int status = units_parse_time(text, (int64_t)least, (int64_t)most, &ns, err);
    if (status == 0)
        *value = (double)ns;
    return status;
}

static int read_rate(const char *text, double least, double most, double *value, struct err *err)
{
    uint64_t rate;
    int status = units_parse_rate(text, (uint64_t)least, (uint64_t)most, &rate, err);
    if (status == 0)
        *value = (double)rate;
    return status;
}

static int read_loss(const char *text, double least, double most, double *value, struct err *err)
{
    return units_parse_share(text, least, most, value, err);
}

static const struct column_row {
    const char *name;
    int (*read)(const char *text, double least, double most, double *value, struct err *err);
    double least, most;
    const char *allowed;
    bool has_unit;
} column_rows[COLUMN_COUNT] = {
    [COLUMN_TIME] = {"time", read_time, 0, (double)TIME_MOST_NS, "0 to 168h", true},
    [COLUMN_RATE] = {"rate", read_rate, 8e3, (double)RATE_MOST_BPS, "8kbit to 400gbit", true},
    [COLUMN_DELAY] = {"delay", read_time, 0, 10.0 * NS_PER_S, "0 to 10s", true},
    [COLUMN_LOSS] = {"loss", read_loss, 0, 1, "0 to 1", false},
};

static int read_column(const struct text_lines *cursor, const struct text_word *word, struct column *column, struct err *err)
{
    for (int kind = 0; kind < COLUMN_COUNT; kind++) {
        const struct column_row *row = &column_rows[kind];
        size_t length = strlen(row->name);
        if (strncmp(word->text, row->name, length) != 0)
            continue;
        *column = (struct column){.kind = (enum column_kind)kind};
        if (!word->text[length])
            return 0;
        char one[TEXT_WORD_MOST + 2];
        snprintf(one, sizeof(one), "1%s", word->text + length + 1);
        if (row->has_unit && word->text[length] == '_' && word->text[length + 1] &&
            row->read(one, 1, row->most, &column->factor, NULL) == 0)
            return 0;
    }
    return text_lines_refuse(
        cursor, word->column, err,
        "found the column '%s'; known are time, rate, delay and loss, also with a unit behind: time_s, rate_mbit, delay_ms",
        yaml_document_printable(word->text).text);
}

static int read_header(const struct text_lines *cursor, const char *line, size_t length, struct column *columns, int *count,
                       struct link_trace *trace, struct err *err)
{
    bool seen[COLUMN_COUNT] = {false};
    *count = 0;
    for (size_t from = 0; from <= length;) {
        const char *comma = memchr(line + from, ',', length - from);
        size_t to = comma ? (size_t)(comma - line) : length;
        struct text_word word;
        struct column column = {0};
        int status = text_lines_word(cursor, line, from, to, &word, err);
        if (status == 0)
            status = read_column(cursor, &word, &column, err);
        if (status < 0)
            return status;
        if (seen[column.kind])
            return text_lines_refuse(cursor, word.column, err, "the column '%s' is there twice", column_rows[column.kind].name);
        seen[column.kind] = true;
        columns[(*count)++] = column;
        from = to + 1;
    }
    if (!seen[COLUMN_TIME] || *count < 2)
        return text_lines_refuse(cursor, 1, err, "the first line names the columns: time and at least one of rate, delay and loss");
    trace->has_rate = seen[COLUMN_RATE];
    trace->has_delay = seen[COLUMN_DELAY];
    trace->has_loss = seen[COLUMN_LOSS];
    return 0;
}

static int read_cell(const struct text_lines *cursor, const struct text_word *word, const struct column *column, double *value,
                     struct err *err)
{
    const struct column_row *row = &column_rows[column->kind];
    struct err why;
    if (column->factor > 0) {
        double number;
        if (units_parse_number(word->text, -1e300, 1e300, &number, &why) < 0)
            return text_lines_refuse(cursor, word->column, err, "%s: %s", row->name, why.text);
        *value = rint(number * column->factor);
    } else if (row->read(word->text, row->least, row->most, value, &why) < 0) {
        return text_lines_refuse(cursor, word->column, err, "%s: %s", row->name, why.text);
    }
    if (!(*value >= row->least && *value <= row->most))
        return text_lines_refuse(cursor, word->column, err, "%s: found '%s', allowed is %s", row->name,
                                 yaml_document_printable(word->text).text, row->allowed);
    return 0;
}

static int read_row(const struct text_lines *cursor, const char *line, size_t length, const struct column *columns, int count,
                    int64_t after_ns, struct trace_step *step, struct err *err)
{
    double values[COLUMN_COUNT] = {0};
    size_t from = 0;
    for (int i = 0; i < count; i++) {
        const char *comma = from <= length ? memchr(line + from, ',', length - from) : NULL;
        size_t to = comma ? (size_t)(comma - line) : length;
        if (from > length || (i + 1 == count && comma))
            return text_lines_refuse(cursor, (int)(from > length ? length : to) + 1, err,
                                     "found %s values than the %d columns that the first line names",
                                     from > length ? "fewer" : "more", count);
        struct text_word word;
        int status = text_lines_word(cursor, line, from, to, &word, err);
        if (status == 0)
            status = read_cell(cursor, &word, &columns[i], &values[columns[i].kind], err);
        if (status < 0)
            return status;
        if (columns[i].kind == COLUMN_TIME && after_ns >= 0 && values[COLUMN_TIME] < (double)(after_ns + STEP_LEAST_NS)) {
            char before[UNITS_TEXT_BYTES];
            return text_lines_refuse(cursor, word.column, err,
                                     "found the time '%s' after %s: from line to line times grow by at least 1ms", word.text,
                                     units_spell_time(before, sizeof(before), after_ns));
        }
        from = to + 1;
    }
    *step = (struct trace_step){.at_ns = (int64_t)values[COLUMN_TIME],
                                .rate_bps = (uint64_t)values[COLUMN_RATE],
                                .delay_ns = (int64_t)values[COLUMN_DELAY],
                                .loss = values[COLUMN_LOSS]};
    return 0;
}

/* How many lines are left, as far as a trace may have them. */
static size_t lines_left(const struct text_lines *cursor)
{
    size_t count = 1;
    for (const char *c = cursor->at; c < cursor->end && count <= LINK_TRACE_STEPS_MOST; c++)
        count += *c == '\n';
    return count;
}

static int parse_csv(struct text_lines *cursor, struct arena *arena, struct link_trace *trace, struct err *err)
{
    struct link_trace read = {0};
    struct column columns[COLUMN_COUNT];
    int column_count = 0;
    struct trace_step *steps = NULL;
    const char *line;
    size_t length;
    while (text_lines_next(cursor, &line, &length)) {
        if (text_lines_left_out(line, length))
            continue;
        int status;
        if (!steps) {
            status = read_header(cursor, line, length, columns, &column_count, &read, err);
            steps = arena_new_array(arena, struct trace_step, lines_left(cursor));
        } else if (read.count == LINK_TRACE_STEPS_MOST) {
            status = text_lines_refuse(cursor, 1, err, "a trace has at most %d lines", LINK_TRACE_STEPS_MOST);
        } else {
            int64_t after_ns = read.count ? steps[read.count - 1].at_ns : -1;
            status = read_row(cursor, line, length, columns, column_count, after_ns, &steps[read.count++], err);
        }
        if (status < 0)
            return status;
    }
    if (read.count == 0) {
        cursor->line += cursor->line == 0;
        return text_lines_refuse(
            cursor, 1, err,
            "nothing here says what the link is; needed are a line of columns, 'time,rate', and lines like '0s,10mbit'");
    }
    int64_t last_ns = steps[read.count - 1].at_ns;
    read.steps = steps;
    read.period_ns = read.count > 1 ? last_ns + (last_ns - steps[read.count - 2].at_ns) : last_ns + TIME_MOST_NS;
    *trace = read;
    return 0;
}

/* ---- */
int link_trace_parse(enum trace_format format, const char *file, const char *text, size_t length, struct arena *arena,
                     struct link_trace *trace, struct err *err)
{
    static int (*const parsers[TRACE_FORMAT_COUNT])(struct text_lines *, struct arena *, struct link_trace *,
                                                    struct err *) = {[TRACE_MAHIMAHI] = parse_mahimahi, [TRACE_CSV] = parse_csv};
    struct text_lines cursor = {.file = file, .at = text, .end = text + length};
    return parsers[format](&cursor, arena, trace, err);
}

int link_trace_load(enum trace_format format, const char *path, struct arena *arena, struct link_trace *trace, struct err *err)
{
    cleanup(text_free) struct text text = {0};
    int status = input_file_read(path, "trace", LINK_TRACE_FILE_MOST, &text, err);
    return status < 0 ? status : link_trace_parse(format, path, text.bytes ? text.bytes : "", text.length, arena, trace, err);
}
