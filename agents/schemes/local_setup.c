/* agents/schemes/local_setup.c: what schemes of local steps are before they run: their all-reduce, connections, spans, memory. See
 * local_rounds.h. */
#include "agents/schemes/allreduce_choice.h"
#include "agents/schemes/local_rounds_internal.h"

static const struct allreduce_algorithm *const algorithms[LOCAL_ALGORITHMS] = {
    NULL, /* auto */
    &allreduce_ring,
    &allreduce_halving_doubling,
    &allreduce_recursive_doubling,
    &allreduce_binomial_tree,
    &allreduce_double_binary_tree,
    &allreduce_direct,
    &allreduce_naive,
};
const char *const local_algorithm_choices[LOCAL_ALGORITHMS + 1] = {
    "auto", "ring", "halving-doubling", "recursive-doubling", "binomial-tree", "double-binary-tree", "direct", "naive", NULL,
};

static bool agrees(const struct scheme_setup *setup)
{
    const struct local_policy *policy = local_policy_of(setup);
    return policy->agrees && policy->agrees(setup);
}

/* NULL: the choice is laggard's. */
static const struct allreduce_algorithm *named_algorithm(const struct scheme_setup *setup)
{
    return algorithms[(int)setup->values[setup->scheme->param_count - 1]];
}

const struct allreduce_algorithm *local_rounds_algorithm(const struct scheme_setup *setup, struct allreduce_shape *shape)
{
    const struct allreduce_algorithm *named = named_algorithm(setup);
    *shape = (struct allreduce_shape){.size = setup->workers, .count = local_floats(setup)};
    if (named)
        return named;
    struct allreduce_choice choice = allreduce_choice_of(setup, local_floats(setup), NULL);
    shape->segment_bytes = choice.segment_bytes;
    return choice.algorithm;
}

int local_rounds_prepare(const struct scheme_setup *setup, struct blob *blob, struct err *err)
{
    if (named_algorithm(setup))
        return allreduce_choice_tell((struct allreduce_choice){0}, blob, err);
    return allreduce_choice_prepare(setup, local_floats(setup), NULL, blob, err);
}

/* A round in the mean: of a period's spans one round has most. Where periods follow the loss every round may end one. */
uint64_t local_rounds_spans(const struct scheme_setup *setup, int node)
{
    enum { OF_A_STEP = 4, OF_A_SYNCHRONISATION = 6 };
    struct allreduce_shape shape;
    const struct allreduce_algorithm *algorithm = local_rounds_algorithm(setup, &shape);
    uint64_t spans = algorithm->spans(algorithm, &shape, node) + OF_A_SYNCHRONISATION;
    const uint64_t period = agrees(setup) ? 1 : (uint64_t)setup->values[LOCAL_PERIOD];
    shape.count = LOCAL_TOLD;
    if (agrees(setup))
        spans += algorithm->spans(algorithm, &shape, node);
    return OF_A_STEP + (spans + period - 1) / period;
}

bool local_rounds_talks(const struct scheme_setup *setup, int node, int peer)
{
    struct allreduce_shape shape;
    const struct allreduce_algorithm *algorithm = local_rounds_algorithm(setup, &shape);
    if (!algorithm->talks || algorithm->talks(algorithm, &shape, node, peer))
        return true;
    shape.count = LOCAL_TOLD;
    return agrees(setup) && algorithm->talks(algorithm, &shape, node, peer);
}

static void prepare_allreduces(struct node *node, struct local_rounds *rounds)
{
    const struct scheme_setup *setup = node->setup;
    struct allreduce_spec spec = {
        .channel = LOCAL_CHANNEL_MODELS,
        .rank = node->role_index,
        .members = rounds->members,
        .background = local_policy_of(setup)->background,
        .context = rounds,
        .segment_ready = local_rounds_models_ready,
        .done = local_rounds_done,
    };
    spec.algorithm = local_rounds_algorithm(setup, &spec.shape);
    rounds->models = allreduce_new(node, &spec);
    if (!agrees(setup))
        return;
    spec.channel = LOCAL_CHANNEL_AGREEMENT;
    spec.shape.count = LOCAL_TOLD;
    spec.background = true; /* the models' is what is waited for */
    spec.segment_ready = NULL;
    rounds->agreement = allreduce_new(node, &spec);
}

static void prepare_vectors(struct node *node, struct local_rounds *rounds)
{
    const struct scheme_setup *setup = node->setup;
    const size_t bytes = local_floats(setup) * sizeof(float);
    const float *initial = node_initial_model(node);
    rounds->has_values = initial != NULL;
    rounds->has_model = initial || (!setup->values_carried && setup->matrix_count > 0);
    rounds->sum = node_alloc(node, bytes);
    rounds->gradient = node_alloc(node, rounds->has_model ? setup->parameter_count * sizeof(float) : bytes);
    if (local_policy_of(setup)->background)
        rounds->snapshot = node_alloc(node, bytes);
    if (!rounds->has_model)
        return;
    rounds->model = node_alloc(node, bytes);
    rounds->common = node_alloc(node, setup->parameter_count * sizeof(float));
    if (!local_policy_of(setup)->background)
        rounds->next = node_alloc(node, bytes);
    if (!initial)
        return;
    node_copy(node, rounds->model, initial, setup->parameter_count);
    node_copy(node, rounds->common, initial, setup->parameter_count);
}

void local_rounds_prepare_node(struct node *node)
{
    struct local_rounds *rounds = node_state(node);
    rounds->wait_begin_ns = -1;
    rounds->members = node_alloc(node, (size_t)node->setup->workers * sizeof(*rounds->members));
    for (int worker = 0; worker < node->setup->workers; worker++)
        rounds->members[worker] = worker;
    prepare_allreduces(node, rounds);
    prepare_vectors(node, rounds);
    if (local_policy_of(node->setup)->prepare)
        local_policy_of(node->setup)->prepare(node);
}
