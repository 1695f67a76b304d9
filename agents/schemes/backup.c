/* agents/schemes/backup.c: `backup`: synchronous training with spare workers. Of P workers' gradients the first P - backups make
 * the update; the late ones are dropped when they come, or, with `cancel`, given up. The protocol: server_rounds.c. */
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"

enum { BACKUPS, CANCEL };

static bool cancels(const struct scheme_setup *setup)
{
    return setup->values[CANCEL] != 0;
}

static const struct server_policy policy = {
    .quota = QUOTA_ALL_BUT, .current_only = true, .distinct = true, .interrupts = cancels, .aggregate_parameter = 3};

static const struct param params[] = {
    [BACKUPS] = {.name = "backups",
                 .unit = PARAM_COUNT,
                 .minimum = 0,
                 .maximum = 999,
                 .standard = 1,
                 .help = "workers that are not waited for"},
    [CANCEL] = {.name = "cancel",
                .unit = PARAM_BOOL,
                .minimum = 0,
                .maximum = 1,
                .standard = 0,
                .help = "whether late workers give up and take the new model"},
    PARAM_AGGREGATE,
    PARAM_TRIM,
};

const struct scheme scheme_backup = {
    .name = "backup",
    .summary = "one server updates with the first P - backups gradients of a round; later ones are dropped on arrival",
    .source = "Chen et al., Revisiting distributed synchronous SGD, ICLR workshop 2016",
    .formula = "2 alpha + communication + E[X_{N:N+b}] with cancel; without, a seeded simulation",
    .flags = SERVER_ROUNDS_FLAGS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    SERVER_ROUNDS(policy),
};
