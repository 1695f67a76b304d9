/* agents/schemes/server_rate.h: what a server of server_rounds.h may follow besides: how far the model has moved from where a
 * gradient was computed (a rate that makes up for it), and how far training has come (more gradients an update, AdaSync).
 *
 * Both are parameters of the schemes that can take them; server_policy says which. Source: S. Dutta, J. Wang, G. Joshi,
 * "Slow and stale gradients can win the race", IEEE J. Selected Areas in Information Theory 2 (2021). */
#ifndef LAGGARD_AGENTS_SCHEMES_SERVER_RATE_H
#define LAGGARD_AGENTS_SCHEMES_SERVER_RATE_H

#include "agents/node.h"

struct server_rate {
    double constant; /* C; 0: gradients count whole */
    float *initial;  /* what workers read before the server sends anything */
    float *difference;
    int64_t interval_ns; /* of AdaSync; 0: never */
    int timer;
    int quota;             /* K, from the next update on */
    double first_loss;     /* F(w_0); NAN: not known yet */
    double first_sum, sum; /* of losses: at w_0, until they are a mean; since the last look */
    uint64_t first_count, count;
};

int server_rate_check(const struct scheme_setup *setup, struct err *err);
double server_rate_constant(const struct scheme_setup *setup);
bool server_rate_adapts(const struct scheme_setup *setup);

/* Memory and timer; the server's. */
void server_rate_prepare(struct node *node, struct server_rate *rate);
void server_rate_start(struct node *node, struct server_rate *rate);
/* A gradient of this loss has come, computed at this version of the model. */
void server_rate_loss(struct server_rate *rate, uint64_t version, double loss);
/* On the timer: a new quota, and the next look is due. */
void server_rate_look(struct node *node, struct server_rate *rate);
/* The share of the learning rate that a gradient has which was computed at `read`, now that the model is `model`. */
double server_rate_share(struct node *node, const struct server_rate *rate, const float *model, const float *read);

/* The formulas alone. */
double server_rate_compensated(double constant, double rate_max, double distance_squared); /* min(C / d^2, eta_max) */
int server_rate_adasync(int quota, int workers, double first_loss, double loss);           /* K_0 sqrt(F_0 / F), 1 .. P */

#endif
