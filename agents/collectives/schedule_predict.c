/* agents/collectives/schedule_predict.c: how long the lists of all ranks take together, and what one list amounts to.
 *
 * The model. A message is ready when its operation's turn has come. What a rank sends to another is one flow, a message after the
 * other; its flows take turns on its link, a part of a message each, at bytes/B. Messages begin at least the cost of one apart. A
 * part crosses in one latency and is there when the receiver's link, which takes what comes first first, has taken its bytes/B too.
 * A rank adds one message after the other, gamma a byte.
 *
 * Turns matter where a late rank finds others' messages waiting for it. It then has several of its own to send at once, to several
 * ranks, and all of them end late; one after the other the first would be there soon and go on its way. Example, recursive doubling
 * among 4, u = S/B, rank 3 late: it adds what rank 2 sent, and sends to 2 and to 1 at once. Both have it after 2u, and rank 0,
 * which waits for rank 2, after 3u; with one after the other it would be 2u.
 */
#include <stdlib.h>
#include <string.h>

#include "agents/collectives/schedule_predict_internal.h"
#include "base/cleanup.h"

/* Ranks times the square of what each does: which operation waits for which takes that many looks. */
static const double PAIRS_MOST = 1e8;
/* Parts of messages are a 64th of one, and at least what TCP sends before it hears of the first of it, 10 packets. Where there are
 * too many to follow all are so many times as large. */
enum { MESSAGE_PARTS = 64, COARSENESS_MOST = 8 /* of segments, which take turns as they are: MESSAGE_PARTS */ };
static const double PART_BYTES_LEAST = 10 * 1448, PARTS_MOST = 640000;

struct event {
    double at;
    int rank, round;
    uint32_t operation;
    enum { LINK_FREE, GRADIENT, READY, CAME } kind; /* a part of a send has left; own gradient, operation's turn, message there */
};
struct simulation {
    const struct allreduce_network *network;
    struct rank_plan *ranks;
    struct event *heap;
    size_t heap_length, heap_capacity;
    double end;
    int coarseness; /* of parts */
    int rounds;
    bool short_of_memory;
};

static bool sooner(const struct event *a, const struct event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->kind != b->kind)
        return a->kind < b->kind;
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

/* Who ends a round begins the next one's gradient. A rank is one round ahead of another at most, which has not contributed yet. */
static void begin_round(struct simulation *simulation, int rank, int round)
{
    struct rank_plan *plan = &simulation->ranks[rank];
    const struct allreduce_network *network = simulation->network;
    plan->end += network->compute_ns ? network->compute_ns[(size_t)round * (size_t)network->shape.size + (size_t)rank] : 0;
    plan->processor_free = plan->end;
    plan->round = round;
    plan->operations_left = (uint32_t)plan->schedule.length;
    for (uint32_t i = 0; i < plan->schedule.length; i++)
        plan->waits[i] = plan->order.waits[i] + 1; /* and for the gradient */
    push(simulation, (struct event){.at = plan->end, .rank = rank, .kind = GRADIENT});
}

static void contribute(struct simulation *simulation, const struct event *event)
{
    struct rank_plan *plan = &simulation->ranks[event->rank];
    for (uint32_t i = 0; i < plan->schedule.length; i++)
        if (--plan->waits[i] == 0)
            push(simulation, (struct event){.at = event->at, .rank = event->rank, .operation = i, .kind = READY});
}

static void finish(struct simulation *simulation, int rank, uint32_t i, double at)
{
    struct rank_plan *plan = &simulation->ranks[rank];
    simulation->end = fmax(simulation->end, at);
    plan->end = fmax(plan->end, at);
    for (uint32_t f = plan->order.begin[i]; f < plan->order.begin[i + 1]; f++)
        if (--plan->waits[plan->order.follower[f]] == 0)
            push(simulation, (struct event){.at = at, .rank = rank, .operation = plan->order.follower[f], .kind = READY});
    if (--plan->operations_left == 0 && plan->round + 1 < simulation->rounds)
        begin_round(simulation, rank, plan->round + 1);
}

