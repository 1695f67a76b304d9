/* test_sandbox.c: what an agent gives up is gone: each forbidden system call, files, other processes, addresses, memory
 * without end. Every look is in a child process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/sandbox.h"
#include "tests/unit/skipping.h"

enum { PORT = 7000, OTHER_PORT = 7001, MEBIBYTE = 1 << 20 };

/* The status of a child that runs it. */
static int status_of(void (*look)(const void *), const void *what)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        look(what);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* ---- the filter ---- */

static const struct call {
    const char *name;
    long number, arguments[6];
    bool instrumented; /* sanitizers and coverage may make it */
} forbidden[] = {
#ifdef SYS_fork /* newer machines have only their successors */
    {"fork", SYS_fork, {0}, false},
    {"vfork", SYS_vfork, {0}, false},
    {"open", SYS_open, {0}, true},
    {"unlink", SYS_unlink, {0}, false},
    {"rename", SYS_rename, {0}, false},
    {"mkdir", SYS_mkdir, {0}, true},
    {"chmod", SYS_chmod, {0}, false},
#endif
    {"execve", SYS_execve, {0}, false},
    {"execveat", SYS_execveat, {0}, false},
    {"clone", SYS_clone, {SIGCHLD}, true},
    {"clone3", SYS_clone3, {0}, false},
    {"ptrace", SYS_ptrace, {0}, true},
    {"process_vm_readv", SYS_process_vm_readv, {0}, true},
    {"process_vm_writev", SYS_process_vm_writev, {0}, false},
    {"openat", SYS_openat, {AT_FDCWD}, true},
    {"unlinkat", SYS_unlinkat, {AT_FDCWD}, false},
    {"renameat2", SYS_renameat2, {AT_FDCWD}, false},
    {"openat2", SYS_openat2, {AT_FDCWD}, false},
    {"mount", SYS_mount, {0}, false},
    {"open_tree", SYS_open_tree, {0}, false},
    {"move_mount", SYS_move_mount, {0}, false},
    {"umount2", SYS_umount2, {0}, false},
    {"pivot_root", SYS_pivot_root, {0}, false},
    {"chroot", SYS_chroot, {0}, false},
    {"unshare", SYS_unshare, {0}, false},
    {"setns", SYS_setns, {0}, false},
    {"bpf", SYS_bpf, {0}, false},
    {"perf_event_open", SYS_perf_event_open, {0}, false},
    {"userfaultfd", SYS_userfaultfd, {0}, false},
    {"io_uring_setup", SYS_io_uring_setup, {0}, false},
    {"keyctl", SYS_keyctl, {0}, false},
    {"add_key", SYS_add_key, {0}, false},
    {"memfd_create", SYS_memfd_create, {0}, false},
    {"seccomp", SYS_seccomp, {0}, false},
    {"prctl", SYS_prctl, {PR_GET_DUMPABLE}, true},
    {"setrlimit", SYS_setrlimit, {0}, true},
    {"prlimit64", SYS_prlimit64, {0}, true},
    {"setuid", SYS_setuid, {0}, false},
    {"capset", SYS_capset, {0}, false},
    {"sched_setscheduler", SYS_sched_setscheduler, {0}, false},
    {"sethostname", SYS_sethostname, {0}, false},
    {"init_module", SYS_init_module, {0}, false},
    {"reboot", SYS_reboot, {0}, false},
    {"kill itself", SYS_kill, {0, 0}, true},
    {"tgkill process 1", SYS_tgkill, {1, 1, 0}, false},
    {"rt_sigqueueinfo", SYS_rt_sigqueueinfo, {1, 0}, false},
    {"pidfd_open", SYS_pidfd_open, {1}, false},
    {"pidfd_send_signal", SYS_pidfd_send_signal, {0}, false},
    {"bind", SYS_bind, {0}, false},
    {"listen", SYS_listen, {0}, false},
    {"a netlink socket", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}, false},
    {"a packet socket", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, false},
    {"a Unix socket", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, false},
    {"an IPv6 socket", SYS_socket, {AF_INET6, SOCK_STREAM, 0}, false},
    {"a vsock socket", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, false},
    {"a crypto socket", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, false},
    {"a raw socket", SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}, false},
    {"a UDP socket", SYS_socket, {AF_INET, SOCK_DGRAM, 0}, false},
    {"an MPTCP socket", SYS_socket, {AF_INET, SOCK_STREAM, 262}, false},
    {"out-of-band bytes", SYS_sendto, {-1, 0, 0, MSG_OOB, 0, 0}, false},
    {"connecting by sending", SYS_sendto, {-1, 0, 0, MSG_FASTOPEN | MSG_NOSIGNAL, 0, 0}, false},
    {"sending to an address", SYS_sendto, {-1, 0, 0, 0, 1, 16}, false},
    {"memory lent to the kernel", SYS_sendmsg, {-1, 0, MSG_ZEROCOPY}, false},
    {"reading out-of-band bytes", SYS_recvfrom, {-1, 0, 0, MSG_OOB, 0, 0}, false},
    {"asking for a sender", SYS_recvfrom, {-1, 0, 0, 0, 1, 1}, false},
    {"recvmsg", SYS_recvmsg, {-1, 0, 0}, false},
    {"shutdown", SYS_shutdown, {-1, SHUT_RDWR}, false},
    {"another protocol on TCP", SYS_setsockopt, {-1, IPPROTO_TCP, TCP_ULP, 0, 0}, false},
    {"a packet filter", SYS_setsockopt, {-1, SOL_SOCKET, SO_ATTACH_FILTER, 0, 0}, false},
    {"an option of IP", SYS_setsockopt, {-1, IPPROTO_IP, IP_FREEBIND, 0, 0}, false},
    {"who is at the other end", SYS_getsockopt, {-1, SOL_SOCKET, SO_PEERCRED, 0, 0}, false},
    {"memory of the socket", SYS_getsockopt, {-1, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, 0, 0}, false},
    {"memory to execute", SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}, true},
    {"memory made to execute", SYS_mprotect, {0, 4096, PROT_READ | PROT_EXEC}, true},
};

