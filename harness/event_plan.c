/* event_plan.c: events in the numbers of one network; see event_plan.h.
 *
 * Events are checked in the order of the file, each on what the ones before it made of its link. Which order those that wait for a
 * round and those that have a time really come in, only a trial knows: a trial refuses what cannot be then. */
#include "harness/event_plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"
#include "harness/message_sizes.h"
#include "netem/fabric.h"
#include "netem/impairment.h"
#include "netem/topology.h"
#include "yaml_document.h"

struct planner {
    const struct settings *settings;
    struct topology *topology;
    struct link *links;                    /* of the topology, to be marked */
    struct direction (*state)[DIRECTIONS]; /* of each link, after the events so far */
    struct arena *arena;
    struct planned_event *events;
    struct event_change *changes;
    int change_count;
    struct event_fault *fault;
    struct err *err;
};

static int refuse(const struct planner *planner, int event, const char *key, int entry, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static int refuse(const struct planner *planner, int event, const char *key, int entry, const char *format, ...)
{
    char sentence[500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    *planner->fault = (struct event_fault){.event = event, .key = key, .entry = entry};
    return err_set(planner->err, ERR_USAGE, "%s", sentence);
}

/* ---- names ---- */
static int find_link(const struct planner *planner, int event)
{
    const struct topology *topology = planner->topology;
    const char *name = planner->events[event].asked->link;
    int found = topology_find_link(topology, name);
    if (found < 0)
        return refuse(planner, event, "link", -1, "there is no link '%s': the first one is '%s', and indexes go from 0 to %d",
                      yaml_document_printable(name).text, topology->link_count ? topology->links[0].name : "none",
                      topology->link_count - 1);
    planner->events[event].link = found;
    return 0;
}

/* In a graph also by the host that it runs on. */
static int node_of(const struct planner *planner, const char *name)
{
    return topology_find_place(planner->topology, &planner->settings->hosts, name);
}

static int find_nodes(const struct planner *planner, int event, const char *key)
{
    const struct topology *topology = planner->topology;
    const struct name_list *names = &planner->events[event].asked->nodes;
    int *nodes = arena_new_array(planner->arena, int, (size_t)names->count);
    bool *taken = arena_new_array(planner->arena, bool, (size_t)topology->host_count);
    for (int i = 0; i < names->count; i++) {
        int found = node_of(planner, names->names[i]), entry = strcmp(key, "nodes") == 0 ? i : -1;
        if (found < 0)
            return refuse(planner, event, key, entry, "there is no node '%s': here the nodes are %s to %s, indexes 0 to %d",
                          yaml_document_printable(names->names[i]).text, topology->places[0].name,
                          topology->places[topology->host_count - 1].name, topology->host_count - 1);
        if (found >= topology->host_count)
            return refuse(planner, event, key, entry, "'%s' is a router: a node is needed, from %s to %s",
                          yaml_document_printable(names->names[i]).text, topology->places[0].name,
                          topology->places[topology->host_count - 1].name);
        if (taken[found])
            return refuse(planner, event, key, entry, "node %s is there twice", topology->places[found].name);
        taken[found] = true;
        nodes[i] = found;
    }
    planner->events[event].nodes = nodes;
    planner->events[event].node_count = names->count;
    return 0;
}

/* ---- what a link becomes ---- */
int event_direction_set(const struct event_request *asked, int direction, const struct direction *now, int mtu,
                        struct direction *then, struct err *err)
{
    struct direction changed;
    int status = topology_change_direction(now, &asked->change.both, mtu, &changed, err);
    if (status == 0 && direction == DIRECTION_BACKWARD)
        status = topology_change_direction(&changed, &asked->change.back, mtu, &changed, err);
    if (status == 0)
        *then = changed;
    return status;
}

#define REPLACE(patch, member, value)                                                                                              \
    do {                                                                                                                           \
        (patch)->values.member = (value);                                                                                          \
        memset((patch)->replaces + offsetof(struct link_settings, member), true, sizeof((patch)->values.member));                  \
    } while (0)

int event_direction_trace(const struct link_trace *trace, const struct trace_step *step, const struct direction *now, int mtu,
                          struct direction *then, struct err *err)
{
    struct link_patch patch = {0};
    if (trace->has_rate)
        REPLACE(&patch, rate_bps, step->rate_bps);
    if (trace->has_delay)
        REPLACE(&patch, delay_ns, step->delay_ns);
    if (trace->has_loss)
        REPLACE(&patch, impairments.loss, step->loss);
    return topology_change_direction(now, &patch, mtu, then, err);
}

bool event_touches(const struct event_request *asked, int direction)
{
    if (asked->kind == EVENT_SET && direction == DIRECTION_FORWARD)
        return memchr(asked->change.both.replaces, 1, sizeof(asked->change.both.replaces));
    return asked->direction == EVENT_BOTH || (asked->direction == EVENT_FORWARD) == (direction == DIRECTION_FORWARD);
}

void event_part(const struct planned_event *event, int node_count, int *group, int *scratch)
{
    int *number = scratch, *inside = scratch + 2 * node_count, next = 0; /* number: of each group and side */
    for (int i = 0; i < node_count; i++)
        number[2 * i] = number[2 * i + 1] = -1, inside[i] = 0;
    for (int i = 0; i < event->node_count; i++)
        inside[event->nodes[i]] = 1;
    for (int i = 0; i < node_count; i++) {
        int *mine = &number[2 * group[i] + inside[i]];
        if (*mine < 0)
            *mine = next++;
        group[i] = *mine;
    }
}

/* A step that never is: the most of each member. */
static struct trace_step most_of(const struct link_trace *trace)
{
    struct trace_step most = trace->steps[0];
    for (int i = 1; i < trace->count; i++) {
        const struct trace_step *step = &trace->steps[i];
        most.rate_bps = step->rate_bps > most.rate_bps ? step->rate_bps : most.rate_bps;
        most.delay_ns = step->delay_ns > most.delay_ns ? step->delay_ns : most.delay_ns;
        most.loss = step->loss > most.loss ? step->loss : most.loss;
    }
    return most;
}

/* A cut asks for nothing new. */
static int becomes(const struct event_request *asked, int direction, const struct direction *now, int mtu, struct direction *then,
                   struct err *err)
{
    *then = *now;
    if (asked->kind == EVENT_SET)
        return event_direction_set(asked, direction, now, mtu, then, err);
    if (asked->kind != EVENT_TRACE)
        return 0;
    struct trace_step most = most_of(asked->trace);
    return event_direction_trace(asked->trace, &most, now, mtu, then, err);
}

/* All but a rate. */
static bool needs_engine(const struct event_request *asked, const struct direction *now, const struct direction *then)
{
    if (asked->kind == EVENT_TRACE)
        return asked->trace->has_delay || asked->trace->has_loss;
    return asked->kind != EVENT_SET || then->delay_ns != now->delay_ns || !impairment_same(&then->impairments, &now->impairments);
}

static int64_t held_ns(const struct direction *direction)
{
    return direction->delay_ns + impairment_jitter_most_ns(&direction->impairments);
}

static void mark(struct direction *marked, const struct direction *then, bool changes)
{
    if (then->rate_bps > marked->rate_most_bps)
        marked->rate_most_bps = then->rate_bps;
    if (held_ns(then) > marked->delay_most_ns)
        marked->delay_most_ns = held_ns(then);
    marked->changes = marked->changes || changes;
}

static int change_direction(struct planner *planner, int event, int direction)
{
    const struct planned_event *planned = &planner->events[event];
    const struct event_request *asked = planned->asked;
    const char *key = asked->kind == EVENT_TRACE ? "file" : "to";
    struct direction *now = &planner->state[planned->link][direction],
                     *marked = &planner->links[planned->link].direction[direction];
    struct direction then;
    struct err err;
    if (becomes(asked, direction, now, planner->topology->mtu, &then, &err) < 0)
        return refuse(planner, event, key, -1, "%s", err.text);
    if (now->rate_bps == 0 && then.rate_bps > 0)
        return refuse(planner, event, key, -1,
                      "link %s has no rate that could change: give it one from the start, the most that it is to have",
                      planner->topology->links[planned->link].name);
    mark(marked, now, false);
    mark(marked, &then, needs_engine(asked, now, &then));
    uint64_t in_flight = topology_in_flight_bytes(marked->rate_most_bps, marked->delay_most_ns);
    char most[UNITS_TEXT_BYTES];
    if (in_flight > TOPOLOGY_IN_FLIGHT_MOST_BYTES)
        return refuse(
            planner, event, key, -1,
            "link %s is to hold %.3g bytes in flight (its highest rate x its longest delay), more than the %s a delay line "
            "holds",
            planner->topology->links[planned->link].name, (double)in_flight,
            units_spell_size(most, sizeof(most), TOPOLOGY_IN_FLIGHT_MOST_BYTES));
    planner->changes[planner->change_count++] =
        (struct event_change){.event = event,
                              .link = planned->link,
                              .direction = direction,
                              .down = asked->kind == EVENT_DOWN || asked->kind == EVENT_FLAP,
                              .then = then};
    *now = then;
    return 0;
}

/* ---- what goes together ---- */
static bool before(const struct event_request *first, int first_index, const struct event_request *second, int second_index)
{
    if ((first->round == EVENT_BY_TIME) != (second->round == EVENT_BY_TIME))
        return true; /* nobody knows yet */
    if (first->at_ns != second->at_ns)
        return first->at_ns < second->at_ns;
    return first->round != second->round ? first->round < second->round : first_index < second_index;
}

/* What ends something needs something before it that begins it. */
static int check_pair(const struct planner *planner, int event, enum event_kind begins)
{
    const struct planned_event *ends = &planner->events[event];
    for (int i = 0; i < planner->settings->event_count; i++) {
        const struct planned_event *other = &planner->events[i];
        if (other->asked->kind == begins && other->link == ends->link && before(other->asked, i, ends->asked, event))
            return 0;
    }
    if (begins == EVENT_PARTITION)
        return refuse(planner, event, "do", -1, "nothing is parted before: a heal needs a partition that comes first");
    return refuse(planner, event, "link", -1, "link %s is not down before: an 'up' needs a 'down' of this link that comes first",
                  planner->topology->links[ends->link].name);
}

static int check_moment(const struct planner *planner, int event)
{
    const struct settings *settings = planner->settings;
    const struct event_request *asked = planner->events[event].asked;
    char limit[UNITS_TEXT_BYTES], found[UNITS_TEXT_BYTES];
    if (asked->round != EVENT_BY_TIME && settings->scheme.outside)
        return refuse(planner, event, "round", -1, "an outside program's rounds are not known before it runs: use 'at'");
    const int rounds = message_sizes_count(settings) * settings->workload.rounds;
    if (asked->round >= rounds)
        return refuse(planner, event, "round", -1, "found %d, allowed is 0 to %d, the last round", asked->round, rounds - 1);
    if (settings->trial_deadline_ns > 0 && asked->round == EVENT_BY_TIME && asked->at_ns >= settings->trial_deadline_ns)
        return refuse(planner, event, "at", -1, "found %s, but trial_deadline ends the trial after %s",
                      units_spell_time(found, sizeof(found), asked->at_ns),
                      units_spell_time(limit, sizeof(limit), settings->trial_deadline_ns));
    return 0;
}

static int check_sides(const struct planner *planner, int event)
{
    const struct planned_event *planned = &planner->events[event];
    if (planned->node_count < planner->topology->host_count)
        return 0;
    return refuse(planner, event, "nodes", -1, "these are all nodes of the network, %d: nobody is left on the other side",
                  planned->node_count);
}

/* ---- one event ---- */
static int plan_event(struct planner *planner, int event)
{
    const struct event_request *asked = planner->events[event].asked;
    int status = check_moment(planner, event);
    if (status == 0 && asked->link)
        status = find_link(planner, event);
    if (status == 0 && asked->nodes.count > 0)
        status = find_nodes(planner, event, asked->kind == EVENT_PARTITION ? "nodes" : "node");
    if (status == 0 && asked->kind == EVENT_PARTITION)
        status = check_sides(planner, event);
    for (int d = 0; d < DIRECTIONS && status == 0 && asked->link; d++)
        if (event_touches(asked, d))
            status = change_direction(planner, event, d);
    return status;
}

static struct planner begin(const struct settings *settings, struct topology *topology, struct arena *arena)
{
    size_t count = (size_t)topology->link_count;
    struct planner planner = {
        .settings = settings,
        .topology = topology,
        .links = arena_copy(arena, topology->links, count * sizeof(struct link)),
        .state = arena_calloc(arena, count, sizeof(*planner.state)),
        .arena = arena,
        .events = arena_new_array(arena, struct planned_event, (size_t)settings->event_count),
        .changes = arena_calloc(arena, (size_t)settings->event_count * DIRECTIONS, sizeof(struct event_change)),
    };
    for (int i = 0; i < topology->link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct direction *direction = &planner.links[i].direction[d];
            direction->rate_most_bps = 0;
            direction->delay_most_ns = 0;
            direction->changes = false;
            planner.state[i][d] = *direction;
        }
    for (int i = 0; i < settings->event_count; i++)
        planner.events[i] = (struct planned_event){.asked = &settings->events[i], .link = -1};
    return planner;
}

int event_plan_make(const struct settings *settings, struct topology *topology, struct arena *arena, struct event_plan *plan,
                    struct event_fault *fault, struct err *err)
{
    if (settings->event_count == 0) {
        *plan = (struct event_plan){0};
        return 0;
    }
    struct planner planner = begin(settings, topology, arena);
    planner.fault = fault;
    planner.err = err;
    for (int i = 0; i < settings->event_count; i++)
        if (plan_event(&planner, i) < 0)
            return -ERR_USAGE;
    for (int i = 0; i < settings->event_count; i++)
        if ((settings->events[i].kind == EVENT_HEAL && check_pair(&planner, i, EVENT_PARTITION) < 0) ||
            (settings->events[i].kind == EVENT_UP && check_pair(&planner, i, EVENT_DOWN) < 0))
            return -ERR_USAGE;
    topology->links = planner.links;
    *plan = (struct event_plan){
        .events = planner.events, .count = settings->event_count, .changes = planner.changes, .change_count = planner.change_count};
    return 0;
}

int event_plan_check_engine(const struct event_plan *plan, const struct topology *topology, enum engine_kind engine,
                            struct err *err)
{
    static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;
    for (int i = 0; i < plan->change_count; i++) {
        const struct event_change *change = &plan->changes[i];
        const struct link *link = &topology->links[change->link];
        if (fabric_check_change(&link->direction[change->direction], &change->then, change->down, engine, err) < 0)
            return err_wrap(err, "event %d, link %s %s", change->event, link->name, direction_names[change->direction]);
    }
    return 0;
}
