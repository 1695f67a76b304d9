/* results/report_details.c: the sections of a report behind the round times: predictions, loss, timelines, stragglers, links. */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/plot_internal.h"
#include "results/report_internal.h"
#include "results/sqlite_wrap.h"

int report_add_predictions(struct report *report, struct err *err)
{
    static const struct report_table table = {
        "Mean round times beside predictions from the links as asked and as measured, in ms",
        "SELECT " REPORT_NAME(
            "c") " AS \"cell\", c.payload_bytes AS \"#bytes\", c.round_time_mean_ns / 1e6 AS \"#3measured\", "
                 "c.predicted_round_ns / 1e6 AS \"#3predicted, as asked\", c.prediction_ratio AS \"#3measured over it\", "
                 "c.predicted_measured_round_ns / 1e6 AS \"#3predicted, as measured\", c.prediction_measured_ratio AS "
                 "\"#3measured over that\", c.prediction_reason AS \"why there is none\" FROM cells c WHERE c.campaign_id = ?1 "
                 "ORDER BY c.cell, c.arm, c.size_position",
        "There is no cell."};
    int result = report_add_plot(report, "predictions", 0, err);
    return result == 0 ? report_add_table(report, &table, err) : result;
}

int report_add_learning(struct report *report, struct err *err)
{
    static const struct report_table table = {
        "Loss and accuracy, means over trials",
        "SELECT " REPORT_NAME(
            "l") " AS \"cell\", l.round AS \"#round\", avg(l.at_ns) / 1e9 AS \"#4time, s\", avg(l.loss) AS \"#5loss\", "
                 "avg(l.accuracy) AS \"#4accuracy\", count(*) AS \"#trials\", max(l.reason) AS \"why not\" FROM learning_curves l "
                 "JOIN trial t ON t.trial_id = l.trial WHERE l.campaign_id = ?1 AND t.status = 'finished' AND t.fidelity <> "
                 "'void' GROUP BY l.cell, l.arm, l.round ORDER BY l.cell, l.arm, l.round",
        "No finished trial evaluated its model."};
    int64_t count = 0;
    char asked[160];
    snprintf(asked, sizeof(asked), "SELECT EXISTS (SELECT 1 FROM learning_curves WHERE campaign_id = %" PRId64 ")",
             report->campaign_id);
    int result = sql_ask_integer(report->sql, asked, &count, err);
    if (result == 0 && count > 0)
        result = report_add_plot(report, "learning", 0, err);
    if (result == 0 && count > 0)
        result = report_add_plot(report, "learning-rounds", 0, err);
    return result == 0 ? report_add_table(report, &table, err) : result;
}

/* The first trial that counts of each of the first cells. */
int report_add_timelines(struct report *report, struct err *err)
{
    enum { TIMELINES_MAX = 4 };
    static const struct report_table table = {
        "Where the time goes: spans of those trials, rounds of warming up left out",
        "WITH first AS (SELECT min(t.trial_id) AS trial_id FROM trial t WHERE t.campaign_id = ?1 AND t.status = "
        "'finished' AND t.fidelity <> 'void' GROUP BY t.cell_id, t.arm ORDER BY 1 LIMIT 4) SELECT " REPORT_NAME(
            "s") " AS \"cell\", "
                 "s.trial AS \"#trial\", s.role AS \"role\", s.kind AS \"kind\", sum(s.span_count) AS \"#spans\", "
                 "total(s.duration_ns) / sum(s.span_count) / 1e6 AS \"#3mean, ms\", max(s.longest_ns) / 1e6 AS \"#3longest, ms\", "
                 "sum(s.moved_bytes) AS \"#bytes moved\" FROM span_totals s "
                 "WHERE s.trial IN (SELECT trial_id FROM first) GROUP BY s.trial, s.role, s.kind",
        "No finished trial has spans."};
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int64_t trials[TIMELINES_MAX];
    int count = 0;
    int result =
        plot_ask(report->sql,
                 "SELECT min(t.trial_id) FROM trial t WHERE t.campaign_id = ?1 AND " REPORT_COUNTED
                 " AND EXISTS (SELECT 1 FROM span s WHERE s.trial_id = t.trial_id) GROUP BY t.cell_id, t.arm ORDER BY 1 LIMIT ?2",
                 2, (int64_t[]){report->campaign_id, TIMELINES_MAX}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        trials[count++] = sql_integer(rows, 0);
    }
    if (result == 0 && count > 0)
        text_add(report->page,
                 "<p>Of each of the first cells the first trial that counts, and in it the round whose time is nearest to the "
                 "median. Work is on top of each row, sends beneath it, receives at the bottom.</p>\n");
    for (int i = 0; i < count && result == 0; i++)
        result = report_add_plot(report, "timeline", trials[i], err);
    return result == 0 ? report_add_table(report, &table, err) : result;
}

int report_add_stragglers(struct report *report, struct err *err)
{
    static const struct report_table table = {
        "Compute time minus that of the round's fastest worker, in ms",
        "SELECT " REPORT_NAME(
            "w") " AS \"cell\", w.node_name AS \"worker\", count(*) AS \"#trials\", avg(w.compute_mean_ns) / 1e6 AS "
                 "\"#3mean compute time\", avg(w.straggling_mean_ns) / 1e6 AS \"#3mean behind\", avg(w.straggling_p99_ns) / 1e6 AS "
                 "\"#399th percentile behind\" FROM workers w JOIN trial t ON t.trial_id = w.trial WHERE w.campaign_id = ?1 AND "
                 "t.status = 'finished' AND t.fidelity <> 'void' GROUP BY w.cell, w.arm, w.node ORDER BY w.cell, w.arm, w.node",
        "No finished trial has compute spans of workers."};
    int result = report_add_plot(report, "stragglers", 0, err);
    return result == 0 ? report_add_table(report, &table, err) : result;
}

int report_add_links(struct report *report, struct err *err)
{
    static const struct report_table table = {
        "Links as asked and as measured; each distinct network is measured once a campaign",
        "WITH checked AS (SELECT min(c.trial_id) AS trial_id FROM link_check c JOIN trial t USING (trial_id) WHERE "
        "t.campaign_id = ?1 GROUP BY t.cell_id) SELECT l.from_name || ' to ' || l.to_name AS \"link\", l.trial AS "
        "\"#trial\", l.asked_rate_bps / 1e6 AS \"#3asked rate, Mbit/s\", l.measured_goodput_bps / 1e6 AS \"#3goodput, "
        "Mbit/s\", l.asked_delay_ns / 1e3 AS \"#1asked delay, µs\", l.measured_delay_mean_ns / 1e3 AS \"#1measured, µs\", "
        "l.asked_loss_ratio AS \"#5asked loss\", l.measured_loss_ratio AS \"#5measured loss\", "
        "coalesce(l.measurement_reason, CASE l.within_tolerance WHEN 1 THEN 'as asked' END) AS \"verdict\" FROM links l "
        "WHERE l.trial IN (SELECT trial_id FROM checked) ORDER BY l.trial, l.link, l.direction DESC",
        "No link was measured; in the virtual world links are as asked."};
    int64_t count = 0;
    char asked[200];
    snprintf(asked, sizeof(asked),
             "SELECT EXISTS (SELECT 1 FROM link_check JOIN trial USING (trial_id) WHERE campaign_id = %" PRId64 ")",
             report->campaign_id);
    int result = sql_ask_integer(report->sql, asked, &count, err);
    if (result == 0 && count > 0)
        result = report_add_plot(report, "links", 0, err);
    return result == 0 ? report_add_table(report, &table, err) : result;
}
