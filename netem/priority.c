/* netem/priority.c: the right of a punctual process to run before others, and when it gives that up.
 *
 * Theory of operation. A real-time thread wakes on time whatever the agents compute. But one that hardly sleeps, since the links
 * ask for more than a processor can carry, starves what shares its processor, until the kernel takes the processor away for 50 ms
 * in one piece. So a process that slept for less than a tenth of the last WINDOW_NS becomes an ordinary thread, with some
 * precedence, and takes its rank back when it sleeps for a fifth again. All of this works without privilege, only less well. */
#include "netem/priority.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"

enum { NICE = -15 };
#define WINDOW_NS (20 * NS_PER_MS)
#define SLEEP_LEAST_NS (WINDOW_NS / 10)
#define SLEEP_ENOUGH_NS (WINDOW_NS / 5)

static bool set_realtime(const struct priority *priority, bool wanted)
{
    struct sched_param parameters = {.sched_priority = wanted ? priority->rank : 0};
    return sched_setscheduler(0, wanted ? SCHED_FIFO : SCHED_OTHER, &parameters) == 0;
}

void priority_take(struct priority *priority, int64_t now_ns)
{
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    priority->allowed = priority->realtime = set_realtime(priority, true);
    priority->window_ends_ns = now_ns + WINDOW_NS;
}

void priority_note(struct priority *priority, int64_t now_ns, int64_t slept_ns)
{
    priority->slept_ns += slept_ns;
    if (now_ns < priority->window_ends_ns || !priority->allowed)
        return;
    bool wanted = priority->slept_ns > (priority->realtime ? SLEEP_LEAST_NS : SLEEP_ENOUGH_NS);
    if (wanted != priority->realtime && set_realtime(priority, wanted))
        priority->realtime = wanted;
    priority->slept_ns = 0;
    priority->window_ends_ns = now_ns + WINDOW_NS;
}
