/* tests/unit/test_optimiser.c: steps of the model against the formulas, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "agents/optimiser.h"

#include <cmocka.h>

/* Without momentum and weight decay to the bit what the plain step gives. */
static void test_plain(void **state)
{
    (void)state;
    struct optimiser optimiser = {.settings = {.learning_rate = 0.1}};
    float model[3] = {1, 2, 3}, sum[3] = {4, 8, 12};
    optimiser_step(&optimiser, model, sum, 4, 1, 2, 7);
    assert_true(model[0] == 1.0f);
    assert_true(model[1] == 2.0f + -(float)(0.1 / 4) * 8.0f);
    assert_true(model[2] == 3.0f + -(float)(0.1 / 4) * 12.0f);
}

/* v1 = g1 = 1, w = 1 - 0.5; v2 = 0.5 x 1 + 2 = 2.5, w = 0.5 - 1.25. All exact in binary. */
static void test_momentum(void **state)
{
    (void)state;
    float velocity[1] = {0}, model[1] = {1}, first[1] = {2}, second[1] = {4};
    struct optimiser optimiser = {.settings = {.learning_rate = 0.5, .momentum = 0.5}, .velocity = velocity};
    optimiser_step(&optimiser, model, first, 2, 0, 1, 0);
    assert_true(model[0] == 0.5f && velocity[0] == 1.0f);
    optimiser_step(&optimiser, model, second, 2, 0, 1, 1);
    assert_true(model[0] == -0.75f && velocity[0] == 2.5f);
}

/* g = 1 + 0.25 x 4 = 2, w = 4 - 0.5 x 2 */
static void test_weight_decay(void **state)
{
    (void)state;
    float model[1] = {4}, sum[1] = {1};
    struct optimiser optimiser = {.settings = {.learning_rate = 0.5, .weight_decay = 0.25}};
    optimiser_step(&optimiser, model, sum, 1, 0, 1, 0);
    assert_true(model[0] == 3.0f);
}

static void test_decay(void **state)
{
    (void)state;
    struct optimiser_settings settings = {.learning_rate = 1, .decay_factor = 0.5, .decay_every = 10};
    assert_true(optimiser_rate(&settings, 0) == 1 && optimiser_rate(&settings, 9) == 1);
    assert_true(optimiser_rate(&settings, 10) == 0.5 && optimiser_rate(&settings, 35) == 0.125);
    settings.decay_every = 0;
    assert_true(optimiser_rate(&settings, 1000000) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_weight_decay),
        cmocka_unit_test(test_decay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
