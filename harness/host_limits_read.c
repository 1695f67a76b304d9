/* host_limits_read.c: the host's limits out of the kernel: resource limits, /proc, and the control groups that this process is in,
 * of both versions. What cannot be read is no limit: the attempt then tells. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "harness/control_group.h"
#include "harness/host_limits.h"

enum { LINE_BYTES = 4096 + PATH_MAX };
#define UNLIMITED UINT64_MAX
#define PRACTICALLY_UNLIMITED (UINT64_C(1) << 62) /* version 1 writes the largest multiple of a page */

/* ---- single files ---- */

/* The number behind `key` at the start of a line ("" for the first line); UNLIMITED where there is none. */
static uint64_t read_number(const char *path, const char *key)
{
    cleanup(close_file) FILE *file = fopen(path, "re");
    char line[LINE_BYTES];
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *digits = line + strlen(key);
        digits += strspn(digits, " \t:");
        return isdigit((unsigned char)*digits) ? strtoull(digits, NULL, 10) : UNLIMITED;
    }
    return UNLIMITED;
}

static uint64_t read_kilobytes(const char *path, const char *key)
{
    uint64_t found = read_number(path, key);
    return found == UNLIMITED ? UNLIMITED : found << 10;
}

/* ---- processes ---- */

/* Every thread counts for its user's real ID, wherever it runs. */
static uint64_t threads_of_user(uid_t user)
{
    uint64_t threads = 0;
    DIR *folder = opendir("/proc");
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[NAME_MAX + 32];
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
        uint64_t count = read_number(path, "Uid:") == user ? read_number(path, "Threads:") : 0;
        threads += count == UNLIMITED ? 0 : count;
    }
    if (folder)
        closedir(folder);
    return threads;
}

/* "0.5 0.6 0.7 2/143 4711": of 143. */
static uint64_t threads_of_host(void)
{
    cleanup(close_fd) int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    char line[128] = "";
    ssize_t length = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
    line[length > 0 ? length : 0] = '\0';
    const char *slash = strchr(line, '/');
    return slash ? strtoull(slash + 1, NULL, 10) : 0;
}

static uint64_t resource_limit(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_max != RLIM_INFINITY ? limit.rlim_max : UNLIMITED;
}

/* ---- control groups ---- */

static const struct controller {
    enum host_limit_kind kind;
    const char *name;
    struct { /* by version - 1 */
        const char *limit, *used, *statistics, *reclaimable;
    } files[2];
} controllers[] = {
    {LIMIT_CGROUP_PROCESSES, "pids", {{"pids.max", "pids.current", NULL, NULL}, {"pids.max", "pids.current", NULL, NULL}}},
    {LIMIT_CGROUP_MEMORY,
     "memory",
     {{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "total_inactive_file"},
      {"memory.max", "memory.current", "memory.stat", "inactive_file"}}},
};

static uint64_t number_in(const char *folder, const char *name, const char *key)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return read_number(path, key);
}

/* Takes the group's limit over where it leaves less than what is known. */
static void look_at_group(const struct controller *controller, int version, const char *folder, struct host_limits *limits)
{
    uint64_t allowed = number_in(folder, controller->files[version - 1].limit, "");
    uint64_t used = number_in(folder, controller->files[version - 1].used, "");
    if (allowed >= PRACTICALLY_UNLIMITED || used == UNLIMITED)
        return;
    if (controller->files[version - 1].statistics) {
        uint64_t reclaimable =
            number_in(folder, controller->files[version - 1].statistics, controller->files[version - 1].reclaimable);
        used -= reclaimable < used ? reclaimable : 0;
    }
    uint64_t known_allowed = limits->of[controller->kind].allowed, known_used = limits->of[controller->kind].used;
    uint64_t left = allowed > used ? allowed - used : 0, known_left = known_allowed > known_used ? known_allowed - known_used : 0;
    char where[PATH_MAX + 64];
    int length = snprintf(where, sizeof(where), "%s/%s", folder, controller->files[version - 1].limit);
    if ((known_allowed != UNLIMITED && left >= known_left) || length < 0 ||
        (size_t)length >= sizeof(limits->of[controller->kind].where))
        return;
    limits->of[controller->kind].allowed = allowed;
    limits->of[controller->kind].used = used;
    memcpy(limits->of[controller->kind].where, where, (size_t)length + 1);
}

/* Every group from this process's own up to the mount's root may have a limit. */
static void look_at_groups(const struct controller *controller, int version, struct host_limits *limits)
{
    struct control_group group;
    char folder[PATH_MAX];
    if (!control_group_find(version, controller->name, &group))
        return;
    bool own = group.folder[0] && access(group.folder, F_OK) == 0; /* otherwise a container sees another part of the tree */
    memcpy(folder, own ? group.folder : group.mount, sizeof(folder));
    for (size_t length = strlen(folder); length >= strlen(group.mount); length = strlen(folder)) {
        look_at_group(controller, version, folder, limits);
        char *slash = strrchr(folder, '/');
        if (!slash || length == strlen(group.mount))
            break;
        *slash = '\0';
    }
}

static void raise_soft_limit(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

void host_limits_raise(void)
{
    raise_soft_limit(RLIMIT_NOFILE);
    raise_soft_limit(RLIMIT_NPROC);
}

/* ---- all of them ---- */

void host_limits_read(struct host_limits *limits)
{
    static const struct {
        enum host_limit_kind kind;
        const char *path;
    } files[] = {
        {LIMIT_PID_MAX, "/proc/sys/kernel/pid_max"},
        {LIMIT_THREADS_MAX, "/proc/sys/kernel/threads-max"},
        {LIMIT_NETWORK_NAMESPACES, "/proc/sys/user/max_net_namespaces"},
        {LIMIT_UTS_NAMESPACES, "/proc/sys/user/max_uts_namespaces"},
        {LIMIT_PID_NAMESPACES, "/proc/sys/user/max_pid_namespaces"},
        {LIMIT_MOUNT_NAMESPACES, "/proc/sys/user/max_mnt_namespaces"},
        {LIMIT_IPC_NAMESPACES, "/proc/sys/user/max_ipc_namespaces"},
        {LIMIT_USER_NAMESPACES, "/proc/sys/user/max_user_namespaces"},
        {LIMIT_MAPPINGS, "/proc/sys/vm/max_map_count"},
    };
    memset(limits, 0, sizeof(*limits));
    for (int kind = 0; kind < LIMIT_COUNT; kind++)
        limits->of[kind].allowed = UNLIMITED;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        limits->of[files[i].kind].allowed = read_number(files[i].path, "");
    limits->of[LIMIT_FILES].allowed = resource_limit(RLIMIT_NOFILE);
    uid_t user = getuid();
    uint64_t most = resource_limit(RLIMIT_NPROC);
    if (user != 0 && most != UNLIMITED) { /* the kernel exempts root */
        limits->of[LIMIT_USER_PROCESSES].allowed = most;
        limits->of[LIMIT_USER_PROCESSES].used = threads_of_user(user);
    }
    limits->of[LIMIT_PID_MAX].used = limits->of[LIMIT_THREADS_MAX].used = threads_of_host();
    limits->of[LIMIT_MEMORY].allowed = read_kilobytes("/proc/meminfo", "MemAvailable");
    uint64_t total = read_kilobytes("/proc/meminfo", "MemTotal");
    limits->of[LIMIT_FLIGHT].allowed = total == UNLIMITED ? UNLIMITED : total / 2;
    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
        for (int version = 1; version <= 2; version++)
            look_at_groups(&controllers[i], version, limits);
}
