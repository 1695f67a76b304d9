/* agents/schemes/server_zeno.h: a server of server_rounds.h that judges each gradient by one of its own, of validation data: what
 * makes `zeno++` of `async`.
 *
 * Source: C. Xie, S. Koyejo, I. Gupta, "Zeno++: robust fully asynchronous SGD", ICML 2020. */
#ifndef LAGGARD_AGENTS_SCHEMES_SERVER_ZENO_H
#define LAGGARD_AGENTS_SCHEMES_SERVER_ZENO_H

#include "agents/node.h"

/* In a row's table, from server_policy.zeno_parameter on. */
enum { ZENO_RHO, ZENO_EPSILON, ZENO_REFRESH, ZENO_PATIENCE };
/* For so many gradients an update there is memory for what becomes of them. */
enum { ZENO_GRADIENTS_AN_UPDATE = 8 };

struct zeno_waiting {
    struct message message;
    int64_t arrived_ns;
};
struct server_zeno {
    const double *parameters;     /* NULL: nothing is judged */
    bool known, measured;         /* there is a validation gradient; and it has values */
    float *model;                 /* a copy of the server's: the next one is computed at it. NULL: synthetic */
    float *gradient, *next;       /* v, and the one being computed */
    double squared;               /* |v|^2 */
    uint32_t generation;          /* 0: none is being computed */
    uint64_t step, version;       /* how many were begun; at which version the last one was */
    uint64_t judged;              /* gradients since then */
    uint64_t rejected;            /* gradients, one after the other */
    struct zeno_waiting *waiting; /* gradients that came before the first v, in their order */
    int waiting_count;
};

/* Memory; the server's. `parameters`: the scheme's, from the first of ours on. */
void server_zeno_prepare(struct node *node, struct server_zeno *zeno, const double *parameters);
/* The model has this version now: begins a validation gradient, if one is due. */
void server_zeno_look(struct node *node, struct server_zeno *zeno, const float *model, uint64_t version);
/* Keeps a gradient that cannot be judged yet. false: there are more than workers. */
bool server_zeno_wait(struct node *node, struct server_zeno *zeno, const struct message *message);
/* Takes the validation gradient; true: it is the first one, and those that wait can be judged. */
bool server_zeno_take(struct node *node, struct server_zeno *zeno, const struct task_result *result);
/* Whether the gradient counts, and by what it is multiplied then. A scheme that is out of patience fails. */
bool server_zeno_accepts(struct node *node, struct server_zeno *zeno, const float *gradient, double *share);
void server_zeno_stop(struct node *node, struct server_zeno *zeno);
/* Vectors that the server works on for a gradient, on average. */
double server_zeno_work(const double *parameters);

/* The test alone, of a gradient of squared length gg whose product with v is vg. */
bool server_zeno_test(double rate, double rho, double epsilon, double vv, double gg, double vg);

#endif
