/* cpu_limit.c: groups with quotas; see cpu_limit.h. What differs between the two versions of control groups is a row of one
 * table. */
#include "harness/cpu_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "harness/control_group.h"
#include "harness/cpu_limit_internal.h"

enum { CLEAR_PATIENCE_MS = 2000, WHERE_BYTES = PATH_MAX + 32, FILE_BYTES = 1024, REASON_BYTES = 400 };

struct cpu_limiter {
    const struct version *version;
    struct cpu_folder folder;
    pid_t watcher;
    int pipe_fd; /* its closing sets the watcher to work */
    char where[WHERE_BYTES];
};

struct quota {
    int64_t quota_us, period_us;
};

/* ---- files of groups ---- */

static int read_file(int folder_fd, const char *file, char text[FILE_BYTES])
{
    cleanup(close_fd) int fd = openat(folder_fd, file, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, FILE_BYTES - 1) : -1;
    if (length < 0)
        return -errno;
    text[length] = '\0';
    return 0;
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || strchr(" \n", at[-1])) && strchr(" \n", at[length]))
            return true;
    return false;
}

/* The number behind `key` in lines of "key number". */
static int64_t value_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return strtoll(line + length, NULL, 10);
    return -1;
}

/* ---- versions ---- */

/* Threaded groups may be below a group that has processes itself, as ours has; domains may not. */
static int prepare_unified(struct cpu_folder *folder, char why[REASON_BYTES])
{
    char before[FILE_BYTES] = "";
    (void)read_file(folder->own_fd, "cgroup.subtree_control", before);
    int code = cpu_folder_write(folder->fd, "cgroup.type", "threaded");
    if (code < 0)
        snprintf(why, REASON_BYTES, "groups below this process's own cannot be threaded: %s", strerror(-code));
    if (code == 0 && !has_word(before, "cpu")) {
        code = cpu_folder_write(folder->own_fd, "cgroup.subtree_control", "+cpu");
        folder->enabled = code == 0;
    }
    if (code == 0)
        code = cpu_folder_write(folder->fd, "cgroup.subtree_control", "+cpu");
    if (code < 0 && !why[0])
        snprintf(why, REASON_BYTES, "the cpu controller cannot be enabled below this process's own group: %s", strerror(-code));
    return code;
}

static int set_unified(int group_fd, const struct quota *quota)
{
    char text[64];
    snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, quota->quota_us, quota->period_us);
    int code = cpu_folder_write(group_fd, "cgroup.type", "threaded");
    return code == 0 ? cpu_folder_write(group_fd, "cpu.max", text) : code;
}

static int read_unified(int group_fd, struct quota *quota)
{
    char text[FILE_BYTES];
    int code = read_file(group_fd, "cpu.max", text);
    if (code == 0 && sscanf(text, "%" SCNd64 " %" SCNd64, &quota->quota_us, &quota->period_us) != 2)
        code = -EIO;
    return code;
}

static int prepare_nothing(struct cpu_folder *folder, char why[REASON_BYTES])
{
    (void)folder;
    (void)why;
    return 0;
}

static int set_first(int group_fd, const struct quota *quota)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, quota->period_us);
    int code = cpu_folder_write(group_fd, "cpu.cfs_period_us", text);
    snprintf(text, sizeof(text), "%" PRId64, quota->quota_us);
    return code == 0 ? cpu_folder_write(group_fd, "cpu.cfs_quota_us", text) : code;
}

static int read_first(int group_fd, struct quota *quota)
{
    char text[FILE_BYTES];
    int code = read_file(group_fd, "cpu.cfs_quota_us", text);
    quota->quota_us = code == 0 ? strtoll(text, NULL, 10) : 0;
    if (code == 0)
        code = read_file(group_fd, "cpu.cfs_period_us", text);
    quota->period_us = code == 0 ? strtoll(text, NULL, 10) : 0;
    return code;
}

static const struct version {
    int number;
    const char *name;
    int (*prepare)(struct cpu_folder *folder, char why[REASON_BYTES]); /* the folder, so that its groups have quotas */
    int (*set)(int group_fd, const struct quota *quota);
    int (*read)(int group_fd, struct quota *quota);
    const char *throttled_key; /* in cpu.stat */
    int64_t throttled_unit_ns;
} versions[] = {
    {2, "cgroup v2", prepare_unified, set_unified, read_unified, "throttled_usec", NS_PER_US},
    {1, "cgroup v1", prepare_nothing, set_first, read_first, "throttled_time", 1},
};
enum { VERSION_COUNT = sizeof(versions) / sizeof(versions[0]) };

