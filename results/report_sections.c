/* results/report_sections.c: what a report says of one campaign, section by section. */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/plot_internal.h"
#include "results/plot_svg.h"
#include "results/report_internal.h"
#include "results/sqlite_wrap.h"

static int add_file(struct report *report, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int result = plot_ask(report->sql, "SELECT file_text, file_sha256 FROM campaign WHERE campaign_id = ?1", 1,
                          (int64_t[]){report->campaign_id}, &rows, err);
    if (result == 0)
        result = sql_next(rows, err);
    if (result <= 0)
        return result;
    text_add(report->page, "<details><summary>The campaign file</summary>\n<p>SHA-256 ");
    plot_svg_escape(report->page, sql_text(rows, 1));
    text_add(report->page, "</p>\n<pre>");
    plot_svg_escape(report->page, sql_text(rows, 0));
    text_add(report->page, "</pre></details>\n");
    return 0;
}

static int add_what_ran(struct report *report, struct err *err)
{
    static const struct report_table ran = {
        "Trials",
        "SELECT c.name AS \"campaign\", strftime('%Y-%m-%d %H:%M:%S', c.started_unix_ns / 1000000000, 'unixepoch') AS \"started, "
        "UTC\", c.seed AS "
        "\"seed\", coalesce((SELECT group_concat(DISTINCT world) FROM trial t WHERE t.campaign_id = c.campaign_id), '') AS "
        "\"world\", coalesce((SELECT group_concat(DISTINCT engine) FROM trial t WHERE t.campaign_id = c.campaign_id), '') AS "
        "\"engine\", (SELECT count(*) FROM cell x WHERE x.campaign_id = c.campaign_id) AS \"#cells\", c.planned_trial_count AS "
        "\"#planned trials\", (SELECT count(*) FROM trial t WHERE t.campaign_id = c.campaign_id AND status = 'finished') AS "
        "\"#finished\", (SELECT count(*) FROM trial t WHERE t.campaign_id = c.campaign_id AND status = 'failed') AS \"#failed\", "
        "(SELECT count(*) FROM trial t WHERE t.campaign_id = c.campaign_id AND status = 'interrupted') AS \"#interrupted\" FROM "
        "campaign c WHERE c.campaign_id = ?1",
        "Nothing ran."};
    static const struct report_table arms = {
        "Arms", "SELECT arm AS \"arm\", changes AS \"what it changes\" FROM arms WHERE campaign_id = ?1 ORDER BY position", NULL};
    static const struct report_table facts = {
        "What may affect performance comes first",
        "SELECT f.name AS \"fact\", coalesce(f.value, 'could not be found out') AS \"value\", CASE f.affects_performance WHEN 1 "
        "THEN 'yes' ELSE 'no' END AS \"affects performance\" FROM campaign c JOIN environment_fact f USING (environment_id) WHERE "
        "c.campaign_id = ?1 ORDER BY f.affects_performance DESC, f.name",
        "Nothing is known of the host."};
    int result = report_add_table(report, &ran, err);
    if (result == 0)
        result = report_add_table(report, &arms, err);
    text_add(report->page, "<details><summary>The host and the build</summary>\n");
    if (result == 0)
        result = report_add_table(report, &facts, err);
    text_add(report->page, "</details>\n");
    return result == 0 ? add_file(report, err) : result;
}

static int add_fidelity(struct report *report, struct err *err)
{
    static const struct report_table verdicts = {
        "Verdicts",
        "SELECT fidelity AS \"fidelity\", count(*) AS \"#finished trials\", CASE fidelity WHEN 'faithful' THEN 'links and timers "
        "did what was asked' WHEN 'degraded' THEN 'counted, but something was off' ELSE 'left out of all figures' END AS "
        "\"meaning\" FROM trials WHERE campaign_id = ?1 AND status = 'finished' GROUP BY fidelity ORDER BY min(CASE fidelity WHEN "
        "'faithful' THEN 0 WHEN 'degraded' THEN 1 ELSE 2 END)",
        "No trial finished."};
    static const struct report_table problems = {
        "Trials that are not finished and faithful, and why",
        "SELECT t.trial AS \"#trial\", " REPORT_NAME(
            "t") " AS \"cell\", t.status AS \"status\", t.fidelity AS \"fidelity\", coalesce(t.reason, t.fidelity_reason) AS "
                 "\"why\" FROM trials t WHERE t.campaign_id = ?1 AND (t.status <> 'finished' OR t.fidelity <> 'faithful') ORDER BY "
                 "t.trial",
        "Every trial finished, and is faithful."};
    int result = report_add_table(report, &verdicts, err);
    return result == 0 ? report_add_table(report, &problems, err) : result;
}

