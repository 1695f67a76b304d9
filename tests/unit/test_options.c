/* test_options.c: a command line of every type, errors that say what is allowed, and help from the same rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"

struct target {
    bool quiet, json, seed_given;
    const char *database;
    int64_t repeats, timeout_ns;
    uint64_t seed;
    int engine;
};

static const char *const engines[] = {"auto", "netem", "relay", NULL};
static const struct option_row rows[] = {
    {.name = "quiet",
     .letter = 'q',
     .type = OPTION_FLAG,
     .offset = offsetof(struct target, quiet),
     .help = "print only the result"},
    {.name = "json", .type = OPTION_FLAG, .offset = offsetof(struct target, json), .help = "print one JSON document"},
    {.name = "db",
     .letter = 'd',
     .type = OPTION_STRING,
     .offset = offsetof(struct target, database),
     .value_name = "FILE",
     .help = "where the timings go"},
    {.name = "repeats",
     .letter = 'n',
     .type = OPTION_INTEGER,
     .offset = offsetof(struct target, repeats),
     .value_name = "N",
     .help = "trials a cell",
     .minimum = 1,
     .maximum = 64},
    {.name = "seed",
     .type = OPTION_UNSIGNED,
     .offset = offsetof(struct target, seed),
     .given = offsetof(struct target, seed_given),
     .value_name = "N",
     .help = "seed"},
    {.name = "max-time",
     .type = OPTION_TIME,
     .offset = offsetof(struct target, timeout_ns),
     .value_name = "TIME",
     .help = "end after",
     .minimum = 1000000,
     .maximum = INT64_C(3600000000000)},
    {.name = "engine",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct target, engine),
     .value_name = "ENGINE",
     .help = "what delays packets",
     .choices = engines},
    {.name = NULL},
};
static const struct option_table table = {.command = "run",
                                          .usage = "FILE [--db DB]",
                                          .summary = "Runs a campaign.",
                                          .rows = rows,
                                          .positional_minimum = 1,
                                          .positional_maximum = 2};

enum { WORDS_MAX = 16 };

/* Splits at spaces, parses, and leaves the positional words in argv. */
static int parse(const char *line, struct target *target, char *argv[WORDS_MAX], int *count, struct err *err)
{
    static char words[512];
    snprintf(words, sizeof(words), "%s", line);
    int argc = 0;
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return options_parse(&table, argc, argv, target, count, err);
}

