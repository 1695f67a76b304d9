/* agents/collectives/double_binary_tree.c: two binary trees at once, each for half of the vector, in segments.
 *
 * Source: P. Sanders, J. Speck, J. L. Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
 * Computing 35 (2009); used by NCCL since 2.4.
 *
 * The first tree is in order over the ranks: the parent of rank r > 0 with lowest set bit b is (r - b) with bit 2b set, or r - b
 * where that is no rank; rank 0 is the root. Nearly half of the ranks, the odd ones, are leaves. The second is the first with the
 * ranks mirrored (N even) or moved on by one (N odd), so that the leaves of one are inside the other, and every rank's link is used
 * in both directions. In each tree every segment goes up, added to at each rank, and down again; segments follow each other. Every
 * rank but the roots sends at most S/2 up and S down in each tree, so the whole takes about 2 log2 N alpha + 2 S/B. */
#include "agents/collectives/schedule.h"

enum { SEGMENT_BYTES = 256 << 10, SEGMENTS_MAX = 64, SEGMENT_FLOATS_MIN = 2048 };

static int in_order_parent(int rank, int size)
{
    const int lowest = rank & -rank;
    const int parent = (rank - lowest) | (lowest * 2);
    if (rank == 0)
        return -1;
    return parent < size ? parent : rank - lowest;
}

/* Of a rank, its place in the tree, and back. */
static int place_of(int tree, int rank, int size)
{
    if (tree == 0)
        return rank;
    return size % 2 == 0 ? size - 1 - rank : (rank + size - 1) % size;
}

static int rank_at(int tree, int place, int size)
{
    if (tree == 0)
        return place;
    return size % 2 == 0 ? size - 1 - place : (place + 1) % size;
}

enum { CHILDREN_MAX = 32 };

/* In ascending order; how many. A child is half of the lowest bit below, or any smaller power of two above. */
static int children_of(int place, int size, int *children)
{
    const int lowest = place == 0 ? size : place & -place;
    int count = 0;
    if (place > 0 && lowest > 1)
        children[count++] = place - lowest / 2;
    for (int step = 1; step < lowest && step < size - place; step *= 2)
        if (in_order_parent(place + step, size) == place)
            children[count++] = place + step;
    return count;
}

static size_t segments_of(const struct allreduce_shape *shape, size_t floats)
{
    size_t whole = (shape->segment_bytes >= sizeof(float) ? shape->segment_bytes : SEGMENT_BYTES) / sizeof(float);
    size_t segments = (floats + whole - 1) / whole;
    if (shape->segment_bytes == 0 && segments < 4 && floats >= 4 * SEGMENT_FLOATS_MIN)
        segments = 4;
    return segments < 1 ? 1 : segments > SEGMENTS_MAX ? SEGMENTS_MAX : segments;
}

static void plan_tree(const struct allreduce_shape *shape, int tree, int rank, size_t segment, struct schedule *schedule)
{
    const int size = shape->size, place = place_of(tree, rank, size);
    const struct allreduce_range half = allreduce_cut(0, shape->count, 2, (size_t)tree);
    const size_t segments = segments_of(shape, half.count);
    if (segment >= segments)
        return;
    const struct allreduce_range range = allreduce_cut(half.first, half.count, segments, segment);
    const int parent = in_order_parent(place, size);
    int children[CHILDREN_MAX];
    const int count = children_of(place, size, children);
    for (int i = 0; i < count; i++)
        schedule_put(schedule, SCHEDULE_ADD, rank_at(tree, children[i], size), range.first, range.count);
    if (parent >= 0) {
        schedule_put(schedule, SCHEDULE_SEND, rank_at(tree, parent, size), range.first, range.count);
        schedule_put(schedule, SCHEDULE_PLACE, rank_at(tree, parent, size), range.first, range.count);
    }
    for (int i = 0; i < count; i++)
        schedule_put(schedule, SCHEDULE_SEND, rank_at(tree, children[i], size), range.first, range.count);
}

static void plan(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    for (size_t segment = 0; segment < SEGMENTS_MAX && shape->size > 1; segment++)
        for (int tree = 0; tree < 2; tree++)
            plan_tree(shape, tree, rank, segment, schedule);
}

const struct allreduce_algorithm allreduce_double_binary_tree = {
    .name = "double-binary-tree", .parameter = ALLREDUCE_SEGMENT, SCHEDULED(plan)};
