/* plan_shard.c: see plan_shard.h. */
#include "harness/plan_shard.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"

int plan_shard_parse(const char *text, const struct plan *plan, struct plan_shard *shard, struct err *err)
{
    *shard = (struct plan_shard){0};
    if (!text)
        return 0;
    char first[16];
    const char *slash = strchr(text, '/');
    int64_t number = 0, count = 0;
    struct err ignored = {0};
    const size_t length = slash ? (size_t)(slash - text) : sizeof(first);
    if (length < sizeof(first)) {
        snprintf(first, sizeof(first), "%.*s", (int)length, text);
        if (units_parse_integer(slash + 1, 1, plan->trial_count, &count, &ignored) < 0 ||
            units_parse_integer(first, 1, count, &number, &ignored) < 0)
            number = 0;
    }
    if (number == 0)
        return err_set(
            err, ERR_USAGE,
            "--shard: found '%s', allowed is K/N, shard K of N: N from 1 to %d, the number of trials of %s, and K from 1 to N",
            text, plan->trial_count, plan->file_path);
    int blocks = 0;
    for (int t = 0; t < plan->trial_count; t++)
        blocks = plan->trials[t].repeat >= blocks ? plan->trials[t].repeat + 1 : blocks;
    *shard = (struct plan_shard){.number = (int)number, .count = (int)count, .by_blocks = count <= blocks};
    return 0;
}

bool plan_shard_holds(const struct plan_shard *shard, const struct trial_plan *trial)
{
    return shard->count == 0 || (shard->by_blocks ? trial->repeat : trial->order) % shard->count == shard->number - 1;
}
