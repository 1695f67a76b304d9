/* run_options.c: the options of `laggard run`. */
#include <stddef.h>

#include "base/err.h"
#include "base/options.h"
#include "harness/campaign.h"
#include "harness/commands.h"
#include "harness/progress.h"
#include "harness/run_internal.h"

static const struct option_row run_rows[] = {
    {.name = "db",
     .type = OPTION_STRING,
     .offset = offsetof(struct run_options, db),
     .value_name = "FILE",
     .help = "the database (default: NAME.db in the current folder, NAME being the campaign's)"},
    {.name = "world",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct run_options, world),
     .choices = campaign_world_choices,
     .value_name = "WORLD",
     .help = "what carries the schemes, in place of the file's; both: every cell in each"},
    {.name = "engine",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct run_options, engine),
     .choices = engine_names,
     .value_name = "ENGINE",
     .help = "what delays packets, in place of the file's"},
    {.name = "seed",
     .type = OPTION_UNSIGNED,
     .offset = offsetof(struct run_options, seed),
     .given = offsetof(struct run_options, seed_given),
     .value_name = "N",
     .help = "in place of the file's seed"},
    {.name = "only",
     .type = OPTION_STRING,
     .offset = offsetof(struct run_options, only),
     .value_name = "CELL",
     .help = "run one cell: its number or its label as `laggard plan` prints them"},
    {.name = "capture",
     .type = OPTION_STRING,
     .offset = offsetof(struct run_options, capture),
     .value_name = "LINKS",
     .help = "write the packets of these links to pcap files, in place of the file's: names or indexes with commas, all, or none"},
    {.name = "resume",
     .type = OPTION_FLAG,
     .offset = offsetof(struct run_options, resume),
     .help = "go on with the database's campaign: trials that finished stay, all others run"},
    {.name = "accept-environment",
     .type = OPTION_FLAG,
     .offset = offsetof(struct run_options, accept_environment),
     .help = "with --resume: also when this host, or its state, is not what the campaign began on"},
    {.name = "shard",
     .type = OPTION_STRING,
     .offset = offsetof(struct run_options, shard),
     .value_name = "K/N",
     .help = "run the K-th of N shares of the trials, into a database of its own; `laggard merge` joins them"},
    {.name = "retries",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct run_options, retries),
     .value_name = "N",
     .help = "run a trial that failed again, so many times at most (default: 0)",
     .minimum = 0,
     .maximum = 100},
    {.name = "max-time",
     .type = OPTION_TIME,
     .offset = offsetof(struct run_options, max_time_ns),
     .value_name = "TIME",
     .help = "start no trial after this time; what is left out is said",
     .minimum = 1,
     .maximum = INT64_MAX},
    {.name = "confirm",
     .type = OPTION_FLAG,
     .offset = offsetof(struct run_options, confirm),
     .help = "run again, with other draws, the cells of the database's last campaign that `laggard gate` leaves unconfirmed"},
    {.name = "baseline",
     .type = OPTION_STRING,
     .offset = offsetof(struct run_options, baseline),
     .value_name = "DB2",
     .help = "of that gate"},
    {.name = "thresholds",
     .type = OPTION_STRING,
     .offset = offsetof(struct run_options, thresholds),
     .value_name = "FILE",
     .help = "of that gate, in place of `gate` in FILE"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct run_options, json),
     .help = "print one JSON document instead of the table"},
    {.name = "quiet", .letter = 'q', .type = OPTION_FLAG, .offset = offsetof(struct run_options, quiet), .help = "no progress"},
    {.name = "color",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct run_options, color),
     .choices = colour_names,
     .value_name = "WHEN",
     .help = "whether there is colour (default: auto, on a terminal); NO_COLOR is honoured"},
    {0},
};
const struct option_table cmd_run_table = {
    .command = "run",
    .usage = "FILE [OPTIONS]",
    .summary = "Runs the campaign in FILE, stores every timing and prints one line a cell.",
    .rows = run_rows,
    .positional_minimum = 1,
    .positional_maximum = 1,
};

int run_options_check(const struct run_options *options, struct err *err)
{
    if (!options->confirm && (options->baseline || options->thresholds))
        return err_set(err, ERR_USAGE, "--baseline and --thresholds say what --confirm asks the gate: leave them out, or add it");
    if (options->resume && options->confirm)
        return err_set(err, ERR_USAGE,
                       "--resume goes on with a campaign, --confirm runs flagged cells again: leave one of them out");
    if (options->accept_environment && !options->resume)
        return err_set(err, ERR_USAGE, "--accept-environment is about --resume: leave it out, or add that");
    return 0;
}
