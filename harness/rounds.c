/* rounds.c: rounds out of the nodes' marks; see rounds.h. */
#include "harness/rounds.h"

#include "base/err.h"

static int check_marks(const struct node_result *node, const char *name, int round_count, struct err *err)
{
    if (node->round_count != (uint32_t)round_count)
        return err_set(err, ERR_TRIAL, "node %s reported %u rounds where %d were asked", name, node->round_count, round_count);
    for (int r = 0; r < round_count; r++) {
        if (node->rounds[r].round != (uint32_t)r)
            return err_set(err, ERR_TRIAL, "node %s reported round %u where round %d was due", name, node->rounds[r].round, r);
        if (r == 0 && node->rounds[r].held_ns < 0)
            return err_set(err, ERR_TRIAL, "node %s held the model of round 0 before the trial's start", name);
        if (r > 0 && node->rounds[r].held_ns < node->rounds[r - 1].held_ns)
            return err_set(err, ERR_TRIAL, "node %s held the model of round %d before that of round %d", name, r, r - 1);
    }
    return 0;
}

int rounds_summarise(const struct node_result *nodes, int node_count, const char *const *names, int round_count, int warmup_rounds,
                     struct round_summary *summaries, struct err *err)
{
    for (int n = 0; n < node_count; n++) {
        int result = check_marks(&nodes[n], names[n], round_count, err);
        if (result < 0)
            return result;
    }
    int64_t begin = 0;
    for (int r = 0; r < round_count; r++) {
        struct round_summary summary = {.round = (uint32_t)r, .warmup = r < warmup_rounds, .begin_ns = begin, .end_ns = begin};
        for (int n = 0; n < node_count; n++) {
            if (n == 0 || nodes[n].rounds[r].held_ns > summary.end_ns) {
                summary.end_ns = nodes[n].rounds[r].held_ns;
                summary.last_node = (uint32_t)n;
            }
        }
        begin = summary.end_ns;
        summaries[r] = summary;
    }
    return 0;
}
