/* test_process.c: what a child gets (descriptors, signals, environment), how its end is told, and that nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"
#include "tests/child.h"

static void start_shell(const char *script, struct process_spec spec, struct process *process)
{
    char *arguments[] = {"sh", "-c", (char *)script, NULL};
    spec.path = "/bin/sh";
    spec.arguments = arguments;
    struct err err = {0};
    if (child_start(&spec, process, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(process->pid > 0);
    assert_true(process->pidfd >= 0);
}

/* Runs a script and returns its exit status. */
static int run_shell(const char *script, struct process_spec spec)
{
    struct process process = PROCESS_NONE;
    start_shell(script, spec, &process);
    struct process_exit how = {0};
    assert_int_equal(child_wait(&process, &how), 0);
    assert_int_equal(process.pid, 0);
    assert_int_equal(process.pidfd, -1);
    assert_true(how.exited);
    return how.status;
}

static void the_end_is_described(void **state)
{
    (void)state;
    char text[64];
    assert_int_equal(run_shell("exit 0", (struct process_spec){0}), 0);
    assert_int_equal(run_shell("exit 37", (struct process_spec){0}), 37);
    struct process process = PROCESS_NONE;
    start_shell("kill -SEGV $$", (struct process_spec){0}, &process);
    struct process_exit how;
    assert_int_equal(child_wait(&process, &how), 0);
    assert_false(how.exited);
    assert_int_equal(how.status, SIGSEGV);
    assert_string_equal(process_describe(text, sizeof(text), &how), "killed by SIGSEGV");
    how = (struct process_exit){.exited = true, .status = 3};
    assert_string_equal(process_describe(text, sizeof(text), &how), "exit status 3");
    how = (struct process_exit){.exited = false, .status = 62};
    assert_string_equal(process_describe(text, sizeof(text), &how), "killed by signal 62");
}