static void make_call(const void *what)
{
    const struct call *call = what;
    const long *a = call->arguments;
    if (sandbox_drop_privileges(NULL) < 0 || sandbox_filter(NULL) < 0)
        _exit(3);
    syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void a_call_that_no_agent_makes_ends_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
        if (forbidden[i].instrumented && sandbox_instrumented())
            continue;
        int status = status_of(make_call, &forbidden[i]);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("%s: status %#x where SIGSYS was due", forbidden[i].name, (unsigned)status);
    }
}

/* By a thread that is not alone: the whole agent ends. */
#ifdef __x86_64__
enum { X32 = 0x40000000, GETPID_OF_32_BITS = 20 };
static const struct call elsewhere[] = {
    {"getpid of the 32-bit table", GETPID_OF_32_BITS, {0}, false},
    {"getpid of x32", X32 + SYS_getpid, {0}, false},
    {"an x32 call that is not there", X32 + 5000, {0}, false},
};
static sem_t go;

static void *call_elsewhere(void *what)
{
    const struct call *call = what;
    long result = call->number;
    sem_wait(&go);
    if (call->number < X32)
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    else
        syscall(call->number);
    return NULL;
}

static void call_beside(const struct call *call, bool filter)
{
    pthread_t thread;
    signal(SIGSEGV, SIG_DFL); /* of kernels without a 32-bit table */
    sem_init(&go, 0, 0);
    if (pthread_create(&thread, NULL, call_elsewhere, (void *)call) != 0 || sandbox_drop_privileges(NULL) < 0 ||
        (filter && sandbox_filter(NULL) < 0))
        _exit(3);
    sem_post(&go);
    pthread_join(thread, NULL);
}

static void call_beside_freely(const void *what)
{
    call_beside(what, false);
}

static void call_beside_filtered(const void *what)
{
    call_beside(what, true);
}

static void a_call_of_another_table_ends_all_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        if (status_of(call_beside_freely, &elsewhere[i]) != 0)
            continue;
        int status = status_of(call_beside_filtered, &elsewhere[i]);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("%s: status %#x where SIGSYS was due", elsewhere[i].name, (unsigned)status);
    }
}
#else
static void a_call_of_another_table_ends_all_threads(void **state)
{
    (void)state;
    SKIP_BECAUSE("this machine's kernel has one table of calls");
}
#endif

