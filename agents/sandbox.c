/* sandbox.c: drops capabilities (libcap-ng) and filters system calls (libseccomp); sandbox_reach.c does the rest.
 *
 * An agent parses bytes from peers. What it may still do when that parser goes wrong: use the descriptors it has, connect over
 * TCP and IPv4, take memory that is not executable, and end. It can open no file, start no program, signal no process but itself
 * and reach no other address family.
 *
 * A call that is not on the list ends the process. Refusing it (EPERM) would be kinder to a library that tries and goes on, but
 * no agent of ours makes such a call, so whoever makes one is no longer our agent: it shall not get a second try, and the
 * controller hears of it (SIGSYS). There is one exception, newfstatat: standard I/O asks for the block size of standard error
 * before it prints an assertion, and does without. */
#include "agents/sandbox.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

/* What a process that is only forked from has done for its forks. */
static struct sock_fprog prepared_filter;
static bool bounds_lowered;

int sandbox_drop_privileges(struct err *err)
{
    capng_select_t what = CAPNG_SELECT_CAPS;
    capng_clear(CAPNG_SELECT_BOTH);
    /* The bounding set can only be lowered with CAP_SETPCAP; without it, no_new_privs keeps it from mattering. */
    if (!bounds_lowered && capng_get_caps_process() == 0 && capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
        what = CAPNG_SELECT_BOTH;
    capng_clear(CAPNG_SELECT_BOTH);
    int result = capng_apply(what);
    if (result < 0)
        return err_set(err, ERR_HOST, "the agent cannot drop its capabilities (libcap-ng code %d)", result);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set_errno(err, ERR_HOST, errno, "the agent cannot renounce new privileges");
    return 0;
}

/* Always allowed, whatever the arguments. */
static const int allowed_calls[] = {
    /* messages and control */
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(accept4),
    SCMP_SYS(connect),
    SCMP_SYS(close),
    /* waiting */
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(timerfd_settime),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(restart_syscall),
    /* memory, counters */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(mbind), /* OpenBLAS, the first time that it takes memory for a large product */
    SCMP_SYS(getrusage),
    SCMP_SYS(getrandom),
    /* ending, also by an assertion */
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(getpid),
    SCMP_SYS(rseq),
    SCMP_SYS(set_robust_list), /* a thread that starts registers itself */
    SCMP_SYS(gettid),
    SCMP_SYS(fstat),
    SCMP_SYS(lseek),
};

/* What the run-time libraries of instrumented builds need to print a report, look for leaks, or write their counts. */
static const int instrumented_calls[] = {
    SCMP_SYS(openat),
    SCMP_SYS(open),
    SCMP_SYS(readlink),
    SCMP_SYS(fcntl),
    SCMP_SYS(getdents64),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(clone),
    SCMP_SYS(ptrace),
    SCMP_SYS(wait4),
    SCMP_SYS(prctl),
    SCMP_SYS(mprotect),
    SCMP_SYS(mmap),
    SCMP_SYS(ioctl),
    SCMP_SYS(mkdir),
    SCMP_SYS(ftruncate),
    SCMP_SYS(getcwd),
    SCMP_SYS(prlimit64),
    SCMP_SYS(sysinfo),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(getppid),
    SCMP_SYS(uname),
    SCMP_SYS(stat),
    SCMP_SYS(access),
    SCMP_SYS(pipe2),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(kill),
    SCMP_SYS(socketpair),
    SCMP_SYS(getdents),
    SCMP_SYS(lstat),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(newfstatat),
    SCMP_SYS(setrlimit),
    SCMP_SYS(nanosleep), /* the thread sanitizer's own thread, all the time */
    SCMP_SYS(gettimeofday),
};

/* In a rule in place of the process's own number, which a fork that loads the filter puts there. No pid is that large. */
enum { OWN_PID = 0x7a5a5a5a, SOCKET_TYPE_MASK = 0xf, ARGUMENTS_MAX = 3 };

/* Allowed with these arguments alone. Messages leave and come with the flags that agents use, to and from the other end of a
 * connection: out-of-band bytes, memory lent to the kernel, and connecting by sending (MSG_FASTOPEN, which Landlock does not see
 * everywhere) are the parts of the kernel that are tried least. */
#define NO_FLAGS_BUT(flags) SCMP_CMP_MASKED_EQ, UINT32_MAX & ~(uint32_t)(flags), 0
static const struct call_rule {
    int call;
    bool plain; /* instrumented builds have it without conditions */
    unsigned count;
    struct scmp_arg_cmp arguments[ARGUMENTS_MAX];
} call_rules[] = {
    {SCMP_SYS(socket),
     false,
     3,
     {{0, SCMP_CMP_EQ, AF_INET, 0}, {1, SCMP_CMP_MASKED_EQ, SOCKET_TYPE_MASK, SOCK_STREAM}, {2, SCMP_CMP_EQ, 0, 0}}},
    {SCMP_SYS(sendto), false, 2, {{3, NO_FLAGS_BUT(MSG_NOSIGNAL | MSG_DONTWAIT)}, {4, SCMP_CMP_EQ, 0, 0}}},
    {SCMP_SYS(sendmsg), false, 1, {{2, NO_FLAGS_BUT(MSG_NOSIGNAL | MSG_DONTWAIT)}}},
    {SCMP_SYS(recvfrom), false, 2, {{3, NO_FLAGS_BUT(MSG_DONTWAIT)}, {4, SCMP_CMP_EQ, 0, 0}}},
    {SCMP_SYS(setsockopt), false, 2, {{1, SCMP_CMP_EQ, IPPROTO_TCP, 0}, {2, SCMP_CMP_EQ, TCP_NODELAY, 0}}},
    {SCMP_SYS(getsockopt), false, 2, {{1, SCMP_CMP_EQ, IPPROTO_TCP, 0}, {2, SCMP_CMP_EQ, TCP_INFO, 0}}},
    {SCMP_SYS(getsockopt), false, 2, {{1, SCMP_CMP_EQ, SOL_SOCKET, 0}, {2, SCMP_CMP_EQ, SO_ERROR, 0}}},
    /* abort() of this process, not of others with the same user */
    {SCMP_SYS(tgkill), false, 1, {{0, SCMP_CMP_EQ, OWN_PID, 0}}},
    /* memory that is written or executed, never both in turn */
    {SCMP_SYS(mmap), true, 1, {{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0}}},
    {SCMP_SYS(mprotect), true, 1, {{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0}}},
};

/* Present only in programs built with -fsanitize=address, -fsanitize=undefined, -fsanitize=thread or --coverage. */
extern void __asan_init(void) __attribute__((weak));
extern void __ubsan_handle_type_mismatch_v1(void *, void *) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __gcov_init(void) __attribute__((weak));

bool sandbox_instrumented(void)
{
    return __asan_init || __ubsan_handle_type_mismatch_v1 || __tsan_init || __gcov_init;
}

static int allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    return result == -EEXIST ? 0 : result;
}

