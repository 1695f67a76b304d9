/* agents/collectives/schedule_predict.c: how long the lists of all ranks take together, and what one list amounts to.
 *
 * The model. A message leaves when its operation's turn has come and its rank's link is free; it keeps that link for bytes/B (at
 * least the cost of a message), crosses in one latency, and is there when the receiver's link, which takes one message after the
 * other, has taken its bytes/B too. A rank adds one message after the other, gamma a byte. What becomes ready first goes first. */
#include <stdlib.h>
#include <string.h>

#include "agents/collectives/schedule.h"
#include "base/cleanup.h"

/* Ranks times the square of what each does: which operation waits for which takes that many looks. */
static const double PAIRS_MOST = 1e8;

struct rank_plan {
    struct schedule schedule;
    struct schedule_order order;
    uint32_t *waits;          /* of the order, going down while operations are done */
    uint32_t *number;         /* of a send: among the messages to the same rank */
    uint32_t *receives;       /* operations, rank by rank that they come from, in the order of their numbers */
    uint32_t *receives_begin; /* [size + 1]: where each rank's begin */
    double *came_ns;          /* of a receive: when its message is there; NAN: not yet */
    double send_free, receive_free, processor_free;
    double end; /* of its last operation: what it sends must have left, too */
};
struct event {
    double at;
    int rank;
    uint32_t operation;
    bool came; /* its message is there; else its turn has come */
};
struct simulation {
    const struct allreduce_network *network;
    struct rank_plan *ranks;
    struct event *heap;
    size_t heap_length, heap_capacity;
    double end;
    bool short_of_memory;
};

static bool sooner(const struct event *a, const struct event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    return a->rank != b->rank ? a->rank < b->rank : a->operation < b->operation;
}

static void push(struct simulation *simulation, struct event event)
{
    if (simulation->heap_length == simulation->heap_capacity) {
        size_t capacity = simulation->heap_capacity ? 2 * simulation->heap_capacity : 1024;
        struct event *heap = realloc(simulation->heap, capacity * sizeof(*heap));
        if (!heap) {
            simulation->short_of_memory = true;
            return;
        }
        simulation->heap = heap;
        simulation->heap_capacity = capacity;
    }
    size_t i = simulation->heap_length++;
    for (; i > 0 && sooner(&event, &simulation->heap[(i - 1) / 2]); i = (i - 1) / 2)
        simulation->heap[i] = simulation->heap[(i - 1) / 2];
    simulation->heap[i] = event;
}

static struct event pop(struct simulation *simulation)
{
    struct event first = simulation->heap[0], last = simulation->heap[--simulation->heap_length];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < simulation->heap_length) {
        if (child + 1 < simulation->heap_length && sooner(&simulation->heap[child + 1], &simulation->heap[child]))
            child++;
        if (!sooner(&simulation->heap[child], &last))
            break;
        simulation->heap[i] = simulation->heap[child];
        i = child;
    }
    simulation->heap[i] = last;
    return first;
}

static void finish(struct simulation *simulation, int rank, uint32_t i, double at)
{
    struct rank_plan *plan = &simulation->ranks[rank];
    simulation->end = fmax(simulation->end, at);
    plan->end = fmax(plan->end, at);
    for (uint32_t f = plan->order.begin[i]; f < plan->order.begin[i + 1]; f++)
        if (--plan->waits[plan->order.follower[f]] == 0)
            push(simulation, (struct event){.at = at, .rank = rank, .operation = plan->order.follower[f]});
}

static void send(struct simulation *simulation, const struct event *event)
{
    struct rank_plan *plan = &simulation->ranks[event->rank];
    const struct schedule_operation *operation = &plan->schedule.operations[event->operation];
    const struct allreduce_network *network = simulation->network;
    struct rank_plan *to = &simulation->ranks[operation->peer];
    if (plan->send_free > event->at) { /* in the order of time, so that receivers' links are taken in that order too */
        push(simulation, (struct event){.at = plan->send_free, .rank = event->rank, .operation = event->operation});
        return;
    }
    struct allreduce_path path = network->path(network->context, event->rank, operation->peer);
    double bytes_ns = allreduce_transmission_ns((double)operation->count * sizeof(float), path.bytes_per_second);
    const double begin = event->at;
    plan->send_free = begin + fmax(bytes_ns, network->message_ns);
    double there = fmax(begin + path.latency_ns, to->receive_free) + bytes_ns;
    to->receive_free = there;
    finish(simulation, event->rank, event->operation, begin + bytes_ns);
    push(simulation, (struct event){.at = there,
                                    .rank = operation->peer,
                                    .operation = to->receives[to->receives_begin[event->rank] + plan->number[event->operation]],
                                    .came = true});
}

