/* fuzz_shard.c: damaged words after --shard. What is taken is one of N shards none of which is empty; together they hold every
 * trial once. */
#include "harness/plan_shard.h"

#include "base/err.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_MAX = 64, TRIALS_MOST = 60 };

static void check_shards(struct fuzz *fuzz, const struct plan *plan, const struct plan_shard *shard)
{
    int held[TRIALS_MOST] = {0};
    FUZZ_CHECK(fuzz, shard->number >= 1 && shard->number <= shard->count && shard->count <= plan->trial_count);
    for (int number = 1; number <= shard->count; number++) {
        const struct plan_shard other = {.number = number, .count = shard->count, .by_blocks = shard->by_blocks};
        int mine = 0;
        for (int t = 0; t < plan->trial_count; t++) {
            const bool holds = plan_shard_holds(&other, &plan->trials[t]);
            mine += holds;
            held[t] += holds;
        }
        FUZZ_CHECK(fuzz, mine > 0);
    }
    for (int t = 0; t < plan->trial_count; t++)
        FUZZ_CHECK(fuzz, held[t] == 1);
}

static void fuzz_one(struct fuzz *fuzz)
{
    char text[TEXT_MAX];
    struct trial_plan trials[TRIALS_MOST];
    const int cells = 1 + (int)fuzz_below(fuzz, 6), repeats = 1 + (int)fuzz_below(fuzz, 10);
    const struct plan plan = {.file_path = "t", .trials = trials, .trial_count = cells * repeats};
    for (int t = 0; t < plan.trial_count; t++)
        trials[t] = (struct trial_plan){.cell = t % cells, .repeat = t / cells, .order = t};
    const size_t count = 1 + fuzz_below(fuzz, (size_t)plan.trial_count);
    size_t length = (size_t)snprintf(text, sizeof(text), "%zu/%zu", 1 + fuzz_below(fuzz, count), count);
    length = fuzz_mutate(fuzz, (uint8_t *)text, length, sizeof(text) - 1);
    text[length] = '\0';
    struct plan_shard shard;
    struct err err = {0};
    const int result = plan_shard_parse(text, &plan, &shard, &err);
    FUZZ_CHECK(fuzz, result == 0 || (result == -ERR_USAGE && err.text[0] && shard.count == 0));
    if (result == 0)
        check_shards(fuzz, &plan, &shard);
    fuzz->accepted += result == 0;
}

FUZZ_MAIN("shard")
