/* emulated_rig.h: one node of the emulated world with a scheme that does what the test says and writes down what happens, and a
 * peer played by the test. Callbacks that are nested fail the test. */
#ifndef LAGGARD_TESTS_UNIT_EMULATED_RIG_H
#define LAGGARD_TESTS_UNIT_EMULATED_RIG_H

#include "agents/emulated_internal.h"

enum { RIG_SIZES = 3, RIG_FLOATS = 4096, RIG_EVENTS_MAX = 512 };

struct happened {
    int depth; /* of callbacks on the stack */
    int starts, tasks, headers, messages, sent, timers, losses;
    struct task_result results[RIG_EVENTS_MAX];
    int64_t result_ns[RIG_EVENTS_MAX];
    uint32_t order[RIG_EVENTS_MAX]; /* header.index of delivered messages */
    struct message last;
    intptr_t tags[RIG_EVENTS_MAX];
};
extern struct happened happened;

struct script {
    struct landing (*on_header)(struct node *node, const struct message *message);
    void (*on_message)(struct node *node, const struct message *message);
    void (*start)(struct node *node);
    void (*on_sent)(struct node *node, struct buffer *buffer);
    void (*on_timer)(struct node *node, int timer);
    void (*on_task)(struct node *node, const struct task_result *result);
};
extern struct script script;

struct rig {
    struct arena *arena;
    struct loop *loop;
    struct workload *workload;
    struct recorder recorder;
    struct distribution time;
    struct scheme_setup setup, setups[RIG_SIZES]; /* of one size; of each */
    struct emulated *emulated;
    int other;
    uint32_t sequence;
    char failure[512];
    int lost, finished, sized;
    uint64_t rounds_done;
};

/* The node is worker 0 of 2, the peer worker 1; batches of 10. Clears happened. */
void rig_open(struct rig *rig, struct distribution time, unsigned flags);
/* The same, with RIG_SIZES message sizes: of size i a vector has RIG_FLOATS << i floats. */
void rig_open_sizes(struct rig *rig, struct distribution time, unsigned flags);
void rig_close(struct rig *rig); /* clears the script */
void rig_turn(struct rig *rig, int64_t for_ns);
void rig_go(struct rig *rig);
/* The peer sends a message of `length` bytes, or only the first `only` bytes of it. Byte i of its payload is index + i. */
void rig_peer_sends(struct rig *rig, uint32_t index, size_t length, size_t only);
void rig_peer_sends_message(struct rig *rig, const struct message_header *header, size_t length, size_t only);

#endif
