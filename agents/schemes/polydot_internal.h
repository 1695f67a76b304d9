/* agents/schemes/polydot_internal.h: what polydot.c (the master, and what both have),
 * polydot_worker.c and polydot_plan.c (parameters, limits, predictions) share. */
#ifndef LAGGARD_AGENTS_SCHEMES_POLYDOT_INTERNAL_H
#define LAGGARD_AGENTS_SCHEMES_POLYDOT_INTERNAL_H

#include "agents/node.h"
#include "agents/schemes/polydot_step.h"

enum { POLYDOT_M, POLYDOT_N, POLYDOT_P, POLYDOT_PARAMS };
extern const struct param polydot_params[POLYDOT_PARAMS];

enum polydot_kind { KIND_JOB = 1, KIND_RESULT, KIND_STOP };
enum { NOTHING = -1, BUFFERS = 2 };

/* The master's view of a worker. */
struct client {
    uint64_t job; /* the newest that it was sent, counted from 1 */
    bool lost, sending;
};
struct polydot_state {
    struct polydot_code code;
    int products, threshold;
    uint64_t step;
    int64_t wait_begin_ns; /* -1: not waiting */
    bool stopped;
    /* master */
    struct polydot_step training;
    struct client *clients;
    int product, alive, collected, arrived;
    struct buffer *results[POLYDOT_THRESHOLD_MAX]; /* in the order of workers */
    int from[POLYDOT_THRESHOLD_MAX];
    /* worker */
    float *jobs[BUFFERS], *blocks[BUFFERS];
    bool leaving[BUFFERS]; /* of blocks: a message that has not left yet */
    int held, landing;     /* the job in hand, or NOTHING; where the next one comes */
    int target;            /* the block that it is computed into */
    int job_product;       /* which product it is of */
    uint32_t generation;   /* 0: it waits for a block to be free, or there is none */
};

/* polydot.c. Jobs are counted from 1 over all steps. */
uint64_t polydot_job_number(const struct polydot_state *state, uint64_t step, int product);
struct polydot_shape polydot_shape_of(const struct node *node, int product);
void polydot_tell(struct node *node, uint64_t step, int product, int worker, int order, enum gradient_fate fate);
void polydot_end_wait(struct node *node, int peer);
/* polydot_worker.c */
void polydot_worker_begin(struct node *node); /* if it can */
void polydot_worker_take(struct node *node, const struct message *message);
void polydot_worker_stop(struct node *node, const struct message *message);
void polydot_on_task(struct node *node, const struct task_result *result);

/* polydot_plan.c */
struct polydot_code polydot_code_of(const struct scheme_setup *setup);
/* Members of the row: their contracts are in agents/scheme.h. */
int polydot_check(const struct scheme_setup *setup, struct err *err);
uint64_t polydot_spans(const struct scheme_setup *setup, int node);
uint64_t polydot_gradients(const struct scheme_setup *setup, int node);
void polydot_predict(const struct scheme_setup *setup, struct prediction *prediction);

#endif
