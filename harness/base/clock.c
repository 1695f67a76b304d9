/* clock.c: reads the two clocks, sleeps until an absolute time, and puts times in order. */
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_suspended_ns(void)
{
    int64_t now_ns = read_clock(CLOCK_MONOTONIC);
    return read_clock(CLOCK_BOOTTIME) - now_ns;
}

void clock_sleep_until(int64_t ns)
{
    if (ns <= 0)
        return;
    struct timespec until = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

static int ascending(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

void clock_sort(int64_t *ns, size_t count)
{
    qsort(ns, count, sizeof(*ns), ascending);
}
