/* agents/schemes/local_rounds.c: rounds of local steps and of averages of models; see local_rounds.h.
 *
 * Theory of operation. There is no server. Every worker takes steps of its own model; a round is one such step. A period is
 * `period` steps; at its end the workers all-reduce their models (agents/collectives/) and each divides the sum by P, so that all
 * go on with the same bits. The synchronisation belongs to the round that it ends: that round is finished when the average is
 * there.
 *
 *     foreground  step step step SYNC step step step SYNC          SYNC: contribute, wait, take the mean
 *     background  step step step PULL step step step PULL          PULL: wait for the sum contributed to one period ago, move
 *                               `--- all-reduce ---'               towards it, contribute
 *
 * In the foreground the all-reduce is opened with the period, so that the models of workers that are ahead land at once. In the
 * background it is opened as soon as the one before is done. Neither begins an all-reduce that no step of the run waits for: steps
 * behind the last whole period stay a worker's own.
 *
 * What is evaluated is the model that all workers have in common, not that of one of them with its own steps since.
 *
 * Memory. The own model is read until the all-reduce is done, and its sum may be read by sends even afterwards: the average goes to
 * `next`, part by part as sums become final, and then model and next change places. In the background the model goes on changing:
 * a copy of it is what is averaged.
 *
 * Agreement. A scheme that chooses its periods by what workers have seen adds a few floats to every synchronisation, in a second
 * all-reduce by the same algorithm: in the models' own it would shift the chunks, and with them the order of sums.
 *
 * Without a model (synthetic) the last gradient of a period takes its place, and every node checks the sum.
 *
 * Example, P = 2, period = 2, rate 0.5, w = 1 everywhere: gradients 1, 1 on worker 0 and 0, 1 on worker 1 leave w = 0 and 0.5; both
 * go on with 0.25. With S = 12 MiB and a ring each sends 2(P-1)/P S = 12 MiB in two rounds.
 *
 * No deadlock: a worker waits only for all-reduces, which all workers run in the same order. */
#include "agents/schemes/local_rounds_internal.h"

/* ---- a period ---- */

static void open_agreement(struct local_rounds *rounds, uint64_t round)
{
    if (rounds->agreement)
        allreduce_open(rounds->agreement, round, rounds->heard);
}

/* The all-reduce that the step before `ends` + 1 waits for, if the run has that step. */
static bool open_models(struct node *node, struct local_rounds *rounds, uint64_t ends)
{
    rounds->ends_step = ends;
    if (ends >= (uint64_t)node->setup->rounds)
        return false;
    allreduce_open(rounds->models, ends, rounds->sum);
    open_agreement(rounds, ends);
    return true;
}

static void begin_period(struct node *node, struct local_rounds *rounds, uint64_t period)
{
    rounds->period = rounds->left = period;
    if (!local_policy_of(node->setup)->background)
        open_models(node, rounds, rounds->step + period - 1);
}

static void compute(struct node *node, struct local_rounds *rounds)
{
    if (rounds->step == (uint64_t)node->setup->rounds) {
        node_finished(node);
        return;
    }
    rounds->generation = node_compute(node, &(struct task){.kind = TASK_GRADIENT,
                                                           .step = rounds->step,
                                                           .model = rounds->has_values ? rounds->model : NULL,
                                                           .gradient = rounds->gradient,
                                                           .parts = 1});
}

static void finish_step(struct node *node, struct local_rounds *rounds)
{
    node_round_finished(node, rounds->step);
    rounds->step++;
}

static void apply_span(struct node *node, uint64_t round, int64_t begin_ns, size_t floats)
{
    node_span(node, SPAN_APPLY, round, begin_ns, node_now(node), -1, floats * sizeof(float));
}

static void take_step(struct node *node, struct local_rounds *rounds)
{
    const struct local_policy *policy = local_policy_of(node->setup);
    if (!rounds->has_model)
        return;
    const int64_t begin_ns = node_now(node);
    if (policy->step)
        policy->step(node);
    else
        node_update(node, rounds->model, rounds->gradient, 1, 0, node->setup->parameter_count, rounds->step);
    apply_span(node, rounds->step, begin_ns, node->setup->parameter_count);
}

/* Where there is no model, every vector that is averaged is the gradient. */
static const float *stand_in(struct node *node, struct local_rounds *rounds)
{
    const size_t count = node->setup->parameter_count;
    for (int vector = 1; vector < local_policy_of(node->setup)->vectors; vector++)
        node_copy(node, rounds->gradient + (size_t)vector * count, rounds->gradient, count);
    return rounds->gradient;
}

static void contribute(struct node *node, struct local_rounds *rounds, const float *input)
{
    const struct local_policy *policy = local_policy_of(node->setup);
    rounds->contributed_step = rounds->step;
    rounds->under_way = 1 + (rounds->agreement != NULL);
    if (rounds->agreement) {
        policy->tell(node);
        allreduce_contribute(rounds->agreement, rounds->told);
    }
    allreduce_contribute(rounds->models, input);
}

/* ---- the background ---- */

/* What was averaged during the period is there, or there was nothing yet. */
static void pull(struct node *node, struct local_rounds *rounds)
{
    const struct local_policy *policy = local_policy_of(node->setup);
    const bool goes_on = rounds->ends_step == rounds->step + rounds->period && rounds->ends_step < (uint64_t)node->setup->rounds;
    const int64_t begin_ns = node_now(node);
    if (rounds->has_model && policy->taken) {
        policy->taken(node);
        apply_span(node, rounds->step, begin_ns, node->setup->parameter_count);
    }
    if (goes_on) { /* somebody waits for it */
        const float *own = rounds->has_model ? rounds->model : stand_in(node, rounds);
        node_copy(node, rounds->snapshot, own, local_floats(node->setup));
        contribute(node, rounds, rounds->snapshot);
    }
    finish_step(node, rounds);
    begin_period(node, rounds, rounds->period);
    compute(node, rounds);
}

