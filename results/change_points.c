/* results/change_points.c: E-divisive means with a t-test; see change_points.h.
 *
 * A stretch of the series, from `start` to `end`, is cut where its two sides differ most. How much X = values[start .. cut) and
 * Y = values[cut .. stop) differ is their energy distance, weighted by how many they are:
 *
 *     Q = m n / (m + n) (2 mean |x - y| - mean |x - x'| - mean |y - y'|)        m of X, n of Y; pairs of different values
 *
 * which is 0 on average where both come from one distribution, and grows with m and n where they do not. `stop` may lie before
 * `end`: else a level that comes and goes would be hidden by what follows it. The cut with the greatest Q is kept when the t-test
 * says so, and the stretches on its two sides are cut in turn.
 *
 * In the end each change point must hold against its neighbours: the levels on its two sides as they are then. The weakest is taken
 * away until all hold. Every p is corrected (Bonferroni) for the places at which the series could be cut, since each cut is the
 * best of some of them, and all stretches together have no more.
 *
 * Example: 10 11 10 11 20 21 20 21: with the cut at 4 and the stop at 8, mean |x - y| = 10 and mean |x - x'| = 2/3 on both sides:
 * Q = 4 x 4 / 8 x (20 - 4/3) = 37.3, the greatest. t = 10 / sqrt(1/3 x 1/2) = 24.5 with 6 degrees of freedom, p = 3.0e-7, times 5
 * places. */
#include "results/change_points.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "results/statistics.h"

enum { LEAST = CHANGE_POINTS_LEVEL_LEAST };

struct search {
    const double *values;
    const struct change_rule *rule;
    double *from_start; /* [stop]: the sum of |a - b| over pairs of values[start .. stop) */
    double *from_cut;   /* likewise of values[cut .. stop) */
    size_t places;      /* at which the series could be cut */
    size_t *bounds;     /* the series' start, the cuts, its end */
    size_t bound_count;
};

struct cut {
    size_t at, stop;
    double q;
};

/* Sums over pairs from `first` on out of those from first + 1 on: each gains the pairs of values[first]. */
static void prepend(const double *values, size_t first, size_t end, double *sums)
{
    double gained = 0;
    for (size_t stop = first + 2; stop <= end; stop++) {
        gained += fabs(values[stop - 1] - values[first]);
        sums[stop] += gained;
    }
}

static double pairs(double count)
{
    return count * (count - 1) / 2;
}

/* The greatest Q; the first of equal ones, from the longest stretch on. q 0: nothing differs. */
static struct cut best_cut(struct search *search, size_t start, size_t end)
{
    const double *values = search->values;
    struct cut best = {0};
    memset(search->from_start + start, 0, (end - start + 1) * sizeof(double));
    memset(search->from_cut + start, 0, (end - start + 1) * sizeof(double));
    for (size_t first = end; first-- > start;)
        prepend(values, first, end, search->from_start);
    for (size_t at = end; at-- > start + LEAST;) {
        prepend(values, at, end, search->from_cut);
        double left = (double)(at - start), inside_left = search->from_start[at];
        for (size_t stop = end; stop >= at + LEAST; stop--) {
            double right = (double)(stop - at), inside_right = search->from_cut[stop];
            double across = search->from_start[stop] - inside_left - inside_right;
            double distance = 2 * across / (left * right) - inside_left / pairs(left) - inside_right / pairs(right);
            double q = left * right / (left + right) * distance;
            if (q > best.q)
                best = (struct cut){at, stop, q};
        }
    }
    return best;
}

/* Sums run over differences to the first value, so that equal values have it as their mean, and no variance. */
static double mean_of(const double *values, size_t start, size_t end, double *squares)
{
    double sum = 0;
    *squares = 0;
    for (size_t i = start; i < end; i++)
        sum += values[i] - values[start];
    double mean = values[start] + sum / (double)(end - start);
    for (size_t i = start; i < end; i++)
        *squares += (values[i] - mean) * (values[i] - mean);
    return mean;
}

