/* fabric_internal.h: a fabric on the caller's side, shared by fabric.c (what is asked) and fabric_channel.c (how). */
#ifndef LAGGARD_NETEM_FABRIC_INTERNAL_H
#define LAGGARD_NETEM_FABRIC_INTERNAL_H

#include "netem/warden.h"

struct fabric {
    pid_t warden;
    int pidfd, request_fd, event_fd, awake_fd;
    enum engine_kind engine;
    int link_count, host_count, program_count, flow_count, capture_count;
    int64_t round_trip_ns; /* of the link with the longest */
    pid_t *pids;           /* one a program, in this process's PID namespace */
    struct warden_shared *shared;
    size_t shared_bytes;
    struct err broken; /* what the network cannot do without and has ended */
};

/* How long a warden that is alive may take at most: a stopped one must not hold its caller for ever. */
enum { FABRIC_ANSWER_MS = 10 * 1000, FABRIC_NEVER_INTERRUPTED = -1 };

/* Answers come in turn: what is returned is the warden's, with its sentence. `interrupt_fd` readable: ERR_INTERRUPTED, and the
 * fabric is good for nothing but its end. */
int fabric_channel_ask(struct fabric *fabric, const struct warden_request *asked, struct err *err);
int fabric_channel_ask_within(struct fabric *fabric, const struct warden_request *asked, int timeout_ms, int interrupt_fd,
                              struct err *err);
/* Until the network stands: pids of programs on the way. */
int fabric_channel_await_built(struct fabric *fabric, struct err *err);
/* The sentence for a warden that is no more, with how it ended. Waits a few seconds at most for the kernel to say so. */
int fabric_channel_gone(const struct fabric *fabric, struct err *err);

#endif
