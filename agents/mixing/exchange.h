/* agents/mixing/exchange.h: a step of an exchange with neighbours, a sub-machine of a scheme on a channel of its own: each sends
 * its message to its neighbours of this step, and takes theirs.
 *
 *     exchange_begin(e, step, ...)     sends; from now on this step's messages are taken
 *     take(part) ...                   each neighbour's message, and the own place among them, in the order of node indexes
 *     done()                           all were taken, and the next step may begin (also from within)
 *
 * Theory of operation. Messages are taken in the order of nodes, whatever the order in which they come: one that comes before its
 * turn is held. So sums have the same bits in any order of events, and on a complete graph the same bits on every node. Messages of
 * later steps are put off, one at most from each neighbour, since nobody is done with a step before it has the messages of all its
 * neighbours of that step. Nothing is taken before all that earlier steps sent has gone: what was sent two steps ago may be
 * overwritten in take(), so that two vectors in turns are enough. Both ends of an edge must have it active in the same steps;
 * steps only grow, and may leave some out.
 *
 * No deadlock: a message of step k waits for nothing but its receiver's coming to step k, and a node that is at the least step
 * of all has all its neighbours' messages of that step on their way. */
#ifndef LAGGARD_AGENTS_MIXING_EXCHANGE_H
#define LAGGARD_AGENTS_MIXING_EXCHANGE_H

#include "agents/node.h"

struct exchange;

struct exchange_part {
    int neighbour; /* its index in the list; -1: the own place, and the rest is 0 */
    int node;
    const void *payload; /* valid during take() */
    size_t length;
    int64_t argument; /* as sent */
};
struct exchange_spec {
    uint16_t channel;
    const int *neighbours; /* [count] node indexes, ascending; must live as long as the exchange */
    int count;
    size_t length_least, length_most; /* of payloads; others are refused */
    void *context;
    void (*take)(struct node *node, void *context, const struct exchange_part *part);
    void (*done)(struct node *node, void *context);
};
struct exchange_step {
    uint64_t step;
    uint64_t round;     /* of spans */
    const bool *active; /* [count]: who is a neighbour in this step; NULL: all. Must stay until done() */
    const void *memory; /* what is sent; must stay unchanged until the next but one step's take() */
    size_t length;      /* bytes, 0 allowed */
    int64_t argument;   /* travels in the header */
};

struct exchange *exchange_new(struct node *node, const struct exchange_spec *spec); /* in prepare_node() only */
/* May call take() and done() at once. */
void exchange_begin(struct exchange *exchange, const struct exchange_step *step);
/* The node has nothing else to do: from now until the step's last message comes it waits, and a span says so. */
void exchange_wait(struct exchange *exchange);
bool exchange_open(const struct exchange *exchange); /* a step was begun and is not done */
struct landing exchange_on_header(struct exchange *exchange, const struct message *message);
void exchange_on_message(struct exchange *exchange, const struct message *message);
/* Of its buffers: their tags have the channel in the upper half, as those of all-reduces (allreduce_tag_channel()). */
void exchange_on_sent(struct exchange *exchange, const struct buffer *buffer);
/* How many spans a step leaves at most, those of send and receive included, with so many neighbours: take()'s own are not. */
uint64_t exchange_spans(int neighbours);

#endif