/* ---- groups ---- */

static void name_group(int node, char name[CPU_FOLDER_BYTES])
{
    snprintf(name, CPU_FOLDER_BYTES, CPU_GROUP_PREFIX "%d", node);
}

static int open_group(const struct cpu_limiter *limiter, int node)
{
    char name[CPU_FOLDER_BYTES];
    name_group(node, name);
    return openat(limiter->folder.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* 0, or a negative errno; ERANGE: the kernel has set something else. */
static int make_group(const struct cpu_limiter *limiter, int node, const struct quota *quota, struct quota *found, int *group_fd)
{
    char name[CPU_FOLDER_BYTES];
    name_group(node, name);
    if (mkdirat(limiter->folder.fd, name, 0755) < 0 && errno != EEXIST) /* one that was not empty in time is used again */
        return -errno;
    cleanup(close_fd) int fd = open_group(limiter, node);
    if (fd < 0)
        return -errno;
    int code = limiter->version->set(fd, quota);
    if (code == 0)
        code = limiter->version->read(fd, found);
    if (code == 0 && (found->quota_us != quota->quota_us || found->period_us != quota->period_us))
        code = -ERANGE;
    if (code == 0)
        *group_fd = steal_fd(&fd);
    return code;
}

int cpu_limiter_add(struct cpu_limiter *limiter, int node, const struct cpu_limit *limit, int *processes_fd, struct err *err)
{
    struct quota found = {0}, quota = {.period_us = limit->period_ns / NS_PER_US};
    quota.quota_us = llround(limit->processors * (double)quota.period_us);
    cleanup(close_fd) int group_fd = -1;
    int code = make_group(limiter, node, &quota, &found, &group_fd);
    if (code == -ERANGE)
        return err_set(err, ERR_HOST,
                       "a limit of %" PRId64 " us in each %" PRId64 " us was asked for, but the kernel set %" PRId64 " in %" PRId64,
                       quota.quota_us, quota.period_us, found.quota_us, found.period_us);
    if (code == -EINVAL)
        return err_set(err, ERR_HOST,
                       "the kernel refused a limit of %g processors in periods of %" PRId64
                       " us (%s): is there a lower one on a control group above?",
                       limit->processors, quota.period_us, limiter->where);
    int fd = code == 0 ? openat(group_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return err_set_errno(err, ERR_HOST, code < 0 ? -code : errno,
                             "cannot make a control group with a limit of %g processors (%s)", limit->processors, limiter->where);
    *processes_fd = fd;
    return 0;
}

int cpu_limiter_try(struct cpu_limiter *limiter, const struct cpu_limit_list *limits, struct err *err)
{
    int code = 0;
    for (int i = 0; i < limits->count && code == 0; i++) {
        cleanup(close_fd) int fd = -1;
        code = cpu_limiter_add(limiter, 0, &limits->limits[i].limit, &fd, err);
    }
    cpu_limiter_clear(limiter);
    return code;
}

int cpu_limiter_usage(const struct cpu_limiter *limiter, int node, struct cpu_usage *usage, struct err *err)
{
    char text[FILE_BYTES] = "";
    cleanup(close_fd) int fd = open_group(limiter, node);
    int code = fd >= 0 ? read_file(fd, "cpu.stat", text) : -errno;
    if (code < 0)
        return err_set_errno(err, ERR_HOST, -code, "cannot read what a control group used (%s)", limiter->where);
    int64_t periods = value_of(text, "nr_periods"), throttled = value_of(text, "nr_throttled"),
            time = value_of(text, limiter->version->throttled_key);
    if (periods < 0 || throttled < 0 || time < 0)
        return err_set(err, ERR_HOST, "a control group's cpu.stat lacks what was throttled (%s)", limiter->where);
    *usage = (struct cpu_usage){.period_count = (uint64_t)periods,
                                .throttled_count = (uint64_t)throttled,
                                .throttled_ns = time * limiter->version->throttled_unit_ns};
    return 0;
}

void cpu_limiter_clear(struct cpu_limiter *limiter)
{
    int code = cpu_folder_await_clear(&limiter->folder, false, CLEAR_PATIENCE_MS);
    if (code < 0)
        log_debug("control groups are left for now: %s", strerror(-code));
}

/* ---- life ---- */

static void discard_folder(struct cpu_limiter *limiter)
{
    if (limiter->folder.fd >= 0)
        (void)cpu_folder_await_clear(&limiter->folder, true, CLEAR_PATIENCE_MS);
    cpu_folder_disable(&limiter->folder);
    close_fd(&limiter->folder.fd);
    close_fd(&limiter->folder.own_fd);
}

/* Makes the folder, and a group in it. 0, or a negative errno with the reason in `why`. */
static int try_group(struct cpu_limiter *limiter, char why[REASON_BYTES])
{
    static const struct quota tried = {.quota_us = 1000, .period_us = 10000};
    struct quota found;
    cleanup(close_fd) int group_fd = -1;
    int code = cpu_folder_make(&limiter->folder);
    if (code < 0)
        snprintf(why, REASON_BYTES, "no group can be made in this process's own: %s", strerror(-code));
    if (code == 0)
        code = limiter->version->prepare(&limiter->folder, why);
    if (code == 0)
        code = make_group(limiter, 0, &tried, &found, &group_fd);
    if (code < 0 && !why[0])
        snprintf(why, REASON_BYTES, "a group has no limit of processors that can be set: %s", strerror(-code));
    return code;
}

static bool try_version(struct cpu_limiter *limiter, const struct version *version, char why[REASON_BYTES])
{
    struct control_group group;
    char controllers[FILE_BYTES];
    if (!control_group_find(version->number, "cpu", &group)) {
        snprintf(why, REASON_BYTES, "not mounted");
        return false;
    }
    snprintf(limiter->where, sizeof(limiter->where), "%s, %s", version->name, group.folder);
    limiter->version = version;
    limiter->folder = (struct cpu_folder){.own_fd = -1, .fd = -1};
    if (group.folder[0])
        limiter->folder.own_fd = open(group.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (limiter->folder.own_fd < 0) {
        snprintf(why, REASON_BYTES, "this process's own group cannot be seen below %.200s", group.mount);
        return false;
    }
    if (version->number == 2 &&
        (read_file(limiter->folder.own_fd, "cgroup.controllers", controllers) < 0 || !has_word(controllers, "cpu"))) {
        snprintf(why, REASON_BYTES, "%.200s has no cpu controller", group.folder);
        discard_folder(limiter);
        return false;
    }
    cpu_folder_remove_stale(limiter->folder.own_fd);
    bool good = try_group(limiter, why) == 0;
    if (good)
        cpu_limiter_clear(limiter);
    else
        discard_folder(limiter);
    return good;
}

int cpu_limiter_open(struct cpu_limiter **limiter, struct err *err)
{
    struct cpu_limiter *made = calloc(1, sizeof(*made));
    if (!made)
        return err_set_errno(err, ERR_HOST, ENOMEM, "limiting processors");
    made->pipe_fd = -1;
    char why[VERSION_COUNT][REASON_BYTES] = {0};
    bool good = false;
    for (int v = 0; v < VERSION_COUNT && !good; v++)
        good = try_version(made, &versions[v], why[v]);
    if (!good) {
        free(made);
        return err_set(err, ERR_HOST,
                       "processors cannot be limited here (%s: %s; %s: %s): run as root, or, under systemd, in a group of its own: "
                       "systemd-run --user --scope -p Delegate=yes laggard ...",
                       versions[0].name, why[0], versions[1].name, why[1]);
    }
    if (cpu_watcher_start(&made->folder, &made->watcher, &made->pipe_fd, err) < 0) {
        discard_folder(made);
        free(made);
        return -ERR_HOST;
    }
    *limiter = made;
    return 0;
}

void cpu_limiter_close(struct cpu_limiter *limiter)
{
    if (!limiter)
        return;
    discard_folder(limiter);
    close_fd(&limiter->pipe_fd);
    while (waitpid(limiter->watcher, NULL, 0) < 0 && errno == EINTR)
        ;
    free(limiter);
}

const char *cpu_limiter_where(const struct cpu_limiter *limiter)
{
    return limiter->where;
}
