/* test_progress.c: what a campaign shows: a line a trial where standard error is no terminal, a bar on one that never wraps,
 * nothing when quiet, and colour as asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "harness/progress.h"

static const struct cell cells[] = {
    {.index = 0, .label = "scheme=ring workers=4", .settings = {.name = "demo", .workload = {.rounds = 100}}},
    {.index = 1, .label = "", .settings = {.name = "demo", .workload = {.rounds = 100}}},
};
static const struct trial_plan trials[] = {{.cell = 0, .repeat = 0}, {.cell = 1, .repeat = 2}};
static const struct plan plan = {.name = "demo", .cells = cells, .cell_count = 2, .trials = trials, .trial_count = 12};
static const struct trial_outcome good = {
    .status = TRIAL_FINISHED, .predicted = {.available = true, .round_ns = 2.5e6}, .round_mean_ns = 3e6};
static const struct trial_outcome degraded = {
    .status = TRIAL_FINISHED, .fidelity = FIDELITY_DEGRADED, .reason = "7 spans did not fit", .round_mean_ns = 3e6};
static const struct trial_outcome failed = {.status = TRIAL_FAILED, .reason = "node w1, round 2: lost"};

static void show_campaign(bool quiet)
{
    struct progress progress;
    progress_begin(&progress, &plan, 3, 30, quiet, COLOUR_NEVER); /* --only left 3 of 12 */
    progress_stage(&progress, "measuring 4 links");
    const struct trial_outcome *const outcomes[] = {&good, &degraded, &failed};
    for (int i = 0; i < 3; i++) {
        progress_trial(&progress, &trials[i > 0], 10);
        progress_rounds(&progress, 50);
        progress_rounds(&progress, UINT32_MAX); /* whatever an agent says */
        progress_trial_done(&progress, outcomes[i]);
    }
    progress_end(&progress);
}

/* Runs it with standard error at `fd`. */
static void with_stderr(int fd, void (*show)(bool), bool quiet)
{
    cleanup(close_fd) int kept = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fd, STDERR_FILENO);
    show(quiet);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
}

static void a_line_a_trial_where_there_is_no_terminal(void **state)
{
    (void)state;
    int pipe_fds[2];
    char shown[4096];
    assert_int_equal(pipe(pipe_fds), 0);
    with_stderr(pipe_fds[1], show_campaign, true);
    with_stderr(pipe_fds[1], show_campaign, false);
    close(pipe_fds[1]);
    ssize_t length = read(pipe_fds[0], shown, sizeof(shown) - 1);
    close(pipe_fds[0]);
    assert_true(length > 0);
    shown[length] = 0;
    assert_string_equal(shown, "measuring 4 links\n"
                               "trial 1/3  scheme=ring workers=4  repeat 1: mean round 3 ms, predicted 2.5 ms, faithful\n"
                               "trial 2/3  demo  repeat 3: mean round 3 ms, degraded: 7 spans did not fit\n"
                               "trial 3/3  demo  repeat 3: failed: node w1, round 2: lost\n");
}

/* The longest stretch between two returns to the line's begin, without escape sequences. */
static size_t widest(const char *shown)
{
    size_t width = 0, most = 0;
    for (const char *c = shown; *c; c++) {
        if (*c == '\r' || *c == '\n')
            width = 0;
        else if (*c == '\033')
            c += strcspn(c, "mK");
        else
            width++;
        most = width > most ? width : most;
    }
    return most;
}

static void a_bar_on_a_terminal_never_wraps(void **state)
{
    (void)state;
    static const int columns[] = {100, 50, 10};
    for (int i = 0; i < 3; i++) {
        int master, slave;
        struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns[i]};
        char shown[16384];
        assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
        with_stderr(slave, show_campaign, false);
        close(slave);            /* so that the last read ends with an error, not with a wait */
        ssize_t length = 0, got; /* a terminal hands out what it has in pieces */
        while ((got = read(master, shown + length, sizeof(shown) - 1 - (size_t)length)) > 0)
            length += got;
        close(master);
        assert_true(length > 0);
        shown[length] = 0;
        assert_non_null(strstr(shown, "trial 3/3  demo  repeat 3: failed: node w1, round 2: lost\r\n")); /* stays above the bar */
        assert_null(strstr(shown, "trial 1/3")); /* a good one is the bar's */
        assert_int_equal(strstr(shown, "[############") != NULL, columns[i] > 10);
        char *line = strstr(shown, "trial 2/3"); /* whole lines may be long */
        while (line) {
            char *end = strchr(line, '\n');
            memmove(line, end, strlen(end) + 1);
            line = strstr(shown, "trial ");
        }
        assert_true(widest(shown) < (size_t)columns[i]);
    }
}

static void show_program(bool quiet)
{
    static const struct cell cell = {.label = "scheme=exec", .settings = {.name = "demo", .scheme = {.outside = true}}};
    static const struct plan one = {.cells = &cell, .cell_count = 1};
    static const struct trial_plan first = {0};
    struct progress progress;
    progress_begin(&progress, &one, 1, 10, quiet, COLOUR_NEVER);
    progress_trial(&progress, &first, 10);
    progress_rounds(&progress, 5);
    progress_end(&progress);
}

/* How many rounds an outside program will report, nobody knows. */
static void rounds_of_a_program_have_no_end(void **state)
{
    (void)state;
    int master, slave;
    struct winsize size = {.ws_row = 24, .ws_col = 100};
    char shown[4096];
    assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
    with_stderr(slave, show_program, false);
    close(slave);
    ssize_t length = 0, got;
    while ((got = read(master, shown + length, sizeof(shown) - 1 - (size_t)length)) > 0)
        length += got;
    close(master);
    shown[length] = 0;
    assert_non_null(strstr(shown, "scheme=exec, round 5"));
    assert_null(strstr(shown, "round 5 of"));
}

static void colour_is_as_asked(void **state)
{
    (void)state;
    int pipe_fds[2], master, slave;
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_true(progress_colour(COLOUR_ALWAYS, pipe_fds[1]));
    assert_false(progress_colour(COLOUR_NEVER, slave));
    assert_false(progress_colour(COLOUR_AUTO, pipe_fds[1]));
    assert_true(progress_colour(COLOUR_AUTO, slave));
    setenv("NO_COLOR", "", 1); /* set and empty does not count */
    assert_true(progress_colour(COLOUR_AUTO, slave));
    setenv("NO_COLOR", "1", 1);
    assert_false(progress_colour(COLOUR_AUTO, slave));
    assert_true(progress_colour(COLOUR_ALWAYS, slave));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(progress_colour(COLOUR_AUTO, slave));
    unsetenv("TERM");
    assert_false(progress_colour(COLOUR_AUTO, slave));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    close(master);
    close(slave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_a_trial_where_there_is_no_terminal),
        cmocka_unit_test(a_bar_on_a_terminal_never_wraps),
        cmocka_unit_test(rounds_of_a_program_have_no_end),
        cmocka_unit_test(colour_is_as_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
