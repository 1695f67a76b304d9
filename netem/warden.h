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
#include "netem/fabric.h"
#include "netem/namespaces.h"
#include "netem/relay.h"

enum warden_operation { WARDEN_STARTED, WARDEN_BUILT, WARDEN_COUNT, WARDEN_RESET, WARDEN_MEASURE, WARDEN_SIGNAL };

struct warden_request {
    enum warden_operation operation;
    int program;  /* signal */
    int argument; /* signal number; sample */
};
struct warden_answer {
    enum warden_operation operation;
    int code;    /* 0, or negative with the sentence in the shared error */
    int program; /* started */
};
enum { WARDEN_RELAY = -1 }; /* an event's program */
enum { WARDEN_EVENT_PIPE_BYTES = 1 << 20 };
struct warden_event {
    int program;
    struct process_exit how;
};

struct warden_shared {
    struct err err;       /* of the last answer */
    struct err relay_err; /* why the relay ended */
    int64_t build_ns;
    struct link_readback *readback;
    struct link_counters *counters;
    struct link_check *checks;
    struct relay_counters *relay;
};

struct warden_setup {
    const struct fabric_spec *spec;
    enum engine_kind engine; /* resolved */
    struct namespaces_owner owner;
    struct warden_shared *shared;
    int request_fd, event_fd;
};
/* The body of the cloned process. */
_Noreturn void warden_run(const struct warden_setup *setup);

#endif
