/* report_check.c: refuses reports that cannot be true; see report_check.h. */
#include "harness/report_check.h"

#include <inttypes.h>

#include "base/err.h"

enum { SHA256_BYTES = 32 };

static int check_span(const struct span_record *span, uint32_t index, uint32_t node_count, uint32_t rounds, struct err *err)
{
    if (span->kind >= SPAN_COUNT)
        return err_set(err, ERR_TRIAL, "span %u is of kind %u, there are %d kinds", index, span->kind, SPAN_COUNT);
    if (span->peer != NO_PEER && span->peer >= node_count)
        return err_set(err, ERR_TRIAL, "span %u names node %u as its peer, there are %u nodes", index, span->peer, node_count);
    if (span->round > rounds) /* a span that waits behind the last round has that number */
        return err_set(err, ERR_TRIAL, "span %u is of round %u, there are %u rounds", index, span->round, rounds);
    if (span->end_ns < span->begin_ns)
        return err_set(err, ERR_TRIAL, "span %u ends %" PRIu64 " ns before it begins", index,
                       (uint64_t)span->begin_ns - (uint64_t)span->end_ns);
    return 0;
}

static int check_gradient(const struct gradient_record *gradient, uint32_t index, uint32_t node_count, uint32_t rounds,
                          struct err *err)
{
    if (gradient->fate >= GRADIENT_FATE_COUNT)
        return err_set(err, ERR_TRIAL, "gradient %u has fate %u, there are %d fates", index, gradient->fate, GRADIENT_FATE_COUNT);
    if (gradient->worker >= node_count)
        return err_set(err, ERR_TRIAL, "gradient %u is of worker %u, there are %u nodes", index, gradient->worker, node_count);
    if (gradient->round > rounds) /* what comes behind the last round has that number */
        return err_set(err, ERR_TRIAL, "gradient %u is of round %u, there are %u rounds", index, gradient->round, rounds);
    return 0;
}

static int check_evaluations(const struct control_report *report, uint32_t rounds, struct err *err)
{
    for (uint32_t i = 0; i < report->evaluation_count; i++) {
        uint32_t round = report->evaluations[i].round;
        if (round > rounds)
            return err_set(err, ERR_TRIAL, "evaluation %u is of the model after round %u, there are %u rounds", i, round, rounds);
        if (i > 0 && round <= report->evaluations[i - 1].round)
            return err_set(err, ERR_TRIAL, "evaluation %u is of the model after round %u, the one before it after round %u", i,
                           round, report->evaluations[i - 1].round);
    }
    return 0;
}

int report_check(const struct control_report *report, uint32_t node_count, uint32_t rounds, struct err *err)
{
    for (uint32_t i = 0; i < report->span_count; i++)
        if (check_span(&report->spans[i], i, node_count, rounds, err) < 0)
            return -ERR_TRIAL;
    for (uint32_t i = 0; i < report->gradient_count; i++)
        if (check_gradient(&report->gradients[i], i, node_count, rounds, err) < 0)
            return -ERR_TRIAL;
    if (check_evaluations(report, rounds, err) < 0)
        return -ERR_TRIAL;
    if (report->model_sha256_bytes != 0 && report->model_sha256_bytes != SHA256_BYTES)
        return err_set(err, ERR_TRIAL, "the model's digest has %u bytes, a SHA-256 has %d", report->model_sha256_bytes,
                       SHA256_BYTES);
    return 0;
}
