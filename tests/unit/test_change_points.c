/* test_change_points.c: where series change their level: against values computed from the definitions in
 * tests/golden/change-points.txt (see tests/golden/make-change-points.py), at the edges, and how often chance is taken for a
 * change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/rng.h"
#include "results/change_points.h"
#include "results/statistics.h"

enum { VALUES_MAX = 400 };

static double read_number(FILE *file)
{
    double value;
    assert_int_equal(fscanf(file, "%lf", &value), 1);
    return value;
}

static void assert_same(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void check_student(FILE *file)
{
    double t = read_number(file), freedom = read_number(file), p = read_number(file);
    assert_same(statistics_student_p(t, freedom), p);
    assert_same(statistics_student_p(-t, freedom), p);
}

static void check_change_points(FILE *file)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    double values[VALUES_MAX];
    struct change_point *points;
    struct change_rule rule = {.alpha = read_number(file)};
    rule.min_effect = read_number(file);
    size_t count = (size_t)read_number(file);
    assert_in_range(count, 1, VALUES_MAX);
    for (size_t i = 0; i < count; i++)
        values[i] = read_number(file);
    size_t found = change_points_find(values, count, &rule, arena, &points);
    assert_int_equal(found, (size_t)read_number(file));
    for (size_t i = 0; i < found; i++) {
        assert_int_equal(points[i].position, (size_t)read_number(file));
        assert_same(points[i].before, read_number(file));
        assert_same(points[i].after, read_number(file));
        assert_same(points[i].p, read_number(file));
    }
}

static void golden_values_from_the_definitions(void **state)
{
    (void)state;
    cleanup(close_file) FILE *file = fopen("tests/golden/change-points.txt", "re");
    assert_non_null(file);
    char kind[32];
    int students = 0, series = 0;
    while (fscanf(file, "%31s", kind) == 1) {
        bool student = strcmp(kind, "student") == 0;
        assert_true(student || strcmp(kind, "change-points") == 0);
        if (student)
            check_student(file);
        else
            check_change_points(file);
        students += student;
        series += !student;
    }
    assert_int_equal(students, 12);
    assert_int_equal(series, 40);
}

static void what_is_no_t_has_no_p(void **state)
{
    (void)state;
    assert_true(isnan(statistics_student_p(NAN, 3)));
    assert_true(isnan(statistics_student_p(1, 0)));
    assert_true(isnan(statistics_student_p(1, NAN)));
    assert_true(statistics_student_p(INFINITY, 3) == 0);
    assert_true(statistics_student_p(1e200, 3) == 0);
    assert_true(statistics_student_p(1e-200, 3) == 1);
    for (double freedom = 1; freedom < 3000; freedom = freedom * 1.3 + 1) /* falls with t, everywhere */
        for (double t = 0.01, before = 1; t < 100; t *= 1.1) {
            double p = statistics_student_p(t, freedom);
            assert_true(p >= 0 && p < before + 1e-12);
            before = p;
        }
}

static size_t count_changes(const double *values, size_t count, double alpha)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct change_point *points;
    const struct change_rule rule = {.alpha = alpha};
    size_t found = change_points_find(values, count, &rule, arena, &points);
    for (size_t i = 0; i < found; i++) {
        assert_true(points[i].position >= (i ? points[i - 1].position : 0) + CHANGE_POINTS_LEVEL_LEAST);
        assert_true(points[i].position + CHANGE_POINTS_LEVEL_LEAST <= count);
        assert_true(points[i].p >= 0 && points[i].p <= alpha);
        assert_true(isfinite(points[i].before) && isfinite(points[i].after));
    }
    return found;
}

static void few_values_have_no_change_point(void **state)
{
    (void)state;
    const double values[] = {1, 1, 9, 9};
    for (size_t count = 0; count < CHANGE_POINTS_LEAST; count++) {
        assert_int_equal(count_changes(values, count, 0.5), 0);
        assert_int_equal(count_changes(values + 1, count, 0.5), 0);
    }
    assert_int_equal(count_changes(values, 4, 0.01), 1);
    assert_int_equal(count_changes(NULL, 0, 0.5), 0);
}

