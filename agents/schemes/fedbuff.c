/* agents/schemes/fedbuff.c: `fedbuff`, buffered asynchronous aggregation: the server steps whenever K updates are there, stale or
 * not.
 *
 * Source: J. Nguyen, K. Malik, H. Zhan, A. Yousefpour, M. Rabbat, M. Malek, D. Huba, "Federated learning with buffered asynchronous
 * aggregation", AISTATS 2022, algorithm 1.
 *
 * Theory of operation. `concurrency` clients train at a time (0: all). One that has got the model w takes `period` steps and
 * sends the difference D = w - w_k. Its slot goes to a client drawn from those that do not train, which gets the model as it now
 * is. With t the number of server steps since the update's model, the server adds s(t) D to its buffer,
 *
 *     polynomial: s = (1 + t)^(-1/2)      threshold: s = 1      both: not at all where t > max_staleness
 *
 * and with the K-th in the buffer steps: w <- w - server_rate / K sum. A step is a round.
 *
 * `wait`: a client whose update is in the buffer keeps its slot, and gets its next model with the step. With K = P, period 1 and
 * server_rate 1 that is synchronous gradient descent; with it K clients at least must train at a time.
 *
 * A client that has not answered within `deadline` loses its slot; should its update come after all, it is taken like any other. A
 * client never gives work up: what it is sent meanwhile it takes afterwards.
 *
 * Example, K = 2, server_rate 1, w = 4: client 0 began at w = 5, one step ago, and sends D = 1: s = 0.7071. Client 1 began at 4 and
 * sends -0.2. Sum 0.5071, w = 4 - 0.2536.
 *
 * Synthetic: sums are not weighted. Bytes an update: S down and S up. Messages: federated.h. */
#include <math.h>
#include <stdio.h>

#include "agents/schemes/federated.h"
#include "agents/schemes/federated_predict.h"
#include "agents/schemes/schemes.h"
#include "base/err.h"
#include "base/units.h"

enum { K = FEDERATED_OWN, CONCURRENCY, WAIT, STALENESS, MAX_STALENESS, SERVER_RATE };
enum { POLYNOMIAL, THRESHOLD };
enum { NOBODY = -1 };
enum standing { IDLE, TRAINS, COUNTED }; /* the last two have a slot */

struct slot {
    enum standing standing;
    int64_t since_ns;   /* TRAINS */
    int previous, next; /* TRAINS: in the order of `since_ns` */
};
struct slots {
    struct slot *of; /* each client */
    int *idle;       /* those that are, in any order */
    int idle_count, taken, first, last;
    bool armed;
};

static int concurrency_of(const struct scheme_setup *setup)
{
    const int asked = (int)setup->values[CONCURRENCY];
    return asked == 0 ? setup->workers : asked;
}

/* ---- slots ---- */

static void become_idle(struct slots *slots, int client)
{
    slots->of[client].standing = IDLE;
    slots->idle[slots->idle_count++] = client;
}

static void no_longer_trains(struct slots *slots, int client)
{
    const struct slot *slot = &slots->of[client];
    *(slot->previous == NOBODY ? &slots->first : &slots->of[slot->previous].next) = slot->next;
    *(slot->next == NOBODY ? &slots->last : &slots->of[slot->next].previous) = slot->previous;
}

static void arm(struct node *node)
{
    struct slots *slots = ((struct federated_state *)node_state(node))->own;
    if (slots->armed || slots->first == NOBODY)
        return;
    slots->armed = true;
    federated_arm(node, slots->of[slots->first].since_ns);
}

static void train(struct node *node, int client)
{
    struct slots *slots = ((struct federated_state *)node_state(node))->own;
    slots->of[client] = (struct slot){.standing = TRAINS, .since_ns = node_now(node), .previous = slots->last, .next = NOBODY};
    *(slots->last == NOBODY ? &slots->first : &slots->of[slots->last].next) = client;
    slots->last = client;
    slots->taken++;
    federated_assign(node, client);
}

static void fill_slots(struct node *node)
{
    struct federated_state *state = node_state(node);
    struct slots *slots = state->own;
    while (slots->taken < concurrency_of(node->setup) && slots->idle_count > 0) {
        const int place = (int)rng_below(&state->random, (uint32_t)slots->idle_count), client = slots->idle[place];
        slots->idle[place] = slots->idle[--slots->idle_count];
        train(node, client);
    }
    arm(node);
}

