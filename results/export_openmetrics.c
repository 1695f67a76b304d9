/* results/export_openmetrics.c: the view `cells` as OpenMetrics text (also what Prometheus reads): a gauge a figure, base units
 * (seconds), a sample a cell and arm. See export.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/export.h"
#include "results/sqlite_wrap.h"

static const struct {
    const char *name, *unit, *help, *column;
    double divisor;
} families[] = {
    {"laggard_round_time_median_seconds", "seconds", "Median over trials of each trial's median round time", "round_time_p50_ns",
     1e9},
    {"laggard_round_time_median_low_seconds", "seconds", "Lower end of its 95 % interval", "round_time_low_ns", 1e9},
    {"laggard_round_time_median_high_seconds", "seconds", "Upper end of its 95 % interval", "round_time_high_ns", 1e9},
    {"laggard_round_time_mean_seconds", "seconds", "Mean over trials of each trial's mean round time", "round_time_mean_ns", 1e9},
    {"laggard_round_time_p99_seconds", "seconds", "Median over trials of each trial's 99th percentile", "round_time_p99_ns", 1e9},
    {"laggard_predicted_round_seconds", "seconds", "Mean round time by theory", "predicted_round_ns", 1e9},
    {"laggard_accuracy_ratio", "ratio", "Median over trials of the final accuracy", "accuracy", 1},
    {"laggard_loss", "", "Median over trials of the final loss", "loss", 1},
    {"laggard_trials", "", "Trials finished and not void", "trials", 1},
    {"laggard_failed_trials", "", "Trials that failed", "failed", 1},
    {"laggard_void_trials", "", "Finished trials that were left out", "void", 1},
};

static void add_label(const char *name, const char *value, struct text *out)
{
    cleanup(text_free) struct text utf8 = {0};
    text_add_utf8(&utf8, value, strlen(value));
    text_printf(out, "%s=\"", name);
    for (const char *c = utf8.bytes ? utf8.bytes : ""; *c; c++) {
        if (*c == '\n')
            text_add(out, "\\n");
        else if (*c == '"' || *c == '\\')
            text_printf(out, "\\%c", *c);
        else
            text_add_bytes(out, c, 1);
    }
    text_add(out, "\"");
}

static void add_labels(struct sql_statement *rows, struct text *out)
{
    static const char *const names[] = {"campaign", "campaign_id", "cell", "label", "scheme", "workers", "arm", "world"};
    for (int i = 0; i < 8; i++) {
        text_add(out, i ? "," : "{");
        add_label(names[i], sql_text(rows, i + 1) ? sql_text(rows, i + 1) : "", out);
    }
    text_add(out, "}");
}

/* All samples of a family stand together. */
static int write_family(struct sql *sql, size_t family, int64_t campaign_id, FILE *stream, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(text_free) struct text query = {0};
    text_printf(
        &query,
        "SELECT %s, campaign, campaign_id, cell, label, scheme, workers, arm, world FROM cells WHERE ?1 IN (0, campaign_id)",
        families[family].column);
    if (sql_prepare(sql, query.bytes, &rows, err) < 0)
        return -ERR_HOST;
    sql_start(rows);
    sql_put_integer(rows, campaign_id);
    fprintf(stream, "# TYPE %s gauge\n", families[family].name);
    if (families[family].unit[0])
        fprintf(stream, "# UNIT %s %s\n", families[family].name, families[family].unit);
    fprintf(stream, "# HELP %s %s.\n", families[family].name, families[family].help);
    int found;
    while ((found = sql_next(rows, err)) > 0) {
        cleanup(text_free) struct text line = {0};
        double value = sql_real(rows, 0) / families[family].divisor;
        if (!isfinite(value))
            continue;
        struct json number = {.out = &line};
        text_add(&line, families[family].name);
        add_labels(rows, &line);
        text_add(&line, " ");
        json_double(&number, NULL, value);
        fprintf(stream, "%s\n", line.bytes);
    }
    return found;
}

int export_openmetrics(struct sql *sql, int64_t campaign_id, FILE *stream, struct err *err)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        int result = write_family(sql, i, campaign_id, stream, err);
        if (result < 0)
            return result;
    }
    fprintf(stream, "# EOF\n");
    return 0;
}
