/* main.c: the program `laggard`: finds the command in the table, runs it, turns an error into a sentence and an exit code. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/options.h"
#include "harness/build_info.h"
#include "harness/commands.h"
#include "harness/interruption.h"

static const struct command commands[] = {
    {"run", "run a campaign and store every timing", cmd_run},
    {"plan", "print every cell and trial of a campaign with its prediction; run nothing", cmd_plan},
    {"verify", "measure every link of a campaign's networks and compare it with what was asked", cmd_verify},
    {"exec", "build the network of a campaign and run any command on its nodes", cmd_exec},
    {"enter", "run a program on a node of a running network", cmd_enter},
    {"gate", "judge a campaign's thresholds, arm against arm or against a baseline", cmd_gate},
    {"baselines", "set, show, compare and export baselines", cmd_baselines},
    {"history", "show a metric over many campaigns, and where its level changed", cmd_history},
    {"sql", "ask a database: canned or free queries", cmd_sql},
    {"export", "print a database in the formats of other programs", cmd_export},
    {"report", "write one page with tables and pictures of what a database holds", cmd_report},
    {"plot", "draw a picture of what a database holds, as SVG, PNG or PDF", cmd_plot},
    {"merge", "join several databases into one", cmd_merge},
    {"migrate", "bring a database that an earlier laggard made to this one's schema", cmd_migrate},
    {"schemes", "list the schemes with parameters, formulas and sources", cmd_schemes},
    {"fields", "list the fields of a campaign file", cmd_fields},
    {"doctor", "say what this host can do, and the remedy for what it cannot", cmd_doctor},
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static void print_usage(FILE *stream)
{
    fprintf(stream, "Usage: laggard COMMAND [OPTIONS]\n\nlaggard emulates networks on one host and measures how distributed "
                    "training behaves on "
                    "them.\n\nCommands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(stream, "\n`laggard COMMAND --help` explains a command. `laggard --version` names the build.\n");
}

static const struct command *find_command(const char *name, struct err *err)
{
    const char *names[COMMAND_COUNT];
    for (int i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    const char *near = options_nearest(name, names, COMMAND_COUNT);
    if (near)
        err_set(err, ERR_USAGE, "unknown command '%s'; did you mean '%s'?", name, near);
    else
        err_set(err, ERR_USAGE, "unknown command '%s'; `laggard --help` lists the commands", name);
    return NULL;
}

static int exit_code(int result)
{
    if (result == -ERR_INTERRUPTED)
        return interruption_exit_code();
    return result < 0 ? err_exit_code((enum err_kind) - result) : result;
}

/* All that any command prints passes here. What did not fit in the buffer has been written before, so the stream's error counts,
 * too. */
static int finish_output(int result)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return result;
    struct pollfd reader = {.fd = STDOUT_FILENO};
    bool gone = poll(&reader, 1, 0) == 1 && reader.revents & POLLERR; /* `| head` has seen enough: nobody is left to be told */
    if (result < 0)
        return result;
    if (gone)
        return 128 + SIGPIPE;
    log_error("writing the result to standard output failed: check where it goes");
    return -ERR_HOST;
}

/* A stream that is closed would be the next file that is opened, and go to other people's programs as theirs. What takes its place
 * fails as it does: reading, or writing, is an error. */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    hold_streams();
    log_set_prefix("laggard");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit of file size is then an error of the write, with its sentence */
    if (argc < 2) {
        print_usage(stderr);
        return err_exit_code(ERR_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return exit_code(finish_output(0));
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("laggard %s (%s)\n", build_info_version, build_info_revision);
        return exit_code(finish_output(0));
    }
    struct err err = {0};
    const struct command *command = find_command(argv[1], &err);
    int result = command ? command->run(argc - 1, argv + 1, &err) : -ERR_USAGE;
    if (result < 0 && err.text[0])
        log_error("%s", err.text);
    return exit_code(finish_output(result));
}
