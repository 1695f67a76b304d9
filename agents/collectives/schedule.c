/* agents/collectives/schedule.c: lists of operations, and the machine that carries one rank's out; see schedule.h.
 *
 * Theory of operation. Each operation has a count of earlier ones that it still waits for; when one is done, the counts of its
 * followers go down, and who comes to zero begins. A send is done when its bytes are needed no longer (on_sent). A message to be
 * added lands in a pool buffer whenever it comes and is added when its turn is there; one to be put in place lands straight in the
 * output, and is put off until its place is free. Nothing is sent or added before the own contribution is there.
 *
 * Messages between two ranks are numbered by the sender's list; the receiver's list has as many from that rank, in the same order.
 * So it does not matter in which order they become ready, or come.
 *
 * A rank can be at most one all-reduce ahead of another, since no all-reduce is done without everyone's contribution; what belongs
 * to the next one is put off. */
#include "agents/collectives/schedule.h"

enum { KIND_PART = 1 };

enum state { WAITING, LANDING, HELD, UNDER_WAY, DONE };

struct operation {
    enum state state;
    uint32_t waits;
    uint32_t number; /* of a send: among those to the same rank */
    struct buffer *held;
};
struct peer {
    int node;
    uint32_t sends, receives; /* operations */
    uint32_t first;           /* its receives begin there in `receives` */
};

struct scheduled {
    struct allreduce base; /* first */
    struct schedule schedule;
    struct schedule_order order;
    struct operation *operations;
    struct peer *peers; /* [size] */
    uint32_t *receives; /* operations, rank by rank in the order of their numbers */
    uint32_t *ready;    /* a ring of operations that wait for nothing more */
    uint32_t ready_first, ready_count, done;
    uint64_t number, round;
    float *output;
    const float *input;
    bool open, contributed, working, put_off;
    int64_t wait_begin_ns;
};

/* ---- lists ---- */

void schedule_put(struct schedule *schedule, enum schedule_action action, int peer, size_t first, size_t count)
{
    if (count == 0)
        return;
    if (schedule->operations)
        schedule->operations[schedule->length] =
            (struct schedule_operation){.action = action, .peer = peer, .first = first, .count = count};
    schedule->length++;
}

static bool share_floats(const struct schedule_operation *a, const struct schedule_operation *b)
{
    return a->first < b->first + b->count && b->first < a->first + a->count;
}

/* Two sends never wait for each other, and what is sent of the own contribution waits for nothing. */
static bool waits_for(const struct schedule_operation *later, const struct schedule_operation *earlier)
{
    if (later->action == SCHEDULE_SEND_OWN || earlier->action == SCHEDULE_SEND_OWN)
        return false;
    return (schedule_comes(later->action) || schedule_comes(earlier->action)) && share_floats(later, earlier);
}

size_t schedule_order(const struct schedule *schedule, struct schedule_order *order)
{
    const struct schedule_operation *operations = schedule->operations;
    size_t followers = 0;
    for (size_t i = 0; i < schedule->length; i++) {
        order->waits[i] = 0;
        order->fresh[i] = order->last[i] = true;
    }
    for (size_t i = 0; i < schedule->length; i++) {
        order->begin[i] = (uint32_t)followers;
        for (size_t j = i + 1; j < schedule->length; j++) {
            if (!waits_for(&operations[j], &operations[i]))
                continue;
            if (order->follower)
                order->follower[followers] = (uint32_t)j;
            followers++;
            order->waits[j]++;
            if (schedule_comes(operations[i].action))
                order->fresh[j] = false;
            if (schedule_comes(operations[j].action))
                order->last[i] = false;
        }
    }
    order->begin[schedule->length] = (uint32_t)followers;
    return followers;
}

/* ---- making the machine ---- */

static struct scheduled *scheduled_of(struct allreduce *allreduce)
{
    return (struct scheduled *)allreduce;
}

