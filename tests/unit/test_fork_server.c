/* tests/unit/test_fork_server.c: a fork that cannot be held does not stay. This program is its own fork server. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fork_server.h"

enum { PATIENCE_MS = 10000 };
static char self[4096];

static struct fork_server begun(void)
{
    struct fork_server server = FORK_SERVER_NONE;
    struct err err;
    if (fork_server_begin(&(struct process_spec){.path = self}, &server, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(fork_server_known(&server, PATIENCE_MS));
    assert_true(server.answered);
    return server;
}

/* Its descriptor stays open as long as it runs, so its end can be seen. */
static void a_process_that_cannot_be_held_ends(void **state)
{
    (void)state;
    struct fork_server server = begun();
    struct process process = PROCESS_NONE;
    struct err err = {0};
    struct rlimit before, none;
    int pair[2], report_fd = -1;
    char byte;
    assert_int_equal(pipe(pair), 0);
    const struct fork_spec spec = {.title = "x", .network_fd = -1, .descriptors = &pair[1], .descriptor_count = 1};
    assert_int_equal(fork_server_fork(&server, "x", &spec, &report_fd, &err), 0);
    close(pair[1]);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = fork_server_confirm(&server, "x", &process, &report_fd, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(result, -ERR_HOST);
    assert_non_null(strstr(err.text, "cannot hold the process of x: Too many open files"));
    assert_int_equal(process.pid, PROCESS_NONE.pid);
    alarm(PATIENCE_MS / 1000);
    assert_int_equal(read(pair[0], &byte, 1), 0);
    alarm(0);
    close(pair[0]);
    fork_server_end(&server);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_cannot_be_held_ends),
    };
    if (argc > 1 && strcmp(argv[1], FORK_SERVER_OPTION) == 0) {
        fork_server_serve(argc, argv);
        for (;;)
            pause();
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    return length > 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
