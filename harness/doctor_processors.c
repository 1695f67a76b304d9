/* doctor_processors.c: how steady this host's processors are: how many, how fast, how shared, and what clock they read. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/awake.h"
#include "harness/doctor_internal.h"

#define CPU "/sys/devices/system/cpu/"
static const double steal_most = 0.01;

/* "0-3,8": 5; 0: that is none. */
static int listed(const char *list)
{
    int count = 0;
    while (list && *list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list)
            break;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        count += (int)(last - first + 1);
        list = *end == ',' ? end + 1 : "";
    }
    return count;
}

void doctor_processors(const struct doctor_host *host, struct doctor_finding *finding)
{
    char status[8192];
    const char *online = doctor_line(host, CPU "online"), *allowed = NULL;
    if (doctor_read(host, "/proc/self/status", status, sizeof(status)) && (allowed = strstr(status, "\nCpus_allowed_list:")))
        allowed += sizeof("\nCpus_allowed_list:") - 1, allowed += strspn(allowed, " \t");
    int usable = listed(allowed);
    if (usable == 0)
        return;
    doctor_answer(finding, usable >= 2,
                  arena_printf(host->arena, "%d of %s online, allowed %.*s", usable, online ? online : "those",
                               (int)strcspn(allowed, "\n"), allowed),
                  "taskset -pc 0-7 $$, or give the container or virtual machine more of them (--cpuset-cpus 0-7)");
    doctor_count(finding, "processors", usable);
}

/* Of one group, as a number of processors; 0: no quota. */
static double quota_of(const struct doctor_host *host, const char *folder, int version)
{
    const char *line = doctor_line(host, arena_printf(host->arena, "%s/%s", folder, version == 2 ? "cpu.max" : "cpu.cfs_quota_us"));
    if (!line)
        return 0;
    char *rest;
    double quota = strtod(line, &rest);
    double period =
        version == 2 ? strtod(rest, NULL) : (double)doctor_number(host, arena_printf(host->arena, "%s/cpu.cfs_period_us", folder));
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* Every group from this process's own up to what is mounted may have one; the least counts. */
void doctor_quota(const struct doctor_host *host, struct doctor_finding *finding)
{
    if (!doctor_line(host, "/proc/self/cgroup"))
        return;
    double least = 0;
    const char *where = "";
    for (int version = 1; version <= 2; version++) {
        struct control_group group;
        if (!doctor_group(host, version, "cpu", &group))
            continue;
        char *folder = group.folder[0] ? group.folder : group.mount;
        for (size_t shortest = strlen(group.mount);;) {
            double quota = quota_of(host, folder, version);
            if (quota > 0 && (least == 0 || quota < least)) {
                least = quota;
                where = arena_strdup(host->arena, folder);
            }
            char *slash = strrchr(folder, '/');
            if (!slash || strlen(folder) <= shortest)
                break;
            *slash = '\0';
        }
    }
    doctor_answer(finding, least == 0, least == 0 ? "no quota" : arena_printf(host->arena, "%g processors (%s)", least, where),
                  "docker update --cpu-quota -1 CONTAINER, or systemctl set-property --runtime UNIT CPUQuota=");
}

void doctor_governor(const struct doctor_host *host, struct doctor_finding *finding)
{
    const char *governor = doctor_line(host, CPU "cpu0/cpufreq/scaling_governor");
    if (governor)
        doctor_answer(finding, strcmp(governor, "performance") == 0, governor, "as root: cpupower frequency-set -g performance");
    else
        finding->found = "this kernel does not set frequencies, as in most virtual machines";
}

void doctor_turbo(const struct doctor_host *host, struct doctor_finding *finding)
{
    int64_t none = doctor_number(host, CPU "intel_pstate/no_turbo"), boost = doctor_number(host, CPU "cpufreq/boost");
    if (none >= 0)
        doctor_answer(finding, none == 1, none == 1 ? "off" : "on", "as root: echo 1 > " CPU "intel_pstate/no_turbo");
    else if (boost >= 0)
        doctor_answer(finding, boost == 0, boost == 0 ? "off" : "on", "as root: echo 0 > " CPU "cpufreq/boost");
}

void doctor_smt(const struct doctor_host *host, struct doctor_finding *finding)
{
    int64_t active = doctor_number(host, CPU "smt/active");
    if (active >= 0)
        doctor_answer(finding, active == 0, active == 0 ? "off" : "on", "as root: echo off > " CPU "smt/control");
}

/* "cpu  user nice system idle iowait irq softirq steal guest guest_nice": guests are in user and nice already. */
void doctor_steal(const struct doctor_host *host, struct doctor_finding *finding)
{
    enum { STEAL = 7, COLUMNS };
    const char *line = doctor_line(host, "/proc/stat");
    if (!line || strncmp(line, "cpu ", 4) != 0)
        return;
    double total = 0, stolen = 0;
    char *rest = arena_strdup(host->arena, line + 4);
    for (int i = 0; i < COLUMNS; i++) {
        double ticks = strtod(rest, &rest);
        total += ticks;
        stolen = i == STEAL ? ticks : 0;
    }
    double share = total > 0 ? stolen / total : 0;
    doctor_answer(finding, share <= steal_most, arena_printf(host->arena, "%.1f %%", 100 * share),
                  "give the virtual machine processors of its own: on the host, virsh vcpupin MACHINE VCPU PROCESSOR, or a kind of "
                  "machine with dedicated processors");
    doctor_count(finding, "stolen_ratio", share);
}

void doctor_clocksource(const struct doctor_host *host, struct doctor_finding *finding)
{
    static const char *const quick[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "xen"};
    const char *source = doctor_line(host, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    bool good = false;
    for (size_t i = 0; source && i < sizeof(quick) / sizeof(quick[0]); i++)
        good |= strcmp(source, quick[i]) == 0;
    if (source)
        doctor_answer(finding, good, source,
                      "as root: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, or boot with "
                      "clocksource=tsc tsc=reliable");
}

void doctor_awake(const struct doctor_host *host, struct doctor_finding *finding)
{
    (void)host;
    doctor_answer(finding, awake_possible(), NULL, "run laggard as root, or, as root: chmod 666 /dev/cpu_dma_latency");
}