static void background_done(struct node *node, struct local_rounds *rounds)
{
    open_models(node, rounds, rounds->ends_step + rounds->period);
    if (rounds->wait_begin_ns < 0)
        return;
    node_span(node, SPAN_WAIT, rounds->step, rounds->wait_begin_ns, node_now(node), -1, 0);
    rounds->wait_begin_ns = -1;
    pull(node, rounds);
}

/* ---- events ---- */

static void synchronise(struct node *node, struct local_rounds *rounds)
{
    if (!local_policy_of(node->setup)->background)
        contribute(node, rounds, rounds->has_model ? rounds->model : stand_in(node, rounds));
    else if (rounds->under_way > 0)
        rounds->wait_begin_ns = node_now(node);
    else
        pull(node, rounds);
}

void local_rounds_on_task(struct node *node, const struct task_result *result)
{
    struct local_rounds *rounds = node_state(node);
    if (result->generation != rounds->generation || result->part != result->parts - 1)
        return;
    if (local_policy_of(node->setup)->observe)
        local_policy_of(node->setup)->observe(node, result->loss);
    take_step(node, rounds);
    if (--rounds->left == 0) {
        synchronise(node, rounds);
        return;
    }
    finish_step(node, rounds);
    compute(node, rounds);
}

void local_rounds_mean(struct node *node, float *out, size_t first, size_t count)
{
    const struct local_rounds *rounds = node_state(node);
    node_scale(node, out + first, (float)(1.0 / node->setup->workers), rounds->sum + first, count);
}

/* The part of it that lies in this vector, as a sum of gradients. */
static void check_gradients(struct node *node, const struct local_rounds *rounds, size_t first, size_t count)
{
    const size_t length = node->setup->parameter_count;
    while (count > 0) {
        const size_t vector = first / length, place = first % length;
        const size_t here = length - place < count ? length - place : count;
        node_update(node, NULL, rounds->sum + vector * length, node->setup->workers, place, here, rounds->contributed_step);
        first += here;
        count -= here;
    }
}

void local_rounds_models_ready(struct node *node, void *context, size_t first, size_t count)
{
    struct local_rounds *rounds = context;
    const struct local_policy *policy = local_policy_of(node->setup);
    const int64_t begin_ns = node_now(node);
    if (!rounds->has_model)
        check_gradients(node, rounds, first, count);
    else if (policy->take)
        policy->take(node, first, count);
    else
        local_rounds_mean(node, rounds->next, first, count);
    apply_span(node, rounds->ends_step, begin_ns, count);
}

static void foreground_done(struct node *node, struct local_rounds *rounds)
{
    const struct local_policy *policy = local_policy_of(node->setup);
    const uint64_t period = rounds->agreement ? policy->heard(node) : rounds->period;
    if (rounds->has_model) {
        float *average = rounds->next;
        rounds->next = rounds->model;
        rounds->model = average;
        node_copy(node, rounds->common, average, node->setup->parameter_count);
        if (policy->taken)
            policy->taken(node);
    }
    finish_step(node, rounds);
    begin_period(node, rounds, period);
    compute(node, rounds);
}

void local_rounds_done(struct node *node, void *context)
{
    struct local_rounds *rounds = context;
    if (--rounds->under_way > 0)
        return;
    if (local_policy_of(node->setup)->background)
        background_done(node, rounds);
    else
        foreground_done(node, rounds);
}

static struct allreduce *allreduce_on(const struct local_rounds *rounds, uint16_t channel)
{
    return channel == LOCAL_CHANNEL_AGREEMENT ? rounds->agreement : channel == LOCAL_CHANNEL_MODELS ? rounds->models : NULL;
}

struct landing local_rounds_on_header(struct node *node, const struct message *message)
{
    struct local_rounds *rounds = node_state(node);
    struct allreduce *allreduce = allreduce_on(rounds, message->header.channel);
    if (!allreduce)
        return allreduce_refuse(rounds->models, message, "its channel does not exist here");
    return allreduce->algorithm->on_header(allreduce, message);
}

void local_rounds_on_message(struct node *node, const struct message *message)
{
    struct allreduce *allreduce = allreduce_on(node_state(node), message->header.channel);
    allreduce->algorithm->on_message(allreduce, message);
}

void local_rounds_on_sent(struct node *node, struct buffer *buffer, int destination)
{
    (void)destination;
    struct allreduce *allreduce = allreduce_on(node_state(node), allreduce_tag_channel(buffer));
    allreduce->algorithm->on_sent(allreduce, buffer);
}

const float *local_rounds_model(struct node *node)
{
    const struct local_rounds *rounds = node_state(node);
    return rounds->has_values ? rounds->common : NULL;
}

void local_rounds_start(struct node *node)
{
    struct local_rounds *rounds = node_state(node);
    const uint64_t period = (uint64_t)node->setup->values[LOCAL_PERIOD];
    /* What is contributed at the first period's end is waited for at that of the second. */
    if (local_policy_of(node->setup)->background)
        open_models(node, rounds, 2 * period - 1);
    begin_period(node, rounds, period);
    compute(node, rounds);
}
