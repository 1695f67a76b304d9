/* terminal_guard.c: watches over a raw terminal; see terminal_guard.h. */
#include "harness/terminal_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netem/namespaces.h"

static bool same(const struct termios *one, const struct termios *other)
{
    return one->c_iflag == other->c_iflag && one->c_oflag == other->c_oflag && one->c_cflag == other->c_cflag &&
           one->c_lflag == other->c_lflag;
}

static _Noreturn void watch(int end_fd, const struct termios *raw, const struct termios *before)
{
    struct termios now;
    sigset_t none;
    char byte;
    setsid();
    prctl(PR_SET_NAME, "laggard-tty");
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    close(STDOUT_FILENO); /* whoever reads these waits for the parent alone */
    close(STDERR_FILENO);
    namespaces_keep_descriptors(&end_fd, 1);
    while (read(end_fd, &byte, 1) < 0 && errno == EINTR)
        ;
    if (tcgetattr(STDIN_FILENO, &now) == 0 && same(&now, raw))
        tcsetattr(STDIN_FILENO, TCSANOW, before);
    _exit(0);
}

int terminal_guard_start(const struct termios *before, struct terminal_guard *guard, struct err *err)
{
    int ends[2];
    struct termios raw;
    if (tcgetattr(STDIN_FILENO, &raw) < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot watch over the terminal");
    cleanup(close_fd) int end_fd = ends[0];
    cleanup(close_fd) int alive_fd = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot watch over the terminal: fork");
    if (pid == 0)
        watch(end_fd, &raw, before);
    *guard = (struct terminal_guard){.process = {.pid = pid, .pidfd = -1}, .alive_fd = steal_fd(&alive_fd)};
    return 0;
}

void terminal_guard_end(struct terminal_guard *guard)
{
    process_end(&guard->process);
    close_fd(&guard->alive_fd);
}
