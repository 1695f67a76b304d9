/* doctor_namespaces.c: may this user make namespaces, and if not, who forbids it: the kernel's settings, a Debian or Ubuntu switch
 * beside them, or a container's filter of system calls. The attempt itself decides (netem/probe.c); the settings explain it. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "harness/doctor_internal.h"
#include "harness/host_limits.h"

#define UNPRIVILEGED "/proc/sys/kernel/unprivileged_userns_clone"
#define APPARMOR "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
static const char remedy_most[] = "as root: sysctl -w user.max_user_namespaces=10000",
                  remedy_unprivileged[] = "as root: sysctl -w kernel.unprivileged_userns_clone=1",
                  remedy_apparmor[] = "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
                  remedy_container[] = "start the container with --security-opt seccomp=unconfined --security-opt "
                                       "apparmor=unconfined, or with --cap-add SYS_ADMIN --cap-add NET_ADMIN";

/* 0: none, 1: strict, 2: a filter; -1: not known. */
static int seccomp_mode(const struct doctor_host *host)
{
    char text[8192];
    const char *line = doctor_read(host, "/proc/self/status", text, sizeof(text)) ? strstr(text, "\nSeccomp:") : NULL;
    return line ? atoi(line + sizeof("\nSeccomp:") - 1) : -1;
}

static const char *remedy_of(const struct doctor_host *host)
{
    if (doctor_number(host, "/proc/sys/user/max_user_namespaces") == 0)
        return remedy_most;
    if (doctor_number(host, UNPRIVILEGED) == 0)
        return remedy_unprivileged;
    if (doctor_number(host, APPARMOR) > 0)
        return remedy_apparmor;
    return seccomp_mode(host) == 2 || host->user == 0 ? remedy_container : "run laggard as root";
}

void doctor_root(const struct doctor_host *host, struct doctor_finding *finding)
{
    doctor_answer(finding, host->fabric.root, NULL, NULL);
}

void doctor_namespaces(const struct doctor_host *host, struct doctor_finding *finding)
{
    bool able = host->fabric.root || host->fabric.user_namespaces;
    doctor_answer(finding, able, NULL,
                  able ? NULL : arena_printf(host->arena, "%s Remedy: %s", host->fabric.missing, remedy_of(host)));
}

void doctor_user_namespaces(const struct doctor_host *host, struct doctor_finding *finding)
{
    doctor_answer(finding, host->fabric.user_namespaces, NULL, remedy_of(host));
}

void doctor_namespace_limits(const struct doctor_host *host, struct doctor_finding *finding)
{
    static const struct {
        const char *kind;
        size_t needed; /* offset into struct host_demand */
    } kinds[] = {{"user", offsetof(struct host_demand, user_namespaces)}, {"net", offsetof(struct host_demand, network_namespaces)},
                 {"uts", offsetof(struct host_demand, uts_namespaces)},   {"pid", offsetof(struct host_demand, other_namespaces)},
                 {"mnt", offsetof(struct host_demand, other_namespaces)}, {"ipc", offsetof(struct host_demand, other_namespaces)}};
    struct host_demand demand;
    host_demand_of_star(USUAL_NODES, &demand);
    int64_t least = -1;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        int64_t allowed = doctor_number(host, arena_printf(host->arena, "/proc/sys/user/max_%s_namespaces", kinds[i].kind));
        uint64_t needed = *(const uint64_t *)((const char *)&demand + kinds[i].needed);
        if (allowed >= 0 && (uint64_t)allowed < needed) {
            doctor_answer(finding, false,
                          arena_printf(host->arena, "user.max_%s_namespaces is %" PRId64 "; %d nodes need %" PRIu64, kinds[i].kind,
                                       allowed, USUAL_NODES, needed),
                          arena_printf(host->arena, "as root: sysctl -w user.max_%s_namespaces=10000", kinds[i].kind));
            return;
        }
        if (allowed >= 0 && (least < 0 || allowed < least))
            least = allowed;
    }
    if (least >= 0)
        doctor_answer(finding, true, arena_printf(host->arena, "user.max_*_namespaces are %" PRId64 " or more", least), NULL);
}

/* A kernel without the switch does not restrict. */
static void look_at_switch(const struct doctor_host *host, const char *path, int64_t good, const char *remedy,
                           struct doctor_finding *finding)
{
    int64_t value = doctor_number(host, path);
    const char *found = value < 0 ? "this kernel has no such switch" : arena_printf(host->arena, "it is %" PRId64, value);
    doctor_answer(finding, value < 0 || value == good, found, remedy);
}

void doctor_unprivileged(const struct doctor_host *host, struct doctor_finding *finding)
{
    look_at_switch(host, UNPRIVILEGED, 1, remedy_unprivileged, finding);
}

void doctor_apparmor(const struct doctor_host *host, struct doctor_finding *finding)
{
    look_at_switch(host, APPARMOR, 0, remedy_apparmor, finding);
}

/* A filter is no fault where namespaces can be made all the same. */
void doctor_seccomp(const struct doctor_host *host, struct doctor_finding *finding)
{
    int mode = seccomp_mode(host);
    bool able = host->fabric.root || host->fabric.user_namespaces;
    if (mode >= 0)
        doctor_answer(finding, mode == 0,
                      mode == 0 ? "none"
                      : able    ? "a filter that lets namespaces be made"
                                : "a filter",
                      able ? NULL : remedy_container);
}
