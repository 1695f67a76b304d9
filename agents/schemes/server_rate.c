/* agents/schemes/server_rate.c: rates and quotas that follow the training; see server_rate.h.
 *
 * Staleness-compensated rate. Gradient l, computed at w_t(l), meets w_j. Its rate is
 *
 *     eta_l = min(C / |w_j - w_t(l)|^2, eta_max)      w_{j+1} = w_j - (1/K) sum eta_l g_l
 *
 * with eta_max the workload's learning rate: a gradient of a model that is near counts whole, one of a model that has been left
 * behind less. As factors of eta_max the rates go into the sum, so that momentum, weight decay and a decaying rate stay the
 * optimiser's. The server keeps the models that workers read: the very buffers that it sent, so that they cost memory but no copy.
 *
 * Example: C = 0.5, eta_max = 0.1. |w_j - w_t|^2 = 4: all of it, 0.5/4 > 0.1. 10: 0.05, half.
 *
 * AdaSync. Few gradients an update make fast progress at first, many a better end: every t seconds
 *
 *     K = K_0 sqrt(F(w_0) / F(w))        to the nearest whole number, 1 .. P
 *
 * F(w_0) is the mean loss of the mini-batches computed at the initial model that have come until the first look, F(w) that of all
 * that have come since the last look; without any K stays. A new K holds from the next update on.
 *
 * Example: K_0 = 2, F(w_0) = 2.3, F(w) = 0.575: K = 4. */
#include "agents/schemes/server_rate.h"

#include <math.h>

#include "agents/schemes/server_rounds_internal.h"
#include "base/err.h"

static double parameter(const struct scheme_setup *setup, int number)
{
    return number > 0 ? setup->values[number - 1] : 0;
}

double server_rate_constant(const struct scheme_setup *setup)
{
    const struct server_policy *policy = setup->scheme->detail;
    return parameter(setup, policy->compensate_parameter);
}

static int64_t interval_ns(const struct scheme_setup *setup)
{
    const struct server_policy *policy = setup->scheme->detail;
    return (int64_t)parameter(setup, policy->adasync_parameter);
}

bool server_rate_adapts(const struct scheme_setup *setup)
{
    return interval_ns(setup) > 0;
}

int server_rate_check(const struct scheme_setup *setup, struct err *err)
{
    const char *wanted = server_rate_constant(setup) > 0 ? "compensate" : server_rate_adapts(setup) ? "adasync" : NULL;
    const struct aggregate aggregate = server_aggregate(setup);
    if (server_rate_constant(setup) > 0 && aggregate.kind != AGGREGATE_MEAN)
        return err_set(err, ERR_USAGE,
                       "scheme '%s': 'compensate' weighs gradients, and aggregate %s has no weights: leave one of the two out",
                       setup->scheme->name, aggregate_names[aggregate.kind]);
    if (!wanted || setup->trained)
        return 0;
    return err_set(
        err, ERR_USAGE,
        "scheme '%s': '%s' needs a model that is trained, with gradients: real; model: synthetic has neither distances nor "
        "losses",
        setup->scheme->name, wanted);
}

void server_rate_prepare(struct node *node, struct server_rate *rate)
{
    const struct scheme_setup *setup = node->setup;
    const float *initial = node_initial_model(node);
    rate->quota = server_rounds_quota(setup);
    rate->first_loss = NAN;
    rate->interval_ns = interval_ns(setup);
    if (rate->interval_ns > 0)
        rate->timer = node_timer(node);
    if (server_rate_constant(setup) <= 0 || !initial)
        return;
    rate->constant = server_rate_constant(setup);
    rate->difference = node_alloc(node, setup->parameter_count * sizeof(float));
    rate->initial = node_alloc(node, setup->parameter_count * sizeof(float));
    node_copy(node, rate->initial, initial, setup->parameter_count);
}

/* ---- the rate ---- */

double server_rate_compensated(double constant, double rate_max, double distance_squared)
{
    return distance_squared * rate_max > constant ? constant / distance_squared : rate_max; /* also where the distance is 0 */
}

double server_rate_share(struct node *node, const struct server_rate *rate, const float *model, const float *read)
{
    const size_t count = node->setup->parameter_count;
    const double rate_max = node->setup->learning_rate;
    node_copy(node, rate->difference, model, count);
    node_axpy(node, rate->difference, -1, read, count);
    double distance_squared = node_dot(node, rate->difference, rate->difference, count);
    return rate_max > 0 ? server_rate_compensated(rate->constant, rate_max, distance_squared) / rate_max : 1;
}

/* ---- the quota ---- */

void server_rate_start(struct node *node, struct server_rate *rate)
{
    if (rate->interval_ns > 0)
        node_arm(node, rate->timer, node_now(node) + rate->interval_ns);
}

void server_rate_loss(struct server_rate *rate, uint64_t version, double loss)
{
    if (!isfinite(loss))
        return;
    rate->sum += loss;
    rate->count++;
    if (version == 0 && isnan(rate->first_loss)) {
        rate->first_sum += loss;
        rate->first_count++;
    }
}

int server_rate_adasync(int quota, int workers, double first_loss, double loss)
{
    double wanted = quota * sqrt(first_loss / loss);
    if (!(first_loss > 0) || !(loss >= 0)) /* no such ratio */
        return quota;
    return wanted >= workers ? workers : wanted < 1 ? 1 : (int)lround(wanted);
}

void server_rate_look(struct node *node, struct server_rate *rate)
{
    node_arm(node, rate->timer, node_now(node) + rate->interval_ns);
    if (isnan(rate->first_loss) && rate->first_count > 0)
        rate->first_loss = rate->first_sum / (double)rate->first_count;
    if (rate->count == 0 || isnan(rate->first_loss))
        return;
    rate->quota = server_rate_adasync(server_rounds_quota(node->setup), node->setup->workers, rate->first_loss,
                                      rate->sum / (double)rate->count);
    rate->sum = 0;
    rate->count = 0;
}
