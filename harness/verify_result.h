/* harness/verify_result.h: what `laggard verify` prints: each direction as asked, as read back, as measured, and the verdict. */
#ifndef LAGGARD_HARNESS_VERIFY_RESULT_H
#define LAGGARD_HARNESS_VERIFY_RESULT_H

#include "base/text.h"
#include "harness/link_survey.h"

/* Entries of the survey that were not measured are left out. */
struct verify_result {
    const struct plan *plan;
    const struct link_survey *survey;
    struct measure_effort effort;
};
struct verify_counts {
    int networks, links, directions, out_of_tolerance; /* measured ones */
};
struct verify_counts verify_count(const struct verify_result *result);
void verify_print_text(const struct verify_result *result, struct text *out);
void verify_print_json(const struct verify_result *result, struct text *out);

#endif
