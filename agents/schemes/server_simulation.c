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
#include "agents/schemes/server_coding.h"
#include "agents/schemes/server_lane.h"
#include "agents/schemes/server_rounds_internal.h"
#include "agents/timetable.h"
#include "base/cleanup.h"

enum { SEED = 2018, EVENTS_MOST = 1000000, UPDATES_MOST = 20000, UPDATES_LEAST = 10, TRIED_EVENTS = 5000 };
static const double SOCKET_BYTES = 64 << 10; /* what TCP takes before it asks for patience, its window being the usual one */

struct peer {
    struct flight up, down;
    uint64_t version, told, done, step;
    int pushed;
    double mean_ns; /* of a gradient, where more are computed than drawn; 0: not known yet */
    bool waits, counted, owed;
    bool starved; /* would compute, but has no buffer free */
    bool covered; /* [group]: one of this group's workers is in the update being collected */
};
struct pending {
    int worker;
    uint64_t version;
    double at;
};
/* What happens to a worker, in its order at equal times; the server's one thing comes before all others. */
enum what { READY, UP_CROSSED, DOWN_CROSSED, MODEL_ARRIVED, GRADIENT_ARRIVED, KINDS };
enum { WORKED = 0 };

struct model {
    const struct scheme_setup *setup;
    const struct server_policy *policy;
    struct peer *clients;
    struct lane up, down;
    struct timetable next; /* crossings are the lanes' */
    double now, busy_until, add_ns, combine_ns;
    bool combining;          /* the update has its gradients, and is being made of them */
    struct pending *pending; /* a ring: arrived, not worked on */
    unsigned pending_first, pending_count, pending_capacity;
    int quota, collected;
    int *counted; /* whose gradients are in the update being collected */
    int counted_count;
    uint64_t least;          /* gradients that the slowest worker has finished, where the policy asks */
    int at_least;            /* workers with so many */
    int steps, load, group;  /* of a code: partitions a worker, workers that send the same */
    unsigned uncrossed_most; /* gradients of a worker */
    bool interrupts;
    uint64_t version;
};

static uint32_t thing(int worker, enum what what)
{
    return 1 + (uint32_t)worker * KINDS + what;
}

static void enter(struct flight *flight, struct lane *lane, int worker, uint64_t version)
{
    flight->version[flight->end % TRANSIT] = version;
    if (flight->crossing == flight->end++)
        lane_begin(lane, worker);
}

static void cross(struct model *model, struct flight *flight, struct lane *lane, int worker, enum what arrives)
{
    const bool none_on_its_way = flight->first == flight->crossing;
    flight->at[flight->crossing % TRANSIT] = model->now + flight->latency_ns;
    if (none_on_its_way)
        timetable_set(&model->next, thing(worker, arrives), flight->at[flight->crossing % TRANSIT]);
    flight->crossing++;
    lane_end(lane, worker);
    if (flight_crosses(flight))
        lane_begin(lane, worker);
}

static uint64_t take(struct model *model, struct flight *flight, int worker, enum what arrives)
{
    const uint64_t version = flight->version[flight->first++ % TRANSIT];
    timetable_set(&model->next, thing(worker, arrives),
                  flight->first == flight->crossing ? INFINITY : flight->at[flight->first % TRANSIT]);
    return version;
}

/* ---- the server's answers ---- */

static void serve(struct model *model, int worker)
{
    struct peer *client = &model->clients[worker];
    const struct server_policy *policy = model->policy;
    if (!client->owed || flight_crosses(&client->down) || flight_full(&client->down) ||
        (policy->may_go_on && !policy->may_go_on(model->setup, client->done, model->least)))
        return;
    client->owed = client->waits = false;
    client->told = model->version;
    enter(&client->down, &model->down, worker, model->version);
}

