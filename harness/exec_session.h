/* harness/exec_session.h: a network with other people's programs on it, from its making to its end. */
#ifndef LAGGARD_HARNESS_EXEC_SESSION_H
#define LAGGARD_HARNESS_EXEC_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/capture.h"
#include "schemas/topology.h"

struct err;

enum { EXEC_EVERY_HOST = -1 };

struct exec_session {
    const struct topology *topology;
    enum engine_kind engine; /* resolved */
    char *const *command;    /* NULL: nothing is started */
    int place;               /* or EXEC_EVERY_HOST */
    bool prefix;             /* every host: the node's name in front of each line */
    bool keep;               /* the network stays when the command has ended, until a signal */
    const char *name;        /* of the campaign: part of capture files' names */
    struct capture_settings capture;
    bool quiet;                      /* do not say what was captured */
    uint64_t open_files;             /* the programs' soft limit; 0: this process's */
    int signal_fd;                   /* interruption.h */
    void (*standing)(void *context); /* called once the network stands and the command has started; NULL: nobody cares */
    void *context;
};

/* 0 or an exit code: of one place, the command's own, or 128 + the signal that killed it. Negative: with a sentence in err, but for
 * ERR_INTERRUPTED, which needs none. Nothing is left in any case. */
int exec_session_run(const struct exec_session *session, struct err *err);

/* What a shell makes of an end: the status, or 128 + the signal. */
struct process_exit;
int exec_session_exit_code(const struct process_exit *how);

#endif
