/* agents/collectives/allreduce.c: the table of all-reduce algorithms and what they share. */
#include "agents/collectives/allreduce.h"

#include <stdio.h>

static const struct allreduce_algorithm *const algorithms[] = {
    &allreduce_ring,
    &allreduce_halving_doubling,
    &allreduce_recursive_doubling,
    &allreduce_binomial_tree,
    &allreduce_double_binary_tree,
    &allreduce_hierarchical,
    &allreduce_direct,
    &allreduce_naive,
};

int allreduce_algorithm_count(void)
{
    return (int)(sizeof(algorithms) / sizeof(algorithms[0]));
}

const struct allreduce_algorithm *allreduce_algorithm_at(int index)
{
    return index >= 0 && index < allreduce_algorithm_count() ? algorithms[index] : NULL;
}

struct allreduce *allreduce_new(struct node *node, const struct allreduce_spec *spec)
{
    struct allreduce *allreduce = spec->algorithm->create(node, spec);
    allreduce->algorithm = spec->algorithm;
    allreduce->node = node;
    allreduce->spec = *spec;
    return allreduce;
}

struct landing allreduce_refuse(const struct allreduce *allreduce, const struct message *message, const char *why)
{
    char sentence[320];
    snprintf(
        sentence, sizeof(sentence),
        "%s all-reduce on node %d refuses message %u of all-reduce %llu (%zu bytes, from node %d): %s; the nodes do not run the "
        "same scheme with the same parameters",
        allreduce->algorithm->name, allreduce->node->index, message->header.index, (unsigned long long)message->header.step,
        message->length, message->source, why);
    node_fail(allreduce->node, sentence);
    return (struct landing){.kind = LAND_DISCARD};
}

struct allreduce_range allreduce_cut(size_t first, size_t count, size_t pieces, size_t piece)
{
    size_t each = count / pieces, longer = count % pieces;
    size_t before = piece * each + (piece < longer ? piece : longer);
    return (struct allreduce_range){.first = first + before, .count = each + (piece < longer)};
}