static int add_rules(scmp_filter_ctx filter)
{
    int result = allow(filter, allowed_calls, sizeof(allowed_calls) / sizeof(allowed_calls[0]));
    if (result == 0 && sandbox_instrumented())
        result = allow(filter, instrumented_calls, sizeof(instrumented_calls) / sizeof(instrumented_calls[0]));
    for (size_t i = 0; i < sizeof(call_rules) / sizeof(call_rules[0]) && result == 0; i++)
        if (!call_rules[i].plain || !sandbox_instrumented())
            result =
                seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call_rules[i].call, call_rules[i].count, call_rules[i].arguments);
    if (result == 0 && !sandbox_instrumented())
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(newfstatat), 0);
    return result;
}

static void release_filter(scmp_filter_ctx *filter)
{
    if (*filter)
        seccomp_release(*filter);
}

/* The program that the kernel runs at each call, from the rules. */
static int make_filter(struct sock_fprog *program, struct err *err)
{
    cleanup(release_filter) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    cleanup(close_fd) int fd = memfd_create("filter", MFD_CLOEXEC);
    if (!filter || fd < 0)
        return err_set(err, ERR_HOST, "the agent cannot set up its system call filter (no memory)");
    /* Calls of another architecture's table, 32-bit or x32, would otherwise end the thread alone. */
    int result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (result == 0)
        result = add_rules(filter);
    if (result == 0)
        result = seccomp_export_bpf(filter, fd);
    off_t bytes = result == 0 ? lseek(fd, 0, SEEK_END) : 0;
    struct sock_filter *steps = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (!steps || pread(fd, steps, (size_t)bytes, 0) != bytes) {
        free(steps);
        return err_set_errno(err, ERR_HOST, result < 0 ? -result : ENOMEM, "the agent cannot set up its system call filter");
    }
    *program = (struct sock_fprog){.len = (unsigned short)((size_t)bytes / sizeof(*steps)), .filter = steps};
    return 0;
}

static void name_own_pid(struct sock_fprog *program)
{
    for (unsigned i = 0; i < program->len; i++)
        if (program->filter[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && program->filter[i].k == OWN_PID)
            program->filter[i].k = (uint32_t)getpid();
}

int sandbox_filter(struct err *err)
{
    if (!prepared_filter.filter && make_filter(&prepared_filter, err) < 0)
        return -ERR_HOST;
    name_own_pid(&prepared_filter);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prepared_filter) != 0)
        return err_set_errno(err, ERR_HOST, errno,
                             "the agent cannot load its system call filter (the kernel needs CONFIG_SECCOMP_FILTER)");
    return 0;
}

void sandbox_prepare(void)
{
    (void)make_filter(&prepared_filter, NULL); /* a fork that has none makes its own, and tells why it cannot */
    if (capng_get_caps_process() < 0 || !capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
        return;
    capng_clear(CAPNG_SELECT_BOUNDS);
    bounds_lowered = capng_apply(CAPNG_SELECT_BOUNDS) == 0;
}