static void number_messages(struct scheduled *scheduled)
{
    const struct schedule *schedule = &scheduled->schedule;
    for (size_t i = 0; i < schedule->length; i++) {
        struct peer *peer = &scheduled->peers[schedule->operations[i].peer];
        if (schedule_receives(schedule->operations[i].action))
            peer->receives++;
        else if (!schedule_comes(schedule->operations[i].action))
            scheduled->operations[i].number = peer->sends++;
    }
    uint32_t first = 0;
    for (int rank = 0; rank < scheduled->base.spec.shape.size; rank++) {
        scheduled->peers[rank].first = first;
        first += scheduled->peers[rank].receives;
        scheduled->peers[rank].receives = 0;
    }
    for (size_t i = 0; i < schedule->length; i++) {
        struct peer *peer = &scheduled->peers[schedule->operations[i].peer];
        if (schedule_receives(schedule->operations[i].action))
            scheduled->receives[peer->first + peer->receives++] = (uint32_t)i;
    }
}

struct allreduce *schedule_create(struct node *node, const struct allreduce_spec *spec)
{
    struct scheduled *scheduled = node_alloc(node, sizeof(*scheduled));
    struct schedule *schedule = &scheduled->schedule;
    struct schedule_order *order = &scheduled->order;
    spec->algorithm->plan(&spec->shape, spec->rank, schedule);
    const size_t length = schedule->length;
    schedule->operations = node_alloc(node, (length + 1) * sizeof(*schedule->operations));
    schedule->length = 0;
    spec->algorithm->plan(&spec->shape, spec->rank, schedule);
    scheduled->operations = node_alloc(node, (length + 1) * sizeof(*scheduled->operations));
    scheduled->receives = node_alloc(node, (length + 1) * sizeof(*scheduled->receives));
    scheduled->ready = node_alloc(node, (length + 1) * sizeof(*scheduled->ready));
    scheduled->peers = node_alloc(node, (size_t)spec->shape.size * sizeof(*scheduled->peers));
    order->waits = node_alloc(node, (length + 1) * sizeof(*order->waits));
    order->begin = node_alloc(node, (length + 1) * sizeof(*order->begin));
    order->fresh = node_alloc(node, length + 1);
    order->last = node_alloc(node, length + 1);
    size_t followers = schedule_order(schedule, order);
    order->follower = node_alloc(node, (followers + 1) * sizeof(*order->follower));
    schedule_order(schedule, order);
    for (int rank = 0; rank < spec->shape.size; rank++)
        scheduled->peers[rank].node = spec->members[rank];
    scheduled->base.spec = *spec;
    number_messages(scheduled);
    scheduled->wait_begin_ns = -1;
    return &scheduled->base;
}

/* ---- carrying it out ---- */

static void push_ready(struct scheduled *scheduled, uint32_t i)
{
    const uint32_t capacity = (uint32_t)scheduled->schedule.length + 1;
    scheduled->ready[(scheduled->ready_first + scheduled->ready_count++) % capacity] = i;
}

static void finish(struct scheduled *scheduled, uint32_t i)
{
    const struct schedule_order *order = &scheduled->order;
    scheduled->operations[i].state = DONE;
    scheduled->done++;
    for (uint32_t f = order->begin[i]; f < order->begin[i + 1]; f++)
        if (--scheduled->operations[order->follower[f]].waits == 0)
            push_ready(scheduled, order->follower[f]);
}

/* These floats hold the sum, and what has to be sent of them was handed over. */
static void came(struct scheduled *scheduled, uint32_t i)
{
    const struct schedule_operation *plan = &scheduled->schedule.operations[i];
    finish(scheduled, i);
    if (scheduled->order.last[i] && scheduled->base.spec.segment_ready)
        scheduled->base.spec.segment_ready(scheduled->base.node, scheduled->base.spec.context, plan->first, plan->count);
}

