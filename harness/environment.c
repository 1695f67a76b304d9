/* environment.c: host facts out of /proc and /sys; see environment.h. One row of the table a fact. */
#include "harness/environment.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/awake.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "harness/build_info.h"

static const char UNKNOWN[] = "unknown";

/* The first line of a file without its newline. */
static const char *first_line(struct arena *arena, const char *path)
{
    cleanup(close_file) FILE *file = fopen(path, "re");
    char line[4096];
    if (!file || !fgets(line, sizeof(line), file))
        return UNKNOWN;
    line[strcspn(line, "\n")] = 0;
    for (char *tab = line; (tab = strchr(tab, '\t'));)
        *tab = ' ';
    return arena_strdup(arena, line);
}

/* The value behind "key ... :" in a file of such lines. */
static const char *keyed_line(struct arena *arena, const char *path, const char *key)
{
    cleanup(close_file) FILE *file = fopen(path, "re");
    char line[4096];
    while (file && fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon)
            continue;
        char *value = colon + 1 + strspn(colon + 1, " \t");
        value[strcspn(value, "\n")] = 0;
        return arena_strdup(arena, value);
    }
    return UNKNOWN;
}

static const char *kernel_release(struct arena *arena, const char *unused)
{
    (void)unused;
    struct utsname name;
    return uname(&name) == 0 ? arena_printf(arena, "%s %s", name.sysname, name.release) : UNKNOWN;
}

static const char *machine(struct arena *arena, const char *unused)
{
    (void)unused;
    struct utsname name;
    return uname(&name) == 0 ? arena_strdup(arena, name.machine) : UNKNOWN;
}

static const char *cpu_model(struct arena *arena, const char *unused)
{
    (void)unused;
    return keyed_line(arena, "/proc/cpuinfo", "model name");
}

static const char *memory_total(struct arena *arena, const char *unused)
{
    (void)unused;
    return keyed_line(arena, "/proc/meminfo", "MemTotal");
}

static const char *cpus_online(struct arena *arena, const char *unused)
{
    (void)unused;
    return arena_printf(arena, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
}

static const char *cpus_allowed(struct arena *arena, const char *unused)
{
    (void)unused;
    return keyed_line(arena, "/proc/self/status", "Cpus_allowed_list");
}

/* While trials with `awake: true` run. */
static const char *kept_awake(struct arena *arena, const char *unused)
{
    (void)arena, (void)unused;
    return awake_possible() ? "yes" : "no";
}

static const char *cgroup(struct arena *arena, const char *unused)
{
    (void)unused;
    return first_line(arena, "/proc/self/cgroup");
}

static const char *text_fact(struct arena *arena, const char *value)
{
    return arena_strdup(arena, value);
}

static const struct fact_row {
    const char *name;
    const char *(*read)(struct arena *arena, const char *argument);
    const char *argument;
    bool affects_performance;
} rows[] = {
    {"kernel_release", kernel_release, NULL, true},
    {"kernel_command_line", first_line, "/proc/cmdline", false},
    {"machine", machine, NULL, true},
    {"cpu_model", cpu_model, NULL, true},
    {"cpus_online", cpus_online, NULL, true},
    {"cpus_allowed", cpus_allowed, NULL, true},
    {"cpu_l2_cache", first_line, "/sys/devices/system/cpu/cpu0/cache/index2/size", true},
    {"cpu_l3_cache", first_line, "/sys/devices/system/cpu/cpu0/cache/index3/size", true},
    {"cpu_governor", first_line, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", true},
    {"cpu_no_turbo", first_line, "/sys/devices/system/cpu/intel_pstate/no_turbo", true},
    {"cpu_smt", first_line, "/sys/devices/system/cpu/smt/control", true},
    {"processors_kept_awake", kept_awake, NULL, true},
    {"clocksource", first_line, "/sys/devices/system/clocksource/clocksource0/current_clocksource", true},
    {"memory_total", memory_total, NULL, true},
    {"cgroup", cgroup, NULL, false},
    {"cgroup_cpu_max", first_line, "/sys/fs/cgroup/cpu.max", true},
    {"cgroup_cpu_quota_us", first_line, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", true},
    {"cgroup_memory_max", first_line, "/sys/fs/cgroup/memory.max", false},
    {"load_average", first_line, "/proc/loadavg", false},
    {"pressure_cpu", first_line, "/proc/pressure/cpu", false},
    {"net_core_rmem_max", first_line, "/proc/sys/net/core/rmem_max", true},
    {"net_core_wmem_max", first_line, "/proc/sys/net/core/wmem_max", true},
    {"net_ipv4_tcp_rmem", first_line, "/proc/sys/net/ipv4/tcp_rmem", true},
    {"net_ipv4_tcp_wmem", first_line, "/proc/sys/net/ipv4/tcp_wmem", true},
    {"net_ipv4_tcp_mem", first_line, "/proc/sys/net/ipv4/tcp_mem", false},
    {"net_ipv4_tcp_congestion_control", first_line, "/proc/sys/net/ipv4/tcp_congestion_control", false},
    {"net_ipv4_tcp_available_congestion_control", first_line, "/proc/sys/net/ipv4/tcp_available_congestion_control", false},
    {"psched", first_line, "/proc/net/psched", true},
    {"laggard_version", text_fact, build_info_version, true},
    {"laggard_revision", text_fact, build_info_revision, false},
    {"laggard_flags", text_fact, build_info_flags, true},
    {"laggard_mode", text_fact, build_info_mode, true},
};
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]), EXTRA_FACTS = 4 };

/* A host is recognised without being named: FNV-1a over its name and machine id. */
static const char *hashed_host(struct arena *arena)
{
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    const char *id = first_line(arena, "/etc/machine-id");
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const char *parts[] = {name, "/", id};
    for (size_t p = 0; p < 3; p++)
        for (const char *c = parts[p]; *c; c++)
            hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return arena_printf(arena, "%016llx", (unsigned long long)hash);
}

void environment_collect(struct arena *arena, double message_ns, int argc, char **argv, const struct environment_fact **facts,
                         int *count)
{
    struct environment_fact *list = arena_new_array(arena, struct environment_fact, ROW_COUNT + EXTRA_FACTS);
    int n = 0;
    for (; n < ROW_COUNT; n++)
        list[n] = (struct environment_fact){rows[n].name, rows[n].read(arena, rows[n].argument), rows[n].affects_performance};
    cleanup(text_free) struct text line = {0};
    for (int i = 0; i < argc; i++)
        text_printf(&line, "%s%s", i ? " " : "", argv[i]);
    list[n++] = (struct environment_fact){"arguments", arena_strdup(arena, line.bytes ? line.bytes : ""), false};
    list[n++] = (struct environment_fact){"host_hash", hashed_host(arena), false};
    list[n++] = (struct environment_fact){"privilege", geteuid() == 0 ? "root" : "user namespace", true};
    list[n++] =
        (struct environment_fact){"message_ns", message_ns > 0 ? arena_printf(arena, "%.0f", message_ns) : "unknown", false};
    *facts = list;
    *count = n;
}