static void add_if_both(struct simulation *simulation, const struct event *event)
{
    struct rank_plan *plan = &simulation->ranks[event->rank];
    const uint32_t i = event->operation;
    const struct schedule_operation *operation = &plan->schedule.operations[i];
    if (event->came)
        plan->came_ns[i] = event->at;
    if (operation->action != SCHEDULE_OWN && (isnan(plan->came_ns[i]) || plan->waits[i] > 0))
        return;
    double adding = operation->action == SCHEDULE_PLACE
                        ? 0
                        : (double)operation->count * sizeof(float) * simulation->network->reduce_ns_per_byte;
    if (operation->action == SCHEDULE_OWN && plan->order.fresh[i])
        adding = 0;
    double done = fmax(event->at, plan->processor_free) + adding;
    if (adding > 0)
        plan->processor_free = done;
    plan->came_ns[i] = NAN; /* its turn and its message may come at one moment: it is done once */
    finish(simulation, event->rank, i, done);
}

/* sends: [size], zeros, and zeros again afterwards. */
static void number_messages(struct rank_plan *plan, int size, uint32_t *sends)
{
    for (size_t i = 0; i < plan->schedule.length; i++) {
        const struct schedule_operation *operation = &plan->schedule.operations[i];
        if (schedule_receives(operation->action))
            plan->receives_begin[operation->peer + 1]++;
        else if (!schedule_comes(operation->action))
            plan->number[i] = sends[operation->peer]++;
    }
    for (int peer = 0; peer < size; peer++) {
        plan->receives_begin[peer + 1] += plan->receives_begin[peer];
        sends[peer] = 0;
    }
    for (size_t i = 0; i < plan->schedule.length; i++) {
        const int peer = plan->schedule.operations[i].peer;
        if (schedule_receives(plan->schedule.operations[i].action))
            plan->receives[plan->receives_begin[peer] + sends[peer]++] = (uint32_t)i;
    }
    memset(sends, 0, (size_t)size * sizeof(*sends));
}

static bool make_plan(const struct allreduce_algorithm *algorithm, const struct allreduce_shape *shape, int rank,
                      struct rank_plan *plan)
{
    algorithm->plan(shape, rank, &plan->schedule);
    const size_t length = plan->schedule.length + 1;
    struct schedule_order *order = &plan->order;
    plan->schedule.operations = calloc(length, sizeof(*plan->schedule.operations));
    order->waits = calloc(length, sizeof(*order->waits));
    order->begin = calloc(length, sizeof(*order->begin));
    order->fresh = calloc(length, 1);
    order->last = calloc(length, 1);
    plan->waits = calloc(length, sizeof(*plan->waits));
    plan->number = calloc(length, sizeof(*plan->number));
    plan->receives = calloc(length, sizeof(*plan->receives));
    plan->receives_begin = calloc((size_t)shape->size + 1, sizeof(*plan->receives_begin));
    plan->came_ns = calloc(length, sizeof(*plan->came_ns));
    if (!plan->schedule.operations || !order->waits || !order->begin || !order->fresh || !order->last || !plan->waits ||
        !plan->number || !plan->receives || !plan->receives_begin || !plan->came_ns)
        return false;
    plan->schedule.length = 0;
    algorithm->plan(shape, rank, &plan->schedule);
    order->follower = calloc(schedule_order(&plan->schedule, order) + 1, sizeof(*order->follower));
    if (!order->follower)
        return false;
    schedule_order(&plan->schedule, order);
    return true;
}

static void free_plan(struct rank_plan *plan)
{
    free(plan->schedule.operations);
    free(plan->order.waits);
    free(plan->order.begin);
    free(plan->order.follower);
    free(plan->order.fresh);
    free(plan->order.last);
    free(plan->waits);
    free(plan->number);
    free(plan->receives);
    free(plan->receives_begin);
    free(plan->came_ns);
}

