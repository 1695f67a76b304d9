/* agents/scheme_table.c: the table of schemes and its lookups. A new scheme is a file in agents/schemes/, a line in schemes.h
 * and a line here. */
#include <string.h>

#include "agents/optimiser.h"
#include "agents/schemes/schemes.h"

static const struct scheme *const schemes[] = {
    &scheme_ps_sync,
    &scheme_backup,
    &scheme_ps_drop,
    &scheme_k_sync,
    &scheme_k_batch_sync,
    &scheme_k_async,
    &scheme_k_batch_async,
    &scheme_async,
    &scheme_ssp,
    &scheme_zeno,
    &scheme_easgd,
    &scheme_anytime,
    &scheme_ring,
    &scheme_halving_doubling,
    &scheme_recursive_doubling,
    &scheme_binomial_tree,
    &scheme_double_binary_tree,
    &scheme_hierarchical,
    &scheme_direct,
    &scheme_naive,
    &scheme_allreduce_auto,
    &scheme_local_sgd,
    &scheme_adacomm,
    &scheme_slowmo,
    &scheme_local_adaalter,
    &scheme_overlap_local_sgd,
    &scheme_d_psgd,
    &scheme_anytime_consensus,
    &scheme_quantimed_dsgd,
    &scheme_matcha,
    &scheme_gradient_coding,
    &scheme_polydot,
    &scheme_fedavg,
    &scheme_fedbuff,
    &scheme_safa,
};

enum { OWN_COUNT = sizeof(schemes) / sizeof(schemes[0]), ADDED_MAX = 64 };
static const struct scheme *added[ADDED_MAX];
static int added_count;

int scheme_count(void)
{
    return OWN_COUNT + added_count;
}

bool scheme_add(const struct scheme *scheme)
{
    if (added_count == ADDED_MAX)
        return false;
    added[added_count++] = scheme;
    return true;
}

const struct scheme *scheme_at(int index)
{
    if (index < 0 || index >= scheme_count())
        return NULL;
    return index < OWN_COUNT ? schemes[index] : added[index - OWN_COUNT];
}

const struct scheme *scheme_find(const char *name)
{
    for (int i = 0; i < scheme_count(); i++)
        if (strcmp(scheme_at(i)->name, name) == 0)
            return scheme_at(i);
    return NULL;
}

int scheme_servers(const struct scheme *scheme, int workers, const double *values)
{
    return scheme->servers ? scheme->servers(workers, values) : 0;
}

int scheme_round_node(const struct scheme *scheme, int workers)
{
    return scheme->flags & SCHEME_ROUNDS_AT_SERVER ? workers : 0;
}

uint32_t scheme_samples(const struct scheme_setup *setup, int worker)
{
    return setup->samples ? setup->samples[worker] : 1;
}

bool scheme_talks(const struct scheme_setup *setup, int node, int peer)
{
    if (node == peer)
        return false;
    return setup->scheme->talks ? setup->scheme->talks(setup, node, peer) : true;
}

int scheme_tolerates(const struct scheme_setup *setup)
{
    return setup->scheme->tolerates ? setup->scheme->tolerates(setup) : 0;
}

bool scheme_approximates(const struct scheme_setup *setup)
{
    return setup->scheme->approximates && setup->scheme->approximates(setup);
}

double scheme_rate(const struct scheme_setup *setup, uint64_t step)
{
    const struct optimiser_settings settings = {
        .learning_rate = setup->learning_rate, .decay_factor = setup->decay_factor, .decay_every = setup->decay_every};
    return optimiser_rate(&settings, step);
}

double scheme_amplification(const struct scheme_setup *setup)
{
    return setup->scheme->amplification ? setup->scheme->amplification(setup) : 1;
}
