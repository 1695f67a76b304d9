/* cmd_exec.c: `laggard exec`: builds the network of one cell and runs any command on its nodes, or holds it for others to enter. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/process.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/campaign.h"
#include "harness/capture_links.h"
#include "harness/capture_session.h"
#include "harness/commands.h"
#include "harness/exec_session.h"
#include "harness/host_limits.h"
#include "harness/interruption.h"
#include "harness/link_survey.h"
#include "harness/node_table.h"
#include "harness/plan_cell.h"
#include "netem/fabric.h"
#include "netem/topology.h"

struct exec_options {
    const char *cell, *node, *capture;
    int engine;
    bool no_prefix, keep, verbose, quiet;
};
static const struct option_row exec_rows[] = {
    {.name = "node",
     .type = OPTION_STRING,
     .offset = offsetof(struct exec_options, node),
     .value_name = "NODE",
     .help = "run on this node or router (name or index) alone, with this terminal; without CMD: your shell"},
    {.name = "cell",
     .type = OPTION_STRING,
     .offset = offsetof(struct exec_options, cell),
     .value_name = "CELL",
     .help = "the network of this cell: its number or its label as `laggard plan` prints them (default: the first)"},
    {.name = "engine",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct exec_options, engine),
     .choices = engine_names,
     .value_name = "ENGINE",
     .help = "what delays packets, in place of the file's"},
    {.name = "capture",
     .type = OPTION_STRING,
     .offset = offsetof(struct exec_options, capture),
     .value_name = "LINKS",
     .help = "write the packets of these links to pcap files: names or indexes with commas, or all"},
    {.name = "keep",
     .type = OPTION_FLAG,
     .offset = offsetof(struct exec_options, keep),
     .help = "the network stays when the command has ended, until Ctrl-C"},
    {.name = "no-prefix",
     .type = OPTION_FLAG,
     .offset = offsetof(struct exec_options, no_prefix),
     .help = "no node's name in front of lines"},
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_FLAG,
     .offset = offsetof(struct exec_options, verbose),
     .help = "list the nodes with addresses and links first"},
    {.name = "quiet",
     .letter = 'q',
     .type = OPTION_FLAG,
     .offset = offsetof(struct exec_options, quiet),
     .help = "do not say which network was built"},
    {0},
};
const struct option_table cmd_exec_table = {
    .command = "exec",
    .usage = "FILE [OPTIONS] [-- CMD [ARGUMENTS]]",
    .summary =
        "Builds the network of the campaign in FILE and runs CMD on every node, or on one. Without CMD it stands until Ctrl-C.",
    .rows = exec_rows,
    .positional_minimum = 1,
    .positional_maximum = -1,
    .command_position = 1,
};
enum { NOT_GIVEN = -1 };

struct exec {
    struct exec_options options;
    struct arena *arena;
    struct plan plan;
    int cell, signal_fd;
    struct fabric_host host;
    struct topology topology;
    struct exec_session session;
};

static void exec_clean(struct exec *exec)
{
    close_fd(&exec->signal_fd);
    arena_free(exec->arena);
}

/* The network, or why it cannot be built here, before anything is. */
static int choose_network(struct exec *exec, struct err *err)
{
    struct link_survey survey;
    int result = exec->options.cell ? plan_cell_find(&exec->plan, "cell", exec->options.cell, &exec->cell, err) : 0;
    if (result == 0)
        result = fabric_probe(&exec->host, err);
    if (result == 0)
        result = link_survey_prepare(&exec->plan, exec->options.engine != NOT_GIVEN ? &exec->options.engine : NULL, exec->cell,
                                     &exec->host, exec->arena, &survey, err);
    if (result < 0)
        return result;
    const struct survey_entry *entry = link_survey_of(&survey, exec->cell);
    if (entry->virtual)
        return err_set(err, ERR_USAGE,
                       "cell %d of campaign %s is of the virtual world and has no network to run programs on; give it the world "
                       "'emulated', or choose another with --cell",
                       exec->cell, exec->plan.name);
    exec->topology = entry->topology;
    exec->topology.seed = exec->plan.seed;
    exec->session.topology = &exec->topology;
    exec->session.engine = entry->engine;
    return 0;
}

