/* tests/unit/memory_world.c: the hostile in-memory world of memory_world.h: an event heap, one queue a connection, and checks.
 *
 * A connection (source, destination) is a stream. Its head message is shown to on_header(); when it lands, its payload arrives at a later
 * event, and only then the next header is shown. A message put off goes to the connection's kept list; a retry, an event of its own,
 * puts that list back in front. A connection that keeps more than its limit shows nothing until a retry. */
#include "tests/unit/memory_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { ALLOCATIONS_MAX = 4096, SENDS_MAX = 1024 /* to one destination before on_sent() */ };
enum event_kind { EVENT_START, EVENT_TASK, EVENT_HEADER, EVENT_PAYLOAD, EVENT_SENT, EVENT_RETRY, EVENT_TIMER };

struct memory_buffer {
    struct buffer buffer; /* first */
    struct memory_buffer *previous, *next;
};

struct flight { /* a message under way; payload is a copy made when it was sent */
    struct message_header header;
    struct buffer *buffer; /* the sender's, given back at EVENT_SENT; NULL: injected, or a header alone */
    size_t offset, length;
    uint8_t *payload;
    bool taken; /* the receiver has the payload, or dropped it */
    struct flight *next;
};

struct connection {
    struct flight *head, *kept_head;
    uint32_t kept;
    bool busy;       /* a header event is scheduled, or a payload is landing */
    bool held_back;  /* more is kept than may be */
    int sends;       /* of which on_sent() was not called yet */
    int64_t last_ns; /* nothing is delivered before this */
    struct landing landing;
    struct buffer *pool;
};

struct event {
    int64_t at_ns;
    uint64_t sequence;
    enum event_kind kind;
    int node, peer;      /* of EVENT_SENT: the sender and the destination */
    uint32_t generation; /* task, or timer's arming */
    struct flight *flight;
};

struct memory_node {
    struct node node; /* first */
    struct memory_world *world;
    struct memory_node_result result;
    void *allocations[ALLOCATIONS_MAX];
    int allocation_count, timer_count;
    uint32_t generation, timer_arming[8];
    struct task task;
    float *model_copy; /* of the running task's model */
    bool preparing;
};

struct memory_world {
    struct memory_world_settings settings;
    struct memory_node *nodes;
    struct connection *connections; /* [nodes x nodes] */
    struct event *heap;
    size_t heap_count, heap_capacity;
    uint64_t sequence, buffers_out;
    struct memory_buffer *buffers; /* all that are out */
    struct rng rng;
    int64_t now_ns;
    bool inside; /* a callback is running */
    char failure[512];
};

static struct memory_node *memory_node(struct node *node)
{
    return (struct memory_node *)node;
}

/* ---- heap ---- */

