/* agents/schemes/server_simulation.c: updates of a server that does not wait for everyone, event by event.
 *
 * The model. Workers compute (drawn times, never shorter than the real work c), upload S bytes, and take models of S bytes, as
 * the scheme's policy says (server_rounds.c). Flows of one direction share the server's link equally, none faster than its
 * worker's own path (server_lane.h). What has crossed arrives one delay later. The server works on one gradient at a time,
 * gamma a byte. Time goes from event to event; the mean over many updates after a tenth of them is the result.
 *
 * A worker that keeps going has as many gradients on this side of the link as it has buffers, and as many more as its socket
 * takes; then it waits until one has crossed.
 *
 * No event looks at every worker, so that a thousand of them take no longer an event than eight: what each worker does next
 * stands in a timetable, who is owed a model is tried when something about it changes, and the slowest worker is looked for
 * again only when the last one as slow as it has moved on. */
#include "agents/schemes/server_simulation.h"

#include <math.h>
#include <stdlib.h>

#include "agents/compute_time.h"
#include "agents/predict.h"
#include "agents/schemes/server_simulation_internal.h"
#include "base/cleanup.h"

enum { SEED = 2018, EVENTS_MOST = 1000000, UPDATES_MOST = 20000, UPDATES_LEAST = 10, TRIED_EVENTS = 5000 };

static void enter(struct flight *flight, struct lane *lane, int worker, uint64_t version)
{
    flight->version[flight->end % TRANSIT] = version;
    if (flight->crossing == flight->end++)
        lane_begin(lane, worker);
}

static void cross(struct simulation *simulation, struct flight *flight, struct lane *lane, int worker, enum what arrives)
{
    const bool none_on_its_way = flight->first == flight->crossing;
    flight->at[flight->crossing % TRANSIT] = simulation->now + flight->latency_ns;
    if (none_on_its_way)
        timetable_set(&simulation->next, thing(worker, arrives), flight->at[flight->crossing % TRANSIT]);
    flight->crossing++;
    lane_end(lane, worker);
    if (flight_crosses(flight))
        lane_begin(lane, worker);
}

static uint64_t take(struct simulation *simulation, struct flight *flight, int worker, enum what arrives)
{
    const uint64_t version = flight->version[flight->first++ % TRANSIT];
    timetable_set(&simulation->next, thing(worker, arrives),
                  flight->first == flight->crossing ? INFINITY : flight->at[flight->first % TRANSIT]);
    return version;
}

/* ---- the server's answers ---- */

static void serve(struct simulation *simulation, int worker)
{
    struct peer *client = &simulation->clients[worker];
    const struct server_policy *policy = simulation->policy;
    if (!client->owed || flight_crosses(&client->down) || flight_full(&client->down) ||
        (policy->may_go_on && !policy->may_go_on(simulation->setup, client->done, simulation->least)))
        return;
    client->owed = client->waits = false;
    client->told = simulation->version;
    enter(&client->down, &simulation->down, worker, simulation->version);
}