static void serve_all(struct model *model)
{
    for (int worker = 0; worker < model->setup->workers; worker++)
        serve(model, worker);
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void update(struct model *model)
{
    model->collected = 0;
    model->version++;
    qsort(model->counted, (size_t)model->counted_count, sizeof(*model->counted), ascending);
    for (int i = 0; i < model->counted_count; i++) {
        struct peer *contributor = &model->clients[model->counted[i]];
        contributor->owed |= contributor->waits;
        contributor->counted = model->clients[model->counted[i] / model->group].covered = false;
    }
    for (int worker = 0; model->interrupts && worker < model->setup->workers; worker++)
        model->clients[worker].owed = true;
    if (model->interrupts)
        serve_all(model);
    else
        for (int i = 0; i < model->counted_count; i++)
            serve(model, model->counted[i]);
    model->counted_count = 0;
}

/* Whoever waits for the slowest may go on when that one has. */
static void count_done(struct model *model, struct peer *client)
{
    client->done++;
    if (!model->policy->may_go_on || client->done != model->least + 1 || --model->at_least > 0)
        return;
    model->least = UINT64_MAX;
    for (int worker = 0; worker < model->setup->workers; worker++) {
        const uint64_t done = model->clients[worker].done;
        model->at_least = done < model->least ? 1 : model->at_least + (done == model->least);
        model->least = done < model->least ? done : model->least;
    }
}

static void await_work(struct model *model)
{
    timetable_set(&model->next, WORKED,
                  model->pending_count > 0 ? model->pending[model->pending_first % model->pending_capacity].at : INFINITY);
}

/* The update has all its gradients. What else has come waits until they are one. */
static void combine(struct model *model)
{
    model->combining = model->combine_ns > 0;
    if (!model->combining) {
        update(model);
        return;
    }
    for (unsigned i = 0; i < model->pending_count; i++)
        model->pending[(model->pending_first + i) % model->pending_capacity].at += model->combine_ns;
    model->busy_until = fmax(model->now, model->busy_until) + model->combine_ns;
    timetable_set(&model->next, WORKED, model->now + model->combine_ns);
}

static void work_on(struct model *model)
{
    if (model->combining) {
        model->combining = false;
        update(model);
        await_work(model);
        return;
    }
    struct pending gradient = model->pending[model->pending_first++ % model->pending_capacity];
    struct peer *client = &model->clients[gradient.worker];
    const struct server_policy *policy = model->policy;
    const bool used = (!policy->current_only || gradient.version == model->version) && !(policy->distinct && client->counted);
    const uint64_t least = model->least;
    model->pending_count--;
    await_work(model);
    count_done(model, client);
    client->waits = !policy->keeps_going;
    if (client->waits)
        client->owed |= used ? policy->pulls_at_once : client->told == gradient.version;
    if (used) {
        if (!client->counted)
            model->counted[model->counted_count++] = gradient.worker;
        bool *covered = &model->clients[gradient.worker / model->group].covered;
        const bool counts = model->group == 1 || !*covered;
        client->counted = *covered = true;
        model->collected += counts;
        if (model->collected == model->quota)
            combine(model);
    }
    if (model->least != least)
        serve_all(model);
    else
        serve(model, gradient.worker);
}

/* ---- workers ---- */

static void compute(struct model *model, int worker)
{
    struct peer *client = &model->clients[worker];
    const int draws = model->steps < PREDICT_DRAWS_MOST ? model->steps : PREDICT_DRAWS_MOST;
    double ready_at = model->now;
    for (int i = 0; i < draws; i++) {
        double drawn = compute_time_draw(model->setup->compute_time, SEED, (uint32_t)worker, client->step++);
        ready_at += model->load * predict_ready_ns(model->setup, worker, drawn);
    }
    if (draws < model->steps) {
        if (client->mean_ns == 0)
            client->mean_ns = model->load * predict_mean_ns(model->setup, worker);
        ready_at = model->now + predict_stretched_ns(ready_at - model->now, draws, model->steps, client->mean_ns);
    }
    timetable_set(&model->next, thing(worker, READY), ready_at);
}

static void compute_if_room(struct model *model, int worker)
{
    struct peer *client = &model->clients[worker];
    client->starved = client->up.end - client->up.crossing >= model->uncrossed_most || flight_full(&client->up);
    if (!client->starved)
        compute(model, worker);
}

static void push(struct model *model, int worker)
{
    struct peer *client = &model->clients[worker];
    timetable_set(&model->next, thing(worker, READY), INFINITY);
    enter(&client->up, &model->up, worker, client->version);
    if (model->policy->keeps_going && ++client->pushed < model->quota)
        compute_if_room(model, worker);
}

static void push_crossed(struct model *model, int worker)
{
    struct peer *client = &model->clients[worker];
    cross(model, &client->up, &model->up, worker, GRADIENT_ARRIVED);
    if (client->starved)
        compute_if_room(model, worker);
}

static void take_model(struct model *model, int worker)
{
    struct peer *client = &model->clients[worker];
    client->version = take(model, &client->down, worker, MODEL_ARRIVED);
    client->pushed = 0;
    timetable_set(&model->next, thing(worker, READY), INFINITY); /* gives up what it was at */
    compute_if_room(model, worker);
    serve(model, worker); /* there may have been no room for another */
}

static void arrive(struct model *model, int worker)
{
    const uint64_t version = take(model, &model->clients[worker].up, worker, GRADIENT_ARRIVED);
    model->busy_until = fmax(model->now, model->busy_until) + model->add_ns;
    if (model->pending_count == 0 && !model->combining)
        timetable_set(&model->next, WORKED, model->busy_until);
    model->pending[(model->pending_first + model->pending_count++) % model->pending_capacity] =
        (struct pending){.worker = worker, .version = version, .at = model->busy_until};
}

/* ---- time ---- */

static void consider_lane(const struct lane *lane, double now, enum what what, uint32_t *first, double *at)
{
    int worker;
    double end;
    if (!lane_first(lane, now, &worker, &end) || end > *at || (end == *at && thing(worker, what) > *first))
        return;
    *first = thing(worker, what);
    *at = end;
}

/* false: nothing will happen. */
static bool step(struct model *model)
{
    uint32_t first = UINT32_MAX;
    double at = INFINITY;
    timetable_first(&model->next, &first, &at);
    consider_lane(&model->up, model->now, UP_CROSSED, &first, &at);
    consider_lane(&model->down, model->now, DOWN_CROSSED, &first, &at);
    if (first == UINT32_MAX)
        return false;
    const double passed = fmax(at - model->now, 0);
    lane_pass(&model->up, passed);
    lane_pass(&model->down, passed);
    model->now += passed;
    if (first == WORKED) {
        work_on(model);
        return true;
    }
    const int worker = (int)((first - 1) / KINDS);
    struct peer *client = &model->clients[worker];
    switch ((enum what)((first - 1) % KINDS)) {
    case READY:
        push(model, worker);
        break;
    case UP_CROSSED:
        push_crossed(model, worker);
        break;
    case DOWN_CROSSED:
        cross(model, &client->down, &model->down, worker, MODEL_ARRIVED);
        serve(model, worker);
        break;
    case MODEL_ARRIVED:
        take_model(model, worker);
        break;
    case GRADIENT_ARRIVED:
    case KINDS:
        arrive(model, worker);
        break;
    }
    return true;
}

/* ---- the mean time of an update ---- */

static void model_free(struct model *model)
{
    lane_free(&model->up);
    lane_free(&model->down);
    timetable_free(&model->next);
    free(model->clients);
    free(model->pending);
    free(model->counted);
}

static double transmission_ns(const struct scheme_setup *setup, struct path path)
{
    return allreduce_transmission_ns((double)setup->parameter_count * sizeof(float), path.bytes_per_second);
}

static bool make_network(struct model *model, const struct server_simulation *spec)
{
    const struct scheme_setup *setup = spec->setup;
    const int workers = setup->workers;
    cleanup(free_pointer) double *own_ns = calloc((size_t)workers * 2, sizeof(*own_ns));
    if (!own_ns)
        return false;
    for (int i = 0; i < workers; i++) {
        struct path up = setup->path(setup->path_context, i, workers), down = setup->path(setup->path_context, workers, i);
        own_ns[i] = spec->bytes ? transmission_ns(setup, up) : 0;
        own_ns[workers + i] = spec->bytes ? transmission_ns(setup, down) : 0;
        model->clients[i].up.latency_ns = spec->latency ? up.latency_ns + setup->message_ns : 0;
        model->clients[i].down.latency_ns = spec->latency ? down.latency_ns + setup->message_ns : 0;
    }
    return lane_make(&model->up, own_ns, workers) && lane_make(&model->down, own_ns + workers, workers);
}

static bool make_model(struct model *model, const struct server_simulation *spec)
{
    const size_t workers = (size_t)spec->setup->workers;
    model->pending_capacity = (unsigned)workers * TRANSIT;
    model->clients = calloc(workers, sizeof(*model->clients));
    model->pending = calloc(model->pending_capacity, sizeof(*model->pending));
    model->counted = calloc(workers, sizeof(*model->counted));
    return model->clients && model->pending && model->counted && timetable_make(&model->next, thing((int)workers, READY)) &&
           make_network(model, spec);
}

static bool begin(struct model *model, const struct server_simulation *spec)
{
    const struct scheme_setup *setup = spec->setup;
    const double waiting = SOCKET_BYTES / ((double)setup->parameter_count * sizeof(float));
    *model = (struct model){.setup = setup,
                            .policy = spec->policy,
                            .steps = spec->steps,
                            .quota = spec->quota,
                            .load = spec->policy->coded ? server_coding_load(setup) : 1,
                            .group = spec->policy->coded ? server_coding_group(setup) : 1,
                            .at_least = setup->workers,
                            .uncrossed_most = GRADIENT_BUFFERS + (unsigned)fmin(waiting, TRANSIT),
                            .interrupts = spec->policy->interrupts && spec->policy->interrupts(setup)};
    if (!make_model(model, spec))
        return false;
    const double vector_ns = spec->arithmetic ? (double)setup->parameter_count * sizeof(float) * setup->reduce_ns_per_byte : 0;
    model->add_ns = spec->work * vector_ns;
    model->combine_ns = spec->combine * vector_ns;
    for (int worker = 0; worker < setup->workers; worker++)
        compute(model, worker);
    return true;
}

uint64_t server_simulation_updates(const struct server_simulation *spec)
{
    cleanup(model_free) struct model model = {0};
    if (!begin(&model, spec))
        return 0;
    double events = 0;
    while ((model.version < UPDATES_LEAST || events < TRIED_EVENTS) && step(&model))
        events++;
    return model.version > 0 ? (uint64_t)fmin(fmax(EVENTS_MOST * (double)model.version / events, UPDATES_LEAST), UPDATES_MOST) : 0;
}

double server_simulation_update_ns(const struct server_simulation *spec, uint64_t updates)
{
    cleanup(model_free) struct model model = {0};
    if (!begin(&model, spec))
        return NAN;
    bool alive = updates > 0;
    while (alive && model.version < updates / 10)
        alive = step(&model);
    const double begin_ns = model.now;
    const uint64_t begun = model.version;
    while (alive && model.version < updates)
        alive = step(&model);
    return alive ? (model.now - begin_ns) / (double)(model.version - begun) : NAN;
}
