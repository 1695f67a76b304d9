/* harness/message_cost.h: what a message costs on this host beyond its bytes and its way: system calls, the kernel's path through a
 * router, and waking the program that waits for it. Predictions add it to the delay of every message. */
#ifndef LAGGARD_HARNESS_MESSAGE_COST_H
#define LAGGARD_HARNESS_MESSAGE_COST_H

struct err;
struct trial_context;

/* Measured between agents in small networks of their own, in about a fifth of a second. The context's store and progress
 * are not used. ERR_INTERRUPTED; else what a failing trial says, with *message_ns as it was. */
int message_cost_measure(const struct trial_context *context, double *message_ns, struct err *err);

#endif
