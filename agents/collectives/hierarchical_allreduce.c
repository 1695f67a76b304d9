/* agents/collectives/hierarchical_allreduce.c: rings within groups, and rings across them.
 *
 * Source: P. Goyal et al., "Accurate, large minibatch SGD", 2017, section 4 (reduce within a server, between servers, and back);
 * the form without leaders is that of X. Jia et al., "Highly scalable deep learning training system with mixed-precision", 2018.
 *
 * Ranks g G .. g G + G - 1 are group g of M = N/G. The vector is cut into G chunks. Within each group a ring reduce-scatter leaves
 * its member i with the group's sum of one chunk; the members with the same i of all groups sum that chunk around a ring of their
 * own; within each group a ring all-gather ends it. Each rank sends 2(G-1)/G S within its group and 2(M-1)/M S/G across. */
#include "agents/collectives/schedule.h"

#include "base/err.h"

static int check(const struct allreduce_shape *shape, struct err *err)
{
    if (shape->group >= 1 && shape->size % shape->group == 0)
        return 0;
    return err_set(err, ERR_USAGE, "found group %d, allowed are divisors of the number of workers, %d", shape->group, shape->size);
}

struct ring { /* this rank's place in one */
    int member, size;
    int left, right; /* ranks */
};

static void put_ring(struct schedule *schedule, const struct ring *ring, struct allreduce_range all, int first_hop, int hops)
{
    for (int hop = first_hop; hop < first_hop + hops; hop++) {
        const int out = (ring->member - hop + 2 * ring->size) % ring->size, in = (out + ring->size - 1) % ring->size;
        struct allreduce_range sent = allreduce_cut(all.first, all.count, (size_t)ring->size, (size_t)out);
        struct allreduce_range received = allreduce_cut(all.first, all.count, (size_t)ring->size, (size_t)in);
        schedule_put(schedule, SCHEDULE_SEND, ring->right, sent.first, sent.count);
        schedule_put(schedule, hop < ring->size - 1 ? SCHEDULE_ADD : SCHEDULE_PLACE, ring->left, received.first, received.count);
    }
}

static void plan(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    const int group = shape->group, groups = shape->size / group, member = rank % group, own_group = rank / group;
    const struct ring within = {.member = member,
                                .size = group,
                                .left = own_group * group + (member + group - 1) % group,
                                .right = own_group * group + (member + 1) % group};
    const struct ring across = {.member = own_group,
                                .size = groups,
                                .left = (own_group + groups - 1) % groups * group + member,
                                .right = (own_group + 1) % groups * group + member};
    const struct allreduce_range all = {.first = 0, .count = shape->count};
    const struct allreduce_range chunk = allreduce_cut(0, shape->count, (size_t)group, (size_t)((member + 1) % group));
    put_ring(schedule, &within, all, 0, group - 1);
    put_ring(schedule, &across, chunk, 0, 2 * (groups - 1));
    put_ring(schedule, &within, all, group - 1, group - 1);
}

const struct allreduce_algorithm allreduce_hierarchical = {
    .name = "hierarchical", .parameter = ALLREDUCE_GROUP, .check = check, SCHEDULED(plan)};
