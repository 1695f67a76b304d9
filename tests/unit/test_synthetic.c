/* test_synthetic.c: the exact mean of synthetic gradients, and that a check sees every way a reduction goes wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agents/synthetic.h"

enum { COUNT = 5 * SYNTHETIC_STEP_STRIDE + 17 };

/* Sum over the given workers, in the given order. */
static void sum_of(float *sum, size_t count, int workers, const int *who, int how_many, uint64_t step)
{
    memset(sum, 0, count * sizeof(float));
    for (int k = 0; k < how_many; k++)
        for (size_t i = 0; i < count; i++)
            sum[i] += synthetic_value(workers, who[k], step, i);
}

static void values_are_those_of_the_description(void **state)
{
    (void)state;
    /* worker 1 of 4: d = -1; element 7: m = 7 - 30, w = 3 */
    assert_true(synthetic_value(4, 1, 0, 7) == -23 - 3);
    /* worker 3 of 4: d = 3; element 1024 at step 100: m = 1024 mod 61 - 30 + 1 + 100 mod 97 = 48 - 30 + 4; w = 1 + 1024 mod 5 =
     * 5 */
    assert_true(synthetic_value(4, 3, 100, 1024) == 22 + 15);
    assert_true(synthetic_mean(100, 1024) == 22);
    assert_true(synthetic_mean(0, 0) == -29 && synthetic_mean(1, 0) == -28 && synthetic_mean(97, 0) == -29);
    float filled[COUNT];
    synthetic_fill(filled, COUNT, 9, 4, 3);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(filled[i] == synthetic_value(9, 4, 3, i));
    synthetic_refresh(filled, COUNT, 9, 4, 70);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(filled[i] == synthetic_value(9, 4, 70, i));
}

static void the_mean_over_all_workers_is_exact(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 4, 7, 16, 100, 2000};
    float *sum = calloc(COUNT, sizeof(float));
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        int workers = sizes[s];
        memset(sum, 0, COUNT * sizeof(float));
        for (int k = 0; k < workers; k++) /* the largest first: the worst partial sums */
            for (size_t i = 0; i<COUNT; i += workers> 100 ? 101 : 1)
                sum[i] += synthetic_value(workers, workers - 1 - k, 12, i);
        for (size_t i = 0; i<COUNT; i += workers> 100 ? 101 : 1)
            assert_true((double)sum[i] == workers * synthetic_mean(12, i));
    }
    free(sum);
}

static const struct synthetic_check all_of_four = {.workers = 4, .contributors = 4, .step = 6, .all_once = true, .same_step = true};
static const int everyone[] = {0, 1, 2, 3};

static void a_right_sum_passes_in_every_cut(void **state)
{
    (void)state;
    float sum[COUNT];
    sum_of(sum, COUNT, 4, everyone, 4, 6);
    struct synthetic_result result = {0};
    assert_true(synthetic_check(&all_of_four, sum, 0, COUNT, true, &result));
    assert_int_equal(result.checks, COUNT);
    for (size_t first = 0; first < COUNT; first += 311)
        for (size_t count = 0; first + count <= COUNT; count += 1 + count / 2)
            assert_true(synthetic_check(&all_of_four, sum, first, count, false, &result));
    assert_int_equal(result.failures, 0);
}

static void every_fault_of_a_whole_sum_is_seen(void **state)
{
    (void)state;
    static const int twice[] = {0, 1, 1, 3}, three[] = {0, 1, 3};
    float sum[COUNT];
    struct synthetic_result result = {0};
    sum_of(sum, COUNT, 4, everyone, 4, 5); /* a stale step */
    assert_false(synthetic_check(&all_of_four, sum, 0, COUNT, false, &result));
    assert_int_equal(result.element % SYNTHETIC_STEP_STRIDE, 0);
    sum_of(sum, COUNT, 4, twice, 4, 6);
    assert_false(synthetic_check(&all_of_four, sum, 0, COUNT, false, &result));
    sum_of(sum, COUNT, 4, three, 3, 6);
    assert_false(synthetic_check(&all_of_four, sum, 0, COUNT, false, &result));
    sum_of(sum, COUNT, 4, everyone, 4, 6);
    memmove(sum, sum + 1, (COUNT - 1) * sizeof(float)); /* one place off */
    assert_false(synthetic_check(&all_of_four, sum, 0, COUNT, false, &result));
    memset(sum, 0, sizeof(sum));
    assert_false(synthetic_check(&all_of_four, sum, 0, COUNT, false, &result));
    memset(sum, 0xff, sizeof(sum)); /* not numbers */
    assert_false(synthetic_check(&all_of_four, sum, 0, COUNT, false, &result));
}

static void one_wrong_element_is_named(void **state)
{
    (void)state;
    float sum[COUNT];
    for (size_t wrong = 0; wrong < COUNT; wrong += 601) {
        struct synthetic_result result = {0};
        sum_of(sum, COUNT, 4, everyone, 4, 6);
        sum[wrong] += 1;
        assert_false(synthetic_check(&all_of_four, sum, 0, COUNT, true, &result));
        assert_int_equal(result.failures, 1);
        assert_int_equal(result.element, wrong);
        assert_true(result.expected == synthetic_mean(6, wrong));
        assert_true(result.found == synthetic_mean(6, wrong) + 0.25);
    }
    struct synthetic_result ends = {0};
    sum_of(sum, COUNT, 4, everyone, 4, 6);
    sum[COUNT - 1] += 1; /* the sample always holds both ends */
    assert_false(synthetic_check(&all_of_four, sum, 100, COUNT - 100, false, &ends));
}

static void some_of_the_workers_pass_if_they_agree(void **state)
{
    (void)state;
    static const int three[] = {5, 0, 2}, other_three[] = {5, 0, 3};
    struct synthetic_check check = {.workers = 6, .contributors = 3, .step = 8, .same_step = true};
    float sum[COUNT], other[COUNT];
    struct synthetic_result result = {0};
    sum_of(sum, COUNT, 6, three, 3, 8);
    for (size_t first = 0; first < COUNT; first += 311)
        assert_true(synthetic_check(&check, sum, first, COUNT - first, first % 2, &result));
    sum_of(other, COUNT, 6, other_three, 3, 8);
    memcpy(sum + COUNT / 2, other + COUNT / 2, (COUNT - COUNT / 2) * sizeof(float)); /* halves of two sums */
    assert_false(synthetic_check(&check, sum, 0, COUNT, false, &result));
    sum_of(sum, COUNT, 6, three, 3, 7); /* of another step */
    assert_false(synthetic_check(&check, sum, 0, COUNT, false, &result));
    check.same_step = false; /* asynchronous: not looked at */
    assert_true(synthetic_check(&check, sum, 0, COUNT, false, &result));
    sum_of(sum, COUNT, 6, three, 2, 8); /* one is missing */
    check.same_step = true;
    assert_false(synthetic_check(&check, sum, 0, COUNT, false, &result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_description), cmocka_unit_test(the_mean_over_all_workers_is_exact),
        cmocka_unit_test(a_right_sum_passes_in_every_cut),     cmocka_unit_test(every_fault_of_a_whole_sum_is_seen),
        cmocka_unit_test(one_wrong_element_is_named),          cmocka_unit_test(some_of_the_workers_pass_if_they_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
