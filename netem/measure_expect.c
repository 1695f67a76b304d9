/* netem/measure_expect.c: what a direction should show of itself in so many probes. Pure arithmetic.
 *
 * Delays. The table of quantiles that both engines draw from gives mean, standard deviation and quantiles exactly, cut off at zero
 * delay. The quantile q of n draws lies, 99 times in 100, between the table's quantiles q -+ 2.58 sqrt(q (1 - q) / n); the standard
 * deviation's own error follows from the table's fourth moment.
 *
 * Fates. A datagram is doubled with d, each copy lost with l, corrupted with c. On both engines one that is to be doubled and lost
 * goes on alone; for a second copy a loss is drawn once more, right behind. A datagram never comes when no copy is left, or when a
 * wrong bit hits the headers (28 bytes of IPv4 and UDP) of all that are, which the kernel then drops. Losses are a two-state
 * chain's, of which a datagram takes one step, or two where it has a second copy: with M what it moves from state to state, E the
 * same where it never comes, and pi the stationary distribution of M, P(lost) = pi E 1, P(lost, and the next one too) = pi E E 1. A
 * count of losses varies more than independent ones' would: those k datagrams apart correlate, by the second eigenvalue of M to
 * the k. */
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

/* The chain of losses: state 0 good, 1 bad. Independent losses never leave the good one. */
struct loss_chain {
    double step[2][2], loss[2];
};

static struct loss_chain chain_of(const struct impairments *asked)
{
    struct gilbert_elliott bursts = impairment_bursts(asked);
    if (bursts.p <= 0)
        return (struct loss_chain){.step = {{1, 0}, {0, 1}}, .loss = {asked->loss, asked->loss}};
    return (struct loss_chain){.step = {{1 - bursts.p, bursts.p}, {bursts.r, 1 - bursts.r}},
                               .loss = {bursts.loss_good, bursts.loss_bad}};
}

/* What a datagram does that finds each state, and where it leaves the chain. */
struct datagram {
    double move[2][2], never[2][2]; /* M and E */
    double lost[2], twice[2];       /* no copy is left; both are */
};

static void follow_datagram(const struct loss_chain *chain, double duplicate, double dropped, struct datagram *datagram)
{
    *datagram = (struct datagram){0};
    for (int from = 0; from < 2; from++) {
        const double loss = chain->loss[from], second = (1 - loss) * duplicate;
        const double alone = loss * duplicate + (1 - loss) * (1 - duplicate);
        datagram->lost[from] = loss * (1 - duplicate);
        for (int to = 0; to < 2; to++) {
            const double step = chain->step[from][to], again = chain->loss[to];
            datagram->move[from][to] += (1 - second) * step;
            datagram->never[from][to] += (datagram->lost[from] + alone * dropped) * step;
            datagram->twice[from] += second * step * (1 - again);
            for (int end = 0; end < 2; end++) {
                const double steps = second * step * chain->step[to][end];
                datagram->move[from][end] += steps;
                datagram->never[from][end] += steps * dropped * (again + (1 - again) * dropped);
            }
        }
    }
}

void measure_expect_fates(const struct direction *asked, double spacing_ns, uint32_t payload_bytes,
                          struct measure_fates_expectation *expected)
{
    const struct impairments *impairments = &asked->impairments;
    const double headers = (double)HEADER_BYTES / (double)(HEADER_BYTES + payload_bytes), dropped = impairments->corrupt * headers;
    const struct loss_chain chain = chain_of(impairments);
    struct datagram datagram;
    follow_datagram(&chain, impairments->duplicate, dropped, &datagram);
    const double to_bad = datagram.move[0][1], to_good = datagram.move[1][0], bad = to_bad > 0 ? to_bad / (to_bad + to_good) : 0;
    const double shares[2] = {1 - bad, bad};
    double loss = 0, no_copy = 0, twice = 0, lost = 0, lost_next = 0, variance = 1;
    for (int from = 0; from < 2; from++) {
        loss += shares[from] * chain.loss[from];
        no_copy += shares[from] * datagram.lost[from];
        twice += shares[from] * datagram.twice[from];
        for (int to = 0; to < 2; to++) {
            lost += shares[from] * datagram.never[from][to];
            lost_next += shares[from] * datagram.never[from][to] * (datagram.never[to][0] + datagram.never[to][1]);
        }
    }
    if (to_bad > 0 && lost > 0 && lost < 1)
        variance += 2 * (lost_next - lost * lost) / (to_bad + to_good) / (lost * (1 - lost));
    const double in_flight = spacing_ns > 0 ? floor((double)asked->delay_ns / spacing_ns) : 0;
    *expected = (struct measure_fates_expectation){
        .lost = lost,
        .duplicated = twice,
        .corrupted = (1 - no_copy) * impairments->corrupt * (1 - headers),
        .reordered = impairments->reorder * (1 - loss) * (1 - pow(impairments->reorder, in_flight)),
        .reordering_shows = in_flight >= 2,
        .loss_run = lost > 0 ? lost / (lost - lost_next) : 1, /* INFINITY where all is lost */
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
