/* agent_setup.c: from a SETUP message to the structs that scheme, workload and world take. The controller is trusted to mean well,
 * not to be of the same build: every number that indexes something is checked. */
#include <math.h>
#include <string.h>

#include "agents/agent_internal.h"
#include "agents/scheme_object.h"
#include "base/arena.h"
#include "base/clock.h"
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
        {"the split of the samples", control->shard_split, 0, SHARDS_COUNT - 1},
        {"gradients", control->gradients, 0, GRADIENTS_COUNT - 1},
        {"the compute time distribution", control->compute_time.kind, 0, DISTRIBUTION_COUNT - 1},
        {"the number of layers", control->layer_count, 0, LAYERS_MAX},
        {"the number of scheme parameters", control->value_count, 0, SCHEME_PARAMS_MAX},
        {"the batch", control->batch, 1, 1 << 20},
        {"the number of rounds", control->rounds, 1, 1 << 24},
        {"the gradient's size", control->size_bytes, 0, UINT64_C(1) << 34},
        {"byzantine", control->byzantine, 0, 1},
        {"the attack", control->attack, 0, ATTACK_COUNT - 1},
        {"record_spans", control->record_spans, 0, 1},
        {"the interval of samples", (uint64_t)control->sample_every_ns, 0, (uint64_t)(3600 * NS_PER_S)},
        {"the busy wait", (uint64_t)control->busy_wait_ns, 0, (uint64_t)(10 * NS_PER_MS)},
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
    if ((control->shard_split == SHARDS_DIRICHLET && !(control->shard_alpha > 0)) || !(control->shard_size_alpha >= 0))
        return err_set(err, ERR_TRIAL, "SETUP: samples cannot be dealt out with concentrations of %g and, for sizes, %g",
                       control->shard_alpha, control->shard_size_alpha);
    return 0;
}

/* SETUP tells this node's own paths. Between two others the worse of both is assumed: right in a star of equal links. */
static struct path path_between(const void *context, int from, int to)
{
    const struct agent_setup *setup = context;
    int me = (int)setup->control->node;
    const struct control_path *a = &setup->control->paths[from == me ? to : from];
    const struct control_path *b = &setup->control->paths[to == me ? from : to];
    uint64_t bps = a->payload_bps == 0                                      ? b->payload_bps
                   : b->payload_bps == 0 || a->payload_bps < b->payload_bps ? a->payload_bps
                                                                            : b->payload_bps;
    return (struct path){.latency_ns = (double)(a->latency_ns > b->latency_ns ? a->latency_ns : b->latency_ns),
                         .bytes_per_second = bps ? (double)bps / 8 : INFINITY};
}

static int check_marks(const struct control_setup *control, struct err *err)
{
    const uint32_t last = control->rounds * (control->size_count > 0 ? control->size_count : 1);
    for (uint32_t i = 0; i < control->mark_count; i++) {
        uint32_t after = i > 0 ? control->marks[i - 1].rounds_done : 0, mark = control->marks[i].rounds_done;
        if (mark <= after || mark > last)
            return err_set(err, ERR_TRIAL, "SETUP: mark %u is %u rounds, allowed are %u to %u", i, mark, after + 1, last);
    }
    return 0;
}

