/* emulated_losses.c: peers that are lost, by their connection or by the controller's word, and how the scheme hears of it. A loss
 * between two message sizes, or before one begins, is told when the scheme has started. */
#include <stdio.h>

#include "agents/emulated_internal.h"
#include "base/err.h"

static bool over(const struct emulated *emulated)
{
    return emulated->stopped && !emulated->settling;
}

static void note_loss(struct emulated *emulated, int peer)
{
    struct inbox *inbox = &emulated->inboxes[peer];
    if (inbox->told || inbox->lost || over(emulated))
        return;
    inbox->lost = emulated->losses = true;
}

void emulated_on_lost(void *context, int peer, bool violation, const struct err *reason)
{
    struct emulated *emulated = context;
    struct inbox *inbox = &emulated->inboxes[peer];
    if (inbox->receiving && inbox->buffer)
        buffer_pool_release(&emulated->pool, inbox->buffer);
    inbox->buffer = NULL;
    inbox->receiving = inbox->held = false;
    if (over(emulated) || emulated->failed)
        return;
    if (violation) {
        emulated_fail(emulated, "what node %d sends is not a message: %s", peer, reason->text);
        return;
    }
    if (!(emulated->scheme->flags & SCHEME_SURVIVES_PEER_LOSS)) {
        char sentence[sizeof(reason->text) + 64];
        snprintf(sentence, sizeof(sentence), "lost the connection with node %d: %s", peer, reason->text);
        emulated->options.events->peer_lost(emulated->options.context, peer, sentence);
        return;
    }
    note_loss(emulated, peer);
}

/* Between two sizes nothing of it is waited for: its connection goes, since what it sent in part lies in memory that will go. */
void emulated_peer_lost(struct emulated *emulated, int peer)
{
    note_loss(emulated, peer);
    if (emulated->settling)
        transport_give_up(emulated->transport, peer);
    emulated_settle(emulated);
    emulated_look_settled(emulated);
}

bool emulated_tell_losses(struct emulated *emulated)
{
    if (!emulated->losses || !emulated->started)
        return false;
    emulated->losses = false;
    for (int peer = 0; peer < emulated->node.setup->nodes; peer++) {
        struct inbox *inbox = &emulated->inboxes[peer];
        if (!inbox->lost)
            continue;
        inbox->lost = false;
        inbox->told = true;
        if (!emulated->scheme->on_peer || emulated->stopped)
            continue;
        emulated_enter(emulated);
        emulated->scheme->on_peer(&emulated->node, peer, PEER_LOST);
        emulated_leave(emulated);
    }
    return true;
}
