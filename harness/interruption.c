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
    volatile sig_atomic_t noticed;    /* the first signal; 0: none yet */
    volatile int64_t noticed_ns;      /* written before it: on_signal() may come between the two */
    int signal_fd, event_fd;          /* what the descriptor of interruption_open() shows */
    bool listening;                   /* on_signal() takes signals */
    struct sigaction before[SIGNALS]; /* what they did until then: other processes of ours begin with it */
    bool told, handed_over;           /* that the next one kills; to the thread that lets it */
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

static void keep(int number)
{
    const uint64_t one = 1;
    state.noticed_ns = clock_now_ns();
    state.noticed = number;
    if (write(state.event_fd, &one, sizeof(one)) != sizeof(one))
        return; /* it is one already */
}

/* From then on a thread takes the next one; while this process listens, on_signal() does. */
static void tell(void)
{
    pthread_t thread;
    if (!state.told && isatty(STDERR_FILENO))
        log_warning("ending what runs and keeping what was finished; the next signal kills at once");
    state.told = true;
    if (state.listening || state.handed_over)
        return;
    state.handed_over = true;
    if (pthread_create(&thread, NULL, take_the_next, NULL) == 0)
        pthread_detach(thread);
    else
        let_the_next_kill();
}

/* The first signal is taken, and the next one kills. */
static void notice(void)
{
    const struct timespec at_once = {0};
    if (!state.noticed && state.signal_fd >= 0) {
        const int number = sigtimedwait(&state.signals, NULL, &at_once);
        if (number > 0)
            keep(number);
    }
    if (state.noticed)
        tell();
}

static void on_signal(int number)
{
    const int error = errno;
    sigset_t one;
    if (!state.noticed) {
        keep(number);
    } else if (clock_now_ns() - state.noticed_ns >= ECHO_NS) {
        signal(number, SIG_DFL);
        raise(number);
        sigemptyset(&one);
        sigaddset(&one, number);
        pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    }
    errno = error;
}

void interruption_listen(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART, .sa_mask = state.signals};
    if (state.signal_fd < 0 || interruption_pending())
        return;
    state.listening = true;
    for (int i = 0; i < SIGNALS; i++)
        if (sigismember(&state.signals, signal_numbers[i]))
            sigaction(signal_numbers[i], &action, &state.before[i]);
    pthread_sigmask(SIG_UNBLOCK, &state.signals, NULL);
}

void interruption_listen_no_more(void)
{
    if (!state.listening)
        return;
    pthread_sigmask(SIG_BLOCK, &state.signals, NULL);
    notice(); /* what is pending would be lost where it is ignored */
    for (int i = 0; i < SIGNALS; i++)
        if (sigismember(&state.signals, signal_numbers[i]))
            sigaction(signal_numbers[i], &state.before[i], NULL);
    state.listening = false;
    notice();
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
