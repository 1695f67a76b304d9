/* harness/host_load.h: what the host's processors did between two moments: how much a hypervisor took away, and for how much of the
 * time somebody waited for one (pressure stall information). */
#ifndef LAGGARD_HARNESS_HOST_LOAD_H
#define LAGGARD_HARNESS_HOST_LOAD_H

#include "results/store.h"

/* Counts since boot. A look reads two files of /proc and takes some 50 us. */
struct host_load {
    int64_t at_ns;                              /* CLOCK_MONOTONIC */
    long long stolen_ticks, total_ticks;        /* both 0: not known */
    int64_t pressure_some_us, pressure_full_us; /* -1: this kernel has none */
};
struct host_load host_load_now(void);
/* Shares of the time between; NAN where not known. */
struct processor_load host_load_between(const struct host_load *before, const struct host_load *after);
/* The total of one line ("some" or "full") of /proc/pressure/cpu's text; -1: there is none. */
int64_t host_load_pressure_us(const char *text, const char *line);

#endif
