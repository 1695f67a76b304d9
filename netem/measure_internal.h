/* netem/measure_internal.h: the two measurements of a link direction, and the pure parts that tests/unit/test_measure.c drives. */
#ifndef LAGGARD_NETEM_MEASURE_INTERNAL_H
#define LAGGARD_NETEM_MEASURE_INTERNAL_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/topology.h"

struct err;

struct measure_end {
    int namespace_fd;
    uint32_t address;   /* host byte order */
    const char *device; /* the only one its socket uses; NULL: as the routes say */
};
struct measure_path { /* one direction of one link */
    struct measure_end source, target;
    struct direction asked;
    int64_t round_trip_ns; /* both directions' delay as asked */
    int mtu;
};

/* A nonblocking socket in the end's namespace, bound to its address and a free port. */
int measure_socket(const struct measure_end *end, int type, int *fd, struct sockaddr_in *bound, struct err *err);

enum { MEASURE_PROBES = 24 };
int measure_delay(const struct measure_path *path, struct direction_check *check, struct err *err);
void measure_delay_statistics(const int64_t *delay_ns, int count, struct direction_check *check);

struct measure_arrival {
    int64_t time_ns;
    uint64_t bytes; /* received up to and with this moment */
};
int measure_goodput(const struct measure_path *path, double *goodput_bps, struct err *err);
uint64_t measure_transfer_bytes(const struct measure_path *path);
int64_t measure_pause_ns(const struct measure_path *path, uint64_t burst_bytes);
/* The rate over the longest stretch in which no two arrivals are further apart than gap_ns, without its first quarter and at least
 * skip_bytes. 0: there is none. */
double measure_stretch_bps(const struct measure_arrival *arrivals, int count, uint64_t skip_bytes, int64_t gap_ns);

/* Fills within_tolerance and reason from the rest. */
void measure_judge(const struct direction *asked, int mtu, struct direction_check *check);
/* The links to measure: measured[i] for `sample` of link_count, spread evenly. */
int measure_sampled_link(int link_count, int sample, int i); /* i in 0 .. min(sample, link_count) - 1 */

#endif
