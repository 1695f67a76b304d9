/* cmd_plot.c: `laggard plot`: one picture of what a database holds, as SVG, PNG or PDF. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/options.h"
#include "harness/commands.h"
#include "harness/output_file.h"
#include "results/database.h"
#include "results/plot.h"
#include "results/sqlite_wrap.h"

struct plot_options {
    const char *output;
    int64_t campaign, trial, round;
    int format;
    bool format_given;
};

static const struct option_row plot_rows[] = {
    {.name = "format",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct plot_options, format),
     .choices = plot_format_names,
     .value_name = "FORMAT",
     .help = "of the picture (default: as the name of --output ends, or else svg)",
     .given = offsetof(struct plot_options, format_given)},
    {.name = "campaign",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct plot_options, campaign),
     .value_name = "N",
     .help = "this campaign, by its campaign_id (default: the last that is no confirming rerun)",
     .minimum = 1,
     .maximum = INT64_MAX},
    {.name = "trial",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct plot_options, trial),
     .value_name = "N",
     .help = "timeline, links: this trial (default: the first that fits)",
     .minimum = 1,
     .maximum = INT64_MAX},
    {.name = "round",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct plot_options, round),
     .value_name = "N",
     .help = "timeline: this round (default: the one nearest to its trial's median)",
     .minimum = 0,
     .maximum = INT64_MAX},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_STRING,
     .offset = offsetof(struct plot_options, output),
     .value_name = "FILE",
     .help = "write there, in place of standard output"},
    {0},
};
const struct option_table cmd_plot_table = {
    .command = "plot",
    .usage = "DB [NAME] [OPTIONS]",
    .summary = "Draws one picture of what DB holds; gnuplot is needed. Without NAME it lists the names.",
    .rows = plot_rows,
    .positional_minimum = 1,
    .positional_maximum = 2,
};

static int list(void)
{
    for (const struct plot_kind *kind = plot_kinds; kind->name; kind++)
        printf("%-16s %s\n", kind->name, kind->summary);
    return 0;
}

/* The format that a file's name ends with; SVG where it ends with none. */
static int format_of_name(const char *path, int *format, struct err *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    if (!dot || dot == name)
        return 0;
    for (int i = 0; i < PLOT_FORMAT_COUNT; i++)
        if (strcasecmp(dot + 1, plot_format_names[i]) == 0) {
            *format = i;
            return 0;
        }
    return err_set(err, ERR_USAGE,
                   "plot: '%s' ends with '%s', but pictures are svg, png or pdf; --format says which, whatever the name", path,
                   dot);
}

static int draw(const char *db, const char *name, const struct plot_options *options, struct text *out, struct err *err)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    cleanup(picture_free) struct picture picture = {0};
    struct plot_asked asked = {.trial = options->trial, .round = options->round};
    const struct plot_kind *kind = plot_find(name, err);
    if (!kind)
        return -ERR_USAGE;
    if ((options->trial > 0 && !kind->of_a_trial) || (options->round >= 0 && !kind->of_a_round))
        return err_set(err, ERR_USAGE, "plot: %s takes no --%s: leave it out", name,
                       options->trial > 0 && !kind->of_a_trial ? "trial" : "round");
    int result = database_open(db, &sql, err);
    if (result == 0)
        result = plot_campaign(sql, options->campaign, &asked.campaign_id, err);
    if (result == 0)
        result = kind->draw(sql, &asked, &picture, err);
    if (result < 0)
        return result;
    if (picture.script.length == 0)
        return err_set(err, ERR_USAGE, "plot %s of campaign %" PRId64 " of '%s' would be empty: %s", name, asked.campaign_id, db,
                       picture.description.bytes);
    if (picture.partial)
        log_warning("not everything has room in the picture: %s", picture.description.bytes);
    return plot_render(&picture, (enum plot_format)options->format, NULL, out, err);
}

static int write_file(const char *path, const struct text *out, struct err *err)
{
    cleanup(output_file_discard) struct output_file file = {0};
    int result = output_file_open(path, false, &file, err);
    if (result < 0)
        return result;
    fwrite(out->bytes, 1, out->length, file.stream);
    return output_file_commit(&file, err);
}

int cmd_plot(int argc, char **argv, struct err *err)
{
    struct plot_options options = {.round = -1};
    cleanup(text_free) struct text out = {0};
    int words;
    int result = options_parse(&cmd_plot_table, argc, argv, &options, &words, err);
    if (result != 0)
        return result < 0 ? result : 0;
    if (words == 1 && options.output)
        return err_set(err, ERR_USAGE, "plot: no picture is named for '%s'; `laggard plot %s` lists the names, round-time for one",
                       options.output, argv[0]);
    const char *passed_over = options.trial > 0      ? "trial"
                              : options.round >= 0   ? "round"
                              : options.campaign > 0 ? "campaign"
                              : options.format_given ? "format"
                                                     : NULL;
    if (words == 1 && passed_over)
        return err_set(err, ERR_USAGE, "plot: --%s is about a picture, and none is named; `laggard plot %s` lists the names",
                       passed_over, argv[0]);
    if (words == 1)
        return list();
    if (!options.format_given && options.output && (result = format_of_name(options.output, &options.format, err)) < 0)
        return result;
    if (options.format != PLOT_SVG && !options.output && isatty(STDOUT_FILENO))
        return err_set(err, ERR_USAGE, "plot: %s is not for a terminal: name a file with -o, or send it to another program",
                       plot_format_names[options.format]);
    result = draw(argv[0], argv[1], &options, &out, err);
    if (result < 0)
        return result;
    if (options.output)
        return write_file(options.output, &out, err);
    fwrite(out.bytes, 1, out.length, stdout);
    return 0;
}
