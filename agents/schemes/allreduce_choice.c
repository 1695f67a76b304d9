/* agents/schemes/allreduce_choice.c: the all-reduce that is predicted to be the fastest; see allreduce_choice.h.
 *
 * Before a cell's trials the controller predicts every algorithm (agents/collectives/) for this size, these workers and these
 * links, the ring with a few segment sizes, and tells all nodes which takes the shortest time. What a message costs beyond its
 * bytes (a system call, a wake-up) decides among small sizes. Hierarchies are left out: only the user knows the groups. */
#include "agents/schemes/allreduce_choice.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/predict.h"
#include "base/err.h"

static struct allreduce_choice choose(const struct scheme_setup *setup, size_t floats, allreduce_carrier *carrier)
{
    static const size_t segments[] = {0, 16 << 10, 64 << 10, 256 << 10};
    struct allreduce_choice best = {.algorithm = &allreduce_ring};
    double shortest = INFINITY;
    for (int i = 0; i < allreduce_algorithm_count() && setup->workers > 1; i++) {
        struct allreduce_choice choice = {.algorithm = allreduce_algorithm_at(i), .index = (uint32_t)i};
        if (choice.algorithm->parameter == ALLREDUCE_GROUP)
            continue;
        const size_t tries = choice.algorithm == &allreduce_ring ? sizeof(segments) / sizeof(segments[0]) : 1;
        for (size_t s = 0; s < tries; s++) {
            struct prediction parts = {0};
            choice.segment_bytes = (uint32_t)segments[s];
            struct allreduce_shape shape = {.size = setup->workers, .count = floats, .segment_bytes = segments[s]};
            const struct allreduce_algorithm *carried = carrier ? carrier(setup, choice.algorithm, &shape) : choice.algorithm;
            double time_ns = predict_allreduce_ns(setup, carried, &shape, &parts);
            if (time_ns < shortest * 0.999) { /* equal ones: the first */
                shortest = time_ns;
                best = choice;
            }
        }
    }
    return best;
}

struct told { /* to all nodes of this host */
    uint32_t index, segment_bytes;
};

struct allreduce_choice allreduce_choice_of(const struct scheme_setup *setup, size_t floats, allreduce_carrier *carrier)
{
    struct told told;
    if (setup->prepared_bytes != sizeof(told))
        return choose(setup, floats, carrier);
    memcpy(&told, setup->prepared, sizeof(told));
    const struct allreduce_algorithm *algorithm = allreduce_algorithm_at((int)told.index);
    return (struct allreduce_choice){
        .algorithm = algorithm ? algorithm : &allreduce_ring, .index = told.index, .segment_bytes = told.segment_bytes};
}

int allreduce_choice_tell(struct allreduce_choice choice, struct blob *blob, struct err *err)
{
    struct told told = {.index = choice.index, .segment_bytes = choice.segment_bytes};
    void *bytes = malloc(sizeof(told));
    if (!bytes)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot note the choice of an all-reduce");
    blob->bytes = memcpy(bytes, &told, sizeof(told));
    blob->length = sizeof(told);
    return 0;
}

int allreduce_choice_prepare(const struct scheme_setup *setup, size_t floats, allreduce_carrier *carrier, struct blob *blob,
                             struct err *err)
{
    return allreduce_choice_tell(choose(setup, floats, carrier), blob, err);
}
