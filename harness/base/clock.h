/* clock.h: the two clocks. CLOCK_MONOTONIC is one clock for all namespaces of a host, so times of different nodes compare. */
#ifndef LAGGARD_BASE_CLOCK_H
#define LAGGARD_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

int64_t clock_now_ns(void);                 /* CLOCK_MONOTONIC */
int64_t clock_wall_ns(void);                /* CLOCK_REALTIME, since 1970 */
int64_t clock_suspended_ns(void);           /* for how long since boot the host was suspended: CLOCK_MONOTONIC stood still */
void clock_sleep_until(int64_t ns);         /* absolute, CLOCK_MONOTONIC; resumes after signals */
void clock_sort(int64_t *ns, size_t count); /* ascending */

#endif
