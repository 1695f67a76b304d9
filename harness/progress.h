/* harness/progress.h: what a campaign shows on standard error while it runs: a bar on a terminal, a line a trial elsewhere, nothing
 * when quiet. Drawn between trials and at most five times a second within one. */
#ifndef LAGGARD_HARNESS_PROGRESS_H
#define LAGGARD_HARNESS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/trial.h"
#include "schemas/plan.h"

struct progress {
    bool quiet, terminal, colour;
    const struct plan *plan;
    int trial_count;                    /* that this run will do: --only leaves some out */
    double seconds_total, seconds_done; /* by prediction: the bar's scale */
    double seconds_trial;
    int64_t started_ns;
    const struct trial_plan *trial;
    int trials_done;
};

/* colour_mode: "auto", "always" or "never". */
bool progress_colour(const char *colour_mode, int fd);
void progress_begin(struct progress *progress, const struct plan *plan, int trial_count, double seconds_total, bool quiet,
                    const char *colour_mode);
void progress_stage(struct progress *progress, const char *what); /* "measuring links" */
void progress_trial(struct progress *progress, const struct trial_plan *trial, double seconds);
void progress_rounds(void *progress, uint32_t rounds_done);
void progress_trial_done(struct progress *progress, const struct trial_outcome *outcome);
void progress_end(struct progress *progress);

#endif
