/* results/export_trace.c: a trial as Chrome's trace events; see export.h. Names are JSON strings; a time of n ns is n / 1000 us
 * with three decimals, so that it stays exact. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/export.h"
#include "results/sqlite_wrap.h"

struct trace {
    FILE *stream;
    int64_t trial;
    const char *comma;
};

static int ask(struct sql *sql, const char *query, int64_t trial, struct sql_statement **rows, struct err *err)
{
    if (sql_prepare(sql, query, rows, err) < 0)
        return -ERR_HOST;
    sql_start(*rows);
    sql_put_integer(*rows, trial);
    return 0;
}

/* A member that the writer of JSON does not know: a number of us out of ns. */
static void add_us(struct text *out, const char *key, int64_t ns)
{
    int64_t whole = ns / 1000, part = ns % 1000;
    text_printf(out, ",\"%s\":%s%" PRId64 ".%03d", key, ns < 0 ? "-" : "", whole < 0 ? -whole : whole,
                (int)(part < 0 ? -part : part));
}

static void begin(struct trace *trace, struct text *out, struct json *json, const char *phase, const char *name)
{
    text_add(out, trace->comma);
    trace->comma = ",\n";
    *json = (struct json){.out = out};
    json_begin_object(json, NULL);
    json_string(json, "ph", phase);
    json_string(json, "name", name);
}

static void end(struct trace *trace, struct text *out, struct json *json)
{
    json_end_object(json);
    fwrite(out->bytes, 1, out->length, trace->stream);
}

/* Process and thread names: a node is a process; its thread numbers are those of kinds of spans. */
static int write_names(struct sql *sql, struct trace *trace, struct err *err)
{
    static const char *const queries[] = {
        "SELECT node, NULL, name || ' (' || role || ')' FROM node WHERE trial_id = ? AND role <> 'router' ORDER BY node",
        "SELECT DISTINCT s.node, s.kind, k.name FROM span s JOIN span_kind k USING (kind) WHERE s.trial_id = ? ORDER BY 1, 2"};
    for (int q = 0; q < 2; q++) {
        cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
        if (ask(sql, queries[q], trace->trial, &rows, err) < 0)
            return -ERR_HOST;
        int found;
        while ((found = sql_next(rows, err)) > 0) {
            cleanup(text_free) struct text out = {0};
            struct json json;
            begin(trace, &out, &json, "M", q == 0 ? "process_name" : "thread_name");
            json_integer(&json, "pid", sql_integer(rows, 0));
            if (q == 1)
                json_integer(&json, "tid", sql_integer(rows, 1));
            json_begin_object(&json, "args");
            json_string(&json, "name", sql_text(rows, 2));
            json_end_object(&json);
            end(trace, &out, &json);
        }
        if (found < 0)
            return found;
    }
    return 0;
}

static int write_spans(struct sql *sql, struct trace *trace, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask(sql,
            "SELECT s.node, s.kind, k.name, s.begin_ns, s.end_ns, s.round, s.moved_bytes, s.flags, p.name FROM span s "
            "JOIN span_kind k USING (kind) LEFT JOIN node p ON p.trial_id = s.trial_id AND p.node = s.peer WHERE s.trial_id = ? "
            "ORDER BY s.begin_ns, s.span_id",
            trace->trial, &rows, err) < 0)
        return -ERR_HOST;
    int found = 0;
    while (!ferror(trace->stream) && (found = sql_next(rows, err)) > 0) {
        cleanup(text_free) struct text out = {0}, name = {0};
        struct json json;
        text_printf(&name, "%s %" PRId64, sql_text(rows, 2), sql_integer(rows, 5));
        begin(trace, &out, &json, "X", name.bytes);
        json_integer(&json, "pid", sql_integer(rows, 0));
        json_integer(&json, "tid", sql_integer(rows, 1));
        add_us(&out, "ts", sql_integer(rows, 3));
        add_us(&out, "dur", sql_integer(rows, 4) - sql_integer(rows, 3));
        json_begin_object(&json, "args");
        json_integer(&json, "round", sql_integer(rows, 5));
        json_integer(&json, "bytes", sql_integer(rows, 6));
        if (sql_text(rows, 8))
            json_string(&json, "peer", sql_text(rows, 8));
        static const char *const flags[] = {"overrun", "cancelled", "discarded"};
        for (int f = 0; f < 3; f++)
            if (sql_integer(rows, 7) >> f & 1)
                json_bool(&json, flags[f], true);
        json_end_object(&json);
        end(trace, &out, &json);
    }
    return ferror(trace->stream) ? 0 : found;
}

/* An arrow from the k-th message that a node sends another one to the k-th that this one receives from it: between two nodes
 * messages keep their order. Where the numbers differ (a node was lost, a message discarded before it was told of) there are none. */