/* A node without a command is for whoever wants to look around. */
static int choose_command(struct exec *exec, char **words, int count, struct err *err)
{
    struct exec_session *session = &exec->session;
    session->place = EXEC_EVERY_HOST;
    int result = exec->options.node ? topology_find(&exec->topology, exec->options.node, &session->place, err) : 0;
    if (result < 0)
        return err_wrap(err, "--node");
    if (count > 0)
        session->command = arena_copy(exec->arena, words, ((size_t)count + 1) * sizeof(*words));
    else if (exec->options.node) {
        char **shell = arena_new_array(exec->arena, char *, 2);
        const char *own = getenv("SHELL");
        shell[0] = arena_strdup(exec->arena, own && own[0] ? own : "/bin/sh");
        session->command = shell;
    }
    char found[PATH_MAX];
    return session->command ? process_find(session->command[0], NULL, NULL, found, sizeof(found), err) : 0;
}

/* The file's `capture` is for its trials; how and where it writes holds here, too. */
static int choose_captures(struct exec *exec, struct err *err)
{
    if (!exec->options.capture)
        return 0;
    struct capture_settings *capture = &exec->session.capture;
    int result = capture_links_override(exec->options.capture, exec->arena, &exec->plan, err);
    if (result == 0) {
        *capture = exec->plan.cells[exec->cell].settings.capture;
        result = capture_session_check(capture, &exec->topology, &exec->host, exec->arena, err);
    }
    return result < 0 ? err_wrap(err, "--capture") : 0;
}

static int check_limits(const struct exec *exec, struct err *err)
{
    const struct exec_session *session = &exec->session;
    int programs = session->place != EXEC_EVERY_HOST ? 1 : session->command ? exec->topology.host_count : 0;
    struct host_limits limits;
    struct host_demand demand;
    host_limits_read(&limits);
    host_demand_of_network(&exec->topology, session->engine, programs, &session->capture, &demand);
    return host_limits_check(&limits, &demand, err);
}

static void announce(const struct exec *exec)
{
    const struct cell *cell = &exec->plan.cells[exec->cell];
    cleanup(text_free) struct text text = {0};
    if (!exec->options.quiet)
        text_printf(&text, "%s, cell %d of %d%s%s: %d node%s, engine %s\n", exec->plan.name, cell->index,
                    exec->plan.cell_count / plan_variants(&exec->plan), cell->label[0] ? ", " : "", cell->label,
                    exec->topology.host_count, units_plural(exec->topology.host_count), engine_names[exec->session.engine]);
    if (exec->options.verbose || !exec->session.command)
        node_table_print(&exec->topology, &text);
    if (text.length > 0)
        fputs(text.bytes, stderr);
}

static void invite(void *context)
{
    const struct exec *exec = context;
    fprintf(stderr, "the network stands until Ctrl-C; from another terminal, for example: laggard enter %s\n",
            exec->topology.places[0].name);
}

int cmd_exec(int argc, char **argv, struct err *err)
{
    cleanup(exec_clean) struct exec exec = {.arena = arena_new(), .signal_fd = -1, .options.engine = NOT_GIVEN};
    int words;
    int result = options_parse(&cmd_exec_table, argc, argv, &exec.options, &words, err);
    if (result != 0)
        return result < 0 ? result : 0;
    result = campaign_load(argv[0], NULL, exec.arena, &exec.plan, err);
    if (result == 0)
        result = choose_network(&exec, err);
    if (result == 0)
        result = choose_command(&exec, argv + 1, words - 1, err);
    if (result == 0)
        result = choose_captures(&exec, err);
    if (result == 0)
        result = check_limits(&exec, err);
    if (result == 0)
        result = interruption_open(&exec.signal_fd, err);
    if (result < 0)
        return result;
    exec.session.name = exec.plan.name;
    exec.session.quiet = exec.options.quiet;
    exec.session.prefix = !exec.options.no_prefix;
    exec.session.keep = exec.options.keep || !exec.session.command;
    exec.session.signal_fd = exec.signal_fd;
    exec.session.standing = exec.session.keep ? invite : NULL;
    exec.session.context = &exec;
    struct rlimit files;
    exec.session.open_files = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 0;
    host_limits_raise();
    announce(&exec);
    return exec_session_run(&exec.session, err);
}
