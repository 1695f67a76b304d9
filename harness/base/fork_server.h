/* fork_server.h: many processes of one program for the price of one start: the program is started once, loads, and is then asked
 * to fork.
 *
 * Theory of operation. exec and the dynamic linker cost more than all else that a small program does before it has something to
 * do. A program that can be a fork server does what is the same for all its processes, says so on a socket, and then forks once
 * a request. Each fork enters the namespaces that its request names, closes all that it was not given, shows its own title in
 * process lists, and goes on in main() as if it had just been started. It reports its pid, or why it could not begin, in the
 * report pipe of its request. Once everything has started the server is ended: its forks then become children of the nearest
 * reaper (prctl(2), PR_SET_CHILD_SUBREAPER; process 1 of a PID namespace is one), who hears of their ends as of any child's.
 * Until then nobody reaps them, so that a pid stays its process's.
 *
 * A program that does not answer as a fork server is none: whoever has started it starts its processes one by one. */
#ifndef LAGGARD_BASE_FORK_SERVER_H
#define LAGGARD_BASE_FORK_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/process.h"

/* The program's first argument when it is to be a fork server; its socket is then descriptor 3. One more argument is only room. */
#define FORK_SERVER_OPTION "--fork-server"
enum { FORK_DESCRIPTORS_MOST = 16, FORK_TITLE_BYTES = 256, FORK_HOST_NAME_BYTES = 65 };

struct fork_server {
    struct process process;
    int socket;
    bool answered; /* it is one */
};
#define FORK_SERVER_NONE ((struct fork_server){.process = PROCESS_NONE, .socket = -1})

struct fork_spec {
    const char *title;      /* command and arguments, for process lists */
    int network_fd;         /* network namespace to enter; -1: the server's */
    const char *host_name;  /* of a UTS namespace of its own; NULL: the server's */
    int cgroup_fd;          /* open for writing on a cgroup's process list; 0: none */
    const int *descriptors; /* descriptors[i] becomes 3 + i; everything else above 2 is closed */
    unsigned descriptor_count;
};

/* ---- whoever starts processes; a reaper ---- */

/* Starts spec->path; arguments and descriptors of *spec are not used. Returns at once. */
int fork_server_begin(const struct process_spec *spec, struct fork_server *server, struct err *err);
/* Waits at most so long for its answer. True once it is known: server->answered, or the program is no fork server and was ended. */
bool fork_server_known(struct fork_server *server, int timeout_ms);
/* Has it fork; returns at once. As with process_begin(), *report_fd is the caller's until fork_server_confirm(), which waits
 * until the process runs. That may end at any time, and is reaped by the caller once the server has ended. */
int fork_server_fork(struct fork_server *server, const char *path, const struct fork_spec *spec, int *report_fd, struct err *err);
int fork_server_confirm(struct fork_server *server, const char *path, struct process *process, int *report_fd, struct err *err);
void fork_server_end(struct fork_server *server);

/* ---- the program ---- */

/* Answers, then forks as often as asked. Returns in each fork; the server itself never returns. */
void fork_server_serve(int argc, char **argv);

#endif
