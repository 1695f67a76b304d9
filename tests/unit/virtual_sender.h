/* tests/unit/virtual_sender.h: hosts of the virtual world that send what a test asks, and when it came: 1 byte takes 1 us, a
 * link's delay is 5 ms, packets have 1,000 bytes, so that a packet takes 1 ms a link. */
#ifndef LAGGARD_TESTS_VIRTUAL_SENDER_H
#define LAGGARD_TESTS_VIRTUAL_SENDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "agents/node.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { HOSTS = 4, SENDS_MOST = 4, NS_PER_MS = 1000000 };

/* What each host sends at the start, and when things happened. */
struct sending {
    int from, to;
    size_t bytes;
};
static struct sending sendings[SENDS_MOST];
static int sending_count, wanted, came;
static int64_t came_ns[SENDS_MOST], header_ns[SENDS_MOST], sent_ns[SENDS_MOST];
static int order[SENDS_MOST];
static bool puts_off;
static float memory[1 << 16];

static inline void start(struct node *node)
{
    for (int i = 0; i < sending_count; i++)
        if (sendings[i].from == node->index)
            node_send(node, sendings[i].to, &(struct message_header){.index = (uint32_t)i},
                      sendings[i].bytes ? node_wrap(node, memory, sendings[i].bytes, i) : NULL, 0, sendings[i].bytes);
    if (node->index != 0)
        node_finished(node);
}

static inline struct landing on_header(struct node *node, const struct message *message)
{
    header_ns[message->header.index] = node_now(node);
    if (puts_off && message->header.index == 0 && came == 0)
        return (struct landing){.kind = LAND_LATER};
    return (struct landing){.kind = LAND_POOL};
}

static inline void on_message(struct node *node, const struct message *message)
{
    const uint32_t i = message->header.index;
    assert_int_equal(message->length, sendings[i].bytes);
    assert_int_equal(message->source, sendings[i].from);
    assert_non_null(message->payload);
    came_ns[i] = node_now(node);
    order[came++] = (int)i;
    if (puts_off && i == 1)
        node_retry(node, -1);
}

static inline void on_sent(struct node *node, struct buffer *buffer, int destination)
{
    assert_int_equal(destination, sendings[buffer->tag].to);
    sent_ns[buffer->tag] = node_now(node);
}

/* Node 0 ends the trial once everything has come, wherever. */
static inline void on_timer(struct node *node, int timer)
{
    if (came == wanted)
        node_finished(node);
    else
        node_arm(node, timer, node_now(node) + NS_PER_MS);
}

static inline void prepare_node(struct node *node)
{
    if (node->index == 0)
        node_timer(node);
}

static inline void start_first(struct node *node)
{
    start(node);
    if (node->index == 0)
        node_arm(node, 0, NS_PER_MS);
}

static const struct scheme sender = {.name = "sender",
                                     .prepare_node = prepare_node,
                                     .start = start_first,
                                     .on_header = on_header,
                                     .on_message = on_message,
                                     .on_sent = on_sent,
                                     .on_timer = on_timer};

static inline struct virtual_rig rig_of(const struct sending *asked, int count)
{
    memcpy(sendings, asked, (size_t)count * sizeof(*asked));
    sending_count = wanted = count;
    came = 0;
    puts_off = false;
    const struct scheme_setup setup = {.scheme = &sender, .workers = HOSTS, .nodes = HOSTS, .parameter_count = 1, .rounds = 1};
    struct virtual_rig rig = virtual_rig_new(setup);
    virtual_rig_links(&rig, 1e6, 5 * NS_PER_MS);
    rig.options.segment_bytes = 1000;
    return rig;
}

#endif
