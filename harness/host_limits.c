/* host_limits.c: one row a limit: what is needed of it, and the sentence where it is too low; see host_limits.h. */
#include "harness/host_limits.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"

enum { NODES_MOST = 100000 };

static const struct limit_row {
    size_t needed;            /* offset into struct host_demand */
    const char *noun, *limit; /* the limit as its users call it; of a control group, its file stands behind it */
    const char *remedy;       /* ends with the number, where `number` */
    enum { NO_NUMBER, NUMBER, NUMBER_TWICE } number;
    bool bytes, processes;
} rows[LIMIT_COUNT] = {
#define NEEDS(member) offsetof(struct host_demand, member)
#define NAMESPACES(member, name, kind)                                                                                             \
    {                                                                                                                              \
        NEEDS(member), name " namespaces", "user.max_" kind "_namespaces",                                                         \
            "raise it, as root: sysctl -w user.max_" kind "_namespaces=", NUMBER                                                   \
    }
    [LIMIT_FILES] = {NEEDS(files), "open files", "RLIMIT_NOFILE, the hard limit",
                     "raise it: sudo prlimit --pid $$ --nofile=", NUMBER_TWICE},
    [LIMIT_USER_PROCESSES] = {NEEDS(processes), "processes and threads", "RLIMIT_NPROC, of all that this user runs",
                              "raise it: sudo prlimit --pid $$ --nproc=", NUMBER_TWICE, .processes = true},
    [LIMIT_CGROUP_PROCESSES] = {NEEDS(processes), "processes and threads", "this control group's ", "raise it, as root: echo ",
                                NUMBER, .processes = true},
    [LIMIT_PID_MAX] = {NEEDS(processes), "process numbers", "kernel.pid_max",
                       "raise it, as root: sysctl -w kernel.pid_max=", NUMBER, .processes = true},
    [LIMIT_THREADS_MAX] = {NEEDS(processes), "processes and threads", "kernel.threads-max",
                           "raise it, as root: sysctl -w kernel.threads-max=", NUMBER, .processes = true},
    [LIMIT_NETWORK_NAMESPACES] = NAMESPACES(network_namespaces, "network", "net"),
    [LIMIT_UTS_NAMESPACES] = NAMESPACES(uts_namespaces, "UTS", "uts"),
    [LIMIT_PID_NAMESPACES] = NAMESPACES(other_namespaces, "PID", "pid"),
    [LIMIT_MOUNT_NAMESPACES] = NAMESPACES(other_namespaces, "mount", "mnt"),
    [LIMIT_IPC_NAMESPACES] = NAMESPACES(other_namespaces, "IPC", "ipc"),
    [LIMIT_USER_NAMESPACES] = NAMESPACES(user_namespaces, "user", "user"),
    [LIMIT_MAPPINGS] = {NEEDS(relay_mappings), "memory areas in the relay", "vm.max_map_count",
                        "raise it, as root: sysctl -w vm.max_map_count=", NUMBER},
    [LIMIT_FLIGHT] = {NEEDS(flight_bytes), "for packets in flight, at worst", "half of this host's memory",
                      "lower a rate or a delay, or use fewer links", .bytes = true},
    [LIMIT_MEMORY] = {NEEDS(memory_bytes), "of memory", "MemAvailable of this host",
                      "use fewer nodes or a smaller model, or end other programs", .bytes = true},
    [LIMIT_CGROUP_MEMORY] = {NEEDS(memory_bytes), "of memory", "this control group's ", "raise it, as root: echo ", NUMBER,
                             .bytes = true},
};

static uint64_t needed_of(const struct host_demand *demand, const struct limit_row *row)
{
    return *(const uint64_t *)((const char *)demand + row->needed);
}

static bool enough(const struct host_limits *limits, int kind, uint64_t needed)
{
    uint64_t allowed = limits->of[kind].allowed, used = limits->of[kind].used;
    return needed == 0 || allowed == UINT64_MAX || (used <= allowed && needed <= allowed - used);
}

/* The next power of two: what does for the next try, too. */
static uint64_t round_number(uint64_t least)
{
    uint64_t number = 64;
    while (number < least && number < UINT64_C(1) << 62)
        number *= 2;
    return number;
}

static void add_amount(const struct limit_row *row, uint64_t value, struct text *out)
{
    char text[UNITS_TEXT_BYTES];
    if (row->bytes)
        text_add(out, units_show_size(text, sizeof(text), (double)value));
    else
        text_printf(out, "%" PRIu64, value);
}

/* "20 nodes need 124 open files in one process (the relay), but only 64 are allowed (RLIMIT_NOFILE ...); raise it: ..." */
static int refuse(const struct host_limits *limits, int kind, const struct host_demand *demand, struct err *err)
{
    const struct limit_row *row = &rows[kind];
    uint64_t needed = needed_of(demand, row), used = limits->of[kind].used;
    const char *where = limits->of[kind].where;
    cleanup(text_free) struct text out = {0};
    text_printf(&out, demand->nodes == 1 ? "%d node needs %s" : "%d nodes need %s", demand->nodes, row->bytes ? "about " : "");
    add_amount(row, needed, &out);
    text_printf(&out, " %s", row->noun);
    if (kind == LIMIT_FILES)
        text_printf(&out, " in one process (%s)", demand->files_of);
    text_add(&out, used > 0 ? ", but of " : ", but only ");
    add_amount(row, limits->of[kind].allowed, &out);
    if (used > 0) {
        text_add(&out, " allowed ");
        add_amount(row, used, &out);
        text_add(&out, used == 1 && !row->bytes ? " is taken" : " are taken");
    } else {
        text_add(&out, row->bytes ? " are there" : " are allowed");
    }
    text_printf(&out, " (%s%s); %s", row->limit, where, row->remedy);
    if (row->number != NO_NUMBER)
        text_printf(&out, "%" PRIu64, round_number(needed + used));
    if (row->number == NUMBER_TWICE)
        text_printf(&out, ":%" PRIu64, round_number(needed + used));
    if (where[0])
        text_printf(&out, " > %s", where);
    return err_set(err, ERR_HOST, "%s", out.bytes);
}

static int check(const struct host_limits *limits, const struct host_demand *demand, bool processes_only, struct err *err)
{
    for (int kind = 0; kind < LIMIT_COUNT; kind++)
        if ((rows[kind].processes || !processes_only) && !enough(limits, kind, needed_of(demand, &rows[kind])))
            return refuse(limits, kind, demand, err);
    return 0;
}

int host_limits_check(const struct host_limits *limits, const struct host_demand *demand, struct err *err)
{
    return check(limits, demand, false, err);
}

int host_limits_check_processes(const struct host_limits *limits, const struct host_demand *demand, struct err *err)
{
    return check(limits, demand, true, err);
}

int host_limits_nodes(const struct host_limits *limits, struct err *next)
{
    int good = 0, bad = NODES_MOST + 1;
    *next = (struct err){0};
    while (bad - good > 1) {
        int middle = good + (bad - good) / 2;
        struct host_demand demand;
        struct err err;
        host_demand_of_star(middle, &demand);
        if (check(limits, &demand, false, &err) == 0) {
            good = middle;
        } else {
            bad = middle;
            *next = err;
        }
    }
    return good;
}
