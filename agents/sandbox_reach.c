/* sandbox_reach.c: takes the file system, other processes and the rest of the machine's resources away (Landlock, setrlimit).
 *
 * It stands behind the system call filter, not in its place: a call that the filter lets pass by mistake, or a kernel bug behind
 * one that it must let pass, still finds no file to open, no process to signal and no memory without end.
 *
 * Landlock, from the kernel's Documentation/userspace-api/landlock.rst: a ruleset names the kinds of access that it handles, and
 * whatever of these no rule allows is refused from then on, to this thread and those that it starts. Ours handles every access to
 * files that the kernel knows and has no rule for any; TCP may be connected to the trial's port alone and bound to none; signals
 * and abstract sockets reach nobody outside. What a kernel is too old for is left out: version 4 has TCP, version 6 the last two.
 *
 * Bytes on the wire: none. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agents/sandbox.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"

/* Of the kernel's interface, whose headers are often older than the kernel. */
struct ruleset {
    uint64_t files, tcp, scopes;
};
struct port_rule {
    uint64_t access, port;
};
enum {
    CREATE_RULESET = 444,
    ADD_RULE,
    RESTRICT_SELF,
    ASK_VERSION = 1,
    RULE_PORT = 2,
    TCP_BIND = 1,
    TCP_CONNECT = 2,
    SCOPE_ABSTRACT_SOCKETS = 1,
    SCOPE_SIGNALS = 2,
    FILES_MOST = 0xffff
};
static const uint64_t files_of_version[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, FILES_MOST}; /* the last one: of all later ones */
enum { VERSIONS = sizeof(files_of_version) / sizeof(files_of_version[0]), VERSION_TCP = 4, VERSION_SCOPES = 6 };

int sandbox_landlock_version(void)
{
    long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    return version > 0 ? (int)version : 0;
}

int sandbox_close_files(uint16_t port, struct err *err)
{
    int version = sandbox_landlock_version();
    if (version == 0 || sandbox_instrumented()) /* its report and its counts are files */
        return 0;
    struct ruleset wanted = {
        .files = files_of_version[version < VERSIONS ? version : VERSIONS - 1],
        .tcp = version >= VERSION_TCP ? TCP_BIND | TCP_CONNECT : 0,
        .scopes = version >= VERSION_SCOPES ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0,
    };
    struct port_rule rule = {.access = TCP_CONNECT, .port = port};
    cleanup(close_fd) int ruleset = (int)syscall(CREATE_RULESET, &wanted, sizeof(wanted), 0);
    if (ruleset < 0 || (version >= VERSION_TCP && syscall(ADD_RULE, ruleset, RULE_PORT, &rule, 0) < 0) ||
        syscall(RESTRICT_SELF, ruleset, 0) < 0)
        return err_set_errno(err, ERR_HOST, errno, "the agent cannot give up the file system (Landlock version %d)", version);
    return 0;
}

static int lower(int resource, uint64_t most, const char *what, struct err *err)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return err_set_errno(err, ERR_HOST, errno, "the agent cannot read its limit of %s", what);
    if (limit.rlim_max > most)
        limit.rlim_max = most;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) < 0)
        return err_set_errno(err, ERR_HOST, errno, "the agent cannot limit its %s", what);
    return 0;
}

/* /proc/self/statm begins with the pages of the address space. 0: unknown. */
static uint64_t address_space_bytes(void)
{
    char text[128] = "";
    uint64_t pages = 0;
    cleanup(close_fd) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return 0;
    text[strcspn(text, " ")] = '\0';
    if (units_parse_unsigned(text, 0, UINT64_MAX >> 16, &pages, NULL) < 0)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What cannot be opened anew (another user's terminal) is written to no longer, either. */
int sandbox_deafen(struct err *err)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        char path[32];
        if (!isatty(stream))
            continue;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", stream);
        cleanup(close_fd) int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
            fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (fd < 0 || dup2(fd, stream) < 0)
            return err_set_errno(err, ERR_HOST, errno, "the agent cannot give up reading the terminal (descriptor %d)", stream);
    }
    return 0;
}

int sandbox_limit(uint64_t more_descriptors, uint64_t more_bytes, struct err *err)
{
    cleanup(close_fd) int next = dup(STDERR_FILENO); /* the lowest number that is free */
    uint64_t bytes = address_space_bytes();
    if (next >= 0 && lower(RLIMIT_NOFILE, (uint64_t)next + more_descriptors, "open files", err) < 0)
        return -ERR_HOST;
    /* The run-time library of a sanitizer takes terabytes of addresses. */
    if (bytes > 0 && !sandbox_instrumented() && lower(RLIMIT_AS, bytes + more_bytes, "memory", err) < 0)
        return -ERR_HOST;
    if (!sandbox_instrumented() && lower(RLIMIT_NPROC, 0, "processes", err) < 0)
        return -ERR_HOST;
    return lower(RLIMIT_CORE, 0, "core files", err); /* which the kernel would write for it */
}