static void send(struct scheduled *scheduled, uint32_t i)
{
    const struct schedule_operation *plan = &scheduled->schedule.operations[i];
    const bool own = plan->action == SCHEDULE_SEND_OWN || scheduled->order.fresh[i];
    const float *values = (own ? scheduled->input : scheduled->output) + plan->first;
    struct message_header header = {.channel = scheduled->base.spec.channel,
                                    .kind = KIND_PART,
                                    .index = scheduled->operations[i].number,
                                    .step = scheduled->number};
    scheduled->operations[i].state = UNDER_WAY;
    struct buffer *buffer =
        node_wrap(scheduled->base.node, (void *)(uintptr_t)values, plan->count * sizeof(float), allreduce_tag(&scheduled->base, i));
    node_send(scheduled->base.node, scheduled->peers[plan->peer].node, &header, buffer, 0, plan->count * sizeof(float));
}

/* output = what was there (or the own contribution, or nothing) + what has come */
static void add(struct scheduled *scheduled, uint32_t i, const float *values)
{
    struct node *node = scheduled->base.node;
    const struct schedule_operation *plan = &scheduled->schedule.operations[i];
    const bool fresh = scheduled->order.fresh[i], own = plan->action == SCHEDULE_OWN;
    float *output = scheduled->output + plan->first;
    int64_t begin_ns = node_now(node);
    if (own && fresh)
        node_copy(node, output, values, plan->count);
    else
        node_add(node, output, fresh ? scheduled->input + plan->first : output, values, plan->count);
    node_span(node, SPAN_REDUCE, scheduled->round, begin_ns, node_now(node), own ? -1 : scheduled->peers[plan->peer].node,
              plan->count * sizeof(float));
    came(scheduled, i);
}

/* One operation whose turn has come; nothing happens where it waits for its message. */
static void begin(struct scheduled *scheduled, uint32_t i)
{
    struct operation *operation = &scheduled->operations[i];
    const struct schedule_operation *plan = &scheduled->schedule.operations[i];
    switch (plan->action) {
    case SCHEDULE_SEND:
    case SCHEDULE_SEND_OWN:
        send(scheduled, i);
        break;
    case SCHEDULE_OWN:
        add(scheduled, i, scheduled->input + plan->first);
        break;
    case SCHEDULE_ADD:
        if (operation->state == HELD) {
            struct buffer *held = operation->held;
            operation->held = NULL;
            add(scheduled, i, held->bytes);
            node_release(scheduled->base.node, held);
        }
        break;
    case SCHEDULE_PLACE:
        if (operation->state == HELD) /* it has landed in its place before the own contribution was there */
            came(scheduled, i);
        break;
    }
}

static void finish_all(struct scheduled *scheduled)
{
    if (!scheduled->contributed || scheduled->done < scheduled->schedule.length)
        return;
    scheduled->open = scheduled->contributed = false;
    scheduled->number++;
    scheduled->base.spec.done(scheduled->base.node, scheduled->base.spec.context);
}

static void work(struct scheduled *scheduled)
{
    if (scheduled->working || !scheduled->contributed)
        return;
    scheduled->working = true;
    const uint32_t capacity = (uint32_t)scheduled->schedule.length + 1;
    while (scheduled->ready_count > 0) {
        uint32_t i = scheduled->ready[scheduled->ready_first];
        scheduled->ready_first = (scheduled->ready_first + 1) % capacity;
        scheduled->ready_count--;
        begin(scheduled, i);
    }
    scheduled->working = false;
    if (scheduled->put_off) {
        scheduled->put_off = false;
        node_retry(scheduled->base.node, -1);
    }
    finish_all(scheduled);
}

void schedule_open(struct allreduce *allreduce, uint64_t round, float *output)
{
    struct scheduled *scheduled = scheduled_of(allreduce);
    scheduled->round = round;
    scheduled->output = output;
    scheduled->ready_first = scheduled->ready_count = scheduled->done = 0;
    scheduled->open = true;
    for (uint32_t i = 0; i < scheduled->schedule.length; i++) {
        scheduled->operations[i].state = WAITING;
        scheduled->operations[i].waits = scheduled->order.waits[i];
        if (scheduled->order.waits[i] == 0)
            push_ready(scheduled, i);
    }
    if (scheduled->put_off) {
        scheduled->put_off = false;
        node_retry(allreduce->node, -1);
    }
}