static bool earlier(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

static void push(struct memory_world *world, struct event event)
{
    if (world->heap_count == world->heap_capacity) {
        world->heap_capacity = world->heap_capacity ? 2 * world->heap_capacity : 256;
        world->heap = realloc(world->heap, world->heap_capacity * sizeof(*world->heap));
        assert_non_null(world->heap);
    }
    event.sequence = world->sequence++;
    size_t i = world->heap_count++;
    for (; i > 0 && earlier(&event, &world->heap[(i - 1) / 2]); i = (i - 1) / 2)
        world->heap[i] = world->heap[(i - 1) / 2];
    world->heap[i] = event;
}

static struct event pop(struct memory_world *world)
{
    struct event first = world->heap[0], last = world->heap[--world->heap_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < world->heap_count; i = child) {
        if (child + 1 < world->heap_count && earlier(&world->heap[child + 1], &world->heap[child]))
            child++;
        if (!earlier(&world->heap[child], &last))
            break;
        world->heap[i] = world->heap[child];
    }
    world->heap[i] = last;
    return first;
}

/* Mostly short, at times very long: a neighbour may be a whole round ahead. */
static int64_t some_time(struct memory_world *world)
{
    uint32_t bound = rng_below(&world->rng, 16) == 0 ? 100000 : 1000;
    return world->now_ns + 1 + rng_below(&world->rng, bound);
}

/* ---- buffers ---- */

static struct buffer *new_buffer(struct memory_world *world, void *memory, size_t bytes, intptr_t tag)
{
    struct memory_buffer *whole = calloc(1, sizeof(*whole));
    assert_non_null(whole);
    whole->next = world->buffers;
    if (whole->next)
        whole->next->previous = whole;
    world->buffers = whole;
    struct buffer *buffer = &whole->buffer;
    *buffer = (struct buffer){.bytes = memory, .length = bytes, .references = 1, .wrapped = memory != NULL, .tag = tag};
    if (!memory) {
        buffer->bytes = malloc(bytes ? bytes : 1);
        assert_non_null(buffer->bytes);
        memset(buffer->bytes, 0xff, bytes);
    }
    world->buffers_out++;
    return buffer;
}

static struct buffer *world_buffer(struct node *node, size_t bytes)
{
    return new_buffer(memory_node(node)->world, NULL, bytes, 0);
}

static struct buffer *world_wrap(struct node *node, void *memory, size_t bytes, intptr_t tag)
{
    assert_non_null(memory);
    return new_buffer(memory_node(node)->world, memory, bytes, tag);
}

static void world_hold(struct node *node, struct buffer *buffer)
{
    (void)node;
    assert_true(buffer->references > 0);
    buffer->references++;
}

static void free_buffer(struct memory_world *world, struct memory_buffer *whole)
{
    *(whole->previous ? &whole->previous->next : &world->buffers) = whole->next;
    if (whole->next)
        whole->next->previous = whole->previous;
    if (!whole->buffer.wrapped)
        free(whole->buffer.bytes);
    free(whole);
    world->buffers_out--;
}

static void world_release(struct node *node, struct buffer *buffer)
{
    assert_true(buffer->references > 0);
    if (--buffer->references == 0)
        free_buffer(memory_node(node)->world, (struct memory_buffer *)buffer);
}

/* ---- messages ---- */

static struct connection *connection(struct memory_world *world, int source, int destination)
{
    return &world->connections[(size_t)source * (size_t)world->settings.setup->nodes + (size_t)destination];
}

static void show_next(struct memory_world *world, int source, int destination)
{
    struct connection *c = connection(world, source, destination);
    if (c->busy || c->held_back || !c->head)
        return;
    c->busy = true;
    int64_t at_ns = some_time(world);
    if (destination == 0 && world->settings.slow_first_node)
        at_ns += (at_ns - world->now_ns) * world->settings.slow_first_node;
    c->last_ns = at_ns > c->last_ns ? at_ns : c->last_ns;
    push(world, (struct event){.at_ns = c->last_ns, .kind = EVENT_HEADER, .node = destination, .peer = source});
}

static void enqueue(struct memory_world *world, int source, int destination, struct flight flight, const void *payload)
{
    struct flight *copy = malloc(sizeof(*copy));
    assert_non_null(copy);
    *copy = flight;
    copy->payload = malloc(flight.length ? flight.length : 1);
    assert_non_null(copy->payload);
    if (flight.length)
        memcpy(copy->payload, payload, flight.length);
    struct flight **tail = &connection(world, source, destination)->head;
    while (*tail)
        tail = &(*tail)->next;
    *tail = copy;
    if (flight.buffer && world->settings.sent == SENT_ANY_TIME)
        push(world,
             (struct event){.at_ns = some_time(world), .kind = EVENT_SENT, .node = source, .peer = destination, .flight = copy});
    show_next(world, source, destination);
}

static void world_send(struct node *node, int destination, const struct message_header *header, struct buffer *buffer,
                       size_t offset, size_t length)
{
    struct memory_node *sender = memory_node(node);
    struct memory_world *world = sender->world;
    assert_true(scheme_talks(world->settings.setup, node->index, destination));
    assert_true(buffer ? offset + length <= buffer->length : length == 0);
    sender->result.sent_bytes += length;
    sender->result.sent_messages++;
    if (buffer)
        assert_in_range(++connection(world, node->index, destination)->sends, 1, SENDS_MAX);
    struct flight flight = {.header = *header, .buffer = buffer, .offset = offset, .length = length};
    enqueue(world, node->index, destination, flight, buffer ? (uint8_t *)buffer->bytes + offset : NULL);
}

static void world_retry(struct node *node, int source)
{
    struct memory_world *world = memory_node(node)->world;
    for (int peer = 0; peer < world->settings.setup->nodes; peer++)
        if (source < 0 || source == peer)
            push(world, (struct event){.at_ns = some_time(world), .kind = EVENT_RETRY, .node = node->index, .peer = peer});
}

static void free_flight(struct flight *flight)
{
    free(flight->payload);
    free(flight);
}

/* The receiver is done with the head message; the sender may still have to hear that it is sent. */
static void take_head(struct memory_world *world, int source, int destination)
{
    struct connection *c = connection(world, source, destination);
    struct flight *flight = c->head;
    c->head = flight->next;
    c->busy = false;
    flight->taken = true;
    if (!flight->buffer)
        free_flight(flight);
    else if (world->settings.sent == SENT_ON_TAKE)
        push(world,
             (struct event){.at_ns = some_time(world), .kind = EVENT_SENT, .node = source, .peer = destination, .flight = flight});
    show_next(world, source, destination);
}

static void enter(struct memory_world *world)
{
    assert_false(world->inside);
    world->inside = true;
}

static void leave(struct memory_world *world)
{
    world->inside = false;
}

static void handle_header(struct memory_world *world, int source, int destination)
{
    struct node *node = &world->nodes[destination].node;
    struct connection *c = connection(world, source, destination);
    const struct flight *flight = c->head;
    struct message message = {.header = flight->header, .source = source, .length = flight->length};
    c->landing = (struct landing){.kind = LAND_POOL};
    if (node->setup->scheme->on_header) {
        enter(world);
        c->landing = node->setup->scheme->on_header(node, &message);
        leave(world);
    }
    switch (c->landing.kind) {
    case LAND_POOL:
        c->pool = new_buffer(world, NULL, flight->length, 0);
        break;
    case LAND_INTO:
        memset(c->landing.into, 0xff, flight->length);
        break;
    case LAND_DISCARD:
        take_head(world, source, destination);
        return;
    case LAND_LATER: {
        struct flight *later = c->head, **tail = &c->kept_head;
        c->head = later->next;
        later->next = NULL;
        while (*tail)
            tail = &(*tail)->next;
        *tail = later;
        c->held_back = ++c->kept > world->settings.later_limit;
        c->busy = false;
        show_next(world, source, destination);
        return;
    }
    }
    push(world, (struct event){.at_ns = some_time(world), .kind = EVENT_PAYLOAD, .node = destination, .peer = source});
}

static void handle_payload(struct memory_world *world, int source, int destination)
{
    struct node *node = &world->nodes[destination].node;
    struct connection *c = connection(world, source, destination);
    const struct flight *flight = c->head;
    struct message message = {.header = flight->header, .source = source, .length = flight->length, .buffer = c->pool};
    message.payload = c->pool ? c->pool->bytes : c->landing.into;
    for (size_t i = 0; i < flight->length; i++)
        if (((uint8_t *)message.payload)[i] != 0xff)
            fail_msg("node %d touched the place where a message from %d was landing", destination, source);
    if (flight->length)
        memcpy(message.payload, flight->payload, flight->length);
    enter(world);
    node->setup->scheme->on_message(node, &message);
    leave(world);
    if (c->pool)
        world_release(node, c->pool);
    c->pool = NULL;
    take_head(world, source, destination);
}

static void handle_sent(struct memory_world *world, int source, int destination, struct flight *flight)
{
    connection(world, source, destination)->sends--;
    struct node *node = &world->nodes[source].node;
    if (flight->length && memcmp((uint8_t *)flight->buffer->bytes + flight->offset, flight->payload, flight->length) != 0)
        fail_msg("node %d changed a buffer before on_sent()", source);
    if (node->setup->scheme->on_sent) {
        enter(world);
        node->setup->scheme->on_sent(node, flight->buffer);
        leave(world);
    }
    world_release(node, flight->buffer);
    flight->buffer = NULL;
    if (flight->taken)
        free_flight(flight);
}

static void handle_retry(struct memory_world *world, int source, int destination)
{
    struct connection *c = connection(world, source, destination);
    if (!c->kept_head)
        return;
    /* A message that is being shown or landing stays the first. */
    struct flight **front = c->busy && c->head ? &c->head->next : &c->head;
    struct flight *last = c->kept_head;
    while (last->next)
        last = last->next;
    last->next = *front;
    *front = c->kept_head;
    c->kept_head = NULL;
    c->kept = 0;
    c->held_back = false;
    show_next(world, source, destination);
}

/* ---- tasks and timers ---- */

static uint32_t world_compute(struct node *node, const struct task *task)
{
    struct memory_node *worker = memory_node(node);
    struct memory_world *world = worker->world;
    assert_null(worker->model_copy);
    assert_int_equal(task->kind, TASK_GRADIENT);
    size_t bytes = node->setup->parameter_count * sizeof(float);
    worker->task = *task;
    worker->generation++;
    worker->model_copy = malloc(bytes ? bytes : 1);
    assert_non_null(worker->model_copy);
    if (task->model)
        memcpy(worker->model_copy, task->model, bytes);
    memset(task->gradient, 0xff, bytes);
    int64_t at_ns = world->settings.immediate_compute ? world->now_ns : some_time(world) + rng_below(&world->rng, 20000);
    push(world, (struct event){.at_ns = at_ns, .kind = EVENT_TASK, .node = node->index, .generation = worker->generation});
    return worker->generation;
}

static void world_cancel(struct node *node, uint32_t generation)
{
    struct memory_node *worker = memory_node(node);
    if (worker->generation != generation)
        return;
    free(worker->model_copy);
    worker->model_copy = NULL;
}

static void handle_task(struct memory_world *world, int index, uint32_t generation)
{
    struct memory_node *worker = &world->nodes[index];
    struct node *node = &worker->node;
    const size_t count = node->setup->parameter_count;
    if (!worker->model_copy || worker->generation != generation)
        return;
    if (worker->task.model && memcmp(worker->model_copy, worker->task.model, count * sizeof(float)) != 0)
        fail_msg("node %d changed its model while a gradient was computed at it", index);
    world->settings.gradient(world->settings.context, node->role_index, worker->task.step, worker->task.model,
                             worker->task.gradient);
    free(worker->model_copy);
    worker->model_copy = NULL;
    struct task_result result = {
        .generation = generation, .step = worker->task.step, .kind = worker->task.kind, .parts = 1, .count = count};
    enter(world);
    node->setup->scheme->on_task(node, &result);
    leave(world);
}

static int world_timer(struct node *node)
{
    assert_true(memory_node(node)->preparing && memory_node(node)->timer_count < 8);
    return memory_node(node)->timer_count++;
}

static void world_disarm(struct node *node, int timer)
{
    memory_node(node)->timer_arming[timer]++;
}

static void world_arm(struct node *node, int timer, int64_t deadline_ns)
{
    struct memory_node *owner = memory_node(node);
    int64_t now_ns = owner->world->now_ns;
    push(owner->world, (struct event){.at_ns = deadline_ns > now_ns ? deadline_ns : now_ns,
                                      .kind = EVENT_TIMER,
                                      .node = node->index,
                                      .peer = timer,
                                      .generation = ++owner->timer_arming[timer]});
}

/* ---- the rest of the operations ---- */

static int64_t world_now(struct node *node)
{
    return memory_node(node)->world->now_ns;
}

static void *world_alloc(struct node *node, size_t bytes)
{
    struct memory_node *owner = memory_node(node);
    assert_true(owner->preparing && owner->allocation_count < ALLOCATIONS_MAX);
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0, (bytes + 64) / 64 * 64);
    return owner->allocations[owner->allocation_count++] = memory;
}

