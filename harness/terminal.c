/* terminal.c: the user's terminal, passed through; see terminal.h. */
#include "harness/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "harness/write_all.h"

enum { LAST_READS = 256 };

/* For the handler of deadly signals: what the terminal was like. */
static struct termios restored;
static volatile sig_atomic_t is_raw;
static const int deadly[] = {SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};

static void restore(void)
{
    sigset_t block, before;
    sigemptyset(&block);
    sigaddset(&block, SIGTTOU); /* otherwise a process in the background is stopped by it */
    sigprocmask(SIG_BLOCK, &block, &before);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &restored);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void on_deadly_signal(int number)
{
    if (is_raw)
        tcsetattr(STDIN_FILENO, TCSANOW, &restored);
    raise(number); /* the handler is for once only */
}

static int open_pair(struct terminal *terminal, struct err *err)
{
    struct winsize size;
    char name[64];
    terminal->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal->master < 0 || grantpt(terminal->master) < 0 || unlockpt(terminal->master) < 0 ||
        ptsname_r(terminal->master, name, sizeof(name)) != 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make a pseudo-terminal (is /dev/pts mounted?)");
    terminal->slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal->slave < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot open the pseudo-terminal %s", name);
    if (tcgetattr(STDIN_FILENO, &terminal->before) < 0 || tcsetattr(terminal->slave, TCSANOW, &terminal->before) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot copy the terminal's settings");
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
        ioctl(terminal->slave, TIOCSWINSZ, &size);
    fcntl(terminal->master, F_SETFL, O_NONBLOCK);
    return 0;
}

int terminal_open(struct terminal *terminal, struct err *err)
{
    *terminal = TERMINAL_NONE;
    for (int i = 0; i < TERMINAL_STREAMS; i++)
        terminal->streams[i] = i;
    if (!isatty(STDIN_FILENO))
        return 0;
    int result = open_pair(terminal, err);
    if (result < 0) {
        close_fd(&terminal->master);
        close_fd(&terminal->slave);
        return result;
    }
    terminal->used = true;
    for (int i = 0; i < TERMINAL_STREAMS; i++)
        if (isatty(i))
            terminal->streams[i] = terminal->slave;
    return 0;
}

static void take_size(const struct terminal *terminal)
{
    struct winsize size;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
        ioctl(terminal->master, TIOCSWINSZ, &size); /* the kernel tells the program's side by SIGWINCH */
}

static int make_raw(struct terminal *terminal, struct err *err)
{
    struct termios raw = terminal->before;
    cfmakeraw(&raw);
    restored = terminal->before;
    terminal->raw = true;
    is_raw = 1;
    return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0 ? err_set_errno(err, ERR_HOST, errno, "cannot make the terminal raw") : 0;
}

/* The window has another size, or this process goes on after a stop, during which a shell may have had the terminal. */
static void on_change(void *context, uint32_t events)
{
    (void)events;
    struct terminal *terminal = context;
    struct signalfd_siginfo information;
    while (read(terminal->signal_fd, &information, sizeof(information)) == (ssize_t)sizeof(information)) {
        if (information.ssi_signo == SIGCONT)
            make_raw(terminal, NULL);
        take_size(terminal);
    }
}

static void give_keys(struct terminal *terminal)
{
    ssize_t written = write(terminal->master, terminal->keys, terminal->key_count);
    if (written > 0) {
        terminal->key_count -= (size_t)written;
        memmove(terminal->keys, terminal->keys + written, terminal->key_count);
    } else if (written < 0 && errno != EAGAIN && errno != EINTR)
        terminal->key_count = 0; /* nobody is there to take them */
    /* While the other side takes no keys, none are read; while it writes, that is shown in any case. */
    if (terminal->input)
        loop_change(terminal->input, terminal->key_count > 0 ? 0 : EPOLLIN);
    if (terminal->output)
        loop_change(terminal->output, EPOLLIN | (terminal->key_count > 0 ? EPOLLOUT : 0));
}

static void on_key(void *context, uint32_t events)
{
    (void)events;
    struct terminal *terminal = context;
    ssize_t count = read(STDIN_FILENO, terminal->keys + terminal->key_count, sizeof(terminal->keys) - terminal->key_count);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (count <= 0) { /* the terminal is gone; a SIGHUP says so, too */
        loop_unwatch(terminal->input);
        terminal->input = NULL;
        return;
    }
    terminal->key_count += (size_t)count;
    give_keys(terminal);
}

/* False: for now there is no more, or never again (every descriptor of the program's side is closed). */
static bool show(struct terminal *terminal)
{
    char bytes[TERMINAL_BUFFER_BYTES];
    ssize_t count = read(terminal->master, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR)
        return true;
    if (count <= 0) {
        if (terminal->output && (count == 0 || errno != EAGAIN)) {
            loop_unwatch(terminal->output);
            terminal->output = NULL;
        }
        return false;
    }
    int to = isatty(STDOUT_FILENO) ? STDOUT_FILENO : STDIN_FILENO; /* the program's prompt, when its output goes elsewhere */
    return write_all(to, bytes, (size_t)count) == 0;
}

static void on_output(void *context, uint32_t events)
{
    struct terminal *terminal = context;
    if (events & EPOLLOUT)
        give_keys(terminal);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        show(terminal);
}

static int watch_changes(struct terminal *terminal, struct err *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGWINCH);
    sigaddset(&signals, SIGCONT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    terminal->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (terminal->signal_fd < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot watch the terminal's size");
    terminal->changes = loop_watch(terminal->loop, terminal->signal_fd, EPOLLIN, on_change, terminal, err);
    return terminal->changes ? 0 : -ERR_HOST;
}

int terminal_start(struct terminal *terminal, struct loop *loop, struct err *err)
{
    if (!terminal->used)
        return 0;
    close_fd(&terminal->slave);
    terminal->loop = loop;
    terminal->input = loop_watch(loop, STDIN_FILENO, EPOLLIN, on_key, terminal, err);
    terminal->output = loop_watch(loop, terminal->master, EPOLLIN, on_output, terminal, err);
    if (!terminal->input || !terminal->output || watch_changes(terminal, err) < 0)
        return -ERR_HOST;
    struct sigaction action = {.sa_handler = on_deadly_signal, .sa_flags = SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        sigaction(deadly[i], &action, NULL);
    take_size(terminal); /* it may have changed since the pair was made */
    int result = make_raw(terminal, err);
    return result < 0 ? result : terminal_guard_start(&terminal->before, &terminal->guard, err);
}

void terminal_finish(struct terminal *terminal)
{
    if (!terminal->used)
        return;
    /* What the program leaves behind may go on writing for ever. */
    for (int i = 0; i < LAST_READS && terminal->loop && show(terminal); i++)
        ;
    if (terminal->raw)
        restore();
    is_raw = 0;
    terminal_guard_end(&terminal->guard);
    if (terminal->input)
        loop_unwatch(terminal->input);
    if (terminal->output)
        loop_unwatch(terminal->output);
    if (terminal->changes)
        loop_unwatch(terminal->changes);
    close_fd(&terminal->signal_fd);
    close_fd(&terminal->slave);
    close_fd(&terminal->master);
    *terminal = TERMINAL_NONE;
}
