/* agents/schemes/window.h: a round's compute window, which ends at a time and not with a mini-batch: what the schemes with a
 * deadline share.
 *
 * A worker's window begins when it has the round's model, and ends `window` later. A mini-batch of m samples that takes X is X / m
 * a sample, so that
 *
 *     b = floor(window m / X)
 *
 * samples are done, and the window ends when it ends, whatever b is; with `cap` at most so many, and then as soon as they are done.
 * */
#ifndef LAGGARD_AGENTS_SCHEMES_WINDOW_H
#define LAGGARD_AGENTS_SCHEMES_WINDOW_H

#include "agents/node.h"
#include "agents/scheme.h"

enum { WINDOW_SAMPLES_MAX = 1 << 20 };
#define WINDOW_PARAM                                                                                                               \
    {                                                                                                                              \
        .name = "window", .unit = PARAM_TIME, .minimum = 1e3, .maximum = 3600e9, .standard = 100e6,                                \
        .help = "how long a worker computes in a round"                                                                            \
    }
#define WINDOW_PARAM_CAP                                                                                                           \
    {                                                                                                                              \
        .name = "cap", .unit = PARAM_COUNT, .minimum = 0, .maximum = WINDOW_SAMPLES_MAX, .standard = 0,                            \
        .help = "most samples of a worker in a round; 0: as many as fit, up to 1048576"                                            \
    }

/* `window` and `cap` are the places of these parameters in the scheme's table. */
/* Turns the task of a mini-batch into one of the samples that fit in a window that begins now. */
void window_bound_task(struct node *node, int window, int cap, struct task *task);

/* The same cell as a scheme sees it whose gradients all take the window. */
struct window_forecast {
    struct scheme_setup setup;
    struct distribution compute_time; /* setup's */
    double samples;                   /* of all workers in a round, the mean; NAN: unknown */
};
void window_foresee(const struct scheme_setup *setup, int window, int cap, struct window_forecast *forecast);
void window_count_samples(const struct window_forecast *forecast, struct prediction *prediction);

#endif
