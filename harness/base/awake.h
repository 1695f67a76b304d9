/* base/awake.h: keeps processors out of sleep states while something is timed.
 *
 * A processor that sleeps wakes up late: by 50 to 200 us on many virtual machines, where sleeping means to give the processor back.
 * Linux lets a program ask for less (Documentation/power/pm_qos_interface): while /dev/cpu_dma_latency is held open with a latency
 * of 0, idle processors wait in a loop. It ends with the descriptor, so also when its holder is killed. Root only, by the file's
 * mode. */
#ifndef LAGGARD_BASE_AWAKE_H
#define LAGGARD_BASE_AWAKE_H

#include <stdbool.h>

/* A descriptor (close-on-exec) that keeps them awake until it is closed, or -1 where this host or its privileges do not allow
 * it. */
int awake_hold(void);
/* Whether awake_hold() would succeed. */
bool awake_possible(void);

#endif
