/* server_simulation_state.c: the state that a simulation of server updates begins with: who is there, how fast the network is, how
 * long the server works. */
#include <math.h>
#include <stdlib.h>

#include "agents/predict.h"
#include "agents/schemes/server_coding.h"
#include "agents/schemes/server_rounds_internal.h"
#include "agents/schemes/server_simulation_internal.h"
#include "base/cleanup.h"

static const double SOCKET_BYTES = 64 << 10; /* what TCP takes before it asks for patience, its window being the usual one */

void server_simulation_free(struct simulation *simulation)
{
    lane_free(&simulation->up);
    lane_free(&simulation->down);
    timetable_free(&simulation->next);
    free(simulation->clients);
    free(simulation->pending);
    free(simulation->counted);
}

static double transmission_ns(const struct scheme_setup *setup, struct path path)
{
    return allreduce_transmission_ns((double)setup->parameter_count * sizeof(float), path.bytes_per_second);
}

static bool make_network(struct simulation *simulation, const struct server_simulation *spec)
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
        simulation->clients[i].up.latency_ns = spec->latency ? up.latency_ns + setup->message_ns : 0;
        simulation->clients[i].down.latency_ns = spec->latency ? down.latency_ns + setup->message_ns : 0;
    }
    return lane_make(&simulation->up, own_ns, workers) && lane_make(&simulation->down, own_ns + workers, workers);
}

static bool make_arrays(struct simulation *simulation, const struct server_simulation *spec)
{
    const size_t workers = (size_t)spec->setup->workers;
    simulation->pending_capacity = (unsigned)workers * TRANSIT;
    simulation->clients = calloc(workers, sizeof(*simulation->clients));
    simulation->pending = calloc(simulation->pending_capacity, sizeof(*simulation->pending));
    simulation->counted = calloc(workers, sizeof(*simulation->counted));
    return simulation->clients && simulation->pending && simulation->counted &&
           timetable_make(&simulation->next, thing((int)workers, READY)) && make_network(simulation, spec);
}

bool server_simulation_make(struct simulation *simulation, const struct server_simulation *spec)
{
    const struct scheme_setup *setup = spec->setup;
    const double waiting = SOCKET_BYTES / ((double)setup->parameter_count * sizeof(float));
    *simulation = (struct simulation){.setup = setup,
                                      .policy = spec->policy,
                                      .steps = spec->steps,
                                      .quota = spec->quota,
                                      .load = spec->policy->coded ? server_coding_load(setup) : 1,
                                      .group = spec->policy->coded ? server_coding_group(setup) : 1,
                                      .at_least = setup->workers,
                                      .uncrossed_most = GRADIENT_BUFFERS + (unsigned)fmin(waiting, TRANSIT),
                                      .interrupts = spec->policy->interrupts && spec->policy->interrupts(setup)};
    if (!make_arrays(simulation, spec))
        return false;
    const double vector_ns = spec->arithmetic ? (double)setup->parameter_count * sizeof(float) * setup->reduce_ns_per_byte : 0;
    simulation->add_ns = spec->work * vector_ns;
    simulation->combine_ns = spec->combine * vector_ns;
    return true;
}