static void prepare(struct node *node)
{
    struct federated_state *state = node_state(node);
    const size_t clients = (size_t)node->setup->workers;
    struct slots *slots = state->own = node_alloc(node, sizeof(*slots));
    slots->of = node_alloc(node, clients * sizeof(*slots->of));
    slots->idle = node_alloc(node, clients * sizeof(*slots->idle));
    slots->first = slots->last = NOBODY;
    slots->idle_count = slots->taken = 0;
    slots->armed = false;
    for (int client = 0; client < node->setup->workers; client++)
        become_idle(slots, client);
}

static void begin(struct node *node)
{
    struct slots *slots = ((struct federated_state *)node_state(node))->own;
    for (int client = 0; client < node->setup->workers && node->setup->values[WAIT] != 0; client++)
        if (slots->of[client].standing == COUNTED) {
            slots->taken--;
            become_idle(slots, client);
        }
    fill_slots(node);
}

/* ---- the buffer ---- */

static double staleness_weight(const struct scheme_setup *setup, uint64_t staleness)
{
    return setup->values[STALENESS] == THRESHOLD ? 1 : 1 / sqrt(1 + (double)staleness);
}

static void server_step(struct node *node)
{
    struct federated_state *state = node_state(node);
    if (!state->model) {
        federated_average(node); /* the check */
    } else {
        int64_t begin_ns = node_now(node);
        node_axpy(node, state->model, (float)(-node->setup->values[SERVER_RATE] / state->collected), state->sum,
                  node->setup->parameter_count);
        node_span(node, SPAN_APPLY, state->version, begin_ns, node_now(node), -1, federated_bytes(node));
    }
    federated_round_over(node);
}

static void arrived(struct node *node, const struct message *message, bool current)
{
    struct federated_state *state = node_state(node);
    struct slots *slots = state->own;
    const int client = message->source;
    const uint64_t staleness = state->version - message->header.step;
    const bool used = staleness <= (uint64_t)node->setup->values[MAX_STALENESS];
    federated_tell(node, message, used ? GRADIENT_USED : GRADIENT_LATE);
    if (current && slots->of[client].standing == TRAINS) {
        no_longer_trains(slots, client);
        if (used && node->setup->values[WAIT] != 0) {
            slots->of[client].standing = COUNTED;
        } else {
            slots->taken--;
            become_idle(slots, client);
        }
    }
    if (used) {
        federated_add(node, message->payload, staleness_weight(node->setup, staleness), client);
        if (state->collected == (int)node->setup->values[K]) {
            server_step(node);
            return;
        }
    }
    fill_slots(node);
}

static void deadline(struct node *node)
{
    struct federated_state *state = node_state(node);
    struct slots *slots = state->own;
    const int64_t began_ns = node_now(node) - (int64_t)node->setup->values[FEDERATED_DEADLINE];
    slots->armed = false;
    while (slots->first != NOBODY && slots->of[slots->first].since_ns <= began_ns) {
        const int client = slots->first;
        no_longer_trains(slots, client);
        slots->taken--;
        become_idle(slots, client);
    }
    fill_slots(node);
}

static void lost(struct node *node, int client, bool worked)
{
    (void)worked;
    const struct federated_state *state = node_state(node);
    struct slots *slots = state->own;
    const int needed = node->setup->values[WAIT] != 0 ? (int)node->setup->values[K] : 1;
    int place = 0;
    if (slots->of[client].standing == TRAINS)
        no_longer_trains(slots, client);
    if (slots->of[client].standing != IDLE) {
        slots->taken--;
        become_idle(slots, client);
    }
    while (slots->idle[place] != client)
        place++;
    slots->idle[place] = slots->idle[--slots->idle_count];
    if (state->alive >= needed) {
        fill_slots(node);
        return;
    }
    char sentence[160];
    snprintf(sentence, sizeof(sentence), "client %d is lost: %d %s left, and with wait: true a step needs %d", client, state->alive,
             state->alive == 1 ? "is" : "are", needed);
    node_fail(node, sentence);
}

/* ---- the row ---- */

static int check(const struct scheme_setup *setup, struct err *err)
{
    const int k = (int)setup->values[K], concurrency = concurrency_of(setup);
    if (concurrency > setup->workers)
        return err_set(err, ERR_USAGE, "scheme 'fedbuff' with %d worker%s: found concurrency %d, allowed are 1 to %d, or 0 for all",
                       setup->workers, units_plural(setup->workers), concurrency, setup->workers);
    if (setup->values[WAIT] != 0 && k > concurrency)
        return err_set(
            err, ERR_USAGE,
            "scheme 'fedbuff' with wait: true and %d client%s at a time: found k %d, allowed are 1 to %d: who has sent an "
            "update waits for the step",
            concurrency, units_plural(concurrency), k, concurrency);
    return federated_check(setup, err);
}

