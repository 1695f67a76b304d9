/* harness/report_check.h: whether what an agent says can be true. Pure. The database has constraints of its own, but a report
 * that it refuses would end the campaign; one that is refused here ends its trial with a sentence. */
#ifndef LAGGARD_HARNESS_REPORT_CHECK_H
#define LAGGARD_HARNESS_REPORT_CHECK_H

#include "schemas/control.h"

struct err;

/* node_count and rounds (warm-up included) are the trial's. ERR_TRIAL names the record and what is wrong with it. */
int report_check(const struct control_report *report, uint32_t node_count, uint32_t rounds, struct err *err);
/* since_setup_ns: how long the answer took. No gradient was measured that took longer. */
int report_check_listening(const struct control_listening *listening, int64_t since_setup_ns, struct err *err);

#endif
