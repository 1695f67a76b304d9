/* virtual_outside.c: what happens to the virtual world from outside its scheme: alarms, pauses, crashes, cuts.
 *
 * A paused node's moments are kept and come again, in their order, when it goes on: its links and its compute time know nothing of
 * it, as a kernel and a clock do not. A crashed node's moments come to nothing. */

#include "agents/virtual_internal.h"

uint32_t virtual_rounds_done(const struct virtual_world *world)
{
    const struct scheme_setup *setup = world->options.setup;
    return world->nodes[scheme_round_node(setup->scheme, setup->workers)].recorder.next_round;
}

/* ---- alarms ---- */

void virtual_alarm(struct virtual_world *world, int64_t at_ns)
{
    world->alarm = (world->alarm + 1) % NONE;
    if (at_ns < INT64_MAX)
        moments_add(&world->moments, at_ns > world->now_ns ? at_ns : world->now_ns, MOMENT_ALARM, 0, world->alarm);
}

void virtual_sound_alarm(struct virtual_world *world, uint32_t arming)
{
    if (world->options.alarm && (arming == NONE || arming == world->alarm))
        world->options.alarm(world->options.context, virtual_rounds_done(world));
}

void virtual_round_over(struct virtual_node *own)
{
    struct virtual_world *world = own->world;
    const struct scheme_setup *setup = own->node.setup;
    if (world->options.alarm && own->node.index == scheme_round_node(setup->scheme, setup->workers))
        moments_add(&world->moments, own->clock_ns, MOMENT_ALARM, 0, NONE);
}

int64_t virtual_clock_ns(const struct virtual_world *world)
{
    return world->now_ns;
}

/* ---- nodes ---- */

/* Whose callback the moment is; -1: nobody's. */
static int node_of(const struct virtual_world *world, const struct moment *moment)
{
    switch ((enum moment_kind)moment_kind(moment)) {
    case MOMENT_START:
    case MOMENT_TASK:
    case MOMENT_LOSS:
        return (int)moment->subject;
    case MOMENT_TIMER:
        return world->timers[moment->subject].node;
    case MOMENT_DEPART:
        return world->parcels[moment->subject].source;
    case MOMENT_ARRIVE:
        return world->parcels[world->segments[moment->subject].parcel].destination;
    default:
        return -1;
    }
}

bool virtual_defer(struct virtual_world *world, const struct moment *moment)
{
    const int node = node_of(world, moment);
    if (node < 0)
        return false;
    const unsigned kind = moment_kind(moment);
    if (!virtual_lives(&world->nodes[node]))
        return kind != MOMENT_ARRIVE && kind != MOMENT_DEPART; /* these have to be cleared away */
    if (!world->nodes[node].paused)
        return false;
    if (world->deferred_count == world->deferred_capacity)
        world->deferred = grow(world->deferred, &world->deferred_capacity, sizeof(*world->deferred));
    world->deferred[world->deferred_count++] =
        (struct deferred){.node = node, .kind = kind, .subject = moment->subject, .detail = moment->detail};
    return true;
}

static void go_on(struct virtual_world *world, int node)
{
    size_t kept = 0;
    for (size_t i = 0; i < world->deferred_count; i++) {
        const struct deferred deferred = world->deferred[i];
        if (deferred.node == node)
            moments_add(&world->moments, world->now_ns, deferred.kind, deferred.subject, deferred.detail);
        else
            world->deferred[kept++] = deferred;
    }
    world->deferred_count = kept;
}

void virtual_pause(struct virtual_world *world, int node, bool pauses)
{
    world->troubled = true;
    world->nodes[node].paused = pauses;
    if (!pauses)
        go_on(world, node);
}

void virtual_crash(struct virtual_world *world, int node)
{
    struct virtual_node *own = &world->nodes[node];
    if (!virtual_lives(own))
        return;
    world->troubled = true;
    world->finished_count += !own->finished;
    own->finished = true;
    own->lost_ns = world->now_ns;
    virtual_pause(world, node, false);
    for (int peer = 0; peer < world->node_count; peer++)
        if (peer != node && virtual_lives(&world->nodes[peer]))
            moments_add(&world->moments, world->now_ns, MOMENT_LOSS, (uint32_t)peer, (uint32_t)node);
}

void virtual_told_of_loss(struct virtual_world *world, uint32_t node, uint32_t lost)
{
    struct virtual_node *own = &world->nodes[node];
    if (!world->scheme->on_peer)
        return;
    virtual_enter(own);
    world->scheme->on_peer(&own->node, (int)lost, PEER_LOST);
    virtual_leave(own);
}

/* ---- the network ---- */

void virtual_part(struct virtual_world *world, const int *groups)
{
    world->groups = groups;
}

void virtual_abandon(struct virtual_world *world, const char *sentence)
{
    virtual_fail(world, "%s", sentence);
}
