/* agents/schemes/local_rounds.h: rounds of schemes that train a model of their own on every worker and average the models every so
 * many steps: what local-sgd, adacomm, slowmo, local-adaalter and overlap-local-sgd share. A scheme is a policy, its row's
 * `detail`.
 *
 * Every scheme has the parameter `period` first and LOCAL_PARAM_ALGORITHM last. Its state begins with a struct local_rounds. */
#ifndef LAGGARD_AGENTS_SCHEMES_LOCAL_ROUNDS_H
#define LAGGARD_AGENTS_SCHEMES_LOCAL_ROUNDS_H

#include "agents/collectives/allreduce.h"
#include "agents/node.h"
#include "agents/scheme.h"

enum { LOCAL_PERIOD, LOCAL_OWN_PARAMS };
#define LOCAL_PARAM_PERIOD(default_period, text)                                                                                   \
    {                                                                                                                              \
        .name = "period", .unit = PARAM_COUNT, .minimum = 1, .maximum = 1000000, .standard = (default_period), .help = (text)      \
    }
#define LOCAL_PARAM_ALGORITHM                                                                                                      \
    {                                                                                                                              \
        .name = "algorithm", .unit = PARAM_CHOICE, .maximum = LOCAL_ALGORITHMS - 1, .choices = local_algorithm_choices,            \
        .help = "the all-reduce that averages models; auto: whichever is predicted to be the fastest"                              \
    }
enum { LOCAL_ALGORITHMS = 8 };
extern const char *const local_algorithm_choices[LOCAL_ALGORITHMS + 1];

struct local_rounds;

/* What a scheme does in its own way. Hooks may be NULL; those of the arithmetic are called only where the workload has a model, and
 * where its values are not carried they only charge for it. */
struct local_policy {
    int vectors;     /* of the model's length, side by side, the model first: what is averaged */
    bool background; /* a period's models are averaged while the next period's gradients are computed */
    /* Allocates what the scheme needs beyond struct local_rounds. Always called. */
    void (*prepare)(struct node *node);
    /* Every gradient of this node, with the mean loss of its mini-batch. Always called. */
    void (*observe)(struct node *node, double loss);
    /* A local step with the gradient of rounds->step. NULL: the optimiser's. */
    void (*step)(struct node *node);
    /* These floats of rounds->sum are final: makes of them the same floats of rounds->next or, in the background, of the scheme's
     * own. NULL: the mean. */
    void (*take)(struct node *node, size_t first, size_t count);
    /* In the foreground: the average is rounds->model now. In the background: what has been taken moves rounds->model, and
     * rounds->common. */
    void (*taken)(struct node *node);
    /* Floats that every node adds to a synchronisation, in an all-reduce of their own beside it. NULL: none. */
    bool (*agrees)(const struct scheme_setup *setup);
    void (*tell)(struct node *node);      /* fills rounds->told */
    uint64_t (*heard)(struct node *node); /* rounds->heard is the sum of all; returns the next period's steps */
    bool (*unpredictable)(const struct scheme_setup *setup, struct prediction *prediction); /* with the reason written */
};

enum { LOCAL_TOLD = 3 };
struct local_rounds {
    struct allreduce *models, *agreement; /* agreement: NULL without */
    int *members;
    bool has_model, has_values; /* has_model: also where its values are not carried */
    float *model, *next, *sum;  /* the policy's `vectors` each; model and next change places */
    float *common;              /* the model that all have in common: in the foreground the last average */
    float *gradient, *snapshot; /* snapshot: what is averaged in the background */
    float told[LOCAL_TOLD], heard[LOCAL_TOLD];
    uint64_t step;                        /* the round, and the mini-batch */
    uint64_t period, left;                /* steps of this period, and of these still to come */
    uint64_t contributed_step, ends_step; /* background: of the open all-reduce, when contributed, when waited for */
    int under_way;                        /* all-reduces that were contributed to and are not done */
    int64_t wait_begin_ns;                /* background: -1: not waiting */
    uint32_t generation;
};

/* model <- sum / P for these floats, or the check of a synthetic sum. */
void local_rounds_mean(struct node *node, float *out, size_t first, size_t count);

const struct allreduce_algorithm *local_rounds_algorithm(const struct scheme_setup *setup, struct allreduce_shape *shape);
int local_rounds_prepare(const struct scheme_setup *setup, struct blob *blob, struct err *err);
bool local_rounds_talks(const struct scheme_setup *setup, int node, int peer);
uint64_t local_rounds_spans(const struct scheme_setup *setup, int node);
void local_rounds_prepare_node(struct node *node);
void local_rounds_start(struct node *node);
void local_rounds_on_task(struct node *node, const struct task_result *result);
struct landing local_rounds_on_header(struct node *node, const struct message *message);
void local_rounds_on_message(struct node *node, const struct message *message);
void local_rounds_on_sent(struct node *node, struct buffer *buffer, int destination);
const float *local_rounds_model(struct node *node);
void local_rounds_predict(const struct scheme_setup *setup, struct prediction *prediction); /* local_predict.c */

/* Everything of a row but its name, texts, parameters and state. */
#define LOCAL_ROUNDS(policy)                                                                                                       \
    .family = FAMILY_LOCAL, .detail = &(policy), .prepare = local_rounds_prepare, .talks = local_rounds_talks,                     \
    .spans_a_round = local_rounds_spans, .prepare_node = local_rounds_prepare_node, .start = local_rounds_start,                   \
    .on_task = local_rounds_on_task, .on_header = local_rounds_on_header, .on_message = local_rounds_on_message,                   \
    .on_sent = local_rounds_on_sent, .model_to_evaluate = local_rounds_model, .predict = local_rounds_predict

#endif
