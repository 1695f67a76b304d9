/* agents/schemes/allreduce_choice.h: which all-reduce is predicted to be the fastest for a vector, among these workers and over
 * these links: for `allreduce-auto`, and for all schemes that all-reduce something and leave the choice to laggard. */
#ifndef LAGGARD_AGENTS_SCHEMES_ALLREDUCE_CHOICE_H
#define LAGGARD_AGENTS_SCHEMES_ALLREDUCE_CHOICE_H

#include "agents/collectives/allreduce.h"
#include "agents/scheme.h"

struct allreduce_choice {
    const struct allreduce_algorithm *algorithm;
    uint32_t index; /* in the table of allreduce.h */
    uint32_t segment_bytes;
};

/* What stands in the place of an algorithm; `shape` learns how. */
typedef const struct allreduce_algorithm *
allreduce_carrier(const struct scheme_setup *setup, const struct allreduce_algorithm *algorithm, struct allreduce_shape *shape);

/* As prepared or, where nothing is, worked out anew. `carrier` NULL: the algorithms themselves. */
struct allreduce_choice allreduce_choice_of(const struct scheme_setup *setup, size_t floats, allreduce_carrier *carrier);
/* For a scheme's prepare(): what all nodes are told; chooses, and tells. */
int allreduce_choice_tell(struct allreduce_choice choice, struct blob *blob, struct err *err);
int allreduce_choice_prepare(const struct scheme_setup *setup, size_t floats, allreduce_carrier *carrier, struct blob *blob,
                             struct err *err);

#endif