static void world_add(struct node *node, float *out, const float *a, const float *b, size_t count)
{
    (void)node;
    for (size_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

static void world_scale(struct node *node, float *out, float factor, const float *a, size_t count)
{
    (void)node;
    for (size_t i = 0; i < count; i++)
        out[i] = factor * a[i];
}

static void world_axpy(struct node *node, float *y, float factor, const float *x, size_t count)
{
    (void)node;
    for (size_t i = 0; i < count; i++)
        y[i] += factor * x[i];
}

static void world_copy(struct node *node, float *out, const float *in, size_t count)
{
    (void)node;
    memmove(out, in, count * sizeof(float));
}

static double world_dot(struct node *node, const float *a, const float *b, size_t count)
{
    (void)node;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static void world_update(struct node *node, float *model, const float *sum, int contributors, size_t first, size_t count,
                         uint64_t step)
{
    const struct memory_world_settings *settings = &memory_node(node)->world->settings;
    if (model)
        world_axpy(node, model + first, -(float)(node->setup->learning_rate / contributors), sum + first, count);
    else if (settings->check)
        settings->check(settings->context, node->index, sum, contributors, first, count, step);
}

static void world_span(struct node *node, enum span_kind kind, uint64_t round, int64_t begin_ns, int64_t end_ns, int peer,
                       uint64_t bytes)
{
    (void)bytes;
    assert_true(kind < SPAN_COUNT && round < (uint64_t)node->setup->rounds);
    assert_true(begin_ns >= 0 && begin_ns <= end_ns && end_ns <= world_now(node));
    assert_true(peer >= -1 && peer < node->setup->nodes);
    memory_node(node)->result.spans[kind]++;
}

static void world_round_finished(struct node *node, uint64_t round)
{
    assert_int_equal(round, memory_node(node)->result.rounds_finished);
    memory_node(node)->result.rounds_finished++;
}

static void world_finished(struct node *node)
{
    assert_false(memory_node(node)->result.finished);
    memory_node(node)->result.finished = true;
}

static void world_fail(struct node *node, const char *sentence)
{
    struct memory_world *world = memory_node(node)->world;
    if (!world->failure[0])
        strncpy(world->failure, sentence, sizeof(world->failure) - 1);
}

static struct rng world_random(struct node *node, enum rng_purpose purpose, uint32_t which_node)
{
    return rng_stream(node->setup->seed, node->setup->cell, which_node, purpose);
}

static const float *world_initial_model(struct node *node)
{
    return memory_node(node)->world->settings.initial_model;
}

static const struct world memory_world_operations = {
    .name = "memory",
    .now = world_now,
    .alloc = world_alloc,
    .compute = world_compute,
    .cancel = world_cancel,
    .buffer = world_buffer,
    .wrap = world_wrap,
    .hold = world_hold,
    .release = world_release,
    .send = world_send,
    .retry = world_retry,
    .timer = world_timer,
    .arm = world_arm,
    .disarm = world_disarm,
    .add = world_add,
    .scale = world_scale,
    .axpy = world_axpy,
    .copy = world_copy,
    .dot = world_dot,
    .update = world_update,
    .span = world_span,
    .round_finished = world_round_finished,
    .finished = world_finished,
    .fail = world_fail,
    .random = world_random,
    .initial_model = world_initial_model,
};

/* ---- for tests ---- */

struct memory_world *memory_world_new(const struct memory_world_settings *settings)
{
    const struct scheme_setup *setup = settings->setup;
    const size_t nodes = (size_t)setup->nodes;
    struct memory_world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->settings = *settings;
    world->rng = rng_stream(settings->seed, 0, RNG_ALL_NODES, RNG_LINK);
    world->nodes = calloc(nodes, sizeof(*world->nodes));
    world->connections = calloc(nodes * nodes, sizeof(*world->connections));
    assert_true(world->nodes && world->connections);
    for (int i = 0; i < setup->nodes; i++) {
        struct memory_node *owner = &world->nodes[i];
        bool worker = i < setup->workers;
        owner->node = (struct node){.world = &memory_world_operations, .setup = setup, .index = i};
        owner->node.role = worker ? ROLE_WORKER : ROLE_SERVER;
        owner->node.role_index = worker ? i : i - setup->workers;
        owner->world = world;
        owner->preparing = true;
        owner->node.state = world_alloc(&owner->node, setup->scheme->state_bytes);
        if (setup->scheme->prepare_node)
            setup->scheme->prepare_node(&owner->node);
        owner->preparing = false;
        push(world, (struct event){.at_ns = some_time(world), .kind = EVENT_START, .node = i});
    }
    return world;
}

void memory_world_run(struct memory_world *world)
{
    while (world->heap_count > 0 && !world->failure[0]) {
        struct event event = pop(world);
        struct node *node = &world->nodes[event.node].node;
        const struct scheme *scheme = node->setup->scheme;
        world->now_ns = event.at_ns;
        switch (event.kind) {
        case EVENT_START:
            enter(world);
            scheme->start(node);
            leave(world);
            break;
        case EVENT_TASK:
            handle_task(world, event.node, event.generation);
            break;
        case EVENT_HEADER:
            handle_header(world, event.peer, event.node);
            break;
        case EVENT_PAYLOAD:
            handle_payload(world, event.peer, event.node);
            break;
        case EVENT_SENT:
            handle_sent(world, event.node, event.peer, event.flight);
            break;
        case EVENT_RETRY:
            handle_retry(world, event.peer, event.node);
            break;
        case EVENT_TIMER:
            if (world->nodes[event.node].timer_arming[event.peer] != event.generation)
                break;
            enter(world);
            scheme->on_timer(node, event.peer);
            leave(world);
            break;
        }
    }
}

struct memory_node_result memory_world_result(struct memory_world *world, int node)
{
    struct memory_node *owner = &world->nodes[node];
    struct memory_node_result result = owner->result;
    result.model = owner->node.setup->scheme->model_to_evaluate(&owner->node);
    return result;
}

const char *memory_world_failure(const struct memory_world *world)
{
    return world->failure[0] ? world->failure : NULL;
}

uint64_t memory_world_buffers_out(const struct memory_world *world)
{
    return world->buffers_out;
}

void memory_world_inject(struct memory_world *world, int source, int destination, const struct message_header *header,
                         const void *payload, size_t length)
{
    enqueue(world, source, destination, (struct flight){.header = *header, .length = length}, payload);
}

static void free_flights(struct flight *flight)
{
    while (flight) {
        struct flight *next = flight->next;
        free_flight(flight);
        flight = next;
    }
}

/* What a failed run left on the way is freed here too: whether a good run leaves nothing, memory_world_buffers_out() tells. */
void memory_world_cleanup(struct memory_world **pointer)
{
    struct memory_world *world = *pointer;
    if (!world)
        return;
    const size_t nodes = (size_t)world->settings.setup->nodes;
    for (size_t i = 0; i < world->heap_count; i++)
        if (world->heap[i].flight && world->heap[i].flight->taken)
            free_flight(world->heap[i].flight);
    for (size_t i = 0; i < nodes * nodes; i++) {
        free_flights(world->connections[i].head);
        free_flights(world->connections[i].kept_head);
    }
    while (world->buffers)
        free_buffer(world, world->buffers);
    for (size_t i = 0; i < nodes; i++) {
        for (int k = 0; k < world->nodes[i].allocation_count; k++)
            free(world->nodes[i].allocations[k]);
        free(world->nodes[i].model_copy);
    }
    free(world->heap);
    free(world->connections);
    free(world->nodes);
    free(world);
    *pointer = NULL;
}
