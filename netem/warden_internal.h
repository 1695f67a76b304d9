/* warden_internal.h: what warden.c (building, reaping, answering) and the files for the processes inside share: warden_programs.c
 * (starting, signalling), warden_forks.c (starting many of one program), warden_outside.c (starting what is not ours),
 * warden_capture.c and warden_traffic.c (cross traffic). */
#ifndef LAGGARD_NETEM_WARDEN_INTERNAL_H
#define LAGGARD_NETEM_WARDEN_INTERNAL_H

#include <stdbool.h>
#include <sys/resource.h>

#include "base/fork_server.h"
#include "netem/network.h"
#include "netem/warden.h"

struct warden {
    const struct warden_setup *setup;
    struct network network;
    struct process *programs; /* one a program of the spec; pid 0 once reaped */
    int *reports;             /* of starts that are not confirmed yet, one a program */
    int next_program;         /* for warden_begin_place() */
    struct fork_server forks;
    const struct fabric_program *fork_program; /* the first of those that it starts; NULL: there is no such process */
    pid_t relay;                               /* 0: none */
    int relay_control;                         /* closing it ends the relay */
    pid_t capture;                             /* 0: none, or it has ended */
    int capture_control;
    pid_t traffic;       /* 0: none */
    int traffic_control; /* likewise */
    int signal_fd, null_fd;
    struct process *inits; /* of the places that have outside programs: process 1 of their namespaces */
    struct arena *outside; /* what outside programs are told, as long as the warden lives */
    const char *peers;
    int enter_fd; /* epoll of those who may want to enter; -1: nobody may */
    struct warden_door *doors;
    struct err settle_err;      /* of a change that could not be finished after its answer: the next answer tells */
    struct rlimit files_before; /* what the programs get: the warden itself takes the most it may */
};

/* `pid` of a program that has started; 0: none. Ends the process when the caller is gone. */
void warden_send_answer(const struct warden *warden, enum warden_operation operation, int code, int program, pid_t pid);

/* warden_capture.c: starts the process that captures, where the spec asks for one; waits until its sockets are open; has it write
 * down all there is and end. */
int warden_start_capture(struct warden *warden, struct err *err);
int warden_await_capture(struct warden *warden, struct err *err);
int warden_finish_captures(struct warden *warden, struct err *err);

/* Takes memory for the programs; before anything else. */
int warden_list_programs(struct warden *warden, struct err *err);
/* Forks the programs that are (or are not) `early` and that have not begun yet, without waiting for their exec. */
int warden_begin_programs(struct warden *warden, bool early, struct err *err);
/* Between fork and exec: no input, and output to standard error. -1: errno says why. */
int warden_keep_output(int null_fd);
/* Place `place` is there, as are all before it: forks the early programs that stand next in the spec, as far as their places are
 * there. A network_place_made. */
int warden_begin_place(void *warden, int place, struct err *err);
/* Waits for every exec, tells the caller of each, and closes the descriptors that now belong to the programs. */
int warden_confirm_programs(struct warden *warden, struct err *err);

/* Starts the process whose forks programs are, where there are such programs. Its answer is known, or, with `wait`, no longer
 * waited for: from then on warden_forks() says of each program whether it is such a fork. Starting one is as process_begin(),
 * and confirmed by fork_server_confirm(). The end of the process makes the forks the warden's own children. */
void warden_begin_forks(struct warden *warden);
bool warden_forks_known(struct warden *warden, bool wait);
bool warden_forks(const struct warden *warden, const struct fabric_program *program);
int warden_fork(struct warden *warden, const struct fabric_program *program, int *report_fd, struct err *err);
void warden_end_forks(struct warden *warden);

/* Outside programs: as process_begin() and process_confirm(). `err` says what of the program, not where. */
int warden_prepare_outside(struct warden *warden, struct err *err);
int warden_begin_outside(struct warden *warden, const struct fabric_program *program, struct process *process, int *report_fd,
                         struct err *err);
int warden_confirm_outside(const struct warden *warden, const struct fabric_program *program, struct process *process,
                           int *report_fd, struct err *err);

/* netem/enter.h, the warden's side. */
int warden_enter_begin(struct warden *warden, struct err *err);
/* The process is in the network namespace of a place that others may now enter from. */
int warden_enter_place(struct warden *warden, struct err *err);
void warden_enter_serve(struct warden *warden);                                             /* when warden->enter_fd is readable */
bool warden_enter_reaped(struct warden *warden, pid_t pid, const struct process_exit *how); /* false: none of these */

/* Sends the signal `request->argument`; an error when that program has ended. */
int warden_signal_program(struct warden *warden, const struct warden_request *request, struct err *err);

/* Cross traffic, where there is some: started once the network carries packets; its connections are there once it was awaited. */
int warden_start_traffic(struct warden *warden, struct err *err);
int warden_await_traffic(struct warden *warden, struct err *err);
/* CLOCK_MONOTONIC; 0: it has stopped on return. */
int warden_order_traffic(struct warden *warden, int64_t start_ns, struct err *err);

#endif