/* Updates that come in for one step. One that is too stale has met max_staleness + 1 steps since its client's last one. */
static uint64_t updates_a_round(const struct scheme_setup *setup)
{
    const uint64_t steps = (uint64_t)setup->values[MAX_STALENESS] + 1;
    return (uint64_t)setup->values[K] + ((uint64_t)setup->workers + steps - 1) / steps;
}

/* With failures twice as many assignments as are to be expected. */
static uint64_t assignments_a_round(const struct scheme_setup *setup)
{
    const double dropout = setup->values[FEDERATED_DROPOUT];
    const uint64_t updates = updates_a_round(setup);
    return dropout > 0 ? (uint64_t)(2 * (double)updates / (1 - dropout)) + 1 : updates;
}

/* Of a client's assignments: its share by speed, three times as much for chance. */
static uint64_t client_assignments_a_round(const struct scheme_setup *setup, int client)
{
    const double enough = 3;
    double speeds = 0, own = setup->slow_factors ? 1 / setup->slow_factors[client] : 1;
    for (int c = 0; c < setup->workers; c++)
        speeds += setup->slow_factors ? 1 / setup->slow_factors[c] : 1;
    const uint64_t all = assignments_a_round(setup), most = 1 + (uint64_t)(enough * (double)all * own / speeds);
    return most < all ? most : all;
}

static uint64_t spans_a_round(const struct scheme_setup *setup, int node)
{
    if (node < setup->workers)
        return federated_assignment_spans(setup) * client_assignments_a_round(setup, node);
    return 2 * updates_a_round(setup) + assignments_a_round(setup) + 2;
}

static uint64_t gradients_a_round(const struct scheme_setup *setup, int node)
{
    return node < setup->workers ? client_assignments_a_round(setup, node) : updates_a_round(setup);
}

static void predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    federated_predict_steps(setup, concurrency_of(setup), (int)setup->values[K], setup->values[WAIT] != 0, prediction);
}

static const struct federated_policy policy = {.differences = true,
                                               .finishes = true,
                                               .counts = true,
                                               .prepare = prepare,
                                               .begin = begin,
                                               .arrived = arrived,
                                               .deadline = deadline,
                                               .lost = lost};

static const char *const staleness_names[] = {[POLYNOMIAL] = "polynomial", [THRESHOLD] = "threshold", NULL};
static const struct param params[] = {
    FEDERATED_PARAMS,
    [K] = {.name = "k", .unit = PARAM_COUNT, .minimum = 1, .maximum = 100000, .standard = 10, .help = "updates that make a step"},
    [CONCURRENCY] = {.name = "concurrency",
                     .unit = PARAM_COUNT,
                     .minimum = 0,
                     .maximum = 100000,
                     .standard = 0,
                     .help = "clients that train at a time; 0: all"},
    [WAIT] = {.name = "wait",
              .unit = PARAM_BOOL,
              .minimum = 0,
              .maximum = 1,
              .standard = 0,
              .help = "whether a client whose update is in the buffer waits for the step"},
    [STALENESS] = {.name = "staleness",
                   .unit = PARAM_CHOICE,
                   .minimum = 0,
                   .maximum = 1,
                   .standard = POLYNOMIAL,
                   .choices = staleness_names,
                   .help = "what an update counts that began t steps ago: (1+t)^(-1/2), or 1 up to max_staleness"},
    [MAX_STALENESS] = {.name = "max_staleness",
                       .unit = PARAM_COUNT,
                       .minimum = 0,
                       .maximum = 1000000,
                       .standard = 100,
                       .help = "updates that began more steps ago are rejected"},
    [SERVER_RATE] = {.name = "server_rate",
                     .unit = PARAM_NUMBER,
                     .minimum = 1e-6,
                     .maximum = 1000,
                     .standard = 1,
                     .help = "the server's learning rate: how much of the mean difference it takes"},
};

const struct scheme scheme_fedbuff = {
    .name = "fedbuff",
    .summary = "clients send what `period` steps changed; the server steps with every k of these, weighted by their staleness",
    .source = "Nguyen et al., Federated learning with buffered asynchronous aggregation, AISTATS 2022, algorithm 1",
    .formula = "k period E[X]/concurrency for a step, or what S/B_s allows; with wait as k-async, by seeded simulation",
    FEDERATED(policy),
    .check = check,
    .flags = FEDERATED_FLAGS | SCHEME_ASYNCHRONOUS | SCHEME_REPEATS_WORKERS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .spans_a_round = spans_a_round,
    .gradients_a_round = gradients_a_round,
    .predict = predict,
};
