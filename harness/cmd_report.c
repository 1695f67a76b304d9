/* cmd_report.c: `laggard report`: what a database holds as one HTML page. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "harness/commands.h"
#include "harness/output_file.h"
#include "results/database.h"
#include "results/plot.h"
#include "results/report.h"
#include "results/sqlite_wrap.h"

struct report_options {
    const char *output;
    int64_t campaign;
    bool no_plots;
};

static const struct option_row report_rows[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_STRING,
     .offset = offsetof(struct report_options, output),
     .value_name = "FILE",
     .help = "write the page there; without it to standard output, if that is no terminal"},
    {.name = "campaign",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct report_options, campaign),
     .value_name = "N",
     .help = "this campaign alone, by its campaign_id (default: all, compared with each other)",
     .minimum = 1,
     .maximum = INT64_MAX},
    {.name = "no-plots",
     .type = OPTION_FLAG,
     .offset = offsetof(struct report_options, no_plots),
     .help = "tables alone; gnuplot is then not needed"},
    {0},
};
const struct option_table cmd_report_table = {
    .command = "report",
    .usage = "DB -o FILE.html [OPTIONS]",
    .summary = "Writes one page with tables and pictures of what DB holds. It needs no network and no other file.",
    .rows = report_rows,
    .positional_minimum = 1,
    .positional_maximum = 1,
};

int cmd_report(int argc, char **argv, struct err *err)
{
    struct report_options options = {0};
    cleanup(sql_cleanup) struct sql *sql = NULL;
    cleanup(text_free) struct text page = {0};
    cleanup(output_file_discard) struct output_file file = {0};
    int words;
    int result = options_parse(&cmd_report_table, argc, argv, &options, &words, err);
    if (result != 0)
        return result < 0 ? result : 0;
    if (!options.output && isatty(STDOUT_FILENO))
        return err_set(err, ERR_USAGE, "report: a page is no text for a terminal: name a file with -o FILE.html, or use a pipe");
    const char *dot = options.output ? strrchr(options.output, '.') : NULL;
    for (int i = 0; dot && i < PLOT_FORMAT_COUNT; i++)
        if (strcasecmp(dot + 1, plot_format_names[i]) == 0)
            return err_set(err, ERR_USAGE,
                           "report: '%s' ends with '%s', but a page is HTML: name a file.html, which a browser prints as PDF; "
                           "`laggard plot` draws single pictures",
                           options.output, dot);
    const struct report_asked asked = {.campaign_id = options.campaign, .no_plots = options.no_plots};
    result = database_open(argv[0], &sql, err);
    if (result == 0 && options.output)
        result = output_file_open(options.output, false, &file, err);
    if (result == 0)
        result = report_write(sql, &asked, &page, err);
    if (result < 0)
        return result;
    fwrite(page.bytes, 1, page.length, options.output ? file.stream : stdout);
    return options.output ? output_file_commit(&file, err) : 0;
}
