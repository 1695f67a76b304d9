/* rounds.c: rounds out of the nodes' marks; see rounds.h. */
#include "harness/rounds.h"

#include "base/err.h"
#include "base/units.h"

static int check_order(const struct node_result *node, const char *name, int round_count, struct err *err)
{
    for (uint32_t i = 0; i < node->round_count; i++)
        if (node->rounds[i].round >= (uint32_t)round_count || (i > 0 && (node->rounds[i].round <= node->rounds[i - 1].round ||
                                                                         node->rounds[i].held_ns < node->rounds[i - 1].held_ns)))
            return err_set(err, ERR_TRIAL, "node %s reported round %u of %d out of order", name, node->rounds[i].round,
                           round_count);
    return 0;
}

static int64_t begin_of(const struct rounds_shape *shape, int size)
{
    return shape->begins_ns ? shape->begins_ns[size] : 0;
}

static int check_marks(const struct node_result *node, const char *name, const struct rounds_shape *shape, struct err *err)
{
    const int round_count = shape->size_count * shape->rounds_each;
    if (node->round_count != (uint32_t)round_count)
        return err_set(err, ERR_TRIAL, "node %s reported %u round%s where %d %s asked", name, node->round_count,
                       units_plural(node->round_count), round_count, round_count == 1 ? "was" : "were");
    for (int r = 0; r < round_count; r++) {
        if (node->rounds[r].round != (uint32_t)r)
            return err_set(err, ERR_TRIAL, "node %s reported round %u where round %d was due", name, node->rounds[r].round, r);
        if (r == 0 && node->rounds[r].held_ns < 0)
            return err_set(err, ERR_TRIAL, "node %s held the model of round 0 before the trial's start", name);
        if (r > 0 && node->rounds[r].held_ns < node->rounds[r - 1].held_ns)
            return err_set(err, ERR_TRIAL, "node %s held the model of round %d before that of round %d", name, r, r - 1);
        if (r > 0 && r % shape->rounds_each == 0 && node->rounds[r].held_ns < begin_of(shape, r / shape->rounds_each))
            return err_set(err, ERR_TRIAL, "node %s held the model of round %d before its message size began", name, r);
    }
    return 0;
}

int rounds_summarise(const struct node_result *nodes, int node_count, const char *const *names, const struct rounds_shape *shape,
                     int server, struct round_summary *summaries, struct err *err)
{
    const int round_count = shape->size_count * shape->rounds_each;
    for (int n = 0; n < node_count; n++) {
        int result = server < 0 || server == n ? check_marks(&nodes[n], names[n], shape, err)
                                               : check_order(&nodes[n], names[n], round_count, err);
        if (result < 0)
            return result;
    }
    int64_t begin = 0;
    for (int r = 0; r < round_count; r++) {
        if (r % shape->rounds_each == 0)
            begin = begin_of(shape, r / shape->rounds_each);
        bool warmup = r % shape->rounds_each < shape->warmup_each;
        struct round_summary summary = {.round = (uint32_t)r, .warmup = warmup, .begin_ns = begin, .end_ns = begin};
        for (int n = server < 0 ? 0 : server; n < (server < 0 ? node_count : server + 1); n++) {
            if (n == 0 || n == server || nodes[n].rounds[r].held_ns > summary.end_ns) {
                summary.end_ns = nodes[n].rounds[r].held_ns;
                summary.last_node = (uint32_t)n;
            }
        }
        begin = summary.end_ns;
        summaries[r] = summary;
    }
    return 0;
}