static uint32_t parts_of(const struct simulation *simulation, size_t floats)
{
    const double least = PART_BYTES_LEAST * simulation->coarseness, most = (double)MESSAGE_PARTS / simulation->coarseness;
    return (uint32_t)fmax(1, fmin((double)floats * sizeof(float) / least, most));
}

static void wait_for_turn(struct rank_plan *plan, int32_t flow)
{
    plan->flows[flow].next = NOTHING;
    if (plan->turn_first == NOTHING)
        plan->turn_first = flow;
    else
        plan->flows[plan->turn_last].next = flow;
    plan->turn_last = flow;
}

/* The link is free: the flow that waited longest sends a part. */
static void take_turn(struct simulation *simulation, int rank, double now)
{
    struct rank_plan *plan = &simulation->ranks[rank];
    const struct allreduce_network *network = simulation->network;
    const int32_t i = plan->flows[plan->turn_first].sending;
    const struct schedule_operation *operation = &plan->schedule.operations[i];
    struct rank_plan *to = &simulation->ranks[operation->peer];
    const struct allreduce_path path = network->path(network->context, rank, operation->peer);
    const uint32_t parts = parts_of(simulation, operation->count);
    const double part_ns = allreduce_transmission_ns((double)operation->count * sizeof(float) / parts, path.bytes_per_second);
    double begin = now;
    plan->turn_first = plan->flows[plan->turn_first].next;
    if (plan->parts_left[i] == parts) {
        begin = fmax(now, plan->message_free);
        plan->message_free = begin + network->message_ns;
    }
    to->receive_free = fmax(begin + path.latency_ns, to->receive_free) + part_ns;
    plan->link_busy = true;
    plan->parts_left[i]--;
    push(simulation, (struct event){.at = begin + part_ns, .rank = rank, .operation = (uint32_t)i, .kind = LINK_FREE});
    if (plan->parts_left[i] == 0)
        push(simulation, (struct event){.at = to->receive_free,
                                        .rank = operation->peer,
                                        .round = plan->round,
                                        .operation = to->receives[to->receives_begin[rank] + plan->number[i]],
                                        .kind = CAME});
}

static void part_left(struct simulation *simulation, const struct event *event)
{
    struct rank_plan *plan = &simulation->ranks[event->rank];
    const uint32_t i = event->operation;
    struct flow *flow = &plan->flows[plan->flow[i]];
    const bool whole = plan->parts_left[i] == 0;
    plan->link_busy = false;
    if (whole)
        flow->sending = plan->behind[i];
    if (flow->sending != NOTHING)
        wait_for_turn(plan, (int32_t)plan->flow[i]);
    if (plan->turn_first != NOTHING)
        take_turn(simulation, event->rank, event->at);
    if (whole)
        finish(simulation, event->rank, i, event->at);
}

static void send(struct simulation *simulation, const struct event *event)
{
    struct rank_plan *plan = &simulation->ranks[event->rank];
    const uint32_t i = event->operation;
    struct flow *flow = &plan->flows[plan->flow[i]];
    plan->parts_left[i] = parts_of(simulation, plan->schedule.operations[i].count);
    plan->behind[i] = NOTHING;
    if (flow->sending != NOTHING) {
        plan->behind[flow->newest] = (int32_t)i;
    } else {
        flow->sending = (int32_t)i;
        wait_for_turn(plan, (int32_t)plan->flow[i]);
    }
    flow->newest = (int32_t)i;
    if (!plan->link_busy)
        take_turn(simulation, event->rank, event->at);
}