static int write_flows(struct sql *sql, struct trace *trace, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask(sql,
            "WITH m AS (SELECT s.kind, k.name, s.node, s.peer, s.begin_ns, s.end_ns, row_number() OVER (PARTITION BY s.kind, "
            "s.node, "
            "s.peer ORDER BY s.begin_ns, s.span_id) AS k, count(*) OVER (PARTITION BY s.kind, s.node, s.peer) AS messages "
            "FROM span s JOIN span_kind k USING (kind) WHERE s.trial_id = ? AND s.peer IS NOT NULL AND k.name IN ('send', "
            "'receive')) "
            "SELECT a.node, a.kind, a.begin_ns, b.node, b.kind, b.end_ns FROM m a JOIN m b ON a.name = 'send' AND b.name = "
            "'receive' "
            "AND b.node = a.peer AND b.peer = a.node AND b.k = a.k AND b.messages = a.messages AND b.end_ns >= a.begin_ns ORDER BY "
            "3",
            trace->trial, &rows, err) < 0)
        return -ERR_HOST;
    int found = 0;
    int64_t number = 0;
    while (!ferror(trace->stream) && (found = sql_next(rows, err)) > 0) {
        number++;
        for (int side = 0; side < 2; side++) {
            cleanup(text_free) struct text out = {0};
            struct json json;
            begin(trace, &out, &json, side == 0 ? "s" : "f", "message");
            json_string(&json, "cat", "message");
            json_integer(&json, "id", number);
            json_integer(&json, "pid", sql_integer(rows, 3 * side));
            json_integer(&json, "tid", sql_integer(rows, 3 * side + 1));
            add_us(&out, "ts", sql_integer(rows, 3 * side + 2));
            if (side == 1)
                json_string(&json, "bp", "e");
            end(trace, &out, &json);
        }
    }
    return ferror(trace->stream) ? 0 : found;
}

/* Counters of nodes belong to their process, those of a link's direction to the process of its sender. */
static int write_counters(struct sql *sql, struct trace *trace, struct err *err)
{
    static const struct {
        const char *name, *query;
    } counters[] = {
        {"congestion window (segments)",
         "SELECT node, at_ns, window_maximum_segments, '' FROM counter_sample WHERE trial_id = ? AND "
         "window_maximum_segments IS NOT NULL AND node IS NOT NULL ORDER BY at_ns"},
        {"backlog (bytes)",
         "SELECT l.from_node, s.at_ns, s.backlog_bytes, l.name || ' ' || l.direction FROM counter_sample s JOIN link l "
         "USING (trial_id, link, direction) WHERE s.trial_id = ? AND s.backlog_bytes IS NOT NULL ORDER BY s.at_ns"},
    };
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
        if (ask(sql, counters[i].query, trace->trial, &rows, err) < 0)
            return -ERR_HOST;
        int found;
        while ((found = sql_next(rows, err)) > 0) {
            cleanup(text_free) struct text out = {0}, name = {0};
            struct json json;
            text_printf(&name, "%s%s%s", counters[i].name, sql_text(rows, 3)[0] ? " " : "", sql_text(rows, 3));
            begin(trace, &out, &json, "C", name.bytes);
            json_integer(&json, "pid", sql_integer(rows, 0));
            add_us(&out, "ts", sql_integer(rows, 1));
            json_begin_object(&json, "args");
            json_integer(&json, "value", sql_integer(rows, 2));
            json_end_object(&json);
            end(trace, &out, &json);
        }
        if (found < 0)
            return found;
    }
    return 0;
}

static int write_events(struct sql *sql, struct trace *trace, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask(sql, "SELECT node, at_ns, kind, text FROM event WHERE trial_id = ? AND at_ns IS NOT NULL ORDER BY at_ns", trace->trial,
            &rows, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = sql_next(rows, err)) > 0) {
        cleanup(text_free) struct text out = {0};
        struct json json;
        bool of_node = isfinite(sql_real(rows, 0));
        begin(trace, &out, &json, "i", sql_text(rows, 2));
        json_string(&json, "s", of_node ? "p" : "g");
        if (of_node)
            json_integer(&json, "pid", sql_integer(rows, 0));
        add_us(&out, "ts", sql_integer(rows, 1));
        json_begin_object(&json, "args");
        json_string(&json, "text", sql_text(rows, 3));
        json_end_object(&json);
        end(trace, &out, &json);
    }
    return found;
}

static int choose_trial(struct sql *sql, int64_t *trial, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask(sql, "SELECT min(trial_id) FROM trial WHERE CASE WHEN ?1 = 0 THEN status = 'finished' ELSE trial_id = ?1 END", *trial,
            &rows, err) < 0 ||
        sql_next(rows, err) < 0)
        return -ERR_HOST;
    int64_t found = sql_integer(rows, 0);
    if (found == 0 && *trial == 0)
        return err_set(err, ERR_USAGE, "the database '%s' holds no finished trial", sql_path(sql));
    if (found == 0)
        return err_set(err, ERR_USAGE, "the database '%s' holds no trial %" PRId64, sql_path(sql), *trial);
    *trial = found;
    return 0;
}

int export_trace(struct sql *sql, int64_t trial, FILE *stream, struct err *err)
{
    struct trace trace = {.stream = stream, .trial = trial, .comma = "\n"};
    int result = choose_trial(sql, &trace.trial, err);
    if (result < 0)
        return result;
    fprintf(stream, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    result = write_names(sql, &trace, err);
    if (result == 0)
        result = write_spans(sql, &trace, err);
    if (result == 0)
        result = write_flows(sql, &trace, err);
    if (result == 0)
        result = write_counters(sql, &trace, err);
    if (result == 0)
        result = write_events(sql, &trace, err);
    fprintf(stream, "\n]}\n");
    return result;
}
