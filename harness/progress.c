/* progress.c: the bar and the lines; see progress.h. */
#include "harness/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "harness/message_sizes.h"

enum { BAR_CELLS = 24 };

const char *const colour_names[COLOUR_COUNT + 1] = {[COLOUR_AUTO] = "auto", [COLOUR_ALWAYS] = "always", [COLOUR_NEVER] = "never"};

bool progress_colour(enum colour_mode mode, int fd)
{
    if (mode != COLOUR_AUTO)
        return mode == COLOUR_ALWAYS;
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return !(no_colour && no_colour[0]) && isatty(fd) && terminal && strcmp(terminal, "dumb") != 0;
}

void progress_begin(struct progress *progress, const struct plan *plan, int trial_count, double seconds_total, bool quiet,
                    enum colour_mode colour)
{
    *progress = (struct progress){
        .quiet = quiet,
        .terminal = isatty(STDERR_FILENO),
        .colour = progress_colour(colour, STDERR_FILENO),
        .plan = plan,
        .trial_count = trial_count,
        .seconds_total = seconds_total > 0 ? seconds_total : 1,
        .started_ns = clock_now_ns(),
    };
}

static int terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void draw_bar(const struct progress *progress, double seconds_now, const char *what)
{
    double share = fmax(0, fmin((progress->seconds_done + seconds_now) / progress->seconds_total, 1));
    double elapsed = (double)(clock_now_ns() - progress->started_ns) / NS_PER_S;
    char bar[BAR_CELLS + 1], left[32] = "";
    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', (size_t)(share * BAR_CELLS));
    bar[BAR_CELLS] = 0;
    /* The measured pace once there is one; the prediction until then. */
    double remaining = share > 0.05 ? elapsed * (1 - share) / share : progress->seconds_total * (1 - share);
    if (share < 1)
        snprintf(left, sizeof(left), ", %d:%02d left", (int)remaining / 60, (int)remaining % 60);
    /* A line that wraps could not be drawn over: a narrow terminal goes without the bar, and what does not fit is cut. */
    char counts[64];
    int used = snprintf(counts, sizeof(counts), " %d/%d trial%s%s  ", progress->trials_done, progress->trial_count,
                        units_plural(progress->trial_count), left);
    int columns = terminal_columns() - 1, room = columns - used - (BAR_CELLS + 2);
    if (room >= 0)
        fprintf(stderr, "\r\033[K%s[%s]%s%s%.*s", progress->colour ? "\033[36m" : "", bar, progress->colour ? "\033[0m" : "",
                counts, room, what);
    else
        fprintf(stderr, "\r\033[K%.*s", columns > 0 ? columns : 0, counts + 1);
    fflush(stderr);
}

void progress_stage(struct progress *progress, const char *what)
{
    if (progress->quiet)
        return;
    if (progress->terminal)
        draw_bar(progress, 0, what);
    else
        fprintf(stderr, "%s\n", what);
}

void progress_trial(struct progress *progress, const struct trial_plan *trial, double seconds)
{
    progress->trial = trial;
    progress->seconds_trial = seconds;
    if (!progress->quiet && progress->terminal)
        draw_bar(progress, 0, cell_title(&progress->plan->cells[trial->cell]));
}

void progress_rounds(void *context, uint32_t rounds_done)
{
    struct progress *progress = context;
    if (progress->quiet || !progress->terminal)
        return;
    const struct cell *cell = &progress->plan->cells[progress->trial->cell];
    int rounds = message_sizes_rounds(&cell->settings);
    bool known = !cell->settings.scheme.outside; /* how many an outside program will report is its own affair */
    char what[200], of[32] = "";
    if (known)
        snprintf(of, sizeof(of), " of %d", rounds);
    snprintf(what, sizeof(what), "%.150s, round %u%s", cell_title(cell), rounds_done, of);
    draw_bar(progress, known ? progress->seconds_trial * rounds_done / rounds : 0, what);
}

static void print_line(const struct progress *progress, const struct trial_outcome *outcome)
{
    const struct cell *cell = &progress->plan->cells[progress->trial->cell];
    fprintf(stderr, "trial %d/%d  %s  repeat %d: ", progress->trials_done, progress->trial_count,
            cell_title(cell)[0] ? cell_title(cell) : cell->settings.name, progress->trial->repeat + 1);
    if (outcome->status != TRIAL_FINISHED) {
        fprintf(stderr, "%s: %s\n", trial_status_names[outcome->status], outcome->reason);
        return;
    }
    char mean[UNITS_TEXT_BYTES], predicted[UNITS_TEXT_BYTES];
    bool swept = message_sizes_swept(&cell->settings);
    if (swept) /* a mean over sizes would say nothing */
        fprintf(stderr, "%d sizes of %d rounds", cell->settings.workload.sizes.count, cell->settings.workload.rounds);
    else
        fprintf(stderr, "mean round %s", units_show_time(mean, sizeof(mean), outcome->round_mean_ns)); /* which is predicted */
    if (outcome->predicted.available && !swept)
        fprintf(stderr, ", predicted %s", units_show_time(predicted, sizeof(predicted), outcome->predicted.round_ns));
    fprintf(stderr, ", %s%s%s\n", fidelity_names[outcome->fidelity], outcome->reason[0] ? ": " : "", outcome->reason);
}

void progress_trial_done(struct progress *progress, const struct trial_outcome *outcome)
{
    progress->trials_done++;
    progress->seconds_done += progress->seconds_trial;
    if (progress->quiet)
        return;
    bool good = outcome->status == TRIAL_FINISHED && outcome->fidelity == FIDELITY_FAITHFUL;
    if (progress->terminal && good) {
        draw_bar(progress, 0, cell_title(&progress->plan->cells[progress->trial->cell]));
        return;
    }
    if (progress->terminal)
        fprintf(stderr, "\r\033[K"); /* what went wrong stays above the bar */
    print_line(progress, outcome);
}

void progress_trial_again(struct progress *progress, int64_t retry, int64_t retries)
{
    if (!progress->quiet)
        fprintf(stderr, "trial %d/%d  runs again, retry %lld of %lld\n", progress->trials_done, progress->trial_count,
                (long long)retry, (long long)retries);
    progress->trials_done--;
    progress->seconds_done -= progress->seconds_trial;
}

void progress_end(struct progress *progress)
{
    if (!progress->quiet && progress->terminal) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
}
