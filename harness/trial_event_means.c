/* trial_event_means.c: how events are done in a fabric: by its warden, and on the time of the trial's loop. */
#include <signal.h>

#include "base/clock.h"
#include "base/loop.h"
#include "harness/trial_events_internal.h"

static int64_t now_ns(const struct trial *trial)
{
    (void)trial;
    return clock_now_ns();
}

static void on_timer(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    trial_events_due(context);
}

static void wake(struct trial *trial, int64_t at_ns)
{
    struct trial_events *events = trial->events;
    if (!events->timer)
        events->timer = loop_timer(trial->loop, on_timer, trial);
    if (at_ns == EVENT_NEVER_NS)
        loop_disarm(events->timer);
    else
        loop_arm(events->timer, at_ns);
}

static int change(struct trial *trial, int link, int direction, const struct direction *then, bool down, struct err *err)
{
    return fabric_change(trial->fabric, link, direction, then, down, err);
}

static int separate(struct trial *trial, const int *group, struct err *err)
{
    return fabric_separate(trial->fabric, group, err);
}

static bool runs(struct trial *trial, int node)
{
    return fabric_pid(trial->fabric, node) != 0;
}

static int stop(struct trial *trial, int node, bool stops, struct err *err)
{
    return fabric_signal(trial->fabric, node, stops ? SIGSTOP : SIGCONT, err);
}

static int kill_node(struct trial *trial, int node, struct err *err)
{
    return fabric_signal(trial->fabric, node, SIGKILL, err);
}

const struct event_means event_means_fabric = {
    .now_ns = now_ns, .wake = wake, .change = change, .separate = separate, .runs = runs, .stop = stop, .kill = kill_node};
