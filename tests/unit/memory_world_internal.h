/* tests/unit/memory_world_internal.h: what memory_world.c, memory_world_messages.c and memory_world_node.c share. */
#ifndef LAGGARD_TESTS_UNIT_MEMORY_WORLD_INTERNAL_H
#define LAGGARD_TESTS_UNIT_MEMORY_WORLD_INTERNAL_H

#include "tests/unit/memory_world.h"

enum { ALLOCATIONS_MAX = 4096, SENDS_MAX = 1024 /* to one destination before on_sent() */ };
enum world_event_kind { EVENT_START, EVENT_TASK, EVENT_HEADER, EVENT_PAYLOAD, EVENT_SENT, EVENT_RETRY, EVENT_TIMER };

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
    enum world_event_kind kind;
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
    uint8_t *input_copy; /* of what the running task reads; NULL: there is none */
    bool preparing;
};

struct memory_world {
    struct memory_world_settings settings;
    struct scheme_setup setup; /* what settings.setup and every node's setup point to */
    uint8_t *prepared;         /* of the setup */
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

static inline struct memory_node *memory_node(struct node *node)
{
    return (struct memory_node *)node;
}

/* Every callback of the scheme stands between these two. */
void memory_world_enter(struct memory_world *world);
void memory_world_leave(struct memory_world *world);

void memory_world_push(struct memory_world *world, struct event event);
/* Mostly soon, at times very late: a neighbour may be a whole round ahead. */
int64_t memory_world_some_time(struct memory_world *world);

/* memory_world_messages.c: operations of the world, */
struct buffer *memory_world_buffer(struct node *node, size_t bytes);
struct buffer *memory_world_wrap(struct node *node, void *memory, size_t bytes, intptr_t tag);
void memory_world_hold(struct node *node, struct buffer *buffer);
void memory_world_release(struct node *node, struct buffer *buffer);
void memory_world_send(struct node *node, int destination, const struct message_header *header, struct buffer *buffer,
                       size_t offset, size_t length);
void memory_world_retry(struct node *node, int source);
/* and what events do. */
void memory_world_enqueue(struct memory_world *world, int source, int destination, struct flight flight, const void *payload);
void memory_world_show_header(struct memory_world *world, int source, int destination);
void memory_world_deliver(struct memory_world *world, int source, int destination);
void memory_world_tell_sent(struct memory_world *world, int source, int destination, struct flight *flight);
void memory_world_put_back(struct memory_world *world, int source, int destination);
void memory_world_free_messages(struct memory_world *world);

/* memory_world_node.c */
void memory_world_end_task(struct memory_world *world, int index, uint32_t generation);
void *memory_world_alloc(struct node *node, size_t bytes);
extern const struct world memory_world_operations;

#endif
