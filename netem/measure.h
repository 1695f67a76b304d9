/* netem/measure.h: what idle links really do, measured between the namespaces at their ends. */
#ifndef LAGGARD_NETEM_MEASURE_H
#define LAGGARD_NETEM_MEASURE_H

#include "schemas/topology.h"

struct err;

/* Measures links, one after the other, both directions, between the two ends' own addresses. A direction that misses its tolerance
 * is measured once more and the second result stands.
 *
 * Delay: from the sender's clock in front of send() to the kernel's receive stamp, so that the time this process needs to wake up
 * is not taken for the link's. 24 one-way UDP probes; thorough: 200, with jitter up to 2,000, further apart than jitter moves them,
 * and at no more than half of the rate. Tolerance: the mean within 200 us or 5 %, whichever is more, and no probe lost; where so
 * much loss is asked that all may be (99 %), all may. Thorough and with jitter: mean, standard
 * deviation and quantiles as the distribution has them, within what so many probes can tell (99 %) and that tolerance.
 *
 * Fates: numbered UDP datagrams at no more than half of the rate tell loss, its runs, duplicates, corruption and reordering, where
 * any of them is asked (for at most 100 ms) or thorough. As many as it takes for a 99 % interval to tell each asked probability
 * from twice and from half of it, if the time allows. Tolerance: what was asked lies in the 99 % interval; what was not asked never
 * comes.
 *
 * Goodput: TCP payload over the longest stretch of a transfer of 60 ms worth of the rate (thorough: 500 ms, or half of the time)
 * without a pause, its first quarter (and what tbf's bucket lets through at once) left out: slow start, a full bucket or a stalled
 * reader do not count. Tolerance: 5 % around rate x payload share (below 300 kbit/s, where a second is a handful of packets, 40 %);
 * a direction without a rate or with impairments has none. 0 where nothing came through, which over losses may be.
 *
 * Message (thorough): 1 ms worth of the rate, at least 64 KiB, after silence, over the same connection; the median of several.
 * None over impairments. Tolerance: 5 %, and what the bucket lets through at once, and 50 us for waking up.
 *
 * Drift (thorough): probes of all directions go on; the median delay of the last 10 s (or half of the time) against the first.
 * Tolerance: as of the delay, and what so many probes of that jitter can tell.
 *
 * namespace_fds has one network namespace a place, in which a process may bind to the place's address. Runs in a process of its
 * own: the calling thread ends in one of these namespaces. Blocks. Fails (ERR_HOST) where sockets cannot be made; what a link does
 * is a result, never a failure. Unmeasured links have measured = false and zeros. */
int measure_links(const struct topology *topology, const int *namespace_fds /* one a place */, const struct measure_effort *effort,
                  struct link_check *checks /* one a link */, struct err *err);

/* More seconds than measure_links() takes, so that nobody waits for ever. round_trip_ns: of a full frame's pair over the link where
 * that takes longest, each way at half of the rate. */
int64_t measure_seconds_most(int link_count, const struct measure_effort *effort, int64_t round_trip_ns);
int64_t measure_longest_round_trip_ns(const struct topology *topology);
/* About what measure_links() takes when every link is as asked, on an idle host. Pure. */
int64_t measure_expected_ns(const struct topology *topology, const struct measure_effort *effort);

/* What a direction should show of itself (measure_expect.c). Pure. */
struct measure_expectation {
    double delay_mean_ns, delay_sd_ns;
    double delay_sd_error_ns;                                                   /* of a measured one: 2.58 standard errors */
    double quantile_low_ns[CHECK_QUANTILES], quantile_high_ns[CHECK_QUANTILES]; /* 99 % of such quantiles lie between */
};
/* Of `probes` delays. */
void measure_expect_delays(const struct direction *asked, uint32_t probes, struct measure_expectation *expected);
struct measure_fates_expectation { /* probabilities of a datagram that was sent */
    double lost, duplicated, corrupted, reordered;
    bool reordering_shows; /* datagrams are near enough to each other for overtaking */
    double loss_run;       /* mean length of a run of losses */
    double loss_variance;  /* of a count of losses, as a multiple of independent losses': over 1 in bursts */
};
void measure_expect_fates(const struct direction *asked, double spacing_ns, uint32_t payload_bytes,
                          struct measure_fates_expectation *expected);
/* The 99 % interval (Wilson) of a probability of which `count` of `sent` were seen. */
void measure_interval(uint64_t count, uint64_t sent, double variance_factor, double *low, double *high);

/* So many packets tell `probability` from twice and from half of it (99 %): more where losses come in bursts. */
uint64_t measure_packets_needed(double probability, double variance_factor);
/* Of the datagrams by which fates are measured. */
uint32_t measure_fates_payload_bytes(const struct direction *asked);

#endif