static void rounding_is_no_change(void **state)
{
    (void)state;
    double values[40];
    for (int i = 0; i < 40; i++)
        values[i] = 0.1; /* three of them sum up to more than 0.3 */
    assert_int_equal(count_changes(values, 40, 0.5), 0);
    for (int i = 20; i < 40; i++)
        values[i] = nextafter(0.1, 1);
    assert_int_equal(count_changes(values, 40, 0.5), 0);
    for (int i = 20; i < 40; i++)
        values[i] = 0.1 * (1 + 1e-9); /* little, but what is always the same has no other reason */
    assert_int_equal(count_changes(values, 40, 0.01), 1);
}

static void what_is_not_finite_has_no_change_point(void **state)
{
    (void)state;
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    for (int o = 0; o < 3; o++)
        for (int place = 0; place < 8; place++) {
            double values[] = {1, 1, 1, 1, 9, 9, 9, 9};
            values[place] = odd[o];
            assert_int_equal(count_changes(values, 8, 0.5), 0);
        }
    /* Sums that overflow: nothing is said, or what is right. */
    const double huge[] = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX, -DBL_MAX, -DBL_MAX};
    assert_true(count_changes(huge, 8, 0.5) <= 1);
    const double tiny[] = {DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN, 0, 0, 0, DBL_MIN, DBL_MIN, 0, 0, 0};
    (void)count_changes(tiny, 11, 0.5);
}

static double normal(struct rng *rng)
{
    double u = ((double)rng_below(rng, 1u << 30) + 0.5) / (1u << 30), v = (double)rng_below(rng, 1u << 30) / (1u << 30);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Of series of one level with normal noise, a share of alpha at most may have a change point, or one more than the one that
 * is there: that a place is the best of many is paid for by the correction. */
static void chance_is_taken_for_a_change_as_often_as_alpha_says(void **state)
{
    (void)state;
    enum { SERIES = 2000 };
    struct rng rng = rng_stream(7, 0, 0, RNG_BOOTSTRAP);
    for (size_t count = 4; count <= 64; count *= 2) {
        int wrong = 0, caught = 0, more = 0;
        for (int s = 0; s < SERIES; s++) {
            double values[64];
            for (size_t i = 0; i < count; i++)
                values[i] = 1e7 + 1e5 * normal(&rng);
            wrong += count_changes(values, count, 0.05) > 0;
            for (size_t i = count / 2; i < count; i++)
                values[i] += 4e5;
            size_t found = count_changes(values, count, 0.05);
            caught += found > 0;
            more += found > 1;
        }
        assert_in_range(wrong, SERIES * 20 / 1000, SERIES * 65 / 1000);
        assert_in_range(more, 0, SERIES * 50 / 1000);
        assert_true(caught > SERIES * (count == 4 ? 40 : count == 8 ? 80 : 98) / 100);
    }
}

/* Any series: what is found is sound, and moving or stretching all values moves nothing. */
static void change_points_move_with_the_values(void **state)
{
    (void)state;
    struct rng rng = rng_stream(8, 0, 0, RNG_BOOTSTRAP);
    const struct change_rule rule = {.alpha = 0.05};
    for (int s = 0; s < 300; s++) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        double values[60], mirrored[60], level = 1000;
        struct change_point *points, *others;
        size_t count = rng_below(&rng, 61);
        for (size_t i = 0; i < count; i++) {
            level = rng_below(&rng, 8) == 0 ? 1000 + rng_below(&rng, 100) : level;
            values[i] = level + (double)rng_below(&rng, 10) + (double)rng_below(&rng, 1000) / 1024;
            mirrored[i] = -4 * values[i];
        }
        (void)count_changes(values, count, 0.05);
        size_t found = change_points_find(values, count, &rule, arena, &points);
        assert_int_equal(change_points_find(mirrored, count, &rule, arena, &others), found);
        for (size_t i = 0; i < found; i++) {
            assert_int_equal(points[i].position, others[i].position);
            assert_true(points[i].p == others[i].p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_values_from_the_definitions),
        cmocka_unit_test(what_is_no_t_has_no_p),
        cmocka_unit_test(few_values_have_no_change_point),
        cmocka_unit_test(rounding_is_no_change),
        cmocka_unit_test(what_is_not_finite_has_no_change_point),
        cmocka_unit_test(chance_is_taken_for_a_change_as_often_as_alpha_says),
        cmocka_unit_test(change_points_move_with_the_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
