/* harness/host_load.h: what befell the host between two moments: how much of its processors a hypervisor took away, for how much of
 * the time somebody waited for one (pressure stall information), whether it was suspended, whether its wall clock was set, and
 * whether memory ran out. */
#ifndef LAGGARD_HARNESS_HOST_LOAD_H
#define LAGGARD_HARNESS_HOST_LOAD_H

#include "results/store.h"

/* Counts since boot. A look reads two files of /proc and takes some 50 us. */
struct host_load {
    int64_t at_ns;                              /* CLOCK_MONOTONIC */
    long long stolen_ticks, total_ticks;        /* both 0: not known */
    int64_t pressure_some_us, pressure_full_us; /* -1: this kernel has none */
    int64_t suspended_ns, wall_ns;              /* clock_suspended_ns(), clock_wall_ns() */
};
struct host_load host_load_now(void);
/* Shares of the time between; NAN where not known. */
struct processor_load host_load_between(const struct host_load *before, const struct host_load *after);
int64_t host_load_suspended_ns(const struct host_load *before, const struct host_load *after); /* 0: it was awake */
/* By how much somebody set the wall clock; 0 for what a clock that is steered by rate can differ (0.1 %), and under 100 ms. */
int64_t host_load_clock_step_ns(const struct host_load *before, const struct host_load *after);
/* Processes that the kernel ended since boot because memory ran out; -1: not known. `text`: that of /proc/vmstat. */
int64_t host_load_memory_kills(void);
int64_t host_load_memory_kills_in(const char *text);
/* The total of one line ("some" or "full") of /proc/pressure/cpu's text; -1: there is none. */
int64_t host_load_pressure_us(const char *text, const char *line);

#endif
