/* cmd_migrate.c: `laggard migrate`: a database of an earlier schema version brought to the present one. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "harness/commands.h"
#include "results/migrate.h"

const struct option_table cmd_migrate_table = {
    .command = "migrate",
    .usage = "DB",
    .summary = "Brings a database that an earlier laggard made to the schema of this one, and keeps it as it was in DB.vVERSION.",
    .positional_minimum = 1,
    .positional_maximum = 1,
};

int cmd_migrate(int argc, char **argv, struct err *err)
{
    struct migration done = {0};
    int files;
    int result = options_parse(&cmd_migrate_table, argc, argv, NULL, &files, err);
    if (result != 0)
        return result < 0 ? result : 0;
    result = migrate(argv[0], &done, err);
    if (result == 0 && done.from == done.to)
        printf("%s has schema version %u already\n", argv[0], done.to);
    else if (result == 0)
        printf("%s: schema version %u to %u, %lld campaign%s and %lld trial%s; as it was it is at %s\n", argv[0], done.from,
               done.to, (long long)done.campaigns, done.campaigns == 1 ? "" : "s", (long long)done.trials,
               done.trials == 1 ? "" : "s", done.copy.bytes);
    text_free(&done.copy);
    return result;
}