static void serve_all(struct simulation *simulation)
{
    for (int worker = 0; worker < simulation->setup->workers; worker++)
        serve(simulation, worker);
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void sort(int *workers, int count)
{
    enum { FEW = 16 };
    if (count > FEW) {
        qsort(workers, (size_t)count, sizeof(*workers), ascending);
        return;
    }
    for (int i = 1; i < count; i++) {
        const int worker = workers[i];
        int at = i;
        for (; at > 0 && workers[at - 1] > worker; at--)
            workers[at] = workers[at - 1];
        workers[at] = worker;
    }
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

static void update(struct simulation *simulation)
{
    simulation->collected = 0;
    simulation->version++;
    sort(simulation->counted, simulation->counted_count);
    for (int i = 0; i < simulation->counted_count; i++) {
        struct peer *contributor = &simulation->clients[simulation->counted[i]];
        contributor->owed |= contributor->waits;
        contributor->counted = simulation->clients[simulation->counted[i] / simulation->group].covered = false;
    }
    for (int worker = 0; simulation->interrupts && worker < simulation->setup->workers; worker++)
        simulation->clients[worker].owed = true;
    if (simulation->interrupts)
        serve_all(simulation);
    else
        for (int i = 0; i < simulation->counted_count; i++)
            serve(simulation, simulation->counted[i]);
    simulation->counted_count = 0;
}

/* Whoever waits for the slowest may go on when that one has. */
static void count_done(struct simulation *simulation, struct peer *client)
{
    client->done++;
    if (!simulation->policy->may_go_on || client->done != simulation->least + 1 || --simulation->at_least > 0)
        return;
    simulation->least = UINT64_MAX;
    for (int worker = 0; worker < simulation->setup->workers; worker++) {
        const uint64_t done = simulation->clients[worker].done;
        simulation->at_least = done < simulation->least ? 1 : simulation->at_least + (done == simulation->least);
        simulation->least = done < simulation->least ? done : simulation->least;
    }
}

static void await_work(struct simulation *simulation)
{
    timetable_set(&simulation->next, WORKED,
                  simulation->pending_count > 0 ? simulation->pending[simulation->pending_first % simulation->pending_capacity].at
                                                : INFINITY);
}

/* The update has all its gradients. What else has come waits until they are one. */
static void combine(struct simulation *simulation)
{
    simulation->combining = simulation->combine_ns > 0;
    if (!simulation->combining) {
        update(simulation);
        return;
    }
    for (unsigned i = 0; i < simulation->pending_count; i++)
        simulation->pending[(simulation->pending_first + i) % simulation->pending_capacity].at += simulation->combine_ns;
    simulation->busy_until = later(simulation->now, simulation->busy_until) + simulation->combine_ns;
    timetable_set(&simulation->next, WORKED, simulation->now + simulation->combine_ns);
}

static void work_on(struct simulation *simulation)
{
    if (simulation->combining) {
        simulation->combining = false;
        update(simulation);
        await_work(simulation);
        return;
    }
    struct pending gradient = simulation->pending[simulation->pending_first++ % simulation->pending_capacity];
    struct peer *client = &simulation->clients[gradient.worker];
    const struct server_policy *policy = simulation->policy;
    const bool used = (!policy->current_only || gradient.version == simulation->version) && !(policy->distinct && client->counted);
    const uint64_t least = simulation->least;
    simulation->pending_count--;
    await_work(simulation);
    count_done(simulation, client);
    client->waits = !policy->keeps_going;
    if (client->waits)
        client->owed |= used ? policy->pulls_at_once : client->told == gradient.version;
    if (used) {
        if (!client->counted)
            simulation->counted[simulation->counted_count++] = gradient.worker;
        bool *covered = &simulation->clients[gradient.worker / simulation->group].covered;
        const bool counts = simulation->group == 1 || !*covered;
        client->counted = *covered = true;
        simulation->collected += counts;
        if (simulation->collected == simulation->quota)
            combine(simulation);
    }
    if (simulation->least != least)
        serve_all(simulation);
    else
        serve(simulation, gradient.worker);
}

/* ---- workers ---- */

static void compute(struct simulation *simulation, int worker)
{
    struct peer *client = &simulation->clients[worker];
    const int draws = simulation->steps < PREDICT_DRAWS_MOST ? simulation->steps : PREDICT_DRAWS_MOST;
    double ready_at = simulation->now;
    for (int i = 0; i < draws; i++) {
        double drawn = compute_time_draw(simulation->setup->compute_time, SEED, (uint32_t)worker, client->step++);
        ready_at += simulation->load * predict_ready_ns(simulation->setup, worker, drawn);
    }
    if (draws < simulation->steps) {
        if (client->mean_ns == 0)
            client->mean_ns = simulation->load * predict_mean_ns(simulation->setup, worker);
        ready_at = simulation->now + predict_stretched_ns(ready_at - simulation->now, draws, simulation->steps, client->mean_ns);
    }
    timetable_set(&simulation->next, thing(worker, READY), ready_at);
}

static void compute_if_room(struct simulation *simulation, int worker)
{
    struct peer *client = &simulation->clients[worker];
    client->starved = client->up.end - client->up.crossing >= simulation->uncrossed_most || flight_full(&client->up);
    if (!client->starved)
        compute(simulation, worker);
}

static void push(struct simulation *simulation, int worker)
{
    struct peer *client = &simulation->clients[worker];
    timetable_set(&simulation->next, thing(worker, READY), INFINITY);
    enter(&client->up, &simulation->up, worker, client->version);
    if (simulation->policy->keeps_going && ++client->pushed < simulation->quota)
        compute_if_room(simulation, worker);
}

static void push_crossed(struct simulation *simulation, int worker)
{
    struct peer *client = &simulation->clients[worker];
    cross(simulation, &client->up, &simulation->up, worker, GRADIENT_ARRIVED);
    if (client->starved)
        compute_if_room(simulation, worker);
}

static void take_model(struct simulation *simulation, int worker)
{
    struct peer *client = &simulation->clients[worker];
    client->version = take(simulation, &client->down, worker, MODEL_ARRIVED);
    client->pushed = 0;
    timetable_set(&simulation->next, thing(worker, READY), INFINITY); /* gives up what it was at */
    compute_if_room(simulation, worker);
    serve(simulation, worker); /* there may have been no room for another */
}

static void arrive(struct simulation *simulation, int worker)
{
    const uint64_t version = take(simulation, &simulation->clients[worker].up, worker, GRADIENT_ARRIVED);
    simulation->busy_until = later(simulation->now, simulation->busy_until) + simulation->add_ns;
    if (simulation->pending_count == 0 && !simulation->combining)
        timetable_set(&simulation->next, WORKED, simulation->busy_until);
    simulation->pending[(simulation->pending_first + simulation->pending_count++) % simulation->pending_capacity] =
        (struct pending){.worker = worker, .version = version, .at = simulation->busy_until};
}

/* ---- time ---- */

static void consider_lane(const struct lane *lane, double now, enum what what, uint32_t *first, double *at)
{
    int worker = 0;
    double end = INFINITY;
    if (!lane_first(lane, now, &worker, &end) || end > *at || (end == *at && thing(worker, what) > *first))
        return;
    *first = thing(worker, what);
    *at = end;
}

/* false: nothing will happen. */
static bool step(struct simulation *simulation)
{
    uint32_t first = UINT32_MAX;
    double at = INFINITY;
    timetable_first(&simulation->next, &first, &at);
    consider_lane(&simulation->up, simulation->now, UP_CROSSED, &first, &at);
    consider_lane(&simulation->down, simulation->now, DOWN_CROSSED, &first, &at);
    if (first == UINT32_MAX)
        return false;
    const double passed = later(at - simulation->now, 0);
    lane_pass(&simulation->up, passed);
    lane_pass(&simulation->down, passed);
    simulation->now += passed;
    if (first == WORKED) {
        work_on(simulation);
        return true;
    }
    const int worker = (int)((first - 1) / KINDS);
    struct peer *client = &simulation->clients[worker];
    switch ((enum what)((first - 1) % KINDS)) {
    case READY:
        push(simulation, worker);
        break;
    case UP_CROSSED:
        push_crossed(simulation, worker);
        break;
    case DOWN_CROSSED:
        cross(simulation, &client->down, &simulation->down, worker, MODEL_ARRIVED);
        serve(simulation, worker);
        break;
    case MODEL_ARRIVED:
        take_model(simulation, worker);
        break;
    case GRADIENT_ARRIVED:
    case KINDS:
        arrive(simulation, worker);
        break;
    }
    return true;
}

/* ---- the mean time of an update ---- */

static bool begin(struct simulation *simulation, const struct server_simulation *spec)
{
    if (!server_simulation_make(simulation, spec))
        return false;
    for (int worker = 0; worker < spec->setup->workers; worker++)
        compute(simulation, worker);
    return true;
}

uint64_t server_simulation_updates(const struct server_simulation *spec)
{
    cleanup(server_simulation_free) struct simulation simulation = {0};
    if (!begin(&simulation, spec))
        return 0;
    double events = 0;
    while ((simulation.version < UPDATES_LEAST || events < TRIED_EVENTS) && step(&simulation))
        events++;
    return simulation.version > 0
               ? (uint64_t)fmin(fmax(EVENTS_MOST * (double)simulation.version / events, UPDATES_LEAST), UPDATES_MOST)
               : 0;
}

double server_simulation_update_ns(const struct server_simulation *spec, uint64_t updates)
{
    cleanup(server_simulation_free) struct simulation simulation = {0};
    if (!begin(&simulation, spec))
        return NAN;
    bool alive = updates > 0;
    while (alive && simulation.version < updates / 10)
        alive = step(&simulation);
    const double begin_ns = simulation.now;
    const uint64_t begun = simulation.version;
    while (alive && simulation.version < updates)
        alive = step(&simulation);
    return alive ? (simulation.now - begin_ns) / (double)(simulation.version - begun) : NAN;
}