static int exchange_a_byte(const int ends[2])
{
    char byte = 'a';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int error = 0, on = 1;
    socklen_t length = sizeof(error);
    if (send(ends[0], &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1 || sendmsg(ends[0], &message, MSG_NOSIGNAL) != 1 ||
        recv(ends[1], &byte, 1, 0) != 1 || recv(ends[1], &byte, 1, MSG_DONTWAIT) != 1)
        return -1;
    setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* no TCP: refused, and not fatal */
    return getsockopt(ends[0], SOL_SOCKET, SO_ERROR, &error, &length);
}

static void look_at_what_is_left(const void *what)
{
    struct stat status;
    int ends[2];
    (void)what;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        _exit(2);
    if (sandbox_drop_privileges(NULL) < 0 || sandbox_filter(NULL) < 0)
        _exit(3);
    if (socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) < 0)
        _exit(4);
    if (!sandbox_instrumented() && (stat("/etc/passwd", &status) == 0 || errno != EPERM))
        _exit(5);
    if (tgkill(getpid(), gettid(), 0) < 0)
        _exit(6);
    if (exchange_a_byte(ends) < 0)
        _exit(8);
    if (mmap(NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        _exit(7);
}

static void what_it_needs_is_left(void **state)
{
    (void)state;
    assert_int_equal(status_of(look_at_what_is_left, NULL), 0);
}

static void prepare_and_abort(const void *what)
{
    (void)what;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    sandbox_prepare(); /* as the process that agents are forked from */
    pid_t pid = fork();
    if (pid == 0) {
        if (sandbox_drop_privileges(NULL) < 0 || sandbox_filter(NULL) < 0)
            _exit(3);
        abort();
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        _exit(4);
}

static void a_fork_may_still_abort(void **state)
{
    (void)state;
    assert_int_equal(status_of(prepare_and_abort, NULL), 0);
}

/* ---- Landlock ---- */

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? errno : 0;
    close(fd);
    return error;
}

static void look_for_files(const void *what)
{
    static const char *const paths[] = {"/etc/passwd", "/proc/self/status", "/dev/null", "/"};
    (void)what;
    const pid_t parent = getppid();
    int version = sandbox_landlock_version();
    if (sandbox_drop_privileges(NULL) < 0 || sandbox_close_files(PORT, NULL) < 0)
        _exit(3);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (open(paths[i], O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
            _exit(10 + (int)i);
    if (open("/tmp/laggard-must-not-be", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0 || errno != EACCES)
        _exit(4);
    if (version >= 4 && (connect_to(OTHER_PORT) != EACCES || connect_to(PORT) == EACCES))
        _exit(5);
    if (version >= 6 && (kill(parent, 0) == 0 || errno != EPERM))
        _exit(6);
}

static void without_the_filter_there_is_still_no_file(void **state)
{
    (void)state;
    if (sandbox_landlock_version() == 0 || sandbox_instrumented())
        SKIP_BECAUSE("there is no Landlock here, or it is an instrumented build");
    assert_int_equal(status_of(look_for_files, NULL), 0);
}

/* ---- the terminal ---- */

static void look_at_the_terminal(const void *what)
{
    const int terminal = *(const int *)what;
    const char *name = ptsname(terminal);
    char typed[16] = "", shown[16] = "";
    int slave = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    if (slave < 0 || dup2(slave, STDERR_FILENO) < 0 || write(terminal, "secret\n", 7) != 7)
        _exit(2);
    close(slave);
    if (sandbox_deafen(NULL) < 0)
        _exit(3);
    if (read(STDERR_FILENO, typed, sizeof(typed)) >= 0 || errno != EBADF)
        _exit(4);
    if (write(STDERR_FILENO, "told", 4) != 4 || read(terminal, shown, sizeof(shown)) <= 0)
        _exit(5);
}

static void what_is_typed_is_not_heard(void **state)
{
    (void)state;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0)
        SKIP_BECAUSE("there are no pseudo-terminals here");
    assert_int_equal(status_of(look_at_the_terminal, &terminal), 0);
    close(terminal);
}

/* ---- limits ---- */

static void take_all(const void *what)
{
    enum { DESCRIPTORS = 10, MEBIBYTES = 64 };
    (void)what;
    int fds = 0, mebibytes = 0;
    struct rlimit limit;
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
    if (sandbox_limit(DESCRIPTORS, (uint64_t)MEBIBYTES * MEBIBYTE, NULL) < 0)
        _exit(3);
    while (fds <= DESCRIPTORS && dup(STDERR_FILENO) >= 0)
        fds++;
    if (fds != DESCRIPTORS || errno != EMFILE)
        _exit(4);
    while (!sandbox_instrumented() && mebibytes <= MEBIBYTES &&
           mmap(NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        mebibytes++;
    if (!sandbox_instrumented() && (mebibytes > MEBIBYTES || mebibytes < MEBIBYTES - 2 || errno != ENOMEM))
        _exit(5);
    if (getrlimit(RLIMIT_CORE, &limit) < 0 || limit.rlim_max != 0)
        _exit(6);
    if (!sandbox_instrumented() && (getrlimit(RLIMIT_NPROC, &limit) < 0 || limit.rlim_max != 0))
        _exit(7);
}

static void descriptors_and_memory_have_an_end(void **state)
{
    (void)state;
    assert_int_equal(status_of(take_all, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_no_agent_makes_ends_it),
        cmocka_unit_test(a_call_of_another_table_ends_all_threads),
        cmocka_unit_test(what_it_needs_is_left),
        cmocka_unit_test(a_fork_may_still_abort),
        cmocka_unit_test(without_the_filter_there_is_still_no_file),
        cmocka_unit_test(what_is_typed_is_not_heard),
        cmocka_unit_test(descriptors_and_memory_have_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
