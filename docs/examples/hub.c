/* hub.c: `hub`, a scheme in a shared object: worker 0 is everyone's server, too. The worked example of docs/how-to.md.
 *
 * Every worker sends its gradient (4 x count bytes) to worker 0, which adds them in the order of workers and sends the sum back. A
 * round: (P-1) vectors into worker 0's link, then P-1 out of it. Nobody waits for a node that waits for it: no deadlock. */
#include "agents/node.h"

struct hub {
    float *model, *gradient, *sum, *inbox; /* inbox: worker 0's, P vectors; model NULL: synthetic, or no values */
    uint64_t round;
    int arrived, sending; /* gradients at worker 0 in this round; own sends whose bytes are still needed */
    bool updated;
};

static size_t vector_bytes(const struct node *node)
{
    return node->setup->parameter_count * sizeof(float);
}

static void prepare_node(struct node *node)
{
    struct hub *hub = node_state(node);
    const float *initial = node_initial_model(node);
    hub->gradient = node_alloc(node, vector_bytes(node));
    hub->sum = node_alloc(node, vector_bytes(node));
    if (node->index == 0)
        hub->inbox = node_alloc(node, vector_bytes(node) * (size_t)node->setup->workers);
    if (initial)
        hub->model = node_alloc(node, vector_bytes(node));
    if (initial)
        node_copy(node, hub->model, initial, node->setup->parameter_count);
}

static void start(struct node *node)
{
    struct hub *hub = node_state(node);
    const struct task task = {
        .kind = TASK_GRADIENT, .step = hub->round, .model = hub->model, .gradient = hub->gradient, .parts = 1};
    hub->updated = false;
    if (hub->round == (uint64_t)node->setup->rounds)
        node_finished(node);
    else
        node_compute(node, &task);
}

static void go_on(struct node *node) /* once the model is new and nothing that was sent is needed any longer */
{
    struct hub *hub = node_state(node);
    if (hub->updated && hub->sending == 0)
        start(node);
}

static void send_vector(struct node *node, int destination, float *vector)
{
    struct hub *hub = node_state(node);
    struct message_header header = {.step = hub->round};
    hub->sending++;
    node_send(node, destination, &header, node_wrap(node, vector, vector_bytes(node), 0), 0, vector_bytes(node));
}

static void update(struct node *node)
{
    struct hub *hub = node_state(node);
    int64_t begin_ns = node_now(node);
    node_update(node, hub->model, hub->sum, node->setup->workers, 0, node->setup->parameter_count, hub->round);
    node_span(node, SPAN_APPLY, hub->round, begin_ns, node_now(node), -1, vector_bytes(node));
    node_round_finished(node, hub->round++);
    hub->updated = true;
}

static void arrive(struct node *node) /* at worker 0 */
{
    struct hub *hub = node_state(node);
    const size_t count = node->setup->parameter_count;
    if (++hub->arrived < node->setup->workers)
        return;
    hub->arrived = 0;
    int64_t begin_ns = node_now(node);
    node_copy(node, hub->sum, hub->gradient, count);
    for (int worker = 1; worker < node->setup->workers; worker++)
        node_add(node, hub->sum, hub->sum, hub->inbox + (size_t)worker * count, count);
    node_span(node, SPAN_REDUCE, hub->round, begin_ns, node_now(node), -1, vector_bytes(node));
    for (int worker = 1; worker < node->setup->workers; worker++)
        send_vector(node, worker, hub->sum);
    update(node);
    go_on(node);
}

static void on_task(struct node *node, const struct task_result *result)
{
    (void)result; /* parts = 1: it is the whole gradient */
    struct hub *hub = node_state(node);
    if (node->index == 0)
        arrive(node);
    else
        send_vector(node, 0, hub->gradient);
}

static struct landing on_header(struct node *node, const struct message *message)
{
    struct hub *hub = node_state(node);
    if (message->length != vector_bytes(node) || message->header.step != hub->round || (node->index != 0 && message->source != 0)) {
        node_fail(node, "hub: a message has another length, round or sender than is due; the nodes do not run the same scheme");
        return (struct landing){.kind = LAND_DISCARD};
    }
    float *into = node->index == 0 ? hub->inbox + (size_t)message->source * node->setup->parameter_count : hub->sum;
    return (struct landing){.kind = LAND_INTO, .into = into};
}

static void on_message(struct node *node, const struct message *message)
{
    (void)message;
    if (node->index == 0) {
        arrive(node);
        return;
    }
    update(node);
    go_on(node);
}

static void on_sent(struct node *node, struct buffer *buffer, int destination)
{
    (void)buffer;
    (void)destination;
    ((struct hub *)node_state(node))->sending--;
    go_on(node);
}

static const float *model_to_evaluate(struct node *node)
{
    return ((struct hub *)node_state(node))->model;
}

static bool talks(const struct scheme_setup *setup, int node, int peer)
{
    (void)setup;
    return node == 0 || peer == 0;
}

/* compute, apply and reduce; a send and a receive for every worker that this node talks to */
static uint64_t spans_a_round(const struct scheme_setup *setup, int node)
{
    return 3 + 2 * (node == 0 ? (uint64_t)setup->workers : 1);
}

static const struct scheme scheme_hub = {
    .name = "hub",
    .summary = "worker 0 adds everyone's gradients, its own included, and sends the sum back",
    .source = "the example of docs/how-to.md",
    .formula = "none is given",
    .family = FAMILY_ALLREDUCE,
    .state_bytes = sizeof(struct hub),
    .extra_vectors = 1,
    .talks = talks,
    .spans_a_round = spans_a_round,
    .prepare_node = prepare_node,
    .start = start,
    .on_task = on_task,
    .on_header = on_header,
    .on_message = on_message,
    .on_sent = on_sent,
    .model_to_evaluate = model_to_evaluate,
};

SCHEME_OBJECT(&scheme_hub);
