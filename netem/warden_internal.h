/* warden_internal.h: what warden.c (building, reaping, answering) and warden_programs.c (starting, signalling) share. */
#ifndef LAGGARD_NETEM_WARDEN_INTERNAL_H
#define LAGGARD_NETEM_WARDEN_INTERNAL_H

#include <stdbool.h>
#include <sys/resource.h>

#include "netem/network.h"
#include "netem/warden.h"

struct warden {
    const struct warden_setup *setup;
    struct network network;
    struct process *programs; /* one a program of the spec; pid 0 once reaped */
    int *reports;             /* of starts that are not confirmed yet, one a program */
    pid_t relay;              /* 0: none */
    int relay_control;        /* closing it ends the relay */
    int signal_fd, null_fd;
    struct rlimit files_before; /* what the programs get: the warden itself takes the most it may */
};

/* `pid` of a program that has started; 0: none. Ends the process when the caller is gone. */
void warden_send_answer(const struct warden *warden, enum warden_operation operation, int code, int program, pid_t pid);

/* Takes memory for the programs; before anything else. */
int warden_list_programs(struct warden *warden, struct err *err);
/* Forks the programs that are (or are not) `early`, without waiting for their exec. */
int warden_begin_programs(struct warden *warden, bool early, struct err *err);
/* Waits for every exec, tells the caller of each, and closes the descriptors that now belong to the programs. */
int warden_confirm_programs(struct warden *warden, struct err *err);
/* Sends the signal `request->argument`; an error when that program has ended. */
int warden_signal_program(struct warden *warden, const struct warden_request *request, struct err *err);

#endif
