/* options.h: command lines as one typed table over getopt_long: parsing, range checks and help read the same rows. */
#ifndef LAGGARD_BASE_OPTIONS_H
#define LAGGARD_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

enum option_type {
    OPTION_FLAG,     /* bool */
    OPTION_STRING,   /* const char * */
    OPTION_INTEGER,  /* int64_t, within minimum..maximum */
    OPTION_UNSIGNED, /* uint64_t */
    OPTION_TIME,     /* int64_t ns, with unit */
    OPTION_CHOICE,   /* int: index into choices */
    OPTION_TYPE_COUNT
};

struct option_row {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* short form or 0 */
    enum option_type type;
    size_t offset;          /* into the target struct */
    const char *value_name; /* for help: FILE, N */
    const char *help;
    int64_t minimum, maximum;   /* both 0: no limit (a time is then not negative) */
    const char *const *choices; /* NULL-terminated */
    size_t given; /* into the target: a bool that says that the option was there, where every value may be asked; 0: none */
};
/* A command's grammar: `usage` is the line after "laggard NAME " ("FILE [--db DB] ..."). */
struct option_table {
    const char *command, *usage, *summary;
    const struct option_row *rows;
    int positional_minimum, positional_maximum; /* maximum -1: any number */
    const char *const *first_words;             /* NULL-terminated: what the first positional argument is one of; NULL: anything */
    int command_position; /* which positional argument begins another program's command line: it and what follows is taken as it is,
                           * options included; 0: none does (the first never does) */
};

/* argv[0] is the command. Positional arguments end up in argv[0..*positional_count). "--" ends options. The error (ERR_USAGE) names
 * the option, what was found and what is allowed, and for an unknown option the nearest known one. Returns 1 when --help was asked
 * for and printed to stdout. */
int options_parse(const struct option_table *table, int argc, char **argv, void *target, int *positional_count, struct err *err);
void options_print_help(const struct option_table *table, FILE *stream);
/* The candidate nearest to `word` by edit distance, or NULL when none is near: "unknown key 'topolgy', did you mean 'topology'?" */
const char *options_nearest(const char *word, const char *const *candidates, size_t count);

#endif
