/* harness/message_sizes.h: the message sizes of a cell's trial: those of workload.sizes, one after the other and each with all
 * rounds, or the one size that there is. Rounds are numbered on from size to size. Pure. */
#ifndef LAGGARD_HARNESS_MESSAGE_SIZES_H
#define LAGGARD_HARNESS_MESSAGE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/settings.h"

/* Whether the trial sweeps sizes, if only one. */
static inline bool message_sizes_swept(const struct settings *settings)
{
    return settings->workload.sizes.count > 0;
}
static inline int message_sizes_count(const struct settings *settings)
{
    return message_sizes_swept(settings) ? settings->workload.sizes.count : 1;
}
/* Of each size, and of all together: warm-up rounds included. */
static inline int message_sizes_rounds_each(const struct settings *settings)
{
    return settings->warmup_rounds + settings->workload.rounds;
}
static inline int message_sizes_rounds(const struct settings *settings)
{
    return message_sizes_count(settings) * message_sizes_rounds_each(settings);
}
/* Among these, the number of a measured round, which are counted from 0 over all sizes. */
static inline int message_sizes_measured_round(const struct settings *settings, int measured)
{
    int size = measured / settings->workload.rounds;
    return size * message_sizes_rounds_each(settings) + settings->warmup_rounds + measured % settings->workload.rounds;
}
enum { MESSAGE_SIZES_ROUNDS_MAX = 4000000 }; /* of all sizes: what an agent reports has to fit into one frame */

#endif
