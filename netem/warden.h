/* warden.h: process 1 of a fabric's PID namespace, and what it shares with the caller.
 *
 * Theory of operation. Warden and caller are the same program after a fork, so that the spec is not serialised. Large results (read
 * back, counters, checks, errors) lie in memory mapped shared before the fork; two channels carry the rest:
 *   requests  a pair of packet sockets: the caller asks, the warden answers each in turn. First come, unasked, one `started`
 *             answer a program, with the program's pid in its credentials (the kernel translates it into the caller's PID
 *             namespace), and the answer to the building itself.
 *   events    a pipe, not a socket, for its room: the warden tells that a program or the relay has ended and must never wait for
 *             the caller, who reads when it likes.
 * The end of the requests socket is the warden's order to exit. Its exit is the end of everything inside. */
#ifndef LAGGARD_NETEM_WARDEN_H
#define LAGGARD_NETEM_WARDEN_H

#include <stdint.h>

#include "base/err.h"
#include "base/process.h"
#include "netem/enter.h"
#include "netem/fabric.h"
#include "netem/namespaces.h"
#include "netem/relay.h"

enum warden_operation {
    WARDEN_STARTED,
    WARDEN_BUILT,
    WARDEN_COUNT,
    WARDEN_RESET,
    WARDEN_MEASURE,
    WARDEN_SIGNAL,
    WARDEN_CHANGE,
    WARDEN_SEPARATE,
    WARDEN_FINISH_CAPTURES,
    WARDEN_TRAFFIC_ORDER,
    WARDEN_READ_BACK,
};

struct warden_request {
    enum warden_operation operation;
    int program;                  /* signal */
    int argument;                 /* signal number; change: 2 * link + direction; separate: 0 heals */
    int64_t time_ns;              /* cross traffic: when it starts; 0: it stops */
    struct measure_effort effort; /* measure */
};
struct warden_answer {
    enum warden_operation operation;
    int code;    /* 0, or negative with the sentence in the shared error */
    int program; /* started */
};
enum { WARDEN_RELAY = -1, WARDEN_TRAFFIC = -2 }; /* an event's program */
enum { WARDEN_EVENT_PIPE_BYTES = 1 << 20 };
struct warden_event {
    int program;
    struct process_exit how;
};

struct warden_shared {
    struct err err;                    /* of the last answer */
    struct err relay_err, traffic_err; /* why the relay ended, and the cross traffic */
    struct err capture_err;
    int64_t build_ns;
    int entered;             /* programs that others have started from outside */
    struct direction change; /* what a direction is to become */
    bool change_down;
    int *group; /* one a host: how they are to be parted */
    struct link_readback *readback;
    struct link_counters *counters;
    struct link_check *checks;
    struct relay_counters *relay;
    struct packet_summary *summaries;
    struct traffic_counters *traffic;
};

struct warden_setup {
    const struct fabric_spec *spec;
    enum engine_kind engine; /* resolved */
    struct namespaces_owner owner;
    struct warden_shared *shared;
    int request_fd, event_fd;
    int enter_fd; /* listens for those who want to enter; -1: nobody may */
    char enter_name[ENTER_NAME_BYTES];
};
/* A socket that listens for askers (netem/enter.h); the caller makes it, in its own network namespace. */
int warden_enter_listen(const char *name, int *fd, struct err *err);
/* The body of the cloned process. */
_Noreturn void warden_run(const struct warden_setup *setup);

#endif