static void add_if_both(struct simulation *simulation, const struct event *event)
{
    struct rank_plan *plan = &simulation->ranks[event->rank];
    const uint32_t i = event->operation;
    const struct schedule_operation *operation = &plan->schedule.operations[i];
    if (event->kind == CAME) {
        plan->came_ns[event->round % 2][i] = event->at;
        if (event->round > plan->round)
            return;
    }
    double *came_ns = &plan->came_ns[plan->round % 2][i];
    if (operation->action != SCHEDULE_OWN && (isnan(*came_ns) || plan->waits[i] > 0))
        return;
    double adding = operation->action == SCHEDULE_PLACE
                        ? 0
                        : (double)operation->count * sizeof(float) * simulation->network->reduce_ns_per_byte;
    if (operation->action == SCHEDULE_OWN && plan->order.fresh[i])
        adding = 0;
    double done = fmax(event->at, plan->processor_free) + adding;
    if (adding > 0)
        plan->processor_free = done;
    *came_ns = NAN; /* its turn and its message may come at one moment: it is done once */
    finish(simulation, event->rank, i, done);
}

static void clear_rank(struct rank_plan *plan)
{
    plan->message_free = plan->receive_free = plan->end = 0;
    plan->turn_first = NOTHING;
    plan->link_busy = false;
    for (uint32_t i = 0; i < plan->schedule.length; i++) {
        plan->came_ns[0][i] = plan->came_ns[1][i] = NAN;
        plan->flows[plan->flow[i]].sending = NOTHING;
    }
}

static double follow(struct simulation *simulation, const struct allreduce_network *network)
{
    simulation->network = network;
    simulation->rounds = allreduce_network_rounds(network);
    simulation->end = 0;
    simulation->heap_length = 0;
    for (int rank = 0; rank < network->shape.size; rank++) {
        clear_rank(&simulation->ranks[rank]);
        begin_round(simulation, rank, 0);
    }
    while (simulation->heap_length > 0 && !simulation->short_of_memory) {
        struct event event = pop(simulation);
        if (event.kind == LINK_FREE)
            part_left(simulation, &event);
        else if (event.kind == GRADIENT)
            contribute(simulation, &event);
        else if (schedule_comes(simulation->ranks[event.rank].schedule.operations[event.operation].action))
            add_if_both(simulation, &event);
        else
            send(simulation, &event);
    }
    return simulation->short_of_memory ? NAN : simulation->end;
}

double schedule_messages(const struct allreduce_algorithm *self, const struct allreduce_shape *shape)
{
    struct schedule schedule = {0};
    for (int rank = 0; rank < shape->size; rank++)
        self->plan(shape, rank, &schedule);
    return (double)schedule.length / 2;
}

static double parts_in_all(const struct simulation *simulation, int size)
{
    double parts = 0;
    for (int rank = 0; rank < size; rank++) {
        const struct schedule *schedule = &simulation->ranks[rank].schedule;
        for (size_t i = 0; i < schedule->length; i++)
            if (!schedule_comes(schedule->operations[i].action))
                parts += parts_of(simulation, schedule->operations[i].count);
    }
    return parts;
}

static void choose_coarseness(struct simulation *simulation, const struct allreduce_algorithm *algorithm,
                              const struct allreduce_network *networks, int count)
{
    const int most = algorithm->parameter == ALLREDUCE_SEGMENT ? MESSAGE_PARTS : COARSENESS_MOST;
    int rounds = 0;
    for (int i = 0; i < count; i++)
        rounds += allreduce_network_rounds(&networks[i]);
    for (simulation->coarseness = 1; simulation->coarseness < most; simulation->coarseness *= 2)
        if (parts_in_all(simulation, networks->shape.size) * rounds <= PARTS_MOST)
            return;
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
        simulation.short_of_memory = !schedule_rank_plan_make(self, shape, rank, sends, &simulation.ranks[rank]);
    }
    if (!simulation.short_of_memory)
        choose_coarseness(&simulation, self, networks, count);
    for (int i = 0; i < count && !simulation.short_of_memory; i++)
        times_ns[i] = follow(&simulation, &networks[i]);
    for (int rank = 0; simulation.ranks && rank < size; rank++)
        schedule_rank_plan_free(&simulation.ranks[rank]);
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
