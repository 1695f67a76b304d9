/* netem/priority.h: real-time scheduling for a process that must be on time, and sleeps most of it. */
#ifndef LAGGARD_NETEM_PRIORITY_H
#define LAGGARD_NETEM_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

enum { PRIORITY_TRAFFIC = 5, PRIORITY_RELAY = 10 }; /* packets that are under way come before new ones */

struct priority {
    int rank; /* SCHED_FIFO's */
    bool allowed, realtime;
    int64_t window_ends_ns, slept_ns;
};
/* Of the calling thread, with a timer slack of 1 ns. Where the host does not allow it, as much of it as it does. */
void priority_take(struct priority *priority, int64_t now_ns);
void priority_note(struct priority *priority, int64_t now_ns, int64_t slept_ns); /* after each wait */

#endif
