/* results/export_trace.c: the walk over a trial that becomes a trace; see export.h. What it reads it gives to one of the forms; see
 * export_trace_internal.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "results/export_trace_internal.h"
#include "results/sqlite_wrap.h"

enum { NODES_MOST = 1 << 24, KINDS_MOST = 1 << 8 }; /* far more than laggard gives numbers */

struct walk {
    struct sql *sql;
    int64_t trial;
    const struct trace_form_operations *form;
    struct trace_out out;
    struct arena *arena;
    struct trace_lanes *lanes;
    struct trace_messages *messages;
};

static int ask(struct walk *walk, const char *query, struct sql_statement **rows, struct err *err)
{
    if (sql_prepare(walk->sql, query, rows, err) < 0)
        return -ERR_HOST;
    sql_start(*rows);
    sql_put_integer(*rows, walk->trial);
    return 0;
}

/* A stream that takes no more ends the walk; who opened it says so. */
static int step(struct walk *walk, struct sql_statement *rows, struct err *err)
{
    return ferror(walk->out.stream) ? 0 : sql_next(rows, err);
}

/* A damaged file's node may be any number. */
static int64_t process_of(int64_t node)
{
    return (int64_t)((uint64_t)node + 1);
}

/* Routers, too, where they send into a link that was sampled. */
static int write_processes(struct walk *walk, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask(walk,
            "SELECT node, name || ' (' || role || ')' FROM node WHERE trial_id = ?1 AND (role <> 'router' OR node IN (SELECT "
            "l.from_node FROM counter_sample s JOIN link l USING (trial_id, link, direction) WHERE s.trial_id = ?1 AND "
            "s.backlog_bytes IS NOT NULL)) ORDER BY node",
            &rows, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = step(walk, rows, err)) > 0)
        walk->form->process(&walk->out, process_of(sql_integer(rows, 0)), sql_word(rows, 1));
    return found;
}

static int write_spans(struct walk *walk, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(text_free) struct text name = {0};
    if (ask(walk,
            "SELECT s.node, s.kind, k.name, s.begin_ns, s.end_ns, s.round, s.moved_bytes, s.flags, s.peer, p.name FROM span s "
            "JOIN span_kind k USING (kind) JOIN node n ON n.trial_id = s.trial_id AND n.node = s.node "
            "LEFT JOIN node p ON p.trial_id = s.trial_id AND p.node = s.peer WHERE s.trial_id = ? ORDER BY s.begin_ns, s.span_id",
            &rows, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = step(walk, rows, err)) > 0) {
        int64_t node = sql_integer(rows, 0), kind = sql_integer(rows, 1);
        struct trace_slice slice = {.process = process_of(node),
                                    .begin_ns = sql_integer(rows, 3),
                                    .end_ns = sql_integer(rows, 4),
                                    .round = sql_integer(rows, 5),
                                    .moved_bytes = sql_integer(rows, 6),
                                    .flags = sql_integer(rows, 7),
                                    .peer = sql_text(rows, 9)};
        bool is_new;
        slice.track = trace_lanes_take(walk->lanes, slice.process, kind, slice.begin_ns, slice.end_ns, &is_new);
        if (is_new)
            walk->form->track(&walk->out, slice.process, slice.track, sql_word(rows, 2));
        if (sql_kind(rows, 8) != SQL_NULL)
            trace_messages_take(walk->messages, kind, node, sql_integer(rows, 8), &slice);
        text_clear(&name);
        text_printf(&name, "%s %" PRId64, sql_word(rows, 2), slice.round);
        slice.name = name.bytes;
        walk->form->slice(&walk->out, &slice);
    }
    return found;
}

/* Counters of nodes belong to their process, those of a link's direction to the process of its sender. */
static int write_counter(struct walk *walk, const char *name, enum trace_unit unit, const char *query, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(text_free) struct text label = {0};
    struct trace_counter counter = {.name = name, .unit = unit};
    if (ask(walk, query, &rows, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = step(walk, rows, err)) > 0) {
        int64_t process = process_of(sql_integer(rows, 0));
        if (!label.bytes || counter.process != process || strcmp(label.bytes, sql_word(rows, 1)) != 0) {
            text_clear(&label);
            text_add(&label, sql_word(rows, 1));
            counter.label = label.bytes;
            counter.process = process;
            counter.track = trace_lanes_new_track(walk->lanes);
            walk->form->counter_track(&walk->out, &counter);
        }
        walk->form->counter(&walk->out, &counter, sql_integer(rows, 2), sql_integer(rows, 3));
    }
    return found;
}

