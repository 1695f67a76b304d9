/* test_interruption.c: the first signal is kept, the next one kills; each case in a process of its own, as signals are the
 * process's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "harness/interruption.h"

static const int64_t ECHO_NS = 250 * NS_PER_MS; /* what comes sooner after the first signal is one with it */
enum { TRIES = 100 };

static bool readable(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};
    return poll(&look, 1, 0) == 1;
}

/* What a child that runs `body` ended with. */
static int status_of(void (*body)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static int opened(void)
{
    struct err err;
    int fd = -1;
    if (interruption_open(&fd, &err) < 0 || readable(fd) || interruption_pending() || interruption_exit_code() != 130)
        _exit(1);
    return fd;
}

static void first_is_kept(void)
{
    int fd = opened();
    raise(SIGTERM);
    if (!readable(fd) || !interruption_pending() || !interruption_pending() || !readable(fd))
        _exit(2);
    _exit(interruption_exit_code());
}

static void second_kills(void)
{
    opened();
    kill(getpid(), SIGTERM);
    if (!interruption_pending())
        _exit(2);
    for (int i = 0; i < TRIES; i++) {
        usleep(300000);
        kill(getpid(), SIGINT);
    }
}

/* A shell without job control starts what runs in the background so. */
static void second_kills_where_the_shell_ignores_it(void)
{
    signal(SIGINT, SIG_IGN);
    second_kills();
}

/* A terminal that closes, timeout(1), a service manager: several signals, one wish. */
static void echoes_do_not_kill(void)
{
    opened();
    kill(getpid(), SIGHUP);
    if (!interruption_pending())
        _exit(2);
    kill(getpid(), SIGHUP);
    usleep(1000);
    kill(getpid(), SIGTERM);
    usleep(500000);
    _exit(interruption_exit_code());
}

static void two_before_anybody_looks(void) /* as one: nobody has been told yet that it ends */
{
    int fd = opened();
    raise(SIGINT);
    raise(SIGINT);
    _exit(readable(fd) && interruption_pending() && readable(fd) ? interruption_exit_code() : 2);
}

/* What never comes back, and so never looks. */
static void second_kills_what_never_looks(void)
{
    opened();
    interruption_listen();
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGINT};
    const struct itimerspec often = {{.tv_nsec = 300 * NS_PER_MS}, {.tv_nsec = 300 * NS_PER_MS}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 || timer_settime(timer, 0, &often, NULL) < 0)
        _exit(2);
    const int64_t began_ns = clock_now_ns();
    while (clock_now_ns() - began_ns < 60 * NS_PER_S)
        ;
}

static void listening_keeps_the_first(void)
{
    int fd = opened();
    interruption_listen();
    raise(SIGHUP);
    raise(SIGTERM); /* with it */
    if (!readable(fd) || !interruption_pending())
        _exit(2);
    interruption_listen_no_more();
    if (!readable(fd) || !interruption_pending())
        _exit(3);
    _exit(interruption_exit_code());
}

static void second_kills_after_listening(void)
{
    opened();
    interruption_listen();
    raise(SIGTERM);
    interruption_listen_no_more();
    interruption_listen(); /* the next piece of work */
    for (int i = 0; i < TRIES; i++) {
        usleep(300000);
        kill(getpid(), SIGINT);
    }
}

static void listening_before_it_is_open(void)
{
    interruption_listen();
    interruption_listen_no_more();
    raise(SIGTERM);
}

/* What is started between two pieces of work ends as it always did. */
static void others_are_as_before(void)
{
    struct sigaction action;
    opened();
    signal(SIGINT, SIG_IGN);
    interruption_listen();
    interruption_listen_no_more();
    if (sigaction(SIGINT, NULL, &action) < 0 || action.sa_handler != SIG_IGN)
        _exit(1);
    if (sigaction(SIGTERM, NULL, &action) < 0 || action.sa_handler != SIG_DFL)
        _exit(2);
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    _exit(sigismember(&blocked, SIGTERM) == 1 ? 0 : 3);
}

static void hang_up_under_nohup(void)
{
    signal(SIGHUP, SIG_IGN);
    int fd = opened();
    raise(SIGHUP);
    _exit(readable(fd) || interruption_pending());
}

static void assert_exits(int status, int code)
{
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

static void assert_killed(int status, int number)
{
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

/* On a host that is too busy for signals to come together the last one kills: then once more. */
static int status_of_echoes(void (*body)(void))
{
    for (int tries = 1;; tries++) {
        const int64_t began_ns = clock_now_ns();
        const int status = status_of(body);
        if (WIFEXITED(status) || clock_now_ns() - began_ns < ECHO_NS || tries == TRIES)
            return status;
    }
}

static void signals_interrupt(void **state)
{
    (void)state;
    assert_exits(status_of(first_is_kept), 143);
    assert_killed(status_of(second_kills), SIGINT);
    assert_killed(status_of(second_kills_where_the_shell_ignores_it), SIGINT);
    assert_exits(status_of_echoes(echoes_do_not_kill), 129);
    assert_exits(status_of(two_before_anybody_looks), 130);
    assert_exits(status_of(hang_up_under_nohup), 0);
}

static void signals_are_heard_while_nobody_looks(void **state)
{
    (void)state;
    assert_killed(status_of(second_kills_what_never_looks), SIGINT);
    assert_killed(status_of(second_kills_after_listening), SIGINT);
    assert_exits(status_of_echoes(listening_keeps_the_first), 129);
    assert_killed(status_of(listening_before_it_is_open), SIGTERM);
    assert_exits(status_of(others_are_as_before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(signals_interrupt), cmocka_unit_test(signals_are_heard_while_nobody_looks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
