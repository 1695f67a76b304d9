/* trial_capture.c: packets of the links that a campaign wants captured: files before the network is there, sums when it goes. */
#include "harness/capture_session.h"
#include "harness/trial_internal.h"

static int capture_add(struct trial *trial, struct fabric_spec *spec, struct err *err)
{
    const struct settings *settings = &trial->cell->settings;
    int result = capture_session_open(&settings->capture, &trial->topology, settings->name, trial->plan->order, trial->arena,
                                      &trial->captures, err);
    capture_session_add(trial->captures, spec);
    return result;
}

static int capture_ready(struct trial *trial, struct err *err)
{
    (void)err;
    capture_session_built(trial->captures);
    return 0;
}

static void capture_conclude(struct trial *trial)
{
    capture_session_finish(trial->captures, trial->fabric, &trial->end.captures, &trial->end.capture_count);
    trial->evidence.captures = trial->end.captures;
    trial->evidence.capture_count = trial->end.capture_count;
}

static void capture_clean(struct trial *trial)
{
    capture_session_close(trial->captures);
}

const struct trial_part trial_capture = {
    .add = capture_add,
    .ready = capture_ready,
    .conclude = capture_conclude,
    .clean = capture_clean,
};