void schedule_contribute(struct allreduce *allreduce, const float *input)
{
    struct scheduled *scheduled = scheduled_of(allreduce);
    scheduled->input = input;
    scheduled->contributed = true;
    if (scheduled->schedule.length == 0) {
        node_copy(allreduce->node, scheduled->output, input, allreduce->spec.shape.count);
        if (allreduce->spec.segment_ready)
            allreduce->spec.segment_ready(allreduce->node, allreduce->spec.context, 0, allreduce->spec.shape.count);
    } else if (!allreduce->spec.background) {
        scheduled->wait_begin_ns = node_now(allreduce->node);
    }
    work(scheduled);
}

static void end_wait(struct scheduled *scheduled, int source)
{
    if (scheduled->wait_begin_ns >= 0)
        node_span(scheduled->base.node, SPAN_WAIT, scheduled->round, scheduled->wait_begin_ns, node_now(scheduled->base.node),
                  source, 0);
    scheduled->wait_begin_ns = -1;
}

static struct landing put_off(struct scheduled *scheduled)
{
    scheduled->put_off = true;
    return (struct landing){.kind = LAND_LATER};
}

static int rank_of(const struct scheduled *scheduled, int node)
{
    const int size = scheduled->base.spec.shape.size;
    if (node < size && scheduled->peers[node].node == node) /* as a rule rank i is node i */
        return node;
    for (int rank = 0; rank < size; rank++)
        if (scheduled->peers[rank].node == node)
            return rank;
    return -1;
}

struct landing schedule_on_header(struct allreduce *allreduce, const struct message *message)
{
    struct scheduled *scheduled = scheduled_of(allreduce);
    const int rank = rank_of(scheduled, message->source);
    if (rank < 0 || message->header.kind != KIND_PART)
        return allreduce_refuse(allreduce, message, "no such message exists here");
    if (message->header.step == scheduled->number + 1 || (message->header.step == scheduled->number && !scheduled->open))
        return put_off(scheduled);
    if (message->header.step != scheduled->number)
        return allreduce_refuse(allreduce, message, "it belongs to another all-reduce");
    const struct peer *peer = &scheduled->peers[rank];
    if (message->header.index >= peer->receives)
        return allreduce_refuse(allreduce, message, "no such message exists here");
    const uint32_t i = scheduled->receives[peer->first + message->header.index];
    struct operation *operation = &scheduled->operations[i];
    const struct schedule_operation *plan = &scheduled->schedule.operations[i];
    if (message->length != plan->count * sizeof(float))
        return allreduce_refuse(allreduce, message, "its length is wrong");
    if (operation->state != WAITING)
        return allreduce_refuse(allreduce, message, "it has come before");
    if (plan->action == SCHEDULE_PLACE && operation->waits > 0)
        return put_off(scheduled);
    end_wait(scheduled, message->source);
    operation->state = LANDING;
    if (plan->action == SCHEDULE_PLACE)
        return (struct landing){.kind = LAND_INTO, .into = scheduled->output + plan->first};
    return (struct landing){.kind = LAND_POOL};
}

void schedule_on_message(struct allreduce *allreduce, const struct message *message)
{
    struct scheduled *scheduled = scheduled_of(allreduce);
    const struct peer *peer = &scheduled->peers[rank_of(scheduled, message->source)];
    const uint32_t i = scheduled->receives[peer->first + message->header.index]; /* its header was accepted */
    struct operation *operation = &scheduled->operations[i];
    operation->state = HELD;
    if (scheduled->schedule.operations[i].action == SCHEDULE_ADD) {
        if (scheduled->contributed && operation->waits == 0) {
            add(scheduled, i, message->payload);
        } else {
            node_hold(allreduce->node, message->buffer);
            operation->held = message->buffer;
        }
    } else if (scheduled->contributed) {
        came(scheduled, i);
    }
    work(scheduled);
}

void schedule_on_sent(struct allreduce *allreduce, const struct buffer *buffer)
{
    struct scheduled *scheduled = scheduled_of(allreduce);
    finish(scheduled, (uint32_t)buffer->tag);
    work(scheduled);
}
