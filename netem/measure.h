/* netem/measure.h: what idle links really do, measured between the namespaces at their ends. */
#ifndef LAGGARD_NETEM_MEASURE_H
#define LAGGARD_NETEM_MEASURE_H

#include "schemas/topology.h"

struct err;

/* Measures `sample` links, spread evenly (0, or as many as there are: all), one after the other, both directions, from the host's
 * address to the router's and back. Each direction takes 24 one-way UDP probes (some 30 ms and the delay) and one TCP transfer of
 * 60 ms worth of the rate (at least 200 KB, at most one second; longer paths get what slow start needs on top), and never longer
 * than 3 s plus a few round trips. A direction that misses its tolerance is measured once more and the second result stands.
 *
 * Delay: from the sender's clock in front of send() to the kernel's receive stamp, so that the time this process needs to wake up
 * is not taken for the link's. Tolerance: the mean within 200 us or 5 %, whichever is more, and no probe lost. Goodput: TCP payload
 * over the longest stretch of the transfer without a pause, its first quarter (and what tbf's bucket lets through at once) left
 * out: slow start, a full bucket or a stalled reader do not count. Tolerance: 5 % around rate x payload share (below 300 kbit/s,
 * where a second is a handful of packets, 40 %); a direction without a rate has none, and its goodput is that of one thread that
 * both sends and receives. 0 where nothing came through.
 *
 * namespace_fds has one network namespace a place, in which a process may bind to the place's address. Runs in a process of its
 * own: the calling thread ends in one of these namespaces. Blocks. Fails (ERR_HOST) where sockets cannot be made; what a link does
 * is a result, never a failure. Unmeasured links have measured = false and zeros. */
int measure_links(const struct topology *topology, const int *namespace_fds /* one a place */, int sample,
                  struct link_check *checks /* one a link */, struct err *err);

/* More seconds than measure_links() takes, so that nobody waits for ever. round_trip_ns: of the link with the longest. */
int64_t measure_seconds_most(int link_count, int sample, int64_t round_trip_ns);
int64_t measure_longest_round_trip_ns(const struct topology *topology);

#endif