static int check_sizes(const struct control_setup *control, struct err *err)
{
    const uint64_t rounds_most = 1 << 24;
    if (control->size_count > SIZES_MAX)
        return refuse(err, "the number of message sizes", control->size_count, 0, SIZES_MAX);
    if (control->size_count > 0 && control->model != MODEL_SYNTHETIC)
        return err_set(err, ERR_TRIAL, "SETUP: message sizes are to be swept, which only synthetic gradients have");
    if ((uint64_t)control->size_count * control->rounds > rounds_most)
        return refuse(err, "the number of rounds of all message sizes", (uint64_t)control->size_count * control->rounds, 1,
                      rounds_most);
    for (uint32_t i = 0; i < control->size_count; i++)
        if (control->sizes[i].bytes < sizeof(float) || control->sizes[i].bytes % sizeof(float) != 0 ||
            control->sizes[i].bytes > UINT64_C(1) << 34)
            return err_set(err, ERR_TRIAL, "SETUP: message size %u is %llu bytes, a multiple of 4 up to 16 GiB is needed", i,
                           (unsigned long long)control->sizes[i].bytes);
    return 0;
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

static struct workload_settings take_workload(const struct control_setup *control, struct arena *arena)
{
    struct workload_settings workload = {
        .model = control->model,
        .dataset = control->dataset,
        .dataset_path = control->dataset_path && control->dataset_path[0] ? control->dataset_path : NULL,
        .shards = {.split = control->shard_split, .alpha = control->shard_alpha, .size_alpha = control->shard_size_alpha},
        .layer_count = (int)control->layer_count,
        .batch = (int)control->batch,
        .learning_rate = control->learning_rate,
        .momentum = control->momentum,
        .weight_decay = control->weight_decay,
        .decay_factor = control->decay_factor,
        .decay_every = (int)control->decay_every,
        .rounds = (int)control->rounds,
        .evaluate_every = (int)control->evaluate_every,
        .size_bytes = control->size_count > 0 ? control->sizes[0].bytes : control->size_bytes,
        .gradients = control->gradients,
    };
    for (uint32_t i = 0; i < control->layer_count; i++)
        workload.layers[i] = (int)control->layers[i].width;
    const int node = (int)control->node;
    if (control->byzantine) /* of this node alone: it knows nothing of others */
        workload.byzantine = (struct byzantine_workers){.workers = arena_copy(arena, &node, sizeof(node)),
                                                        .worker_count = 1,
                                                        .attack = control->attack,
                                                        .factor = control->attack_factor};
    return workload;
}

static void take_roster(const struct control_setup *control, struct arena *arena, struct agent_setup *setup)
{
    uint32_t *addresses = arena_new_array(arena, uint32_t, control->node_count);
    const char **names = arena_new_array(arena, const char *, control->node_count);
    setup->slow_factors = arena_new_array(arena, double, control->node_count);
    uint32_t *samples = arena_new_array(arena, uint32_t, control->node_count);
    bool data = true;
    for (uint32_t i = 0; i < control->node_count; i++) {
        addresses[i] = control->nodes[i].address;
        names[i] = control->nodes[i].name;
        setup->slow_factors[i] = control->nodes[i].slow_factor;
        samples[i] = control->nodes[i].samples;
        data = data && (control->nodes[i].role != ROLE_WORKER || samples[i] > 0);
        setup->scheme.workers += control->nodes[i].role == ROLE_WORKER;
        setup->scheme.servers += control->nodes[i].role == ROLE_SERVER;
    }
    setup->addresses = addresses;
    setup->scheme.samples = data ? samples : NULL;
    setup->names = names;
    setup->scheme.nodes = (int)control->node_count;
    setup->role = control->nodes[control->node].role;
    setup->role_index = (int)control->node - (setup->role == ROLE_SERVER ? setup->scheme.workers : 0);
}

/* One a message size; they differ in their floats, and in what the scheme prepared. */
static int take_sizes(const struct control_setup *control, struct arena *arena, struct agent_setup *setup, struct err *err)
{
    const struct scheme *scheme = setup->scheme.scheme;
    struct scheme_setup *schemes =
        control->size_count > 0 ? arena_new_array(arena, struct scheme_setup, control->size_count) : NULL;
    setup->schemes = schemes;
    for (uint32_t i = 0; i < control->size_count; i++) {
        schemes[i] = setup->scheme;
        schemes[i].parameter_count = control->sizes[i].bytes / sizeof(float);
        schemes[i].prepared = control->sizes[i].prepared;
        schemes[i].prepared_bytes = control->sizes[i].prepared_bytes;
    }
    if (schemes)
        setup->scheme = schemes[0];
    for (uint32_t i = 0; i < agent_setup_sizes(setup) && scheme->prepare; i++)
        if ((schemes ? schemes[i].prepared_bytes : setup->scheme.prepared_bytes) == 0)
            return err_set(err, ERR_TRIAL, "SETUP: scheme '%s' needs what the controller prepares for its cell", scheme->name);
    return 0;
}

/* Here, before the sandbox closes. */
static int load_scheme_objects(const struct control_setup *control, struct err *err)
{
    for (uint32_t i = 0; i < control->scheme_object_count; i++) {
        const struct control_scheme_object *asked = &control->scheme_objects[i];
        struct scheme_object object;
        if (scheme_object_load(asked->file, asked->sha256, &object, err) < 0)
            return err_wrap(err, "SETUP");
    }
    return 0;
}

int agent_setup_take(const struct control_setup *control, struct arena *arena, struct agent_setup *setup, struct err *err)
{
    int result = check_numbers(control, err);
    if (result == 0)
        result = check_sizes(control, err);
    if (result == 0)
        result = check_marks(control, err);
    if (result < 0)
        return result;
    result = load_scheme_objects(control, err);
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
    setup->workload = take_workload(control, arena);
    setup->compute_time = take_distribution(&control->compute_time);
    struct scheme_setup *row = &setup->scheme;
    row->scheme = scheme;
    for (uint32_t i = 0; i < control->value_count; i++)
        row->values[i] = control->values[i].value;
    row->matrix_count = model_matrices_of(&setup->workload, row->matrices);
    row->learning_rate = control->learning_rate;
    row->decay_factor = control->decay_factor;
    row->decay_every = (int)control->decay_every;
    row->batch = (int)control->batch;
    row->rounds = (int)control->rounds;
    row->values_carried = control->gradients != GRADIENTS_NONE;
    row->trained = row->values_carried && control->model != MODEL_SYNTHETIC;
    row->seed = control->seed;
    row->cell = control->cell;
    row->prepared = control->prepared;
    row->prepared_bytes = control->prepared_bytes;
    if (scheme->flags & SCHEME_NEEDS_PATHS) {
        if (control->path_count != control->node_count)
            return err_set(err, ERR_TRIAL, "SETUP: scheme '%s' needs the paths to %u nodes, %u were sent", scheme->name,
                           control->node_count, control->path_count);
        row->path = path_between;
        row->path_context = setup;
    }
    row->compute_time = &setup->compute_time;
    row->slow_factors = setup->slow_factors;
    if (row->workers < 1)
        return err_set(err, ERR_TRIAL, "SETUP: the roster has no worker");
    if (scheme_servers(scheme, row->workers, row->values) != row->servers)
        return err_set(err, ERR_TRIAL, "SETUP: scheme '%s' with %d workers has %d servers, the roster has %d", scheme->name,
                       row->workers, scheme_servers(scheme, row->workers, row->values), row->servers);
    if (!row->values_carried && scheme->flags & SCHEME_NEEDS_VALUES)
        return err_set(err, ERR_TRIAL, "SETUP: scheme '%s' needs values, the workload has gradients: none", scheme->name);
    return take_sizes(control, arena, setup, err);
}

uint32_t agent_setup_sizes(const struct agent_setup *setup)
{
    return setup->schemes ? setup->control->size_count : 1;
}

/* Over all message sizes, of what this node does in a round. */
static uint64_t in_all_rounds(const struct agent_setup *setup, uint64_t (*a_round)(const struct scheme_setup *, int))
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < agent_setup_sizes(setup) && a_round; i++) {
        const struct scheme_setup *scheme = setup->schemes ? &setup->schemes[i] : &setup->scheme;
        sum += a_round(scheme, (int)setup->control->node) * (uint64_t)scheme->rounds;
    }
    return sum;
}

uint64_t agent_setup_spans(const struct agent_setup *setup)
{
    enum { LEAST = 4096 };
    if (!setup->control->record_spans)
        return 0;
    uint64_t wanted = in_all_rounds(setup, setup->scheme.scheme->spans_a_round);
    return wanted < LEAST ? LEAST : wanted;
}

uint64_t agent_setup_gradients(const struct agent_setup *setup)
{
    uint64_t wanted = in_all_rounds(setup, setup->scheme.scheme->gradients_a_round);
    uint64_t behind = (uint64_t)setup->scheme.workers * agent_setup_sizes(setup); /* what comes after the last round, too */
    return wanted ? wanted + behind : 0;
}
