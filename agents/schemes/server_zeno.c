/* agents/schemes/server_zeno.c: judging gradients by a validation gradient; see server_zeno.h.
 *
 * Theory of operation. The server computes v, the gradient of 256 samples of the test data, at a copy of its model, beside its
 * other work. A worker's gradient g gets the length of v,
 *
 *     g' = g |v| / |g|          counts iff    eta <v, g'> - rho |g'|^2 + eta epsilon >= 0
 *
 * with eta the learning rate: to the first order that is by how much a step along g' lowers the validation loss, less a price for
 * its length. |g'| = |v|, so that without epsilon the test is one of the angle: cos(v, g) >= rho / eta, however long g is; and
 * however long it is, it moves the model by no more than v would. epsilon lets more pass the smaller v gets.
 *
 * A gradient that does not pass is dropped; its worker gets the model and goes on. So is one without a length: of zeros, with
 * infinities, not a number.
 *
 * v is computed anew, at another model, when `refresh` gradients have been judged since the last one was begun; until it is
 * there the one before counts. Rejected gradients count in this, too: an old v that lets nothing pass has to go. What comes
 * before the first v waits for it. An update takes one gradient, so the share of Byzantine workers does not matter, as long as
 * v shows where to go. When all are rejected nothing moves any more, and after `patience` rejections one after the other the
 * trial fails.
 *
 * Example: eta = 0.1, rho = 0.002, epsilon = 0, v = (3, 4), g = (0, 10): g' = (0, 5), 0.1 x 20 - 0.002 x 25 = 1.95: it counts.
 * g = (-30, -40): g' = (-3, -4), -2.5 - 0.05 < 0: it does not.
 *
 * A synthetic workload has nothing to validate by, and without values there is nothing to judge: then every gradient counts as it
 * is, in the time that judging takes. No bytes go on the wire. */
#include "agents/schemes/server_zeno.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

static size_t vector_bytes(const struct node *node)
{
    return node->setup->parameter_count * sizeof(float);
}

void server_zeno_prepare(struct node *node, struct server_zeno *zeno, const double *parameters)
{
    zeno->parameters = parameters;
    if (node_initial_model(node))
        zeno->model = node_alloc(node, vector_bytes(node));
    zeno->gradient = node_alloc(node, vector_bytes(node));
    zeno->next = node_alloc(node, vector_bytes(node));
    zeno->waiting = node_alloc(node, (size_t)node->setup->workers * sizeof(*zeno->waiting));
}

void server_zeno_look(struct node *node, struct server_zeno *zeno, const float *model, uint64_t version)
{
    const bool due = zeno->step == 0 || (zeno->version != version && (double)zeno->judged >= zeno->parameters[ZENO_REFRESH]);
    if (zeno->generation || !due)
        return;
    zeno->version = version;
    zeno->judged = 0;
    if (zeno->model)
        node_copy(node, zeno->model, model, node->setup->parameter_count);
    zeno->generation = node_compute(
        node,
        &(struct task){.kind = TASK_VALIDATION, .step = zeno->step++, .model = zeno->model, .gradient = zeno->next, .parts = 1});
}

bool server_zeno_wait(struct node *node, struct server_zeno *zeno, const struct message *message)
{
    if (zeno->waiting_count == node->setup->workers)
        return false;
    node_hold(node, message->buffer);
    zeno->waiting[zeno->waiting_count++] = (struct zeno_waiting){.message = *message, .arrived_ns = node_now(node)};
    return true;
}

bool server_zeno_take(struct node *node, struct server_zeno *zeno, const struct task_result *result)
{
    if (result->generation != zeno->generation || result->part != result->parts - 1)
        return false;
    const bool first = !zeno->known;
    float *spare = zeno->gradient;
    zeno->gradient = zeno->next;
    zeno->next = spare;
    zeno->generation = 0;
    zeno->known = true;
    zeno->measured = node->setup->trained;
    zeno->squared = node_dot(node, zeno->gradient, zeno->gradient, node->setup->parameter_count);
    return first;
}

bool server_zeno_test(double rate, double rho, double epsilon, double vv, double gg, double vg)
{
    if (!(gg > 0) || !isfinite(gg) || !isfinite(vg))
        return false;
    return rate * vg * sqrt(vv / gg) - rho * vv + rate * epsilon >= 0; /* not so if v is not a number */
}

bool server_zeno_accepts(struct node *node, struct server_zeno *zeno, const float *gradient, double *share)
{
    const size_t count = node->setup->parameter_count;
    const double gg = node_dot(node, gradient, gradient, count), vg = node_dot(node, zeno->gradient, gradient, count);
    char sentence[240];
    zeno->judged++;
    *share = 1;
    if (!zeno->measured)
        return true;
    if (server_zeno_test(node->setup->learning_rate, zeno->parameters[ZENO_RHO], zeno->parameters[ZENO_EPSILON], zeno->squared, gg,
                         vg)) {
        *share = sqrt(zeno->squared / gg);
        zeno->rejected = 0;
        return true;
    }
    if ((double)++zeno->rejected >= zeno->parameters[ZENO_PATIENCE]) {
        snprintf(sentence, sizeof(sentence),
                 "zeno++ has rejected %llu gradient%s one after the other at version %llu of the model, as many as 'patience' "
                 "allows: nothing moves any more",
                 (unsigned long long)zeno->rejected, units_plural((int64_t)zeno->rejected), (unsigned long long)zeno->version);
        node_fail(node, sentence);
    }
    return false;
}

void server_zeno_stop(struct node *node, struct server_zeno *zeno)
{
    if (zeno->generation)
        node_cancel(node, zeno->generation);
    zeno->generation = 0;
}

double server_zeno_work(const double *parameters)
{
    return 3 + 2 / parameters[ZENO_REFRESH]; /* two products and the scaling; of v the copy of the model and its length */
}
