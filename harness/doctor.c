/* doctor.c: the table of checks, and what they share; see doctor.h. */
#include "harness/doctor.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "harness/doctor_internal.h"

const char *const doctor_level_names[DOCTOR_LEVEL_COUNT] = {"needed", "recommended", "information"};
const char *const doctor_state_names[DOCTOR_STATE_COUNT] = {"unknown", "yes", "no"};

static const struct doctor_check checks[] = {
    {"root", DOCTOR_INFORMATION, "capabilities in the host's own user namespace", doctor_root},
    {"namespaces", DOCTOR_NEEDED, "networks can be made, as root or in a user namespace", doctor_namespaces},
    {"user namespaces", DOCTOR_RECOMMENDED, "networks without root", doctor_user_namespaces},
    {"namespace limits", DOCTOR_RECOMMENDED, "user.max_*_namespaces leave room for 64 nodes", doctor_namespace_limits},
    {"unprivileged clone", DOCTOR_INFORMATION, "kernel.unprivileged_userns_clone lets ordinary users make user namespaces",
     doctor_unprivileged},
    {"apparmor", DOCTOR_INFORMATION, "kernel.apparmor_restrict_unprivileged_userns does not restrict user namespaces",
     doctor_apparmor},
    {"seccomp", DOCTOR_INFORMATION, "no filter of system calls is around laggard, as containers have", doctor_seccomp},
    {"tbf", DOCTOR_NEEDED, "rates", doctor_tbf},
    {"delays", DOCTOR_NEEDED, "an engine for delays: tun or netem", doctor_delays},
    {"tun", DOCTOR_RECOMMENDED, "engine relay: delay in user space", doctor_tun},
    {"ifb", DOCTOR_INFORMATION, "engine netem needs devices of kind ifb", doctor_ifb},
    {"clsact", DOCTOR_INFORMATION, "engine netem needs clsact with u32 and mirred", doctor_clsact},
    {"netem", DOCTOR_INFORMATION, "engine netem: delay in the kernel (with ifb and clsact)", doctor_netem},
    {"policy rules", DOCTOR_RECOMMENDED, "networks can be partitioned", doctor_rules},
    {"packet sockets", DOCTOR_RECOMMENDED, "captures of links", doctor_packets},
    {"neighbours", DOCTOR_INFORMATION, "net.ipv4.neigh.default.gc_thresh3 leaves room for 64 nodes, where permanent entries count",
     doctor_neighbours},
    {"cgroups", DOCTOR_INFORMATION, "control groups, and whether groups can be made in them", doctor_cgroups},
    {"cpu limits", DOCTOR_RECOMMENDED, "nodes that may use a part of a processor", doctor_cpu_limits},
    {"open files", DOCTOR_RECOMMENDED, "RLIMIT_NOFILE, the hard limit, is enough for 64 nodes", doctor_files},
    {"memlock", DOCTOR_RECOMMENDED, "RLIMIT_MEMLOCK lets engine relay keep 16 MiB of packets in memory", doctor_memlock},
    {"room", DOCTOR_INFORMATION, "for how many nodes with small gradients in a star of delayed links", doctor_room},
    {"processors", DOCTOR_RECOMMENDED, "two or more processors that this process may use", doctor_processors},
    {"cpu quota", DOCTOR_RECOMMENDED, "no control group takes processors away for parts of the time", doctor_quota},
    {"governor", DOCTOR_RECOMMENDED, "the frequency governor is performance", doctor_governor},
    {"turbo", DOCTOR_INFORMATION, "frequencies above the nominal one are off, and computing takes the same time each time",
     doctor_turbo},
    {"smt", DOCTOR_INFORMATION, "no two processors share a core", doctor_smt},
    {"steal", DOCTOR_RECOMMENDED, "a hypervisor took at most 1 % of the processors' time since boot", doctor_steal},
    {"clock source", DOCTOR_RECOMMENDED, "reading the clock needs no system call or device", doctor_clocksource},
    {"awake", DOCTOR_RECOMMENDED,
     "processors that do not sleep during trials: nothing wakes up late (/dev/cpu_dma_latency, root's)", doctor_awake},
    {"timer", DOCTOR_RECOMMENDED, "of 200 sleeps, 99 % end at most 1 ms late", doctor_timer},
    {"disk", DOCTOR_RECOMMENDED, "4 MiB reach the disk of this folder at 10 MB/s or more", doctor_disk},
    {"agent", DOCTOR_NEEDED, "the agent program", doctor_agent},
    {"fashion-mnist", DOCTOR_RECOMMENDED, "images for softmax and mlp", doctor_data},
    {"openblas", DOCTOR_RECOMMENDED, "gradients are computed by OpenBLAS", doctor_blas},
    {"gnuplot", DOCTOR_RECOMMENDED, "plots", doctor_gnuplot},
};
enum { TABLE_BYTES = 1 << 18, FILE_BYTES = 1 << 14 };
enum { CHECK_COUNT = sizeof(checks) / sizeof(checks[0]) };

int doctor_check_count(void)
{
    return CHECK_COUNT;
}

const struct doctor_check *doctor_check_at(int index)
{
    return &checks[index];
}

const struct doctor_check *doctor_check_find(const char *name)
{
    for (int i = 0; i < CHECK_COUNT; i++)
        if (strcmp(checks[i].name, name) == 0)
            return &checks[i];
    return NULL;
}

const char *doctor_path(const struct doctor_host *host, const char *path)
{
    return arena_printf(host->arena, "%s%s", host->root, path);
}

bool doctor_read(const struct doctor_host *host, const char *path, char *text, size_t bytes)
{
    cleanup(close_fd) int fd = open(doctor_path(host, path), O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = -1;
    while (fd >= 0 && length < bytes - 1 && (got = read(fd, text + length, bytes - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    return fd >= 0 && (got >= 0 || length > 0);
}

const char *doctor_line(const struct doctor_host *host, const char *path)
{
    char text[4096];
    if (!doctor_read(host, path, text, sizeof(text)))
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    return arena_strdup(host->arena, text);
}

int64_t doctor_number(const struct doctor_host *host, const char *path)
{
    const char *line = doctor_line(host, path);
    return line && isdigit((unsigned char)*line) ? strtoll(line, NULL, 10) : -1;
}

bool doctor_group(const struct doctor_host *host, int version, const char *controller, struct control_group *group)
{
    char *mountinfo = arena_new_array(host->arena, char, TABLE_BYTES), own[FILE_BYTES];
    return doctor_read(host, "/proc/self/mountinfo", mountinfo, TABLE_BYTES) &&
           doctor_read(host, "/proc/self/cgroup", own, sizeof(own)) &&
           control_group_parse(mountinfo, own, version, controller, group);
}

void doctor_answer(struct doctor_finding *finding, bool good, const char *found, const char *remedy)
{
    finding->state = good ? DOCTOR_YES : DOCTOR_NO;
    finding->found = found;
    finding->remedy = good ? NULL : remedy;
}

void doctor_count(struct doctor_finding *finding, const char *name, double value)
{
    finding->numbers[finding->number_count].name = name;
    finding->numbers[finding->number_count++].value = value;
}
