/* message_cost.c: the cost of a message, from two short trials that nobody sees; see message_cost.h.
 *
 * Workers behind a router, links without rate and delay, a ring, one float: only the first of the ring's chunks has a float, so
 * that a round is one message after the other, from worker 0 around the ring and back to it, each to a worker that sleeps.
 * Everything else in a round (the task given to the computing thread, the step, the next round's beginning) is the same
 * whatever the ring's size: three workers' median round less two workers' is one message: system calls, the kernel's path, the
 * receiver's wake-up. */
#include "harness/message_cost.h"

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "harness/campaign.h"
#include "harness/trial.h"

enum { TWO, THREE, TRIALS }; /* workers, and messages a round */

static const char CAMPAIGN[] = "name: message-cost\n"
                               "topology: {shape: star}\n"
                               "workload: {model: synthetic, size: 4B, rounds: 300}\n"
                               "scheme: ring\n"
                               "warmup_rounds: 20\n"
                               "record_spans: false\n"
                               "trial_deadline: 5s\n"
                               "matrix: {workers: [2, 3]}\n";

int message_cost_measure(const struct trial_context *context, double *message_ns, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct trial_context unseen = *context;
    struct plan plan;
    double round_ns[TRIALS];
    unseen.store = NULL;
    unseen.progress = NULL;
    unseen.dataset_fd = -1;
    int result = campaign_parse("the measurement of a message's cost", CAMPAIGN, strlen(CAMPAIGN), arena, &plan, err);
    for (int t = 0; t < TRIALS && result == 0; t++) {
        const struct trial_plan trial = {.cell = t, .order = t, .seed = 1};
        struct trial_outcome outcome;
        result = trial_run(&unseen, &plan.cells[t], &trial, ENGINE_NONE, NULL, &outcome, err);
        if (result == 0 && outcome.status != TRIAL_FINISHED)
            result = err_set(err, ERR_TRIAL, "%s", outcome.reason);
        round_ns[t] = outcome.round_median_ns;
    }
    if (result != 0)
        return err_wrap(err, "measuring what a message costs");
    if (round_ns[THREE] > round_ns[TWO])
        *message_ns = round_ns[THREE] - round_ns[TWO];
    return 0;
}
