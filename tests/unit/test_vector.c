/* test_vector.c: the arithmetic on vectors: values, in-place calls, odd lengths, the bits of a quantised vector. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "agents/vector.h"

enum { LENGTH = 1003 }; /* not a multiple of any vector width */

static void fill(float *out, size_t count, int seed)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float)((int)(i * 7 + (size_t)seed * 13) % 101 - 50);
}

static void operations_agree_with_one_element_at_a_time(void **state)
{
    (void)state;
    float a[LENGTH], b[LENGTH], out[LENGTH];
    for (size_t count = 0; count < LENGTH; count += count < 40 ? 1 : 321) {
        fill(a, LENGTH, 1);
        fill(b, LENGTH, 2);
        memset(out, 0, sizeof(out));
        vector_add(out, a, b, count);
        for (size_t i = 0; i < LENGTH; i++)
            assert_true(out[i] == (i < count ? a[i] + b[i] : 0));
        vector_scale(out, 3, a, count);
        for (size_t i = 0; i < count; i++)
            assert_true(out[i] == 3 * a[i]);
        memcpy(out, b, sizeof(out));
        vector_axpy(out, -2, a, count);
        for (size_t i = 0; i < LENGTH; i++)
            assert_true(out[i] == (i < count ? b[i] - 2 * a[i] : b[i]));
        vector_copy(out, a, count);
        assert_memory_equal(out, a, count * sizeof(float));
    }
}

static void the_output_may_be_an_input(void **state)
{
    (void)state;
    float a[LENGTH], b[LENGTH], first[LENGTH], second[LENGTH], doubled[LENGTH];
    fill(a, LENGTH, 3);
    fill(b, LENGTH, 4);
    memcpy(first, a, sizeof(a));
    memcpy(second, b, sizeof(b));
    memcpy(doubled, a, sizeof(a));
    vector_add(first, first, b, LENGTH);
    vector_add(second, a, second, LENGTH);
    vector_add(doubled, doubled, doubled, LENGTH);
    for (size_t i = 0; i < LENGTH; i++) {
        assert_true(first[i] == a[i] + b[i]);
        assert_true(second[i] == a[i] + b[i]);
        assert_true(doubled[i] == 2 * a[i]);
    }
    vector_copy(first, first, LENGTH);
    assert_true(first[1] == a[1] + b[1]);
}

static void a_dot_product_has_a_fixed_order(void **state)
{
    (void)state;
    float a[LENGTH], b[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) {
        a[i] = 1.0f / (float)(i + 1);
        b[i] = (float)(i % 2 ? 1 : -3);
    }
    /* Eight sums, element i goes to sum i mod 8; then these in order. */
    double lanes[8] = {0}, sum = 0;
    for (size_t i = 0; i < LENGTH; i++)
        lanes[i % 8] += (double)a[i] * (double)b[i];
    for (size_t lane = 0; lane < 8; lane++)
        sum += lanes[lane];
    assert_true(vector_dot(a, b, LENGTH) == sum);
    assert_true(vector_dot(a, b, 0) == 0);
    assert_true(vector_dot(a, b, 3) == (double)a[0] * -3 + (double)a[1] + (double)a[2] * -3);
}

static void quantised_bytes_are_those_of_the_description(void **state)
{
    (void)state;
    /* Scale 4; with 2 bits the codes 0..3 stand for -4, -4/3, 4/3, 4. */
    const float in[] = {4, -4, 1.5f, -1, 0.9f};
    uint8_t bytes[16];
    assert_int_equal(vector_quantise(2, in, 5, bytes), 4 + 2);
    assert_int_equal(vector_quantised_bytes(2, 5), 4 + 2);
    float scale;
    memcpy(&scale, bytes, sizeof(scale));
    assert_true(scale == 4);
    assert_int_equal(bytes[4], 3 | 0 << 2 | 2 << 4 | 1 << 6);
    assert_int_equal(bytes[5], 2);
    float out[5];
    vector_dequantise(2, bytes, 5, out);
    const float expected[] = {4, -4, 4.0f / 3, -4.0f / 3, 4.0f / 3};
    for (int i = 0; i < 5; i++)
        assert_true(fabsf(out[i] - expected[i]) < 1e-6f);
}

static void quantising_errs_by_half_a_step_at_most(void **state)
{
    (void)state;
    float in[LENGTH], out[LENGTH];
    uint8_t bytes[LENGTH + 8];
    for (int bits = 1; bits <= 8; bits++) {
        for (size_t count = 0; count < 70; count++) {
            fill(in, count, bits);
            float scale = 0;
            for (size_t i = 0; i < count; i++)
                scale = fmaxf(scale, fabsf(in[i]));
            memset(bytes, 0xa5, sizeof(bytes));
            size_t length = vector_quantise(bits, in, count, bytes);
            assert_int_equal(length, 4 + (count * (size_t)bits + 7) / 8);
            assert_int_equal(bytes[length], 0xa5);
            vector_dequantise(bits, bytes, count, out);
            for (size_t i = 0; i < count; i++)
                assert_true(fabsf(out[i] - in[i]) <= scale / (float)((1 << bits) - 1) * 1.0001f);
        }
    }
    const float zeros[3] = {0, 0, 0}, tiny[2] = {1e-44f, -1e-44f};
    vector_quantise(4, zeros, 3, bytes);
    vector_dequantise(4, bytes, 3, out);
    assert_true(out[0] == 0 && out[1] == 0 && out[2] == 0);
    vector_quantise(8, tiny, 2, bytes);
    vector_dequantise(8, bytes, 2, out);
    assert_true(fabsf(out[0]) <= 1e-43f && fabsf(out[1]) <= 1e-43f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_agree_with_one_element_at_a_time),
        cmocka_unit_test(the_output_may_be_an_input),
        cmocka_unit_test(a_dot_product_has_a_fixed_order),
        cmocka_unit_test(quantised_bytes_are_those_of_the_description),
        cmocka_unit_test(quantising_errs_by_half_a_step_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
