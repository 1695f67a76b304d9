/* results/plot_timeline.c: one round of one trial: a row a node, in it what it did on its processor, sent and received. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "results/plot_internal.h"
#include "results/sqlite_wrap.h"

enum { SPANS_MAX = 4000, NODES_MAX = 32 };

/* In the order of the key; `lane` counts from the top of a node's row. */
static const struct {
    const char *kind, *colour;
    int lane;
} kinds[] = {{"compute", "#0072b2", 0}, {"reduce", "#008a64", 0}, {"apply", "#b8568f", 0},  {"evaluate", "#6b6b00", 0},
             {"wait", PLOT_FAINT, 0},   {"send", "#d55e00", 1},   {"receive", "#5b4bb5", 2}};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

/* Which trial and round: asked for, or the first finished trial that is not void, and the round nearest to its median. */
static int choose(struct sql *sql, const struct plot_asked *asked, int64_t *trial, int64_t *round, struct picture *picture,
                  struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *first = NULL, *near = NULL;
    int result = plot_ask(sql,
                          "SELECT t.trial_id FROM trial t WHERE CASE WHEN ?2 > 0 THEN t.trial_id = ?2 ELSE t.campaign_id = ?1 AND "
                          "t.status = 'finished' AND t.fidelity <> 'void' END AND EXISTS (SELECT 1 FROM span s WHERE s.trial_id = "
                          "t.trial_id) ORDER BY t.trial_id LIMIT 1",
                          2, (int64_t[]){asked->campaign_id, asked->trial}, &first, err);
    if (result == 0)
        result = sql_next(first, err);
    if (result == 0 && asked->trial > 0)
        return err_set(err, ERR_USAGE, "'%s' holds no trial %" PRId64 " with spans; `laggard sql %s trials` lists them",
                       sql_path(sql), asked->trial, sql_path(sql));
    if (result == 0)
        text_add(&picture->description, "No finished trial has spans.");
    if (result <= 0)
        return result;
    *trial = sql_integer(first, 0);
    result = plot_ask(
        sql,
        "SELECT round FROM round r WHERE trial_id = ?1 AND (?2 = round OR ?2 < 0) ORDER BY warmup, abs(end_ns - begin_ns - "
        "(SELECT value FROM trial_metric m JOIN metric USING (metric_id) WHERE m.trial_id = ?1 AND name = "
        "'round_time_ns.p50' LIMIT 1)), round LIMIT 1",
        2, (int64_t[]){*trial, asked->round}, &near, err);
    if (result == 0)
        result = sql_next(near, err);
    if (result == 0 && asked->round >= 0)
        return err_set(err, ERR_USAGE,
                       "trial %" PRId64 " has no round %" PRId64 "; `laggard sql %s \"SELECT round FROM rounds WHERE "
                       "trial = %" PRId64 "\"` lists them",
                       *trial, asked->round, sql_path(sql), *trial);
    if (result == 0)
        text_printf(&picture->description, "Trial %" PRId64 " has no round.", *trial);
    if (result > 0)
        *round = sql_integer(near, 0);
    return result;
}

static int add_nodes(struct sql *sql, int64_t trial, struct picture *picture, int64_t *count, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(plot_names_free) struct plot_names names = {0};
    int result = plot_ask(sql,
                          "SELECT name, count(*) OVER () FROM node WHERE trial_id = ?1 AND "
                          "role <> 'router' ORDER BY node LIMIT ?2",
                          2, (int64_t[]){trial, NODES_MAX}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        plot_names_add(&names, sql_text(rows, 0), NULL, NULL);
        *count = sql_integer(rows, 1);
    }
    plot_names_shorten(&names, 20);
    plot_name_rows(&names, &picture->script);
    picture->height = 44 + 34 * names.count;
    text_printf(&picture->script, "set yrange [%d.6:0.4]\n", names.count);
    return result;
}

/* Each kind is a block, so that the key shows it once. A span is a thick line, not a box: a path takes many of them, which keeps
 * the file small; the shortest are drawn a 600th of the round long, so that they are seen. */