/* Student's t-test with one variance of both sides, p corrected. NAN where sums are not finite. */
static struct change_point compare(const struct search *search, size_t start, size_t at, size_t end)
{
    const double ROUNDING = 1e-12;
    double squares_before, squares_after;
    struct change_point point = {.position = at, .p = 1};
    point.before = mean_of(search->values, start, at, &squares_before);
    point.after = mean_of(search->values, at, end, &squares_after);
    double difference = fabs(point.after - point.before);
    if (difference <= ROUNDING * fmax(fabs(point.before), fabs(point.after)))
        return point;
    double left = (double)(at - start), right = (double)(end - at), freedom = left + right - 2;
    double variance = (squares_before + squares_after) / freedom * (1 / left + 1 / right);
    point.p = fmin(1, statistics_student_p(difference / sqrt(variance), freedom) * (double)search->places);
    return point;
}

static void insert_bound(struct search *search, size_t index, size_t bound)
{
    memmove(search->bounds + index + 1, search->bounds + index, (search->bound_count - index) * sizeof(size_t));
    search->bounds[index] = bound;
    search->bound_count++;
}

static void remove_bound(struct search *search, size_t index)
{
    search->bound_count--;
    memmove(search->bounds + index, search->bounds + index + 1, (search->bound_count - index) * sizeof(size_t));
}

/* Cuts every stretch until none has a significant cut. */
static void divide(struct search *search)
{
    for (size_t i = 0; i + 1 < search->bound_count;) {
        size_t start = search->bounds[i], end = search->bounds[i + 1];
        struct cut cut = {0};
        if (end - start >= CHANGE_POINTS_LEAST)
            cut = best_cut(search, start, end);
        if (cut.q > 0 && compare(search, start, cut.at, cut.stop).p <= search->rule->alpha)
            insert_bound(search, i + 1, cut.at);
        else
            i++;
    }
}

static struct change_point point_at(const struct search *search, size_t index)
{
    const size_t *bounds = search->bounds;
    return compare(search, bounds[index - 1], bounds[index], bounds[index + 1]);
}

static bool is_too_small(const struct change_point *point, const struct change_rule *rule)
{
    return fabs(point->after - point->before) < rule->min_effect * fabs(point->before);
}

/* The bound that holds least, or 0: all hold. What chance may have made goes first, then what is too small. */
static size_t weakest(const struct search *search)
{
    size_t unsure = 0, small = 0;
    double greatest_p = search->rule->alpha, least_effect = INFINITY;
    for (size_t i = 1; i + 1 < search->bound_count; i++) {
        struct change_point point = point_at(search, i);
        double effect = fabs(point.after - point.before) / fabs(point.before);
        if (!(point.p <= greatest_p)) {
            greatest_p = point.p;
            unsure = i;
        }
        if (is_too_small(&point, search->rule) && effect < least_effect) {
            least_effect = effect;
            small = i;
        }
    }
    return unsure ? unsure : small;
}

static bool all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

size_t change_points_find(const double *values, size_t count, const struct change_rule *rule, struct arena *arena,
                          struct change_point **out)
{
    *out = NULL;
    if (count < CHANGE_POINTS_LEAST || !all_finite(values, count))
        return 0;
    struct search search = {.values = values,
                            .rule = rule,
                            .places = count + 1 - CHANGE_POINTS_LEAST,
                            .from_start = arena_new_array(arena, double, count + 1),
                            .from_cut = arena_new_array(arena, double, count + 1),
                            .bounds = arena_new_array(arena, size_t, count / LEAST + 2)};
    search.bounds[search.bound_count++] = 0;
    search.bounds[search.bound_count++] = count;
    divide(&search);
    for (size_t index; (index = weakest(&search)) > 0;)
        remove_bound(&search, index);
    size_t found = search.bound_count - 2;
    *out = arena_new_array(arena, struct change_point, found + 1);
    for (size_t i = 0; i < found; i++)
        (*out)[i] = point_at(&search, i + 1);
    return found;
}