static void a_failure_of_exec_is_reported(void **state)
{
    (void)state;
    struct process process = PROCESS_NONE;
    struct err err = {0};
    char *arguments[] = {"nothing", NULL};
    struct process_spec spec = {.path = "/nonexistent/program", .arguments = arguments};
    assert_int_equal(child_start(&spec, &process, &err), -ERR_HOST);
    assert_int_equal(process.pid, 0);
    assert_non_null(strstr(err.text, "cannot start /nonexistent/program"));
    assert_non_null(strstr(err.text, "No such file or directory"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(errno, ECHILD);
    spec.path = "/";
    assert_int_equal(child_start(&spec, &process, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "Permission denied"));
}

static int refuse(void *context)
{
    return *(int *)context;
}

static void before_exec_runs_in_the_child_and_may_refuse(void **state)
{
    (void)state;
    int answer = EBUSY;
    char *arguments[] = {"sh", "-c", "exit 0", NULL};
    struct process_spec spec = {.path = "/bin/sh", .arguments = arguments, .before_exec = refuse, .context = &answer};
    struct process process = PROCESS_NONE;
    struct err err = {0};
    assert_int_equal(child_start(&spec, &process, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "Device or resource busy"));
    answer = 0;
    assert_int_equal(run_shell("exit 0", (struct process_spec){.before_exec = refuse, .context = &answer}), 0);
}

/* One byte that tells which file a descriptor came from, readable once. */
static int marked_pipe(char mark)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    char line[2] = {mark, '\n'};
    assert_int_equal(write(fds[1], line, 2), 2);
    close(fds[1]);
    return fds[0];
}

static void descriptors_arrive_in_order_even_when_sources_overlap_the_targets(void **state)
{
    (void)state;
    int a = marked_pipe('a'), b = marked_pipe('b'), c = marked_pipe('c');
    /* exactly in the target range, in an order that a plain chain of dup2() would destroy */
    assert_int_equal(a, 3);
    assert_int_equal(b, 4);
    assert_int_equal(c, 5);
    const int rotated[] = {4, 5, 3};
    struct process_spec spec = {.descriptors = rotated, .descriptor_count = 3};
    assert_int_equal(run_shell("read x <&3; read y <&4; read z <&5; test \"$x$y$z\" = bca", spec), 0);
    close(a);
    close(b);
    close(c);
    a = marked_pipe('a');
    const int twice[] = {a, a};
    spec = (struct process_spec){.descriptors = twice, .descriptor_count = 2};
    assert_int_equal(run_shell("read x <&4; test \"$x\" = a && test -e /proc/self/fd/3", spec), 0);
    int high = fcntl(marked_pipe('h'), F_DUPFD_CLOEXEC, 200);
    spec = (struct process_spec){.descriptors = &high, .descriptor_count = 1};
    assert_int_equal(run_shell("read x <&3; test \"$x\" = h", spec), 0);
    close_range(3, ~0U, 0);
}

static void streams_are_placed_too(void **state)
{
    (void)state;
    int a = marked_pipe('a'), b = marked_pipe('b'), out[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    /* a descriptor whose number is a target of the others, and one pipe for two streams */
    const int streams[] = {a, out[1], out[1]}, descriptors[] = {b, a};
    struct process_spec spec = {.streams = streams, .descriptors = descriptors, .descriptor_count = 2};
    assert_int_equal(run_shell("read x; echo $x; read y <&3; echo $y >&2; test ! -e /proc/$$/fd/5", spec), 0);
    close(out[1]);
    char text[8] = "";
    assert_int_equal(read(out[0], text, sizeof(text)), 4);
    assert_memory_equal(text, "a\nb\n", 4);
    close_range(3, ~0U, 0);
}

/* A folder with three files called `tool`: none, one that may not be executed, one that may. */
static void programs_are_found_as_a_shell_finds_them(void **state)
{
    (void)state;
    char base[] = "/tmp/laggard-test-process.XXXXXX", path[256], found[64], command[512];
    assert_non_null(mkdtemp(base));
    snprintf(command, sizeof(command),
             "cd %s && mkdir empty plain good && touch plain/tool good/tool other && mkdir good/folder && chmod +x good/tool",
             base);
    assert_int_equal(run_shell(command, (struct process_spec){0}), 0);
    char *environment[] = {"PATHS=/nonexistent", path, NULL};
    struct err err;

    snprintf(path, sizeof(path), "PATH=%s/empty:%s/plain:%s/good", base, base, base);
    assert_int_equal(process_find("tool", environment, NULL, found, sizeof(found), &err), 0);
    snprintf(command, sizeof(command), "%s/good/tool", base);
    assert_string_equal(found, command);
    snprintf(path, sizeof(path), "PATH=%s/empty:%s/plain", base, base);
    assert_int_equal(process_find("tool", environment, NULL, found, sizeof(found), &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "plain/tool is there, but may not be executed"));
    assert_string_equal(found, command); /* untouched */
    assert_int_equal(process_find("nothing", environment, NULL, found, sizeof(found), &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "cannot run 'nothing': no folder of PATH has a program of that name"));
    assert_non_null(strstr(err.text, path + 5));
    assert_int_equal(process_find("", environment, NULL, found, sizeof(found), &err), -ERR_USAGE);

    /* relative to where it will run: elements of PATH, the empty one, and names with a slash */
    snprintf(path, sizeof(path), "PATH=plain:good");
    assert_int_equal(process_find("tool", environment, base, found, sizeof(found), &err), 0);
    assert_string_equal(found, "good/tool");
    char good[64];
    snprintf(good, sizeof(good), "%s/good", base);
    snprintf(path, sizeof(path), "PATH=/nonexistent:");
    assert_int_equal(process_find("tool", environment, good, found, sizeof(found), &err), 0);
    assert_string_equal(found, "./tool");
    assert_int_equal(process_find("good/tool", environment, base, found, sizeof(found), &err), 0);
    assert_string_equal(found, "good/tool");
    assert_int_equal(process_find("good/tool", environment, NULL, found, sizeof(found), &err), -ERR_USAGE);
    assert_int_equal(process_find("good/folder", environment, base, found, sizeof(found), &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "Is a directory"));

    char *none[] = {NULL}; /* no PATH at all */
    assert_int_equal(process_find("sh", none, NULL, found, sizeof(found), &err), 0);
    snprintf(command, sizeof(command), "rm -r %s", base);
    assert_int_equal(run_shell(command, (struct process_spec){0}), 0);
}

static void everything_else_is_closed(void **state)
{
    (void)state;
    int leaking = dup(0), far = fcntl(0, F_DUPFD, 300), given = open("/dev/null", O_RDONLY); /* none is close-on-exec */
    struct process_spec spec = {.descriptors = &given, .descriptor_count = 1};
    /* ls itself opens the directory: it is the one descriptor that is not a link to something that stays */
    assert_int_equal(
        run_shell("for f in /proc/$$/fd/*; do case ${f##*/} in 0|1|2|3) ;; *) test -e $f && exit 1 ;; esac; done; test -e "
                  "/proc/$$/fd/3",
                  spec),
        0);
    assert_int_equal(run_shell("test ! -e /proc/$$/fd/3", (struct process_spec){0}), 0);
    close(leaking);
    close(far);
    close(given);
}

static void a_bad_descriptor_is_an_error(void **state)
{
    (void)state;
    const int bad[] = {0, 4095};
    char *arguments[] = {"sh", "-c", "exit 0", NULL};
    struct process_spec spec = {.path = "/bin/sh", .arguments = arguments, .descriptors = bad, .descriptor_count = 2};
    struct process process = PROCESS_NONE;
    struct err err = {0};
    assert_int_equal(child_start(&spec, &process, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "Bad file descriptor"));
}

static void nothing_to_do(int number)
{
    (void)number;
}

static void the_child_starts_with_clean_signals(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR2, nothing_to_do);
    sigset_t some, before, after;
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigaddset(&some, SIGUSR1);
    sigprocmask(SIG_BLOCK, &some, NULL);
    sigprocmask(SIG_SETMASK, NULL, &before);
    /* grep: nothing is blocked, and SIGPIPE (bit 12, 0x1000) is not among the ignored */
    assert_int_equal(run_shell("grep -q '^SigBlk:.0000000000000000$' /proc/self/status && "
                               "grep -q '^SigIgn:.[0-9a-f]*[02468ace][0-9a-f]\\{3\\}$' /proc/self/status",
                               (struct process_spec){0}),
                     0);
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < NSIG; number++) /* the parent's mask is as it was */
        assert_int_equal(sigismember(&before, number), sigismember(&after, number));
    sigprocmask(SIG_UNBLOCK, &some, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
}

static void the_environment_is_given_or_inherited(void **state)
{
    (void)state;
    char *environment[] = {"LAGGARD_RANK=3", NULL};
    assert_int_equal(run_shell("test \"$LAGGARD_RANK\" = 3", (struct process_spec){.environment = environment}), 0);
    setenv("LAGGARD_SIZE", "8", 1);
    assert_int_equal(run_shell("test \"$LAGGARD_SIZE\" = 8", (struct process_spec){0}), 0);
    assert_int_equal(run_shell("test -z \"$LAGGARD_SIZE\"", (struct process_spec){.environment = environment}), 0);
    unsetenv("LAGGARD_SIZE");
}

static void leaving_the_scope_kills_and_reaps(void **state)
{
    (void)state;
    pid_t pid;
    {
        cleanup(process_end) struct process process = PROCESS_NONE;
        start_shell("exec sleep 1000", (struct process_spec){0}, &process);
        pid = process.pid;
        struct pollfd poll_fd = {.fd = process.pidfd, .events = POLLIN};
        assert_int_equal(poll(&poll_fd, 1, 0), 0); /* it runs */
        assert_true(fcntl(process.pidfd, F_GETFD) & FD_CLOEXEC);
    }
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    struct process none = PROCESS_NONE;
    process_end(&none); /* empty: nothing happens */
}

static void starting_leaks_no_descriptor(void **state)
{
    (void)state;
    int before = dup(0);
    close(before);
    for (int i = 0; i < 20; i++)
        run_shell("exit 0", (struct process_spec){0});
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

int main(void)
{
    close_range(3, ~0U, 0); /* whatever the test runner left open: the tests need to know the numbers that they get */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_described),
        cmocka_unit_test(a_failure_of_exec_is_reported),
        cmocka_unit_test(before_exec_runs_in_the_child_and_may_refuse),
        cmocka_unit_test(descriptors_arrive_in_order_even_when_sources_overlap_the_targets),
        cmocka_unit_test(streams_are_placed_too),
        cmocka_unit_test(programs_are_found_as_a_shell_finds_them),
        cmocka_unit_test(everything_else_is_closed),
        cmocka_unit_test(a_bad_descriptor_is_an_error),
        cmocka_unit_test(the_child_starts_with_clean_signals),
        cmocka_unit_test(the_environment_is_given_or_inherited),
        cmocka_unit_test(leaving_the_scope_kills_and_reaps),
        cmocka_unit_test(starting_leaks_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
