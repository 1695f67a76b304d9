/* cmd_merge.c: `laggard merge`: several databases into one. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/options.h"
#include "harness/commands.h"
#include "results/merge.h"

struct merge_options {
    bool separate;
};
static const struct option_row merge_rows[] = {
    {.name = "separate",
     .type = OPTION_FLAG,
     .offset = offsetof(struct merge_options, separate),
     .help = "keep campaigns apart that would be shards of one"},
    {0},
};
const struct option_table cmd_merge_table = {
    .command = "merge",
    .usage = "OUT IN... [OPTIONS]",
    .summary =
        "Adds the campaigns of each database IN to OUT, which is made when it is missing. Shards of one campaign become one.",
    .rows = merge_rows,
    .positional_minimum = 2,
    .positional_maximum = -1,
};

static bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

int cmd_merge(int argc, char **argv, struct err *err)
{
    struct merge_options options = {0};
    int files;
    int result = options_parse(&cmd_merge_table, argc, argv, &options, &files, err);
    if (result != 0)
        return result < 0 ? result : 0;
    for (int i = 1; i < files; i++)
        if (same_file(argv[0], argv[i]))
            return err_set(err, ERR_USAGE, "cannot merge '%s' into itself", argv[i]);
    for (int i = 1; i < files && result == 0; i++) {
        struct merge_counts counts;
        result = merge_add(argv[0], argv[i], options.separate, &counts, err);
        if (result == 0)
            printf("%s: %d campaign%s and %d trial%s added, %d shard%s joined, %d trial%s there already\n", argv[i],
                   counts.campaigns, counts.campaigns == 1 ? "" : "s", counts.trials, counts.trials == 1 ? "" : "s", counts.joined,
                   counts.joined == 1 ? "" : "s", counts.duplicates, counts.duplicates == 1 ? "" : "s");
    }
    return result;
}
