/* main.c: the program `laggard`: finds the command in the table, runs it, turns an error into a sentence and an exit code. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "harness/build_info.h"
#include "harness/commands.h"
#include "harness/interruption.h"
#include "harness/scheme_guard.h"
#include "results/store.h"
#include "schemas/control.h"

static const struct command commands[] = {
    {"run", "run a campaign and store every timing", cmd_run, &cmd_run_table},
    {"plan", "print every cell and trial of a campaign with its prediction; run nothing", cmd_plan, &cmd_plan_table},
    {"verify", "measure every link of a campaign's networks and compare it with what was asked", cmd_verify, &cmd_verify_table},
    {"exec", "build the network of a campaign and run any command on its nodes", cmd_exec, &cmd_exec_table},
    {"enter", "run a program on a node of a running network", cmd_enter, &cmd_enter_table},
    {"gate", "judge a campaign's thresholds, arm against arm or against a baseline", cmd_gate, &cmd_gate_table},
    {"baselines", "set, show, compare and export baselines", cmd_baselines, &cmd_baselines_table},
    {"history", "show a metric over many campaigns, and where its level changed", cmd_history, &cmd_history_table},
    {"sql", "ask a database: canned or free queries", cmd_sql, &cmd_sql_table},
    {"export", "print a database in the formats of other programs", cmd_export, &cmd_export_table},
    {"report", "write one page with tables and pictures of what a database holds", cmd_report, &cmd_report_table},
    {"plot", "draw a picture of what a database holds, as SVG, PNG or PDF", cmd_plot, &cmd_plot_table},
    {"merge", "join several databases into one", cmd_merge, &cmd_merge_table},
    {"migrate", "bring a database that an earlier laggard made to this one's schema", cmd_migrate, &cmd_migrate_table},
    {"schemes", "list the schemes with parameters, formulas and sources", cmd_schemes, &cmd_schemes_table},
    {"fields", "list the fields of a campaign file", cmd_fields, &cmd_fields_table},
    {"doctor", "say what this host can do, and the remedy for what it cannot", cmd_doctor, &cmd_doctor_table},
    {"completion", "print a script that completes commands, options and names in bash, zsh or fish", cmd_completion,
     &cmd_completion_table},
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

int command_count(void)
{
    return COMMAND_COUNT;
}

const struct command *command_at(int index)
{
    return &commands[index];
}

static void print_usage(FILE *stream)
{
    fprintf(stream, "Usage: laggard COMMAND [OPTIONS]\n\nlaggard emulates networks on one host and measures how distributed "
                    "training behaves on "
                    "them.\n\nCommands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(stream,
            "\n`laggard COMMAND --help` or `laggard help COMMAND` explains a command. `laggard --version` names the build.\n");
}

static void print_version(bool as_json)
{
    cleanup(text_free) struct text text = {0};
    struct json json = {.out = &text};
    if (!as_json) {
        printf("laggard %s (%s)\n", build_info_version, build_info_revision);
        return;
    }
    json_begin_object(&json, NULL);
    json_string(&json, "version", build_info_version);
    json_string(&json, "revision", build_info_revision);
    json_string(&json, "mode", build_info_mode);
    json_string(&json, "flags", build_info_flags);
    json_integer(&json, "schema_version", STORE_VERSION);
    json_integer(&json, "control_version", CONTROL_VERSION);
    json_end_object(&json);
    printf("%s\n", text.bytes);
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
    if (name[0] == '-')
        err_set(err, ERR_USAGE,
                "unknown option '%s': in front of a command there are --help and --version; a command's own stand behind it, and "
                "`laggard COMMAND --help` lists them",
                name);
    else if (near)
        err_set(err, ERR_USAGE, "unknown command '%s'; did you mean '%s'?", name, near);
    else
        err_set(err, ERR_USAGE, "unknown command '%s'; `laggard --help` lists the commands", name);
    return NULL;
}

/* `laggard help`, and with a command the same as its --help. */
static int print_help(int argc, char **argv, struct err *err)
{
    if (argc > 2)
        return err_set(err, ERR_USAGE, "%s: found '%s', which is one argument too many; usage: laggard help [COMMAND]", argv[0],
                       argv[2]);
    const struct command *command = argc > 1 ? find_command(argv[1], err) : NULL;
    if (argc > 1 && !command)
        return -ERR_USAGE;
    if (command)
        options_print_help(command->options, stdout);
    else
        print_usage(stdout);
    return 0;
}

static int print_version_as_asked(int argc, char **argv, struct err *err)
{
    const bool as_json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 + as_json)
        return err_set(err, ERR_USAGE, "%s: found '%s', allowed is --json", argv[0], argv[1 + as_json]);
    print_version(as_json);
    return 0;
}

/* What is asked of laggard itself, and what runs it; not in the table of commands, since it has no page of its own. */
static const struct {
    const char *words[3];
    int (*run)(int argc, char **argv, struct err *err);
} questions[] = {
    {{"--help", "-h", "help"}, print_help},
    {{"--version", "version"}, print_version_as_asked},
};

static int run_words(int argc, char **argv, struct err *err)
{
    for (size_t q = 0; q < sizeof(questions) / sizeof(questions[0]); q++)
        for (size_t w = 0; w < sizeof(questions[q].words) / sizeof(questions[q].words[0]); w++)
            if (questions[q].words[w] && strcmp(argv[0], questions[q].words[w]) == 0)
                return questions[q].run(argc, argv, err);
    const struct command *command = find_command(argv[0], err);
    return command ? command->run(argc, argv, err) : -ERR_USAGE;
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
    log_follow_environment();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit of file size is then an error of the write, with its sentence */
    if (argc < 2) {
        print_usage(stderr);
        return err_exit_code(ERR_USAGE);
    }
    struct err err = {0};
    scheme_guard_open();
    int result = run_words(argc - 1, argv + 1, &err);
    scheme_guard_close();
    if (result < 0 && err.text[0])
        log_error("%s", err.text);
    return exit_code(finish_output(result));
}