static int write_counters(struct walk *walk, struct err *err)
{
    static const struct {
        const char *name, *query; /* node, label, time, value; a counter's samples stand together */
        enum trace_unit unit;
    } counters[] = {
        {.name = "congestion window",
         .unit = TRACE_SEGMENTS,
         .query = "SELECT node, '', at_ns, window_maximum_segments FROM counter_sample WHERE trial_id = ? AND "
                  "window_maximum_segments IS NOT NULL AND node IS NOT NULL ORDER BY node, at_ns, sample_id"},
        {.name = "backlog",
         .unit = TRACE_BYTES,
         .query = "SELECT l.from_node, l.name || ' ' || l.direction, s.at_ns, s.backlog_bytes FROM counter_sample s JOIN link l "
                  "USING (trial_id, link, direction) WHERE s.trial_id = ? AND s.backlog_bytes IS NOT NULL ORDER BY 1, 2, s.at_ns, "
                  "s.sample_id"},
    };
    int result = 0;
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]) && result == 0; i++)
        result = write_counter(walk, counters[i].name, counters[i].unit, counters[i].query, err);
    return result;
}

static int write_events(struct walk *walk, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int64_t track = 0;
    if (ask(walk, "SELECT node, at_ns, kind, text FROM event WHERE trial_id = ? AND at_ns IS NOT NULL ORDER BY at_ns, event_id",
            &rows, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = step(walk, rows, err)) > 0) {
        int64_t process = sql_kind(rows, 0) == SQL_NULL ? 0 : process_of(sql_integer(rows, 0));
        if (process == 0 && track == 0) {
            track = trace_lanes_new_track(walk->lanes);
            walk->form->track(&walk->out, 0, track, "events");
        }
        walk->form->event(&walk->out, process, process == 0 ? track : 0, sql_integer(rows, 1), sql_word(rows, 2),
                          sql_text(rows, 3));
    }
    return found;
}

static int choose_trial(struct walk *walk, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask(walk, "SELECT min(trial_id) FROM trial WHERE CASE WHEN ?1 = 0 THEN status = 'finished' ELSE trial_id = ?1 END", &rows,
            err) < 0 ||
        sql_next(rows, err) < 0)
        return -ERR_HOST;
    int64_t found = sql_integer(rows, 0);
    if (found == 0 && walk->trial == 0)
        return err_set(err, ERR_USAGE, "the database '%s' holds no finished trial", sql_path(walk->sql));
    if (found == 0)
        return err_set(err, ERR_USAGE, "the database '%s' holds no trial %" PRId64 "; `laggard sql %s trials` lists them",
                       sql_path(walk->sql), walk->trial, sql_path(walk->sql));
    walk->trial = found;
    return 0;
}

/* Room for tracks, and the messages that have both ends. */
static int prepare(struct walk *walk, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask(walk,
            "SELECT min(node), max(node), (SELECT min(kind) FROM span_kind), (SELECT max(kind) FROM span_kind) FROM node "
            "WHERE trial_id = ?",
            &rows, err) < 0 ||
        sql_next(rows, err) < 0)
        return -ERR_HOST;
    const int64_t last_node = sql_integer(rows, 1), last_kind = sql_integer(rows, 3);
    if (sql_integer(rows, 0) < 0 || last_node >= NODES_MOST || sql_integer(rows, 2) < 0 || last_kind >= KINDS_MOST)
        return err_set(err, ERR_HOST,
                       "cannot export trial %" PRId64
                       " of '%s': its nodes or kinds of spans have numbers that laggard does not give; "
                       "is the file damaged?",
                       walk->trial, sql_path(walk->sql));
    walk->lanes = trace_lanes_new(walk->arena, process_of(last_node) + 1, last_kind + 1, 1);
    return trace_messages_read(walk->sql, walk->trial, walk->arena, &walk->messages, err);
}

int export_trace(struct sql *sql, int64_t trial, enum trace_form form, FILE *stream, struct err *err)
{
    static const struct trace_form_operations *const forms[TRACE_FORM_COUNT] = {
        [TRACE_PERFETTO] = &trace_perfetto, [TRACE_CHROME] = &trace_chrome};
    static int (*const parts[])(struct walk *, struct err *) = {write_processes, write_spans, write_counters, write_events};
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct walk walk = {.sql = sql, .trial = trial, .form = forms[form], .out.stream = stream, .arena = arena};
    int result = choose_trial(&walk, err);
    if (result == 0)
        result = prepare(&walk, err);
    if (result == 0)
        walk.form->begin(&walk.out);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && result == 0; i++)
        result = parts[i](&walk, err);
    if (result == 0)
        walk.form->end(&walk.out);
    text_free(&walk.out.packet);
    text_free(&walk.out.body);
    text_free(&walk.out.part);
    text_free(&walk.out.inner);
    return result;
}
