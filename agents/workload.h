/* agents/workload.h: ties model, data and batches together: what a task of node.h computes, for both worlds. Three sorts: real
 * gradients of a model on its shard of the data; the synthetic gradients of synthetic.h; and no values at all. */
#ifndef LAGGARD_AGENTS_WORKLOAD_H
#define LAGGARD_AGENTS_WORKLOAD_H

#include <stdatomic.h>

#include "agents/node.h"
#include "agents/synthetic.h"
#include "schemas/settings.h"

struct arena;
struct err;
struct workload;

struct workload_options {
    const struct workload_settings *settings;
    uint64_t seed;
    int workers;
    enum node_role role;
    int role_index;
    int dataset_fd;  /* of dataset_export(); 0: read settings->dataset_path */
    bool blas;       /* load OpenBLAS: false where results must be equal to the bit on every machine */
    bool batches;    /* workload_batch() is to be asked: a server loads the training data, too */
    bool unmeasured; /* do not measure how long a gradient takes here */
    struct arena *arena;
};
/* Loads the data and, for real gradients, measures one: everything that takes long. */
struct workload *workload_new(const struct workload_options *options, struct err *err);
void workload_free(struct workload *workload); /* unmaps the data; NULL allowed */
/* The workload of a worker stands for another node of the same trial from now on: for a world that has all nodes in one process. */
void workload_become(struct workload *workload, enum node_role role, int role_index);
/* Synthetic: gradients have so many floats from now on. What was filled and checked before is forgotten; checks count on. */
void workload_resize(struct workload *workload, size_t parameter_count);

size_t workload_parameter_count(const struct workload *workload);
bool workload_real(const struct workload *workload);                  /* gradients are computed */
const char *workload_blas(const struct workload *workload);           /* "" where nothing was loaded */
double workload_gradient_ns(const struct workload *workload);         /* CPU time of one gradient; 0: not a worker, or not real */
const float *workload_initial_model(const struct workload *workload); /* NULL where there is none */

/* node_batch()'s, of real gradients. */
void workload_batch(struct workload *workload, uint64_t step, float *pixels, uint8_t *labels);

/* ---- parts of a task ---- */
enum { WORK_PARTS_MAX = 64 };
struct work_parts {
    int count;
    size_t first[WORK_PARTS_MAX], floats[WORK_PARTS_MAX]; /* ranges of the gradient, in the order in which they become final */
    int layer[WORK_PARTS_MAX];                            /* real: the model's part that completes it */
};
/* As many as the task wants, at most one a layer for real gradients, one alone for everything but TASK_GRADIENT. */
void workload_parts(const struct workload *workload, const struct task *task, struct work_parts *parts);
/* Drawn compute times are of one mini-batch: how many of these the task is worth. Not for TASK_SAMPLES. */
double workload_cost(const struct workload *workload, const struct task *task);
/* TASK_SAMPLES: how many are done in the window_ns that are left until its deadline when a mini-batch of so many samples takes
 * mini_batch_ns (nothing: as many as it has), and how long the task takes: the whole window, also where its end met an unfinished
 * sample, unless the cap is reached before. */
struct work_samples {
    int64_t count;
    double whole_ns;
};
struct work_samples workload_samples_in_time(const struct task *task, int batch, double window_ns, double mini_batch_ns);
/* A sentence why this node cannot run this task, or NULL. */
const char *workload_refuses(const struct workload *workload, const struct task *task);

/* ---- running it ---- */
struct work {
    struct task task;
    int64_t samples;         /* TASK_SAMPLES: this many; -1: until the clock says stop */
    int64_t stop_at_ns;      /* TASK_SAMPLES with -1, CLOCK_MONOTONIC */
    const atomic_bool *stop; /* given up: looked at between partitions and batches; NULL allowed */
    void (*layer_done)(void *context, int layer);
    void *context;
    double loss; /* results */
    int64_t samples_done;
};
/* Real gradients: does it; may run on another thread than the rest. */
void workload_run(struct workload *workload, struct work *work);
/* Synthetic gradients: writes what is not there yet. A gradient buffer is filled wholly when it is first seen, later only where it
 * depends on the step: schemes must not write into it. */
void workload_fill(struct workload *workload, const struct task *task);
void workload_evaluate(struct workload *workload, const float *model, double *loss, double *accuracy, uint64_t *sample_count);

/* ---- checking (synthetic) ---- */
/* What is known of a sum of the scheme's: how it is checked. */
struct synthetic_check workload_check_of(const struct scheme_setup *setup, int contributors, uint64_t step);
/* Checks a sample of the sum; false: `sentence` says what is wrong. */
bool workload_check(struct workload *workload, const struct synthetic_check *check, const float *sum, size_t first, size_t count,
                    char *sentence, size_t sentence_bytes);
/* Every element of the last sum that was checked; after the rounds. */
bool workload_check_last(struct workload *workload, char *sentence, size_t sentence_bytes);
/* The last sum, if it was checked over its whole length; NULL otherwise. */
const float *workload_last_sum(const struct workload *workload);
void workload_checks(const struct workload *workload, uint64_t *checks, uint64_t *failures);

#endif
