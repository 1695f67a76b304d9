/* netem/measure_expect.c: what a direction should show of itself in so many probes. Pure arithmetic.
 *
 * Delays. The table of quantiles that both engines draw from gives mean, standard deviation and quantiles exactly, cut off at zero
 * delay. The quantile q of n draws lies, 99 times in 100, between the table's quantiles q -+ 2.58 sqrt(q (1 - q) / n); the standard
 * deviation's own error follows from the table's fourth moment.
 *
 * Fates. A datagram is duplicated with d, each copy lost with l, corrupted with c. It never comes when all its copies are lost, or
 * when the wrong bit hits its headers (28 bytes of IPv4 and UDP), which the kernel then drops. Losses of a two-state chain are
 * correlated: rho^k between two k packets apart, rho = 1 - p - r, so that a count of them varies more than independent ones would.
 * For the same reason the mean run of losses is P(lost) / P(lost after one that was not). */
#include <math.h>

#include "base/clock.h"
#include "netem/impairment.h"
#include "netem/measure.h"
#include "netem/measure_internal.h"

#define Z99 2.5758293035489004 /* the normal quantile of 0.995 */
enum { HEADER_BYTES = 28 };

static double table_delay_ns(const struct direction *asked, struct impairment_table table, double place)
{
    int last = table.size - 1, entry = place <= 0 ? 0 : place >= last ? last : (int)place;
    double delay_ns =
        (double)asked->delay_ns + (double)asked->impairments.jitter_ns * (double)table.entries[entry] / IMPAIRMENT_SCALE;
    return delay_ns > 0 ? delay_ns : 0;
}

void measure_expect_delays(const struct direction *asked, uint32_t probes, struct measure_expectation *expected)
{
    static const double probabilities[CHECK_QUANTILES] = CHECK_QUANTILE_PROBABILITIES;
    double sum = 0, squares = 0, fourths = 0, n = probes;
    *expected = (struct measure_expectation){.delay_mean_ns = (double)asked->delay_ns};
    if (asked->impairments.jitter_ns == 0 || probes == 0) {
        for (int q = 0; q < CHECK_QUANTILES; q++)
            expected->quantile_low_ns[q] = expected->quantile_high_ns[q] = (double)asked->delay_ns;
        return;
    }
    struct impairment_table table = impairment_table_for(&asked->impairments);
    for (int i = 0; i < table.size; i++)
        sum += table_delay_ns(asked, table, i);
    double mean = sum / table.size;
    for (int i = 0; i < table.size; i++) {
        double square = pow(table_delay_ns(asked, table, i) - mean, 2);
        squares += square;
        fourths += square * square;
    }
    double variance = squares / table.size;
    expected->delay_mean_ns = mean;
    expected->delay_sd_ns = sqrt(variance);
    if (variance > 0)
        expected->delay_sd_error_ns = Z99 * sqrt((fourths / table.size - variance * variance) / (4 * n * variance));
    for (int q = 0; q < CHECK_QUANTILES; q++) {
        double error = Z99 * sqrt(probabilities[q] * (1 - probabilities[q]) / n);
        expected->quantile_low_ns[q] = table_delay_ns(asked, table, (probabilities[q] - error) * table.size);
        expected->quantile_high_ns[q] = table_delay_ns(asked, table, (probabilities[q] + error) * table.size);
    }
}

/* Mean, probability that the next one is lost behind a lost one, and variance of a count against independent losses'. */
static void expect_losses(const struct impairments *asked, double *loss, double *again, double *variance)
{
    struct gilbert_elliott chain = impairment_bursts(asked);
    *loss = *again = asked->loss;
    *variance = 1;
    if (chain.p <= 0)
        return;
    double bad = chain.p / (chain.p + chain.r), good = 1 - bad, rho = 1 - chain.p - chain.r;
    *loss = bad * chain.loss_bad + good * chain.loss_good;
    if (*loss <= 0 || *loss >= 1)
        return;
    double bad_if_lost = bad * chain.loss_bad / *loss;
    double bad_next = bad_if_lost * (1 - chain.r) + (1 - bad_if_lost) * chain.p;
    *again = bad_next * chain.loss_bad + (1 - bad_next) * chain.loss_good;
    double covariance = pow(chain.loss_bad - chain.loss_good, 2) * bad * good;
    *variance = 1 + 2 * covariance * rho / (1 - rho) / (*loss * (1 - *loss));
}

void measure_expect_fates(const struct direction *asked, double spacing_ns, uint32_t payload_bytes,
                          struct measure_fates_expectation *expected)
{
    const struct impairments *impairments = &asked->impairments;
    double loss, again, variance, duplicate = impairments->duplicate;
    double headers = (double)HEADER_BYTES / (double)(HEADER_BYTES + payload_bytes);
    expect_losses(impairments, &loss, &again, &variance);
    /* On both engines a packet that is to be doubled and lost goes on alone; for a second copy is drawn once more, right behind. */
    double all_copies = loss * (1 - duplicate), both = 1 - 2 * loss + loss * again;
    double in_flight = spacing_ns > 0 ? floor((double)asked->delay_ns / spacing_ns) : 0;
    *expected = (struct measure_fates_expectation){
        .lost = all_copies + (1 - all_copies) * impairments->corrupt * headers,
        .duplicated = duplicate * both,
        .corrupted = (1 - all_copies) * impairments->corrupt * (1 - headers),
        .reordered = impairments->reorder * (1 - loss) * (1 - pow(impairments->reorder, in_flight)),
        .reordering_shows = in_flight >= 2,
        .loss_run = again < 1 ? 1 / (1 - again) : INFINITY,
        .loss_variance = variance,
    };
}

void measure_interval(uint64_t count, uint64_t sent, double variance_factor, double *low, double *high)
{
    double n = (double)sent / variance_factor, p = (double)count / (double)sent, z2 = Z99 * Z99;
    double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    double width = Z99 / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
    *low = count == 0 ? 0 : middle - width;
    *high = count == sent ? 1 : middle + width;
}

/* p and p / 2 are apart when 2.58 standard errors fit between them; p and 2 p then are, too. */
uint64_t measure_packets_needed(double probability, double variance_factor)
{
    if (probability <= 0 || probability >= 1)
        return 0;
    return (uint64_t)ceil(4 * Z99 * Z99 * (1 - probability) / probability * variance_factor);
}
