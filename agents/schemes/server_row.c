/* agents/schemes/server_row.c: what follows from the row of a scheme of server_rounds.h alone: quotas, checks, how much is
 * recorded. */
#include "agents/schemes/server_coding.h"
#include "agents/schemes/server_rounds_internal.h"
#include "base/err.h"
#include "base/units.h"

bool server_interrupts(const struct scheme_setup *setup)
{
    const struct server_policy *policy = setup->scheme->detail;
    return policy->interrupts && policy->interrupts(setup);
}

int server_quota_most(const struct scheme_setup *setup)
{
    return server_rate_adapts(setup) ? setup->workers : server_rounds_quota(setup);
}

int server_rounds_quota(const struct scheme_setup *setup)
{
    const struct server_policy *policy = setup->scheme->detail;
    const int first = (int)setup->values[0];
    if (policy->quota == QUOTA_CODED)
        return server_coding_quota(setup);
    return policy->quota == QUOTA_ONE ? 1 : policy->quota == QUOTA_K ? first : setup->workers - first;
}

struct aggregate server_aggregate(const struct scheme_setup *setup)
{
    const struct server_policy *policy = setup->scheme->detail;
    return aggregate_of(policy->aggregate_parameter > 0 ? &setup->values[policy->aggregate_parameter - 1] : NULL);
}

int server_rounds_tolerates(const struct scheme_setup *setup)
{
    if (((const struct server_policy *)setup->scheme->detail)->zeno_parameter > 0)
        return setup->workers - 1;
    return aggregate_tolerates(server_aggregate(setup), server_rounds_quota(setup));
}

bool server_rounds_always(const struct scheme_setup *setup)
{
    (void)setup;
    return true;
}

int server_rounds_servers(int workers, const double *values)
{
    (void)workers;
    (void)values;
    return 1;
}

int server_rounds_check(const struct scheme_setup *setup, struct err *err)
{
    const struct server_policy *policy = setup->scheme->detail;
    const int quota = server_rounds_quota(setup), k = policy->quota == QUOTA_K;
    if (quota >= 1 && quota <= setup->workers)
        return aggregate_check(setup, server_aggregate(setup), quota, err) < 0 ? -ERR_USAGE : server_rate_check(setup, err);
    return err_set(err, ERR_USAGE, "scheme '%s' with %d worker%s: found %s %g, allowed are %d to %d", setup->scheme->name,
                   setup->workers, units_plural(setup->workers), setup->scheme->params[0].name, setup->values[0], k,
                   setup->workers - !k);
}

bool server_rounds_talks(const struct scheme_setup *setup, int node, int peer)
{
    return (node == setup->workers) != (peer == setup->workers);
}

/* Gradients that reach the server for one update. Where stale ones count, none is wasted; otherwise each worker may have one that
 * comes too late. */
uint64_t server_rounds_gradients(const struct scheme_setup *setup, int node)
{
    const struct server_policy *policy = setup->scheme->detail;
    const uint64_t quota = (uint64_t)server_quota_most(setup);
    if (node < setup->workers)
        return 1;
    if (policy->zeno_parameter > 0)
        return ZENO_GRADIENTS_AN_UPDATE;
    return policy->current_only ? quota + 2 * (uint64_t)setup->workers : quota;
}

/* The server receives and adds gradients, answers as many, and makes the update; a worker computes, sends, waits and receives. */
uint64_t server_rounds_spans(const struct scheme_setup *setup, int node)
{
    const struct server_policy *policy = setup->scheme->detail;
    const uint64_t quota = (uint64_t)server_quota_most(setup);
    if (node < setup->workers)
        return 6 * (policy->keeps_going ? quota + 1 : 1);
    const uint64_t answers = server_interrupts(setup) ? (uint64_t)setup->workers : 0;
    return 3 * server_rounds_gradients(setup, node) + answers + 4;
}
