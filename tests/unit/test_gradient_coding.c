/* tests/unit/test_gradient_coding.c: every set of stragglers leaves the whole gradient, within what the code's amplification makes
 * of rounding; the protocol around it; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "agents/linear_system.h"
#include "agents/schemes/gradient_code.h"
#include "agents/schemes/gradient_coding.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rng.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h>

enum { FLOATS = 67, ROUNDS = 6, WORKERS_MAX = 24 };

/* ---- the solver and the code alone ---- */

static void test_solver(void **state)
{
    (void)state;
    double matrix[] = {0, 2, 1, 1}, right[] = {4, 3};
    assert_true(linear_system_solve(matrix, right, 2));
    assert_true(right[0] == 1 && right[1] == 2);
    double singular[] = {1, 2, 2, 4}, nothing[] = {1, 2};
    assert_false(linear_system_solve(singular, nothing, 2));
    struct rng rng = rng_stream(1, 0, 0, RNG_SCHEME);
    for (int size = 1; size <= 16; size++) {
        double a[256], copy[256], x[16], b[16] = {0};
        for (int i = 0; i < size * size; i++)
            a[i] = copy[i] = rng_normal(&rng);
        for (int i = 0; i < size; i++)
            x[i] = rng_normal(&rng);
        for (int row = 0; row < size; row++)
            for (int column = 0; column < size; column++)
                b[row] += a[row * size + column] * x[column];
        assert_true(linear_system_solve(copy, b, size));
        for (int i = 0; i < size; i++)
            assert_true(fabs(b[i] - x[i]) < 1e-10);
    }
}

static bool next_set(int *set, int n, int s)
{
    int place = s - 1;
    while (place >= 0 && set[place] == n - s + place)
        place--;
    if (place < 0)
        return false;
    set[place]++;
    for (int i = place + 1; i < s; i++)
        set[i] = set[i - 1] + 1;
    return true;
}

/* What workers would send, in float32, decoded for one set of stragglers: the largest error, in units of what the amplification
 * allows. */
static double error_of(const struct gradient_code *code, const float *gradients, const bool *present)
{
    const int n = code->workers, s = code->stragglers;
    double coefficients[WORKERS_MAX], worst = 0;
    const double amplification = gradient_code_decode(code, present, coefficients);
    assert_true(amplification <= code->amplification * (1 + 1e-9));
    for (size_t i = 0; i < FLOATS; i++) {
        double decoded = 0, whole = 0, size = 0;
        for (int worker = 0; worker < n; worker++) {
            float encoded = gradients[(size_t)worker * FLOATS + i];
            for (int j = 1; j <= s; j++)
                encoded += (float)code->weights[worker * (s + 1) + j] * gradients[(size_t)((worker + j) % n) * FLOATS + i];
            decoded += coefficients[worker] * (double)encoded;
            assert_true(present[worker] || coefficients[worker] == 0);
            whole += (double)gradients[(size_t)worker * FLOATS + i];
            size += fabs((double)gradients[(size_t)worker * FLOATS + i]);
        }
        worst = fmax(worst, fabs(decoded - whole) / (amplification * (2 * s + 1) * 0x1p-24 * size));
    }
    return worst;
}

static void test_every_set_of_stragglers(void **state)
{
    (void)state;
    static const struct {
        int workers, stragglers;
        double amplification; /* at most */
    } codes[] = {{3, 1, 3.01},  {4, 1, 1.01}, {4, 2, 4.3},  {5, 1, 3.2},  {5, 2, 3.01}, {5, 3, 6.6}, {8, 1, 1.01},
                 {8, 2, 13.2},  {8, 3, 10.7}, {8, 5, 10.7}, {10, 3, 18},  {12, 5, 98},  {13, 4, 82}, {16, 3, 50},
                 {17, 2, 10.8}, {20, 3, 79},  {20, 5, 970}, {24, 3, 115}, {24, 4, 8700}};
    for (size_t c = 0; c < sizeof(codes) / sizeof(codes[0]); c++) {
        const int n = codes[c].workers, s = codes[c].stragglers;
        cleanup(free_pointer) double *numbers = malloc(gradient_code_numbers(n, s) * sizeof(*numbers));
        float gradients[WORKERS_MAX * FLOATS];
        assert_true(numbers && gradient_code_choose(n, s, numbers));
        const struct gradient_code code = gradient_code_of(n, s, numbers);
        if (code.amplification > codes[c].amplification)
            fail_msg("n %d, s %d: amplification %g", n, s, code.amplification);
        struct rng rng = rng_stream(1, (uint32_t)c, 0, RNG_SCHEME);
        for (int i = 0; i < n * FLOATS; i++)
            gradients[i] = (float)rng_normal(&rng);
        int set[GRADIENT_CODE_STRAGGLERS_MAX];
        for (int i = 0; i < s; i++)
            set[i] = i;
        do {
            bool present[WORKERS_MAX];
            memset(present, true, sizeof(present));
            for (int i = 0; i < s; i++)
                present[set[i]] = false;
            double error = error_of(&code, gradients, present);
            if (!(error <= 1))
                fail_msg("n %d, s %d, without %d ...: error %g of what is allowed", n, s, set[0], error);
        } while (next_set(set, n, s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solver),
        cmocka_unit_test(test_every_set_of_stragglers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
