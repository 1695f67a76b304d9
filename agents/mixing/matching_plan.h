/* agents/mixing/matching_plan.h: how often each matching of a graph exchanges so that models come together as fast as a budget
 * of messages allows, and the weight with which they are mixed then.
 *
 * With M matchings, L_j the Laplacian of the j-th, p_j the probability that it is active in a round, independent of the others:
 *
 *     p maximises lambda_2(sum p_j L_j)   subject to   sum p_j <= budget M,  0 <= p_j <= 1
 *     alpha minimises the spectral radius of E[W^2] - J,   W = I - alpha L(active),   J averages all
 *
 * Since L_j L_j = 2 L_j, with Lbar = sum p_j L_j and Ltilde = sum p_j (1 - p_j) L_j:
 *
 *     E[W^2] = I - 2 alpha Lbar + alpha^2 (Lbar^2 + 2 Ltilde)
 *
 * Source: J. Wang, A. K. Sahu, Z. Yang, G. Joshi, S. Kar, "MATCHA: speeding up decentralized SGD via matching decomposition
 * sampling", 2019.
 *
 * p is found by projected gradient ascent on a smooth lower bound of lambda_2, -1/beta log sum exp(-beta lambda_k), for a
 * growing beta: its gradient is the same in any basis of an eigenspace. Where all p are equal alpha has a closed form, for any
 * number of workers; else it is found by bisection. Budget 1 makes all p 1 and alpha that of mixing.h, to the bit. Between more
 * than MATCHING_PLAN_WORKERS_MOST workers p is not optimised: every matching has the probability `budget`, which is feasible,
 * and the optimum where all matchings are alike.
 *
 * The last bits of LAPACK's results do not matter: p is rounded to multiples of 2^-16 (so that the budget may be exceeded by
 * half of that a matching), alpha to float32. */
#ifndef LAGGARD_AGENTS_MIXING_MATCHING_PLAN_H
#define LAGGARD_AGENTS_MIXING_MATCHING_PLAN_H

#include "agents/mixing/matching.h"
#include "base/rng.h"

struct err;

enum { MATCHING_PLAN_WORKERS_MOST = 64, MATCHING_PLAN_ONE = 1 << 16 };

struct matching_plan {
    struct matchings matchings;
    const uint32_t *probabilities; /* of each matching, in 1/MATCHING_PLAN_ONE */
    float alpha;
};
/* In the arena. */
int matching_plan_make(const struct graph *graph, double budget, struct arena *arena, struct matching_plan *plan, struct err *err);

/* Which matchings are active in the next round: one number of the stream each, whatever comes out. */
static inline void matching_plan_draw(const uint32_t *probabilities, int count, struct rng *rng, bool *active)
{
    for (int i = 0; i < count; i++)
        active[i] = rng_u32(rng) / MATCHING_PLAN_ONE < probabilities[i];
}

/* ---- its parts, for tests ---- */

/* lambda_2(sum p_j L_j); NAN: there is a sentence. */
double matching_plan_connectivity(const struct matchings *matchings, const double *probabilities, struct err *err);
/* Spectral radius of E[W^2] - J. */
double matching_plan_radius(const struct matchings *matchings, const double *probabilities, double alpha, struct err *err);

#endif
