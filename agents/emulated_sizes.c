/* emulated_sizes.c: from one message size of a trial to the next, on the same connections.
 *
 * Theory of operation. When the controller says so, every node has finished the present size, but messages may still be under way:
 * a scheme that does not wait for everyone leaves some. Each node stops its scheme and sends a fence to every peer that it is
 * connected with: an empty message on a channel of the world's own. TCP keeps the order, so behind a peer's fence nothing of this
 * size can come, and a fence that has left took along all that waited before it. Once all fences have come and left, no byte is
 * under way to this node and nobody reads or writes the scheme's memory: it is given back, and taken anew for the next size. What a
 * peer sends behind its fence is of the next size and stays in its connection until the scheme has started here, too.
 *
 * A peer that is lost is not waited for; the scheme, which has forgotten everything, hears of it again when it starts. */
#include "agents/emulated_internal.h"
#include "base/arena.h"
#include "base/err.h"

enum { PAYLOAD_VECTORS = 4 };
#define PAYLOAD_LEAST (UINT64_C(64) << 20) /* a message may always be this long */

/* ---- over all sizes ---- */

static int sizes_of(const struct emulated_options *options)
{
    return options->size_count > 0 ? options->size_count : 1;
}

/* With any of the message sizes: the connections stay. */
bool emulated_talks(const void *context, int node, int peer)
{
    const struct emulated *emulated = context;
    bool talk = false;
    for (int i = 0; i < sizes_of(&emulated->options) && !talk; i++)
        talk = scheme_talks(&emulated->options.setup[i], node, peer);
    return talk;
}

uint64_t emulated_longest_message(const struct emulated_options *options)
{
    uint64_t most = PAYLOAD_LEAST;
    for (int i = 0; i < sizes_of(options); i++) {
        uint64_t bytes = PAYLOAD_VECTORS * (uint64_t)options->setup[i].parameter_count * sizeof(float);
        most = bytes > most ? bytes : most;
    }
    return most;
}

void emulated_prepare(struct emulated *emulated)
{
    struct node *node = &emulated->node;
    node->setup = &emulated->options.setup[emulated->size];
    emulated->size_arena = arena_new();
    emulated->pool = (struct buffer_pool){.arena = emulated->size_arena};
    node->state = arena_alloc(emulated->size_arena, node->setup->scheme->state_bytes);
    if (node->setup->scheme->prepare_node)
        node->setup->scheme->prepare_node(node);
}

int emulated_size(const struct emulated *emulated)
{
    return emulated->size;
}

/* ---- from one to the next ---- */

enum transport_landing emulated_take_fence(struct emulated *emulated, const struct message *message)
{
    struct inbox *inbox = &emulated->inboxes[message->source];
    const uint64_t next = (uint64_t)emulated->size + 1;
    bool due = next < (uint64_t)emulated->options.size_count && message->header.step == next && message->length == 0;
    if (!due || inbox->fenced)
        emulated_fail(emulated, "node %d sends the end of message size %llu, which is not due", message->source,
                      (unsigned long long)message->header.step - 1);
    inbox->fenced = true;
    return TRANSPORT_DISCARD;
}

static void send_fence(struct emulated *emulated, int peer)
{
    const struct message_header fence = {.channel = FENCE_CHANNEL, .step = (uint64_t)emulated->size + 1};
    struct inbox *inbox = &emulated->inboxes[peer];
    if (inbox->lost || inbox->told)
        transport_give_up(emulated->transport, peer);
    else if (inbox->held && !inbox->fenced)
        transport_resume(emulated->transport, peer); /* the scheme is stopped: it is dropped */
    if (!transport_connected(emulated->transport, peer))
        return;
    emulated->fences_leaving++;
    if (!transport_send(emulated->transport, peer, &fence, NULL, 0, NULL))
        emulated_fail(emulated, "all rounds are over, and %d messages for node %d still wait", TRANSPORT_QUEUE, peer);
}

void emulated_next_size(struct emulated *emulated)
{
    emulated_stop(emulated);
    emulated->settling = true;
    for (int peer = 0; peer < emulated->node.setup->nodes; peer++)
        send_fence(emulated, peer);
    emulated_settle(emulated);
    emulated_look_settled(emulated);
}

static void forget_inbox(struct emulated *emulated, struct inbox *inbox)
{
    while (inbox->first) {
        struct later *later = inbox->first;
        inbox->first = later->next;
        later->next = emulated->free_later;
        emulated->free_later = later;
    }
    const bool waits = inbox->fenced && inbox->held; /* a message of the next size */
    *inbox = (struct inbox){.lost = inbox->lost || inbox->told, .fenced = inbox->fenced, .held = waits};
}

/* Everything that points to the scheme's memory, then the memory. */
static void forget_size(struct emulated *emulated)
{
    if (!emulated_compute_forget(emulated->compute))
        emulated_fail(emulated, "real work runs where all rounds are over: message sizes are for synthetic gradients");
    for (int peer = 0; peer < emulated->node.setup->nodes; peer++)
        forget_inbox(emulated, &emulated->inboxes[peer]);
    emulated->retries = emulated->losses = false;
    emulated->sent_first = emulated->sent_count = 0;
    for (int i = 0; i < emulated->timer_count; i++)
        loop_disarm(emulated->timers[i].timer);
    emulated->timer_count = 0;
    emulated->settling = emulated->started = emulated->finished = emulated->stopped = false;
    if (!emulated->failed)
        arena_cleanup(&emulated->size_arena);
}

void emulated_look_settled(struct emulated *emulated)
{
    if (!emulated->settling || emulated->failed || emulated->fences_leaving > 0)
        return;
    for (int peer = 0; peer < emulated->node.setup->nodes; peer++) {
        const struct inbox *inbox = &emulated->inboxes[peer];
        if (transport_connected(emulated->transport, peer) && !inbox->lost && !inbox->told && !inbox->fenced)
            return;
    }
    forget_size(emulated);
    if (emulated->failed)
        return;
    const struct recorder *recorder = emulated->options.recorder;
    emulated->size++;
    recorder_begin(emulated->options.recorder, recorder->end_round, (uint32_t)emulated->options.setup[emulated->size].rounds);
    workload_resize(emulated->options.workload, emulated->options.setup[emulated->size].parameter_count);
    emulated_prepare(emulated);
    emulated->options.events->sized(emulated->options.context);
}

void emulated_open_size(struct emulated *emulated)
{
    const int nodes = emulated->node.setup->nodes;
    for (int peer = 0; peer < nodes; peer++) {
        emulated->inboxes[peer].fenced = false;
        emulated->losses |= emulated->inboxes[peer].lost;
    }
    emulated_settle(emulated);
    for (int peer = 0; peer < nodes; peer++)
        if (emulated->inboxes[peer].held)
            transport_resume(emulated->transport, peer);
    emulated_settle(emulated);
}