static void begin_rank(struct simulation *simulation, int rank)
{
    struct rank_plan *plan = &simulation->ranks[rank];
    const double clock_ns = simulation->network->clocks_ns ? simulation->network->clocks_ns[rank] : 0;
    plan->send_free = plan->receive_free = 0;
    plan->processor_free = plan->end = clock_ns;
    for (uint32_t i = 0; i < plan->schedule.length; i++) {
        plan->came_ns[i] = NAN;
        plan->waits[i] = plan->order.waits[i];
        if (plan->waits[i] == 0)
            push(simulation, (struct event){.at = clock_ns, .rank = rank, .operation = i});
    }
}

static double follow(struct simulation *simulation, const struct allreduce_network *network)
{
    simulation->network = network;
    simulation->end = 0;
    simulation->heap_length = 0;
    for (int rank = 0; rank < network->shape.size; rank++)
        begin_rank(simulation, rank);
    while (simulation->heap_length > 0 && !simulation->short_of_memory) {
        struct event event = pop(simulation);
        if (schedule_comes(simulation->ranks[event.rank].schedule.operations[event.operation].action))
            add_if_both(simulation, &event);
        else
            send(simulation, &event);
    }
    for (int rank = 0; rank < network->shape.size && network->clocks_ns; rank++)
        network->clocks_ns[rank] = simulation->ranks[rank].end;
    return simulation->short_of_memory ? NAN : simulation->end;
}

void schedule_predict_ns(const struct allreduce_algorithm *self, const struct allreduce_network *networks, int count,
                         double *times_ns)
{
    const struct allreduce_shape *shape = &networks->shape;
    const int size = shape->size;
    struct schedule first = {0};
    for (int i = 0; i < count; i++)
        times_ns[i] = NAN;
    self->plan(shape, 0, &first);
    if ((double)first.length * (double)first.length * size > PAIRS_MOST)
        return;
    struct simulation simulation = {.ranks = calloc((size_t)size, sizeof(*simulation.ranks))};
    cleanup(free_pointer) uint32_t *sends = calloc((size_t)size, sizeof(*sends));
    simulation.short_of_memory = !simulation.ranks || !sends;
    for (int rank = 0; rank < size && !simulation.short_of_memory; rank++) {
        simulation.short_of_memory = !make_plan(self, shape, rank, &simulation.ranks[rank]);
        if (!simulation.short_of_memory)
            number_messages(&simulation.ranks[rank], size, sends);
    }
    for (int i = 0; i < count && !simulation.short_of_memory; i++)
        times_ns[i] = follow(&simulation, &networks[i]);
    for (int rank = 0; simulation.ranks && rank < size; rank++)
        free_plan(&simulation.ranks[rank]);
    free(simulation.ranks);
    free(simulation.heap);
}

/* ---- of one list ---- */

static struct schedule list_of(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank)
{
    struct schedule schedule = {0};
    self->plan(shape, rank, &schedule);
    schedule.operations = calloc(schedule.length + 1, sizeof(*schedule.operations));
    schedule.length = 0;
    if (schedule.operations)
        self->plan(shape, rank, &schedule);
    return schedule;
}

bool schedule_talks(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank, int peer)
{
    struct schedule schedule = list_of(self, shape, rank);
    bool found = false;
    for (size_t i = 0; i < schedule.length && !found; i++)
        found = schedule.operations[i].peer == peer && schedule.operations[i].action != SCHEDULE_OWN;
    free(schedule.operations);
    return found;
}

/* An operation leaves its own span at most, and one when the sum there is used; there is one wait. */
uint64_t schedule_spans(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank)
{
    struct schedule schedule = {0};
    self->plan(shape, rank, &schedule);
    return 3 * (uint64_t)schedule.length + 2;
}

uint64_t schedule_sent_bytes(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank)
{
    struct schedule schedule = list_of(self, shape, rank);
    uint64_t floats = 0;
    for (size_t i = 0; i < schedule.length; i++)
        if (!schedule_comes(schedule.operations[i].action))
            floats += schedule.operations[i].count;
    free(schedule.operations);
    return floats * sizeof(float);
}
