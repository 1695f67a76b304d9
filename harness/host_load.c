/* host_load.c: /proc/stat, /proc/pressure/cpu, /proc/vmstat and the clocks; see host_load.h. */
#include "harness/host_load.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

static void read_ticks(struct host_load *load)
{
    enum { USER, NICE, SYSTEM, IDLE, IO_WAIT, INTERRUPT, SOFT_INTERRUPT, STOLEN, FIELDS }; /* guest time is part of user time */
    long long ticks[FIELDS];
    cleanup(close_file) FILE *stat = fopen("/proc/stat", "re");
    if (!stat || fscanf(stat, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &ticks[USER], &ticks[NICE], &ticks[SYSTEM],
                        &ticks[IDLE], &ticks[IO_WAIT], &ticks[INTERRUPT], &ticks[SOFT_INTERRUPT], &ticks[STOLEN]) != FIELDS)
        return;
    load->stolen_ticks = ticks[STOLEN];
    for (int i = 0; i < FIELDS; i++)
        load->total_ticks += ticks[i];
}

int64_t host_load_pressure_us(const char *text, const char *line)
{
    const char *found = strstr(text, line), *total = found ? strstr(found, "total=") : NULL;
    int64_t us;
    return total && sscanf(total, "total=%" SCNd64, &us) == 1 ? us : -1;
}

static void read_pressure(struct host_load *load)
{
    char line[256];
    cleanup(close_file) FILE *pressure = fopen("/proc/pressure/cpu", "re");
    load->pressure_some_us = load->pressure_full_us = -1;
    while (pressure && fgets(line, sizeof(line), pressure)) {
        if (strncmp(line, "some ", strlen("some ")) == 0)
            load->pressure_some_us = host_load_pressure_us(line, "some ");
        else
            load->pressure_full_us = host_load_pressure_us(line, "full ");
    }
}

struct host_load host_load_now(void)
{
    struct host_load load = {.suspended_ns = clock_suspended_ns(), .wall_ns = clock_wall_ns(), .at_ns = clock_now_ns()};
    read_ticks(&load);
    read_pressure(&load);
    return load;
}

static double pressure_share(int64_t before_us, int64_t after_us, int64_t time_ns)
{
    if (before_us < 0 || after_us < before_us || time_ns <= 0)
        return NAN;
    double share = (double)((after_us - before_us) * NS_PER_US) / (double)time_ns;
    return share < 1 ? share : 1; /* clock and file are read one after the other */
}

struct processor_load host_load_between(const struct host_load *before, const struct host_load *after)
{
    int64_t time_ns = after->at_ns - before->at_ns;
    long long total = after->total_ticks - before->total_ticks, stolen = after->stolen_ticks - before->stolen_ticks;
    return (struct processor_load){
        .stolen_share = total > 0 && stolen >= 0 ? (double)stolen / (double)total : NAN,
        .pressure_some_share = pressure_share(before->pressure_some_us, after->pressure_some_us, time_ns),
        .pressure_full_share = pressure_share(before->pressure_full_us, after->pressure_full_us, time_ns),
    };
}

/* The two clocks are read one after the other, and either may be late by a preemption. */
static const int64_t CLOCKS_APART_NS = NS_PER_MS, STEP_LEAST_NS = 100 * NS_PER_MS;
static const double STEERED_SHARE = 1e-3;

int64_t host_load_suspended_ns(const struct host_load *before, const struct host_load *after)
{
    const int64_t suspended_ns = after->suspended_ns - before->suspended_ns;
    return suspended_ns > CLOCKS_APART_NS ? suspended_ns : 0;
}

int64_t host_load_clock_step_ns(const struct host_load *before, const struct host_load *after)
{
    const int64_t time_ns = after->at_ns - before->at_ns + host_load_suspended_ns(before, after);
    const int64_t step_ns = after->wall_ns - before->wall_ns - time_ns;
    const bool counts = step_ns >= STEP_LEAST_NS || step_ns <= -STEP_LEAST_NS;
    return counts && fabs((double)step_ns) > STEERED_SHARE * (double)time_ns ? step_ns : 0;
}

int64_t host_load_memory_kills_in(const char *text)
{
    static const char key[] = "\noom_kill ";
    const char *found = strstr(text, key);
    int64_t count;
    return found && sscanf(found + strlen(key), "%" SCNd64, &count) == 1 ? count : -1;
}

int64_t host_load_memory_kills(void)
{
    char text[16384]; /* twice what it is */
    cleanup(close_file) FILE *file = fopen("/proc/vmstat", "re");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[length] = 0;
    return host_load_memory_kills_in(text);
}