static int add_cells(struct report *report, struct err *err)
{
    static const struct report_table table = {
        "Round times by cell: medians over trials with 95 % intervals, means beside predictions, in ms",
        "SELECT " REPORT_NAME(
            "c") " AS \"cell\", c.trials AS \"#trials\", c.round_time_p50_ns / 1e6 AS \"#3median\", coalesce(CASE WHEN "
                 "c.round_time_low_ns IS NOT NULL THEN printf('%.3f to %.3f', c.round_time_low_ns / 1e6, c.round_time_high_ns "
                 "/ 1e6) END, c.round_time_interval_reason) AS \"95 % interval\", c.round_time_p99_ns / 1e6 AS \"#399th "
                 "percentile\", c.round_time_mean_ns / 1e6 AS \"#3mean\", c.predicted_round_ns / 1e6 AS \"#3predicted mean\", "
                 "c.accuracy AS \"#4accuracy\", c.fidelity AS \"fidelity\" FROM cells c WHERE c.campaign_id = ?1 AND "
                 "c.size_position IS NULL ORDER BY c.cell, c.arm",
        "No cell has a single message size."};
    int result = report_add_plot(report, "round-time", 0, err);
    return result == 0 ? report_add_table(report, &table, err) : result;
}

static int add_sizes(struct report *report, struct err *err)
{
    static const struct report_table table = {
        "Bandwidth by message size, in MB/s",
        "SELECT " REPORT_NAME(
            "c") " AS \"cell\", c.payload_bytes AS \"#bytes\", c.trials AS \"#trials\", c.round_time_p50_ns / 1e6 AS "
                 "\"#3median, ms\", c.algbw_bytes_per_second / 1e6 AS \"#3algorithm bandwidth\", c.busbw_bytes_per_second / 1e6 AS "
                 "\"#3bus bandwidth\", c.bandwidth_reason AS \"why not\" FROM cells c WHERE c.campaign_id = ?1 AND "
                 "(c.size_position IS NOT NULL OR c.cell_id IN (SELECT cell_id FROM cell_setting WHERE path = "
                 "'workload.size')) ORDER BY c.scheme, c.cell, c.arm, c.payload_bytes",
        "This campaign sweeps no message sizes."};
    int64_t count = 0;
    char asked[256];
    snprintf(asked, sizeof(asked),
             "SELECT count(*) FROM cells WHERE campaign_id = %" PRId64
             " AND (size_position IS NOT NULL OR cell_id IN (SELECT cell_id FROM cell_setting WHERE path = 'workload.size'))",
             report->campaign_id);
    int result = sql_ask_integer(report->sql, asked, &count, err);
    if (result == 0 && count > 0)
        result = report_add_plot(report, "sizes", 0, err);
    return result == 0 ? report_add_table(report, &table, err) : result;
}

const struct report_section report_sections[] = {
    {"ran", "What ran, and where", add_what_ran},
    {"fidelity", "Fidelity", add_fidelity},
    {"cells", "Cells compared", add_cells},
    {"sizes", "Message sizes", add_sizes},
    {"predictions", "Predictions against measurements", report_add_predictions},
    {"learning", "Loss", report_add_learning},
    {"timelines", "Round timelines", report_add_timelines},
    {"stragglers", "Straggling by worker", report_add_stragglers},
    {"links", "Links asked against measured", report_add_links},
    {NULL, NULL, NULL},
};

int report_add_campaign(struct report *report, struct err *err)
{
    for (const struct report_section *section = report_sections; section->id; section++) {
        report_add_heading(report, section->id, section->heading);
        int result = section->add(report, err);
        if (result < 0)
            return result;
    }
    return 0;
}
