/* netem/measure_internal.h: the measurements of a link direction, what they are held against, and the pure parts that
 * tests/unit/test_measure*.c drive. */
#ifndef LAGGARD_NETEM_MEASURE_INTERNAL_H
#define LAGGARD_NETEM_MEASURE_INTERNAL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

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
    int64_t time_ns;            /* of struct measure_effort: 0: the survey */
    bool loses;                 /* asked in one of the link's directions: a connection's handshake crosses both */
    bool slow_start_after_idle; /* TCP may begin a message with a small window */
};
enum { MEASURE_FRAME_HEADERS = 42 }; /* of a datagram: Ethernet 14, IPv4 20, UDP 8 */
/* measure_socket.c: so far apart, datagrams of so many bytes take half of the rate; 0: there is none. */
int64_t measure_half_rate_ns(const struct direction *asked, uint32_t payload_bytes);

/* measure_socket.c: a nonblocking socket in the end's namespace, bound to its address and a free port. */
int measure_socket(const struct measure_end *end, int type, int *fd, struct sockaddr_in *bound, struct err *err);
/* A pair of UDP sockets for one-way datagrams to *to; what arrives carries the kernel's stamp. */
int measure_datagram_sockets(const struct measure_path *path, int *source, int *target, struct sockaddr_in *to, struct err *err);
int measure_stamp_arrivals(int fd, struct err *err);
/* When the kernel received what this message brought, on CLOCK_MONOTONIC; `now_ns` where it does not say. */
int64_t measure_stamp_ns(struct msghdr *message, int64_t now_ns);
/* One datagram, of *got bytes, and when the kernel received it. false: there is none. */
bool measure_receive(int fd, void *bytes, size_t length, int64_t *arrived_ns, ssize_t *got);
/* How long a link must be idle until tbf's bucket is full again and the kernel's stamps are on. */
int64_t measure_settle_ns(const struct measure_path *path);
enum { MEASURE_CONTROL_BYTES = CMSG_SPACE(sizeof(struct timespec)) };

/* measure_delay.c */
enum { MEASURE_SURVEY_PROBES = 24 };
int64_t measure_probe_spacing_ns(const struct measure_path *path);
int measure_probe_count(const struct measure_path *path);
int measure_delay(const struct measure_path *path, struct direction_check *check, struct err *err);
int64_t measure_delay_expected_ns(const struct measure_path *path); /* what it takes on a link that is as asked; likewise below */
/* Sorts the delays. */
void measure_delay_statistics(int64_t *delay_ns, int count, struct direction_check *check);

/* measure_fates.c: a datagram's payload is its number again and again, so that one wrong bit is found and the number still read. */
struct measure_pace { /* of a stream of datagrams */
    uint32_t payload_bytes;
    int64_t tick_ns; /* between batches */
    int batch;       /* datagrams at once */
    uint64_t count;
};
struct measure_pace measure_fates_pace(const struct measure_path *path, uint64_t socket_bytes);
int measure_fates(const struct measure_path *path, struct direction_check *check, struct err *err);
int64_t measure_fates_expected_ns(const struct measure_path *path);
/* Of the numbers in order of their first arrival: how many came in front of a smaller one. */
uint64_t measure_overtakers(const uint32_t *arrivals, uint64_t count);

/* measure_transfer.c */
struct measure_arrival {
    int64_t time_ns;
    uint64_t bytes; /* received up to and with this moment */
};
/* Goodput and, thorough, messages after idle. */
int measure_goodput(const struct measure_path *path, struct direction_check *check, struct err *err);
int64_t measure_goodput_expected_ns(const struct measure_path *path);
uint64_t measure_transfer_bytes(const struct measure_path *path);
int64_t measure_pause_ns(const struct measure_path *path, uint64_t burst_bytes);
/* The rate over the longest stretch in which no two arrivals are further apart than gap_ns, without its first quarter and at least
 * skip_bytes. 0: there is none. */
double measure_stretch_bps(const struct measure_arrival *arrivals, int count, uint64_t skip_bytes, int64_t gap_ns);

/* measure_drift.c: all directions at once; paths[i] and drifts[i] belong together. */
struct measure_drift {
    double drift_ns;
    uint32_t probes; /* in each of the two windows; 0: it could not be measured */
};
int measure_drifts(const struct measure_path *paths, struct measure_drift *drifts, int count, int64_t time_ns, struct err *err);
double measure_median(int64_t *values, int count); /* sorts; count > 0 */

/* measure_judge.c: fills within_tolerance and reason from the rest. */
bool measure_asked_to_lose(const struct direction *asked); /* packets: also with wrong bits, which the kernel drops */
void measure_judge(const struct measure_path *path, struct direction_check *check);

/* The links to measure: `sample` of link_count, spread evenly. */
int measure_sampled_link(int link_count, int sample, int i); /* i in 0 .. min(sample, link_count) - 1 */

#endif