static void every_type_is_read(void **state)
{
    (void)state;
    struct target target = {.engine = 0};
    char *argv[WORDS_MAX];
    int count = 0;
    struct err err = {0};
    if (parse("run a.yaml -qd x.db --repeats=6 --seed 18446744073709551615 b.yaml --max-time 1.5m --engine relay --json", &target,
              argv, &count, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(target.quiet && target.json);
    assert_string_equal(target.database, "x.db");
    assert_int_equal(target.repeats, 6);
    assert_true(target.seed == UINT64_MAX && target.seed_given);
    assert_true(target.timeout_ns == INT64_C(90000000000));
    assert_int_equal(target.engine, 2);
    assert_int_equal(count, 2);
    assert_string_equal(argv[0], "a.yaml"); /* options may stand between */
    assert_string_equal(argv[1], "b.yaml");
}

static void what_is_not_given_keeps_its_default(void **state)
{
    (void)state;
    struct target target = {.repeats = 6, .database = "default.db", .engine = 1};
    char *argv[WORDS_MAX];
    int count = 0;
    assert_int_equal(parse("run a.yaml", &target, argv, &count, NULL), 0);
    assert_int_equal(target.repeats, 6);
    assert_string_equal(target.database, "default.db");
    assert_int_equal(target.engine, 1);
    assert_int_equal(parse("run a.yaml -n 1 -n 2", &target, argv, &count, NULL), 0);
    assert_int_equal(target.repeats, 2); /* the last one counts */
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    struct target target = {0};
    char *argv[WORDS_MAX];
    int count = 0;
    assert_int_equal(parse("run a.yaml -- --quiet", &target, argv, &count, NULL), 0);
    assert_false(target.quiet);
    assert_int_equal(count, 2);
    assert_string_equal(argv[1], "--quiet");
}

static void more_options_than_words(void **state)
{
    (void)state;
    struct target target = {0};
    char *argv[WORDS_MAX];
    int count = 0;
    assert_int_equal(parse("run -qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq a.yaml", &target, argv, &count, NULL), 0);
    assert_true(target.quiet);
    assert_int_equal(count, 1);
}

static void refuse(const char *line, const char *first, const char *second)
{
    struct target target, before;
    memset(&target, 0x5a, sizeof(target));
    before = target;
    char *argv[WORDS_MAX];
    int count = 77;
    struct err err = {0};
    assert_int_equal(parse(line, &target, argv, &count, &err), -ERR_USAGE);
    assert_int_equal(err.kind, ERR_USAGE);
    if (!strstr(err.text, first) || !strstr(err.text, second))
        fail_msg("'%s' does not contain '%s' and '%s'", err.text, first, second);
    assert_memory_equal(&target, &before, sizeof(target)); /* also what came before the mistake was not stored */
    assert_int_equal(count, 77);
    assert_int_equal(parse(line, &target, argv, &count, NULL), -ERR_USAGE);
}

static void mistakes_are_explained(void **state)
{
    (void)state;
    refuse("run a.yaml --quiet --repeets 3", "run: unknown option '--repeets'", "did you mean '--repeats'?");
    refuse("run a.yaml --quiet --repeets=3", "unknown option '--repeets'", "did you mean '--repeats'?");
    refuse("run a.yaml --frobnicate", "unknown option '--frobnicate'", "laggard run --help");
    refuse("run a.yaml -qx", "unknown option '-x'", "laggard run --help");
    refuse("run a.yaml --se", "--s", "needs a value"); /* an unambiguous beginning is accepted, and its value asked for */
    refuse("run a.yaml --quiet=3", "option --quiet takes no value", "--quiet=3");
    refuse("run a.yaml --help=3", "option --help takes no value", "");
    refuse("run a.yaml --db", "option --db needs a value", "FILE");
    refuse("run a.yaml -q -n", "option --repeats needs a value", "N");
    refuse("run a.yaml --repeats 0", "run: option --repeats: found '0'", "allowed is 1 to 64");
    refuse("run a.yaml --repeats six", "option --repeats: found 'six'", "a whole number is needed");
    refuse("run a.yaml -q --seed 18446744073709551616", "option --seed", "allowed is 0 to 18446744073709551615");
    refuse("run a.yaml -q --seed -1", "option --seed: found '-1'", "allowed is 0 or more");
    refuse("run a.yaml --max-time 10", "option --max-time: found '10'", "needs a unit: ns us ms s m h");
    refuse("run a.yaml --max-time 2h", "found '2h'", "allowed is 1ms to 1h");
    refuse("run a.yaml --engine rely", "option --engine: found 'rely', did you mean 'relay'?", "auto netem relay");
    refuse("run a.yaml --engine x", "option --engine: found 'x', allowed are:", "auto netem relay");
    refuse("run", "found 0 arguments, at least 1 needed", "usage: laggard run FILE [--db DB]");
    refuse("run a b c", "found 'c', which is one argument too many", "usage: laggard run FILE [--db DB]");
}

static void an_ambiguous_beginning_names_all(void **state)
{
    (void)state;
    struct both {
        bool a, b;
    } target = {0};
    static const struct option_row two[] = {
        {.name = "max-time", .type = OPTION_FLAG, .help = "a"},
        {.name = "max-size", .type = OPTION_FLAG, .offset = offsetof(struct both, b), .help = "b"},
        {.name = NULL}};
    const struct option_table ambiguous = {.command = "x", .usage = "", .summary = "", .rows = two, .positional_maximum = -1};
    char *argv[] = {"x", "--max", NULL};
    struct err err = {0};
    int count;
    assert_int_equal(options_parse(&ambiguous, 2, argv, &target, &count, &err), -ERR_USAGE);
    assert_string_equal(err.text, "x: option '--max' could be any of: --max-time --max-size");
}

static char *capture_help(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    options_print_help(&table, stream);
    fclose(stream);
    return text;
}

static void help_reads_the_same_rows(void **state)
{
    (void)state;
    cleanup(free_pointer) char *help = capture_help();
    static const char *const parts[] = {"Usage: laggard run FILE [--db DB]\n",
                                        "Runs a campaign.",
                                        "  -q, --quiet",
                                        "      --json",
                                        "  -d, --db FILE",
                                        "--repeats N",
                                        "(1 to 64)",
                                        "(1ms to 1h)",
                                        "(auto, netem, relay)",
                                        "-h, --help"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!strstr(help, parts[i]))
            fail_msg("help has no '%s':\n%s", parts[i], help);
}

static void help_goes_to_standard_output(void **state)
{
    (void)state;
    static const char *const lines[] = {"run --help", "run -h", "run a b c --help"}; /* before positional words are counted */
    for (size_t i = 0; i < 3; i++) {
        fflush(stdout);
        int saved = dup(STDOUT_FILENO), ends[2];
        assert_int_equal(pipe(ends), 0);
        dup2(ends[1], STDOUT_FILENO);
        struct target target = {0};
        char *argv[WORDS_MAX];
        int count = 0;
        int status = parse(lines[i], &target, argv, &count, NULL);
        fflush(stdout);
        dup2(saved, STDOUT_FILENO);
        close(saved);
        close(ends[1]);
        char found[4096];
        ssize_t length = read(ends[0], found, sizeof(found) - 1);
        close(ends[0]);
        assert_int_equal(status, 1);
        assert_true(length > 0);
        found[length] = '\0';
        cleanup(free_pointer) char *help = capture_help();
        assert_string_equal(found, help);
    }
}

static void the_nearest_word_is_near(void **state)
{
    (void)state;
    static const char *const keys[] = {"topology", "workload", "compute", "matrix", "k", "seed"};
    enum { KEYS = sizeof(keys) / sizeof(keys[0]) };
    assert_string_equal(options_nearest("topolgy", keys, KEYS), "topology");
    assert_string_equal(options_nearest("wrokload", keys, KEYS), "workload");
    assert_string_equal(options_nearest("matrices", keys, KEYS), "matrix");
    assert_string_equal(options_nearest("sed", keys, KEYS), "seed");
    static const char *const commands[] = {"plan", "run", "fields"};
    assert_string_equal(options_nearest("rnu", commands, 3), "run"); /* two letters changed about: one slip */
    assert_string_equal(options_nearest("seed", keys, KEYS), "seed");
    assert_null(options_nearest("x", keys, KEYS));
    assert_null(options_nearest("", keys, KEYS));
    assert_null(options_nearest("banana", keys, KEYS));
    assert_null(options_nearest("seed", keys, 0));
    char longer[5000];
    memset(longer, 'm', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_null(options_nearest(longer, keys, KEYS));
}

static void another_programs_command_line_is_left_alone(void **state)
{
    (void)state;
    static const struct option_table runs = {.command = "exec",
                                             .usage = "FILE -- CMD",
                                             .summary = "",
                                             .rows = rows,
                                             .positional_minimum = 1,
                                             .positional_maximum = -1,
                                             .command_position = 1};
    static const struct {
        const char *line, *words;
        bool quiet;
    } cases[] = {
        {"exec file --quiet -- ls -q --quiet", "file ls -q --quiet", true},
        {"exec --quiet file ls -q --db", "file ls -q --db", true},
        {"exec file ls --quiet -- x", "file ls --quiet -- x", false},
        {"exec -- file ls --json", "file ls --json", false},
        {"exec file -q", "file", true},
        {"exec file -- --odd", "file --odd", false},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        char line[128], found[128] = "", *argv[WORDS_MAX];
        int argc = 0, count;
        struct target target = {0};
        struct err err = {0};
        snprintf(line, sizeof(line), "%s", cases[c].line);
        for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
            argv[argc++] = word;
        argv[argc] = NULL;
        assert_int_equal(options_parse(&runs, argc, argv, &target, &count, &err), 0);
        for (int i = 0; i < count; i++)
            snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s", i ? " " : "", argv[i]);
        assert_string_equal(found, cases[c].words);
        assert_null(argv[count]);
        assert_int_equal(target.quiet, cases[c].quiet);
        assert_false(target.json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_programs_command_line_is_left_alone),
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(what_is_not_given_keeps_its_default),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(more_options_than_words),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(an_ambiguous_beginning_names_all),
        cmocka_unit_test(help_reads_the_same_rows),
        cmocka_unit_test(help_goes_to_standard_output),
        cmocka_unit_test(the_nearest_word_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
