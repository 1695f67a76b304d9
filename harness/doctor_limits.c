/* doctor_limits.c: how much of the host laggard may take: open files, locked memory, control groups, and for how many nodes that is
 * enough. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/cpu_limit.h"
#include "harness/doctor_internal.h"
#include "harness/host_limits.h"

/* Of packets under way: 64 nodes, both directions of each link at 100 Mbit/s for 10 ms. */
enum { LOCKED_BYTES = 16 << 20 };

static bool is_below(uint64_t limit, uint64_t needed)
{
    return limit != RLIM_INFINITY && limit < needed;
}

void doctor_files(const struct doctor_host *host, struct doctor_finding *finding)
{
    struct host_demand demand;
    struct rlimit limit;
    host_demand_of_star(USUAL_NODES, &demand);
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    const char *found = limit.rlim_max == RLIM_INFINITY
                            ? "no limit"
                            : arena_printf(host->arena, "%" PRIu64 " are allowed; %d nodes need %" PRIu64, (uint64_t)limit.rlim_max,
                                           USUAL_NODES, demand.files);
    doctor_answer(finding, !is_below(limit.rlim_max, demand.files), found, "sudo prlimit --pid $$ --nofile=32768:32768");
}

void doctor_memlock(const struct doctor_host *host, struct doctor_finding *finding)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
        return;
    const char *found = host->fabric.root ? "root has no limit"
                        : limit.rlim_cur == RLIM_INFINITY
                            ? "no limit"
                            : arena_printf(host->arena, "%" PRIu64 " KiB", (uint64_t)limit.rlim_cur >> 10);
    doctor_answer(finding, host->fabric.root || !is_below(limit.rlim_cur, LOCKED_BYTES), found,
                  arena_printf(host->arena, "sudo prlimit --pid $$ --memlock=%d:%d", LOCKED_BYTES, LOCKED_BYTES));
}

void doctor_room(const struct doctor_host *host, struct doctor_finding *finding)
{
    struct host_limits limits;
    struct err next = {0};
    host_limits_raise();
    host_limits_read(&limits);
    int nodes = host_limits_nodes(&limits, &next);
    doctor_answer(
        finding, nodes > 1,
        arena_printf(host->arena, "for %d node%s with small gradients in a star of delayed links", nodes, units_plural(nodes)),
        NULL);
    if (next.kind)
        finding->remedy = arena_printf(host->arena, "More find no room: %s", next.text);
    doctor_count(finding, "nodes", nodes);
}

static void look_at_hierarchy(const struct doctor_host *host, int version, const char *controller, struct text *found,
                              bool *writable)
{
    struct control_group group;
    if (!doctor_group(host, version, controller, &group))
        return;
    const char *folder = group.folder[0] ? group.folder : group.mount;
    const char *names = version == 2 ? doctor_line(host, arena_printf(host->arena, "%s/cgroup.controllers", folder)) : controller;
    bool may = access(doctor_path(host, folder), W_OK) == 0;
    text_printf(found, "%sv%d %s (%s, %s)", found->length ? "; " : "", version, folder,
                names && names[0] ? names : "no controllers", may ? "writable" : "read only");
    *writable |= may;
}

void doctor_cgroups(const struct doctor_host *host, struct doctor_finding *finding)
{
    static const char *const controllers[] = {"cpu", "memory", "pids"};
    if (!doctor_line(host, "/proc/self/cgroup"))
        return;
    struct text found = {0};
    bool writable = false;
    look_at_hierarchy(host, 2, "cpu", &found, &writable);
    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
        look_at_hierarchy(host, 1, controllers[i], &found, &writable);
    doctor_answer(finding, writable, found.length ? arena_strdup(host->arena, found.bytes) : "none is mounted",
                  "systemd-run --user --scope -p Delegate=yes laggard run FILE, or run laggard as root");
    text_free(&found);
}

void doctor_cpu_limits(const struct doctor_host *host, struct doctor_finding *finding)
{
    struct err err = {0};
    struct cpu_limiter *limiter = NULL;
    bool able = cpu_limiter_open(&limiter, &err) == 0;
    doctor_answer(finding, able, able ? arena_strdup(host->arena, cpu_limiter_where(limiter)) : NULL,
                  able ? NULL : arena_strdup(host->arena, err.text));
    cpu_limiter_close(limiter);
}
