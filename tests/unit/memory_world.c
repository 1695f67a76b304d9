/* tests/unit/memory_world.c: the hostile in-memory world of memory_world.h: its event heap, and its life from the test's side. */
#include "tests/unit/memory_world_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

/* ---- heap ---- */

static bool earlier(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

void memory_world_push(struct memory_world *world, struct event event)
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

int64_t memory_world_some_time(struct memory_world *world)
{
    uint32_t bound = rng_below(&world->rng, 16) == 0 ? 100000 : 1000;
    return world->now_ns + 1 + rng_below(&world->rng, bound);
}

void memory_world_enter(struct memory_world *world)
{
    assert_false(world->inside);
    world->inside = true;
}

void memory_world_leave(struct memory_world *world)
{
    world->inside = false;
}

/* ---- for tests ---- */

static void copy_setup(struct memory_world *world, const struct scheme_setup *setup)
{
    world->setup = *setup;
    world->settings.setup = &world->setup;
    if (!setup->prepared)
        return;
    world->prepared = malloc(setup->prepared_bytes ? setup->prepared_bytes : 1);
    assert_non_null(world->prepared);
    memcpy(world->prepared, setup->prepared, setup->prepared_bytes);
    world->setup.prepared = world->prepared;
}

struct memory_world_settings memory_world_hostile(const struct scheme_setup *setup, uint64_t seed)
{
    return (struct memory_world_settings){
        .setup = setup,
        .seed = seed,
        .immediate_compute = seed & 1,
        .sent = seed & 2 ? SENT_ON_TAKE : SENT_ANY_TIME,
        .later_limit = seed & 4 ? 3 : 0,
        .slow_first_node = seed & 8 ? 40 : 0,
    };
}

struct memory_world *memory_world_new(const struct memory_world_settings *settings)
{
    struct memory_world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->settings = *settings;
    copy_setup(world, settings->setup);
    const struct scheme_setup *setup = &world->setup;
    const size_t nodes = (size_t)setup->nodes;
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
        owner->node.state = memory_world_alloc(&owner->node, setup->scheme->state_bytes);
        if (setup->scheme->prepare_node)
            setup->scheme->prepare_node(&owner->node);
        owner->preparing = false;
        memory_world_push(world, (struct event){.at_ns = memory_world_some_time(world), .kind = EVENT_START, .node = i});
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
            memory_world_enter(world);
            scheme->start(node);
            memory_world_leave(world);
            break;
        case EVENT_TASK:
            memory_world_end_task(world, event.node, event.generation);
            break;
        case EVENT_HEADER:
            memory_world_show_header(world, event.peer, event.node);
            break;
        case EVENT_PAYLOAD:
            memory_world_deliver(world, event.peer, event.node);
            break;
        case EVENT_SENT:
            memory_world_tell_sent(world, event.node, event.peer, event.flight);
            break;
        case EVENT_RETRY:
            memory_world_put_back(world, event.peer, event.node);
            break;
        case EVENT_TIMER:
            if (world->nodes[event.node].timer_arming[event.peer] != event.generation)
                break;
            memory_world_enter(world);
            scheme->on_timer(node, event.peer);
            memory_world_leave(world);
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
    memory_world_enqueue(world, source, destination, (struct flight){.header = *header, .length = length}, payload);
}

/* What a failed run left on the way is freed here too: whether a good run leaves nothing, memory_world_buffers_out() tells. */
void memory_world_cleanup(struct memory_world **pointer)
{
    struct memory_world *world = *pointer;
    if (!world)
        return;
    const size_t nodes = (size_t)world->settings.setup->nodes;
    memory_world_free_messages(world);
    for (size_t i = 0; i < nodes; i++) {
        for (int k = 0; k < world->nodes[i].allocation_count; k++)
            free(world->nodes[i].allocations[k]);
        free(world->nodes[i].input_copy);
    }
    free(world->heap);
    free(world->connections);
    free(world->nodes);
    free(world->prepared);
    free(world);
    *pointer = NULL;
}
