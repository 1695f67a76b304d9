/* interruption.c: see interruption.h.
 *
 * Signals are blocked, so that no call is ever interrupted. The first of them is taken when it is noticed, and the descriptor that
 * stands for it stays readable by an event of its own. From then on a thread that does nothing else takes signals: they have their
 * default action there, so that the next one kills. What a killed controller leaves is what any kill leaves: nothing but the
 * database.
 *
 * One wish to end may come as several signals at once: a terminal that closes hangs up from the kernel and from the shell,
 * timeout(1) tells its child and then its group, a service manager sends SIGTERM and SIGHUP. What comes within ECHO_NS is one with
 * the first. */
#include "harness/interruption.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

static const int signal_numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof(signal_numbers) / sizeof(signal_numbers[0]) };

static const int64_t ECHO_NS = 250 * NS_PER_MS;

/* Of the process, as signals are. */
static struct {
    sigset_t signals;
    int noticed; /* the first signal; 0: none yet */
    int64_t noticed_ns;
    int signal_fd, event_fd; /* what the descriptor of interruption_open() shows */
} state = {.signal_fd = -1, .event_fd = -1};

static void choose_signals(void)
{
    sigemptyset(&state.signals);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction action;
        /* A blocked signal becomes pending even where it is ignored: nohup must go on to mean what it says. */
        if (signal_numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            continue;
        sigaddset(&state.signals, signal_numbers[i]);
    }
}

static bool watch(int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

int interruption_open(int *fd, struct err *err)
{
    choose_signals();
    sigprocmask(SIG_BLOCK, &state.signals, NULL);
    close_fd(&state.signal_fd);
    close_fd(&state.event_fd);
    cleanup(close_fd) int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    state.signal_fd = signalfd(-1, &state.signals, SFD_CLOEXEC | SFD_NONBLOCK);
    state.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (epoll_fd < 0 || !watch(epoll_fd, state.signal_fd) || !watch(epoll_fd, state.event_fd))
        return err_set_errno(err, ERR_HOST, errno, "making a descriptor for signals");
    *fd = steal_fd(&epoll_fd);
    return 0;
}

/* A shell without job control has what it starts in the background ignore SIGINT: the next one would not kill. */
static void let_the_next_kill(void)
{
    for (int i = 0; i < SIGNALS; i++)
        if (sigismember(&state.signals, signal_numbers[i]))
            signal(signal_numbers[i], SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &state.signals, NULL);
}

static void *take_the_next(void *unused)
{
    const struct timespec at_once = {0};
    clock_sleep_until(state.noticed_ns + ECHO_NS);
    while (sigtimedwait(&state.signals, NULL, &at_once) > 0)
        ;
    let_the_next_kill();
    for (;;)
        pause();
    return unused;
}

/* The first signal is taken, and the next one kills. */
static void notice(void)
{
    const struct timespec at_once = {0};
    const uint64_t one = 1;
    if (state.noticed || state.signal_fd < 0)
        return;
    const int number = sigtimedwait(&state.signals, NULL, &at_once);
    if (number <= 0)
        return;
    state.noticed = number;
    state.noticed_ns = clock_now_ns();
    if (write(state.event_fd, &one, sizeof(one)) != sizeof(one))
        log_debug("the descriptor for signals did not take one");
    pthread_t thread;
    if (pthread_create(&thread, NULL, take_the_next, NULL) == 0)
        pthread_detach(thread);
    else
        let_the_next_kill();
    if (isatty(STDERR_FILENO))
        log_warning("ending what runs and keeping what was finished; the next signal kills at once");
}

bool interruption_pending(void)
{
    notice();
    return state.noticed != 0;
}

int interruption_exit_code(void)
{
    notice();
    return 128 + (state.noticed ? state.noticed : SIGINT);
}
