/* cmd_enter.c: `laggard enter`: runs a program on a node of a network that another process holds: `laggard exec`, or a trial of
 * `laggard run`; from outside, or from one of its nodes. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/options.h"
#include "base/text.h"
#include "harness/commands.h"
#include "harness/exec_session.h"
#include "harness/terminal.h"
#include "netem/enter.h"

struct enter_options {
    int64_t of;
    bool rsh;
};
static const struct option_row enter_rows[] = {
    {.name = "of",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct enter_options, of),
     .value_name = "PID",
     .help = "of the network that this process holds, where several run",
     .minimum = 1,
     .maximum = INT_MAX},
    {.name = "rsh",
     .type = OPTION_FLAG,
     .offset = offsetof(struct enter_options, rsh),
     .help = "join the words with blanks and give them to /bin/sh on the node, as rsh and ssh do"},
    {0},
};
const struct option_table cmd_enter_table = {
    .command = "enter",
    .usage = "[OPTIONS] NODE [-- CMD [ARGUMENTS]]",
    .summary = "Runs CMD (default: your shell) on a node of a network that `laggard exec` or `laggard run` holds.",
    .rows = enter_rows,
    .positional_minimum = 1,
    .positional_maximum = -1,
    .command_position = 1,
};

struct entry {
    struct arena *arena;
    struct loop *loop;
    struct terminal terminal;
    int fd, signal_fd;
    bool ended;
    struct process_exit how;
    struct err failure;
};

static void entry_clean(struct entry *entry)
{
    terminal_finish(&entry->terminal);
    loop_free(entry->loop);
    close_fd(&entry->fd);
    close_fd(&entry->signal_fd);
    arena_free(entry->arena);
}

/* What the program is asked to heed is its own to decide: this process ends when the program has. */
static void on_signal(void *context, uint32_t events)
{
    (void)events;
    struct entry *entry = context;
    struct signalfd_siginfo information;
    while (read(entry->signal_fd, &information, sizeof(information)) == (ssize_t)sizeof(information))
        enter_signal(entry->fd, (int)information.ssi_signo, NULL);
}

static void on_answer(void *context, uint32_t events)
{
    (void)events;
    struct entry *entry = context;
    entry->ended = enter_next(entry->fd, &entry->how, &entry->failure) == 1;
    loop_stop(entry->loop);
}

static int take_signals(struct entry *entry, struct err *err)
{
    static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        struct sigaction action;
        if (sigaction(passed[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) /* nohup */
            sigaddset(&signals, passed[i]);
    }
    sigprocmask(SIG_BLOCK, &signals, NULL);
    entry->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return entry->signal_fd < 0 ? err_set_errno(err, ERR_HOST, errno, "making a descriptor for signals") : 0;
}

/* Without a command, a shell. Words of rsh go to a shell on the node, which is the program that is asked for, like any other. So
 * does a single word with blanks in it: no program is called so, and Open MPI's launchers call theirs by such words. */
static char **choose_command(struct arena *arena, char **words, int count, bool exact, bool rsh)
{
    const char *own = getenv("SHELL");
    char **command = arena_new_array(arena, char *, (size_t)count + 4);
    if (count == 0) {
        command[0] = arena_strdup(arena, own && own[0] ? own : "/bin/sh");
        return command;
    }
    if (!rsh && (exact || !strpbrk(words[0], " \t"))) {
        memcpy(command, words, (size_t)count * sizeof(*words));
        return command;
    }
    cleanup(text_free) struct text joined = {0};
    for (int i = 0; i < count; i++)
        text_printf(&joined, "%s%s", i ? " " : "", words[i]);
    command[0] = arena_strdup(arena, "/bin/sh");
    command[1] = arena_strdup(arena, "-c");
    command[2] = arena_strdup(arena, joined.bytes);
    return command;
}

/* Whether "--" stands right before the command: then its words mean nothing but themselves. */
static bool is_exact(char *const *line, int count, const char *word)
{
    for (int i = 1; i < count; i++)
        if (line[i] == word)
            return strcmp(line[i - 1], "--") == 0;
    return false;
}

static int start(struct entry *entry, const char *node, char **command, const struct enter_options *options, struct err *err)
{
    char name[ENTER_NAME_BYTES], directory[PATH_MAX];
    struct rlimit files;
    if (!getcwd(directory, sizeof(directory)))
        return err_set_errno(err, ERR_USAGE, errno, "cannot name the current folder");
    int result = enter_find((pid_t)options->of, name, err);
    if (result == 0)
        result = enter_connect(name, &entry->fd, err);
    if (result == 0)
        result = terminal_open(&entry->terminal, err);
    if (result < 0)
        return result;
    struct enter_program program = {.node = node,
                                    .arguments = command,
                                    .directory = directory,
                                    .streams = entry->terminal.streams,
                                    .terminal = entry->terminal.used,
                                    .open_files = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 0};
    return enter_start(entry->fd, &program, err);
}

static int run(struct entry *entry, struct err *err)
{
    entry->loop = loop_new(err);
    if (!entry->loop || !loop_watch(entry->loop, entry->fd, EPOLLIN, on_answer, entry, err) ||
        !loop_watch(entry->loop, entry->signal_fd, EPOLLIN, on_signal, entry, err))
        return -ERR_HOST;
    int result = terminal_start(&entry->terminal, entry->loop, err);
    if (result == 0)
        result = loop_run(entry->loop, err);
    if (result < 0)
        return result;
    return entry->ended ? exec_session_exit_code(&entry->how) : err_set(err, entry->failure.kind, "%s", entry->failure.text);
}

int cmd_enter(int argc, char **argv, struct err *err)
{
    cleanup(entry_clean) struct entry entry = {.arena = arena_new(), .fd = -1, .signal_fd = -1, .terminal = TERMINAL_NONE};
    char **line = arena_copy(entry.arena, argv, sizeof(*argv) * (size_t)(argc + 1)); /* options_parse() permutes argv */
    struct enter_options options = {0};
    int words;
    int result = options_parse(&cmd_enter_table, argc, argv, &options, &words, err);
    if (result != 0)
        return result < 0 ? result : 0;
    bool exact = words > 1 && is_exact(line, argc, argv[1]);
    char **command = choose_command(entry.arena, argv + 1, words - 1, exact, options.rsh);
    result = take_signals(&entry, err);
    if (result == 0)
        result = start(&entry, argv[0], command, &options, err);
    return result == 0 ? run(&entry, err) : result;
}
