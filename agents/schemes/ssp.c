/* agents/schemes/ssp.c: `ssp`, stale synchronous parallel: as `async`, but a worker that is too many gradients ahead of the slowest
 * one gets its model only when that one has caught up. The protocol: server_rounds.c. */
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"

static bool within_bound(const struct scheme_setup *setup, uint64_t own, uint64_t slowest)
{
    return own <= slowest || (double)(own - slowest) <= setup->values[0];
}

static const struct server_policy policy = {
    .quota = QUOTA_ONE, .distinct = true, .may_go_on = within_bound, .compensate_parameter = 2};

static const struct param params[] = {
    {.name = "staleness",
     .unit = PARAM_COUNT,
     .minimum = 0,
     .maximum = 1000000,
     .standard = 3,
     .help = "gradients by which a worker may be ahead of the slowest; 0: none is ahead"},
    SERVER_PARAM_COMPENSATE,
};

const struct scheme scheme_ssp = {
    .name = "ssp",
    .summary = "as async, but no worker is more than `staleness` gradients ahead of the slowest",
    .source = "Ho et al., More effective distributed ML via a stale synchronous parallel parameter server, NIPS 2013",
    .formula = "between those of async and of ps-sync",
    .flags = SERVER_ROUNDS_FLAGS | SCHEME_ASYNCHRONOUS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    SERVER_ROUNDS(policy),
};
