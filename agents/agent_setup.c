/* agent_setup.c: from a SETUP message to the structs that scheme, workload and world take. The controller is trusted to mean well,
 * not to be of the same build: every number that indexes something is checked. */
#include <math.h>
#include <string.h>

#include "agents/agent_internal.h"
#include "base/arena.h"
#include "base/err.h"

static int refuse(struct err *err, const char *what, unsigned long long found, unsigned long long least, unsigned long long most)
{
    return err_set(err, ERR_TRIAL, "SETUP: %s is %llu, allowed are %llu to %llu", what, found, least, most);
}

static int check_numbers(const struct control_setup *control, struct err *err)
{
    const struct {
        const char *what;
        unsigned long long found, least, most;
    } limits[] = {
        {"the number of nodes", control->node_count, 1, 65536},
        {"the node's index", control->node, 0, control->node_count ? control->node_count - 1 : 0},
        {"the port", control->port, 1, 65535},
        {"the model", control->model, 0, MODEL_COUNT - 1},
        {"the data set", control->dataset, 0, DATASET_COUNT - 1},
        {"gradients", control->gradients, 0, GRADIENTS_COUNT - 1},
        {"the compute time distribution", control->compute_time.kind, 0, DISTRIBUTION_COUNT - 1},
        {"the number of layers", control->layer_count, 0, LAYERS_MAX},
        {"the number of scheme parameters", control->value_count, 0, SCHEME_PARAMS_MAX},
        {"the batch", control->batch, 1, 1 << 20},
        {"the number of rounds", control->rounds, 1, 1 << 24},
        {"the gradient's size", control->size_bytes, 0, UINT64_C(1) << 34},
        {"record_spans", control->record_spans, 0, 1},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (limits[i].found < limits[i].least || limits[i].found > limits[i].most)
            return refuse(err, limits[i].what, limits[i].found, limits[i].least, limits[i].most);
    for (uint32_t i = 0; i < control->layer_count; i++)
        if (control->layers[i].width < 1 || control->layers[i].width > 1 << 20)
            return refuse(err, "a layer's width", control->layers[i].width, 1, 1 << 20);
    for (uint32_t i = 0; i < control->node_count; i++)
        if (control->nodes[i].role >= ROLE_COUNT || (i > 0 && control->nodes[i].role < control->nodes[i - 1].role) ||
            !(control->nodes[i].slow_factor > 0))
            return err_set(err, ERR_TRIAL,
                           "SETUP: row %u of the roster has no valid role, is out of order, or has a slow factor of %g", i,
                           control->nodes[i].slow_factor);
    return 0;
}

/* The roster tells this node's own paths. Between two others the worse of both is assumed: right in a star of equal links. */
static struct path path_between(const void *context, int from, int to)
{
    const struct agent_setup *setup = context;
    int me = (int)setup->control->node;
    const struct control_node *a = &setup->control->nodes[from == me ? to : from];
    const struct control_node *b = &setup->control->nodes[to == me ? from : to];
    uint64_t bps = a->path_bps == 0 ? b->path_bps : b->path_bps == 0 || a->path_bps < b->path_bps ? a->path_bps : b->path_bps;
    return (struct path){.latency_ns = (double)(a->path_ns > b->path_ns ? a->path_ns : b->path_ns),
                         .bytes_per_second = bps ? (double)bps / 8 : INFINITY};
}

static struct distribution take_distribution(const struct control_distribution *control)
{
    return (struct distribution){.kind = control->kind,
                                 .value_ns = control->value_ns,
                                 .mean_ns = control->mean_ns,
                                 .shift_ns = control->shift_ns,
                                 .mu = control->mu,
                                 .sigma = control->sigma,
                                 .unit_ns = control->unit_ns,
                                 .scale_ns = control->scale_ns,
                                 .shape = control->shape};
}

static struct workload_settings take_workload(const struct control_setup *control)
{
    struct workload_settings workload = {
        .model = control->model,
        .dataset = control->dataset,
        .dataset_path = control->dataset_path && control->dataset_path[0] ? control->dataset_path : NULL,
        .layer_count = (int)control->layer_count,
        .batch = (int)control->batch,
        .learning_rate = control->learning_rate,
        .rounds = (int)control->rounds,
        .evaluate_every = (int)control->evaluate_every,
        .size_bytes = control->size_bytes,
        .gradients = control->gradients,
    };
    for (uint32_t i = 0; i < control->layer_count; i++)
        workload.layers[i] = (int)control->layers[i].width;
    return workload;
}

static void take_roster(const struct control_setup *control, struct arena *arena, struct agent_setup *setup)
{
    uint32_t *addresses = arena_new_array(arena, uint32_t, control->node_count);
    setup->slow_factors = arena_new_array(arena, double, control->node_count);
    for (uint32_t i = 0; i < control->node_count; i++) {
        addresses[i] = control->nodes[i].address;
        setup->slow_factors[i] = control->nodes[i].slow_factor;
        setup->scheme.workers += control->nodes[i].role == ROLE_WORKER;
        setup->scheme.servers += control->nodes[i].role == ROLE_SERVER;
    }
    setup->addresses = addresses;
    setup->scheme.nodes = (int)control->node_count;
    setup->role = control->nodes[control->node].role;
    setup->role_index = (int)control->node - (setup->role == ROLE_SERVER ? setup->scheme.workers : 0);
}

int agent_setup_take(const struct control_setup *control, struct arena *arena, struct agent_setup *setup, struct err *err)
{
    int result = check_numbers(control, err);
    if (result < 0)
        return result;
    const struct scheme *scheme = scheme_find(control->scheme);
    if (!scheme)
        return err_set(err, ERR_TRIAL, "SETUP: this agent has no scheme '%s'; install both programs from one build",
                       control->scheme);
    if (control->value_count != (uint32_t)scheme->param_count)
        return err_set(err, ERR_TRIAL, "SETUP: scheme '%s' has %d parameters, %u were sent", scheme->name, scheme->param_count,
                       control->value_count);
    *setup = (struct agent_setup){.control = control};
    take_roster(control, arena, setup);
    setup->workload = take_workload(control);
    setup->compute_time = take_distribution(&control->compute_time);
    struct scheme_setup *row = &setup->scheme;
    row->scheme = scheme;
    for (uint32_t i = 0; i < control->value_count; i++)
        row->values[i] = control->values[i].value;
    row->learning_rate = control->learning_rate;
    row->batch = (int)control->batch;
    row->rounds = (int)control->rounds;
    row->values_carried = control->gradients != GRADIENTS_NONE;
    row->seed = control->seed;
    row->cell = control->cell;
    row->prepared = control->prepared;
    row->prepared_bytes = control->prepared_bytes;
    row->path = path_between;
    row->path_context = setup;
    row->compute_time = &setup->compute_time;
    row->slow_factors = setup->slow_factors;
    if (row->workers < 1)
        return err_set(err, ERR_TRIAL, "SETUP: the roster has no worker");
    if (scheme_servers(scheme, row->workers, row->values) != row->servers)
        return err_set(err, ERR_TRIAL, "SETUP: scheme '%s' with %d workers has %d servers, the roster has %d", scheme->name,
                       row->workers, scheme_servers(scheme, row->workers, row->values), row->servers);
    if (!row->values_carried && scheme->flags & SCHEME_NEEDS_VALUES)
        return err_set(err, ERR_TRIAL, "SETUP: scheme '%s' needs values, the workload has gradients: none", scheme->name);
    return 0;
}

uint64_t agent_setup_spans(const struct agent_setup *setup)
{
    enum { LEAST = 4096 };
    const struct scheme_setup *scheme = &setup->scheme;
    if (!setup->control->record_spans)
        return 0;
    uint64_t a_round = scheme->scheme->spans_a_round ? scheme->scheme->spans_a_round(scheme, (int)setup->control->node) : 0;
    uint64_t wanted = a_round * (uint64_t)scheme->rounds;
    return wanted < LEAST ? LEAST : wanted;
}
