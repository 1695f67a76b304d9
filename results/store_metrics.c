/* results/store_metrics.c: the numbers of a whole trial, computed once when it ends: percentiles of its measured rounds, of each
 * message size by itself, and how well its last evaluated model did. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/statistics.h"
#include "results/store_internal.h"

struct metric_input {
    const double *round_times; /* of the measured rounds, ns */
    size_t round_count;
    double accuracy, loss; /* NAN where undefined, and then: */
    const char *why;
};

static double mean_round(const struct metric_input *input)
{
    return statistics_mean(input->round_times, input->round_count);
}

static double p50_round(const struct metric_input *input)
{
    return statistics_quantile(input->round_times, input->round_count, 0.5);
}

static double p90_round(const struct metric_input *input)
{
    return statistics_quantile(input->round_times, input->round_count, 0.9);
}

static double p99_round(const struct metric_input *input)
{
    return statistics_quantile(input->round_times, input->round_count, 0.99);
}

static double longest_round(const struct metric_input *input)
{
    return statistics_quantile(input->round_times, input->round_count, 1);
}

static double last_accuracy(const struct metric_input *input)
{
    return input->accuracy;
}

static double last_loss(const struct metric_input *input)
{
    return input->loss;
}

/* The names are those of the table `metric` (schemas/results.sql). */
static const struct {
    const char *name;
    bool of_rounds;
    double (*value)(const struct metric_input *);
} metrics[] = {
    {"round_time_ns.mean", true, mean_round},
    {"round_time_ns.p50", true, p50_round},
    {"round_time_ns.p90", true, p90_round},
    {"round_time_ns.p99", true, p99_round},
    {"round_time_ns.max", true, longest_round},
    {"accuracy", false, last_accuracy},
    {"loss", false, last_loss},
};

/* Where several nodes evaluate a model of their own, the trial's number is their mean; one undefined value makes it undefined. */
static void last_evaluation(const struct trial_end *end, struct metric_input *input)
{
    uint32_t last = 0;
    int count = 0;
    double accuracy = 0, loss = 0;
    for (int node = 0; end->nodes && node < end->node_count; node++)
        for (uint32_t i = 0; i < end->nodes[node].evaluation_count; i++) {
            const struct evaluation_record *evaluation = &end->nodes[node].evaluations[i];
            if (count > 0 && evaluation->round < last)
                continue;
            if (count == 0 || evaluation->round > last) {
                last = evaluation->round;
                count = 0;
                accuracy = loss = 0;
            }
            accuracy += evaluation->accuracy;
            loss += evaluation->loss;
            count++;
        }
    input->accuracy = count ? accuracy / count : NAN;
    input->loss = count ? loss / count : NAN;
    input->why = count ? "not a finite number: training diverged" : "nothing was evaluated";
}

/* The round times of the measured rounds in [first, first + count). */
static void take_rounds(const struct trial_end *end, uint32_t first, uint32_t count, double *round_times,
                        struct metric_input *input)
{
    input->round_times = round_times;
    input->round_count = 0;
    for (int i = 0; i < end->round_count; i++) {
        const struct round_summary *round = &end->rounds[i];
        if (!round->warmup && round->round >= first && round->round - first < count)
            round_times[input->round_count++] = (double)(round->end_ns - round->begin_ns);
    }
}

static int store_size_metrics(int64_t trial_id, int size_position, const struct metric_input *input, struct sql_statement *row,
                              struct err *err)
{
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        if (size_position > 0 && !metrics[i].of_rounds)
            continue;
        double value = metrics[i].value(input);
        sql_start(row);
        sql_put_integer(row, trial_id);
        sql_put_text(row, metrics[i].name);
        sql_put_integer(row, size_position);
        sql_put_real(row, value);
        sql_put_text(row, isfinite(value) ? NULL : metrics[i].of_rounds ? "no round was measured" : input->why);
        if (sql_run(row, err) < 0)
            return err_wrap(err, "the metric %s", metrics[i].name);
    }
    return 0;
}

int store_metrics(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *row = NULL;
    if (sql_prepare(store->sql,
                    "INSERT INTO trial_metric (trial_id, metric_id, size_position, value, reason) "
                    "VALUES (?, (SELECT metric_id FROM metric WHERE name = ?), ?, ?, ?)",
                    &row, err) < 0)
        return -ERR_HOST;
    cleanup(free_pointer) double *round_times = calloc((size_t)end->round_count + 1, sizeof(*round_times));
    if (!round_times)
        return err_set(err, ERR_HOST, "cannot store trial %lld: out of memory", (long long)trial_id);
    struct metric_input input = {0};
    last_evaluation(end, &input);
    for (int i = 0; i < (end->size_count > 0 ? end->size_count : 1); i++) {
        uint32_t first = end->size_count > 0 ? (uint32_t)end->sizes[i].first_round : 0;
        uint32_t count = end->size_count > 0 ? (uint32_t)end->sizes[i].round_count : UINT32_MAX;
        take_rounds(end, first, count, round_times, &input);
        if (store_size_metrics(trial_id, i, &input, row, err) < 0)
            return -ERR_HOST;
    }
    return 0;
}
