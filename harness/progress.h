/* harness/progress.h: what a campaign shows on standard error while it runs: a bar on a terminal, a line a trial elsewhere, nothing
 * when quiet. Drawn between trials and at most five times a second within one. */
#ifndef LAGGARD_HARNESS_PROGRESS_H
#define LAGGARD_HARNESS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/trial.h"
#include "schemas/plan.h"

enum colour_mode { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER, COLOUR_COUNT };
extern const char *const colour_names[COLOUR_COUNT + 1]; /* NULL-terminated */

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

/* What is written to `fd` is coloured: in COLOUR_AUTO on terminals that know colours, unless NO_COLOR is set. */
bool progress_colour(enum colour_mode mode, int fd);
void progress_begin(struct progress *progress, const struct plan *plan, int trial_count, double seconds_total, bool quiet,
                    enum colour_mode colour);
void progress_stage(struct progress *progress, const char *what); /* "measuring links" */
void progress_trial(struct progress *progress, const struct trial_plan *trial, double seconds);
void progress_rounds(void *progress, uint32_t rounds_done);
void progress_trial_done(struct progress *progress, const struct trial_outcome *outcome);
void progress_trial_again(struct progress *progress, int64_t retry, int64_t retries); /* after progress_trial_done() */
void progress_end(struct progress *progress);

#endif