static int add_spans(struct sql *sql, int64_t trial, int64_t round, struct text blocks[KIND_COUNT], int64_t *left_out,
                     struct err *err)
{
    static const char query[] =
        "SELECT k.name, n.place, (s.begin_ns - r.begin_ns) / 1e6, max(s.end_ns - s.begin_ns, (r.end_ns - r.begin_ns) / 600) / 1e6, "
        "count(*) OVER () FROM span s JOIN span_kind k USING (kind) JOIN round r ON r.trial_id = s.trial_id AND r.round = s.round "
        "JOIN (SELECT node, row_number() OVER (ORDER BY node) AS place FROM node WHERE trial_id = ?1 AND role <> 'router') n "
        "ON n.node = s.node WHERE s.trial_id = ?1 AND s.round = ?2 AND n.place <= ?3 ORDER BY s.begin_ns, s.span_id LIMIT ?4";
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int64_t shown = 0;
    int result = plot_ask(sql, query, 4, (int64_t[]){trial, round, NODES_MAX, SPANS_MAX}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        *left_out = sql_integer(rows, 4) - ++shown;
        for (int k = 0; k < KIND_COUNT; k++)
            if (strcmp(kinds[k].kind, sql_word(rows, 0)) == 0)
                text_printf(&blocks[k], "%.6f %.3f %.6f 0\n", sql_real(rows, 2),
                            (double)sql_integer(rows, 1) + 0.26 * (kinds[k].lane - 1), sql_real(rows, 3));
    }
    return result;
}

static void add_plot(struct text blocks[KIND_COUNT], struct text *script)
{
    int drawn = 0;
    for (int k = 0; k < KIND_COUNT; k++)
        if (blocks[k].length)
            text_printf(script, "$%s << END\n%sEND\n", kinds[k].kind, blocks[k].bytes);
    for (int k = 0; k < KIND_COUNT; k++)
        if (blocks[k].length)
            text_printf(script, "%s$%s with vectors nohead lw 6 lc rgb '%s' title '%s'", drawn++ ? ", " : "plot ", kinds[k].kind,
                        kinds[k].colour, kinds[k].kind);
    text_add(script, "\n");
}

static int draw(struct sql *sql, int64_t trial, int64_t round, struct picture *picture, struct text blocks[KIND_COUNT],
                struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int64_t nodes = 0, left_out = 0;
    char time[UNITS_TEXT_BYTES];
    int result = plot_ask(
        sql, "SELECT label, arm, round_time_ns / 1e6, slowest_node_name, warmup FROM rounds WHERE trial = ?1 AND round = ?2", 2,
        (int64_t[]){trial, round}, &rows, err);
    if (result == 0)
        result = sql_next(rows, err);
    if (result < 0)
        return result;
    text_printf(&picture->title, "Round %" PRId64 " of trial %" PRId64 ": ", round, trial);
    plot_add_line(&picture->title, sql_text(rows, 0) && sql_text(rows, 0)[0] ? sql_text(rows, 0) : "the only cell");
    if (sql_text(rows, 1) && sql_text(rows, 1)[0])
        text_add(&picture->title, ", ");
    plot_add_line(&picture->title, sql_text(rows, 1));
    text_printf(&picture->description, "What each node did in round %" PRId64 " of trial %" PRId64, round, trial);
    if (isfinite(sql_real(rows, 2)))
        text_printf(&picture->description, ", which took %s", units_show_time(time, sizeof(time), 1e6 * sql_real(rows, 2)));
    if (sql_text(rows, 3))
        text_add(&picture->description, "; the last to hold its model was ");
    plot_add_line(&picture->description, sql_text(rows, 3));
    text_add(&picture->description, ".");
    plot_begin(picture);
    result = add_nodes(sql, trial, picture, &nodes, err);
    if (result == 0)
        result = add_spans(sql, trial, round, blocks, &left_out, err);
    if (result < 0)
        return result;
    picture->partial = nodes > NODES_MAX || left_out > 0;
    if (nodes > NODES_MAX)
        text_printf(&picture->description, " The first %d of %" PRId64 " nodes are shown.", NODES_MAX, nodes);
    if (left_out > 0)
        text_printf(&picture->description, " The last %" PRId64 " spans are left out.", left_out);
    text_add(&picture->script,
             "unset grid\nset grid x lw 0.5 lc rgb '" PLOT_FAINT "' dt '.'\nset xlabel 'time since the round began, ms'\n");
    int drawn = 0;
    for (int k = 0; k < KIND_COUNT; k++)
        drawn += blocks[k].length > 0;
    plot_key(picture, drawn, 8);
    if (drawn == 0)
        text_add(&picture->description, " No span of it has a node.");
    if (drawn > 0)
        add_plot(blocks, &picture->script);
    else
        text_free(&picture->script);
    return 0;
}

int plot_draw_timeline(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err)
{
    int64_t trial = 0, round = 0;
    struct text blocks[KIND_COUNT] = {{0}};
    int result = choose(sql, asked, &trial, &round, picture, err);
    if (result > 0)
        result = draw(sql, trial, round, picture, blocks, err);
    else if (result == 0)
        text_add(&picture->title, "Timeline of a round");
    for (int k = 0; k < KIND_COUNT; k++)
        text_free(&blocks[k]);
    return result;
}
