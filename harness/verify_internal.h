/* harness/verify_internal.h: one direction as the text (verify_text.c) and the document (verify_json.c) of a verification see
 * it. */
#ifndef LAGGARD_HARNESS_VERIFY_INTERNAL_H
#define LAGGARD_HARNESS_VERIFY_INTERNAL_H

#include "harness/verify_result.h"
#include "netem/measure.h"

struct verify_direction {
    const struct topology *topology;
    const struct link *link;
    int index; /* DIRECTION_FORWARD or DIRECTION_BACKWARD */
    enum engine_kind engine;
    const struct direction *asked;
    const struct direction_readback *set;
    const struct direction_check *check;
    /* What the check should show. */
    double payload_bps; /* 0: not limited */
    struct measure_expectation delays;
    struct measure_fates_expectation fates;
};
struct verify_direction verify_direction_of(const struct survey_entry *entry, int link, int direction);
/* How many packets would tell the rarest of the asked probabilities from half and twice of it; 0: none is asked. */
uint64_t verify_packets_needed(const struct verify_direction *direction);

#endif
