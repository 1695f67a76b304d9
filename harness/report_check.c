/* report_check.c: refuses reports that cannot be true; see report_check.h.
 *
 * Besides what belongs to one record, no number is so large that a sum of them, here or in a query, runs over: 2^55 ns are a year,
 * 2^55 bytes are 32 PiB. The spans of a report, of which there are up to 1.6 million, may come to four times that. */
#include "harness/report_check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/err.h"

enum { SHA256_BYTES = 32 };
static const uint64_t NUMBER_MOST = UINT64_C(1) << 55, SUM_MOST = UINT64_C(1) << 57;
static const double GRADIENT_NS_MOST = 1e15, LOSS_MOST = 1e100;

static int check_numbers(const struct wire_table *table, const char *object, struct err *err)
{
    for (size_t i = 0; i < table->field_count; i++) {
        const struct wire_field *field = &table->fields[i];
        const char *member = object + field->offset, *elements = member;
        uint64_t value = 0;
        uint32_t count = field->type == WIRE_STRUCT;
        if (field->type == WIRE_U64 || field->type == WIRE_I64)
            memcpy(&value, member, sizeof(value));
        if (field->type == WIRE_I64 && (int64_t)value < 0)
            value = -value;
        if (value > NUMBER_MOST)
            return err_set(err, ERR_TRIAL, "%s is %" PRIu64 " or the negative of it, allowed are %" PRIu64, field->name, value,
                           NUMBER_MOST);
        if (field->type == WIRE_ARRAY) {
            memcpy(&elements, member, sizeof(elements));
            memcpy(&count, object + field->count_offset, sizeof(count));
        }
        for (uint32_t e = 0; e < count; e++)
            if (check_numbers(field->elements, elements + e * field->elements->struct_bytes, err) < 0)
                return err_wrap(err, "%s %u", field->name, e);
    }
    return 0;
}

static int check_span_sums(const struct control_report *report, struct err *err)
{
    uint64_t bytes = 0, ns = 0;
    for (uint32_t i = 0; i < report->span_count; i++) { /* each addend is below 2^57 */
        bytes += report->spans[i].bytes;
        ns += (uint64_t)(report->spans[i].end_ns - report->spans[i].begin_ns);
        if (bytes > SUM_MOST || ns > SUM_MOST)
            return err_set(err, ERR_TRIAL,
                           "spans up to number %u come to %" PRIu64 " bytes and %" PRIu64 " ns, allowed are %" PRIu64, i, bytes, ns,
                           SUM_MOST);
    }
    return 0;
}

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
        const double loss = report->evaluations[i].loss, accuracy = report->evaluations[i].accuracy;
        uint32_t round = report->evaluations[i].round;
        if (isfinite(loss) && fabs(loss) > LOSS_MOST) /* infinite, or no number: training diverged */
            return err_set(err, ERR_TRIAL, "evaluation %u has a loss of %g, allowed are %g and what is not finite", i, loss,
                           LOSS_MOST);
        if (accuracy < 0 || accuracy > 1)
            return err_set(err, ERR_TRIAL, "evaluation %u has an accuracy of %g, a share is 0 to 1", i, accuracy);
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
    if (report->round_count > rounds)
        return err_set(err, ERR_TRIAL, "it has %u rounds, there are %u", report->round_count, rounds);
    for (uint32_t i = 0; i < report->span_count; i++)
        if (check_span(&report->spans[i], i, node_count, rounds, err) < 0)
            return -ERR_TRIAL;
    for (uint32_t i = 0; i < report->gradient_count; i++)
        if (check_gradient(&report->gradients[i], i, node_count, rounds, err) < 0)
            return -ERR_TRIAL;
    if (check_evaluations(report, rounds, err) < 0 ||
        check_numbers(control_operations[CONTROL_REPORT].body, (const char *)report, err) < 0 || check_span_sums(report, err) < 0)
        return -ERR_TRIAL;
    if (!isfinite(report->counters.gradient_mean_ns) || fabs(report->counters.gradient_mean_ns) > GRADIENT_NS_MOST)
        return err_set(err, ERR_TRIAL, "its mean gradient took %g ns", report->counters.gradient_mean_ns);
    if (report->model_sha256_bytes != 0 && report->model_sha256_bytes != SHA256_BYTES)
        return err_set(err, ERR_TRIAL, "the model's digest has %u bytes, a SHA-256 has %d", report->model_sha256_bytes,
                       SHA256_BYTES);
    return 0;
}

int report_check_listening(const struct control_listening *listening, int64_t since_setup_ns, struct err *err)
{
    if (!(listening->gradient_ns >= 0 && listening->gradient_ns <= GRADIENT_NS_MOST))
        return err_set(err, ERR_TRIAL, "it says that a gradient takes %g ns, allowed are 0 to %g", listening->gradient_ns,
                       GRADIENT_NS_MOST);
    if (listening->gradient_ns > (double)since_setup_ns) /* the trial's deadline follows from it */
        return err_set(err, ERR_TRIAL, "it says that a gradient takes %g ns, and needed %" PRId64 " ns for all that it did so far",
                       listening->gradient_ns, since_setup_ns);
    if (listening->parameter_count > NUMBER_MOST)
        return err_set(err, ERR_TRIAL, "it says that its model has %" PRIu64 " floats, allowed are %" PRIu64,
                       listening->parameter_count, NUMBER_MOST);
    for (const char *c = listening->blas; c && *c; c++) /* it comes to terminals and pages */
        if (*c < 0x20 || *c > 0x7e)
            return err_set(err, ERR_TRIAL, "the name of its BLAS library has the byte %d at position %d", (unsigned char)*c,
                           (int)(c - listening->blas));
    return 0;
}
