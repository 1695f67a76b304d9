/* tests/unit/test_moments.c: the heap of moments gives them back in the order of time, and equal ones in the order of addition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "agents/moments.h"
#include "base/rng.h"

#include <cmocka.h>

static void moments_come_in_the_order_of_time(void **state)
{
    (void)state;
    static const int64_t times[] = {5, 1, 4, 1, 3, 9, 2, 6};
    static const uint32_t order[] = {1, 3, 6, 4, 2, 0, 7, 5};
    struct moments moments = {0};
    for (uint32_t i = 0; i < 8; i++)
        moments_add(&moments, times[i], i % 8, i, 100 + i);
    for (int i = 0; i < 8; i++) {
        struct moment moment = moments_take(&moments);
        assert_int_equal(moment.subject, order[i]);
        assert_int_equal(moment.detail, 100 + order[i]);
        assert_int_equal(moment_kind(&moment), order[i]);
        assert_int_equal(moment.at_ns, times[order[i]]);
    }
    assert_int_equal(moments.count, 0);
    moments_free(&moments);
}

static void ties_are_in_the_order_of_addition(void **state)
{
    (void)state;
    enum { ADDED = 1000 };
    struct moments moments = {0};
    for (uint32_t i = 0; i < ADDED; i++)
        moments_add(&moments, 7, 7 - i % 8, i, 0);
    for (uint32_t i = 0; i < ADDED; i++)
        assert_int_equal(moments_take(&moments).subject, i);
    moments_free(&moments);
}

/* Adding and taking in turns, as a run does: never before what was taken, and each once. */
static void a_long_run_keeps_the_order(void **state)
{
    (void)state;
    enum { STEPS = 200000, MOST = 5000 };
    struct moments moments = {0};
    struct rng rng = rng_stream(1, 0, 0, RNG_LINK);
    struct moment last = {0};
    uint32_t added = 0, taken = 0;
    for (int step = 0; step < STEPS; step++) {
        const bool add = moments.count == 0 || (moments.count < MOST && rng_below(&rng, 2) == 0);
        if (add) {
            moments_add(&moments, last.at_ns + rng_below(&rng, 50), rng_below(&rng, 8), added++, 0);
            continue;
        }
        struct moment moment = moments_take(&moments);
        assert_true(taken == 0 || moment_before(&last, &moment) || moment.at_ns == last.at_ns);
        if (taken > 0 && moment.at_ns == last.at_ns && moment.order < last.order)
            assert_true(moment.subject > last.subject); /* added after the last one was taken */
        last = moment;
        taken++;
    }
    assert_int_equal(added - taken, moments.count);
    moments_free(&moments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_come_in_the_order_of_time),
        cmocka_unit_test(ties_are_in_the_order_of_addition),
        cmocka_unit_test(a_long_run_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
