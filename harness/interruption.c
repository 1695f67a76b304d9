/* interruption.c: see interruption.h. */
#include "harness/interruption.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "base/err.h"

static const int signal_numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof(signal_numbers) / sizeof(signal_numbers[0]) };

int interruption_open(int *fd, struct err *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction action;
        /* A blocked signal becomes pending even where it is ignored: nohup must go on to mean what it says. */
        if (signal_numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            continue;
        sigaddset(&signals, signal_numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &signals, NULL);
    *fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return *fd < 0 ? err_set_errno(err, ERR_HOST, errno, "making a descriptor for signals") : 0;
}

static int pending_signal(void)
{
    sigset_t pending;
    if (sigpending(&pending) < 0)
        return 0;
    for (int i = 0; i < SIGNALS; i++)
        if (sigismember(&pending, signal_numbers[i]) == 1)
            return signal_numbers[i];
    return 0;
}

bool interruption_pending(void)
{
    return pending_signal() != 0;
}

int interruption_exit_code(void)
{
    int number = pending_signal();
    return 128 + (number ? number : SIGINT);
}
