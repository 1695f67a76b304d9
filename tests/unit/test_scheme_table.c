/* tests/unit/test_scheme_table.c: the table of schemes is complete and consistent; the ring's layout and what its check refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agents/collectives/ring_allreduce.h"
#include "agents/scheme.h"
#include "agents/schemes/allreduce_rounds.h"
#include "base/err.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

static void test_table(void **state)
{
    (void)state;
    assert_null(scheme_find("no-such-scheme"));
    assert_null(scheme_at(-1));
    assert_null(scheme_at(scheme_count()));
    for (int i = 0; i < scheme_count(); i++) {
        const struct scheme *scheme = scheme_at(i);
        assert_ptr_equal(scheme_find(scheme->name), scheme);
        assert_true(scheme->summary && scheme->source && scheme->formula && scheme->start && scheme->model_to_evaluate);
        assert_non_null(scheme->spans_a_round);
        assert_true(scheme->state_bytes > 0 && scheme->family < FAMILY_COUNT && scheme->param_count <= SCHEME_PARAMS_MAX);
        for (int k = 0; k < scheme->param_count; k++) {
            const struct param *param = &scheme->params[k];
            assert_true(param->name && param->help && param->minimum <= param->standard && param->standard <= param->maximum);
        }
        for (int workers = 1; workers <= 5; workers++) {
            struct scheme_setup setup =
                scheme_setup_of(scheme->name, workers, 10, scheme->param_count ? scheme->params[0].standard : 0);
            if (scheme->check && scheme->check(&setup, NULL) < 0) /* a default that so few workers do not allow */
                continue;
            for (int a = 0; a < setup.nodes; a++)
                for (int b = 0; b < setup.nodes; b++)
                    assert_int_equal(scheme_talks(&setup, a, b), a != b && scheme_talks(&setup, b, a));
        }
    }
    struct scheme_setup ring = scheme_setup_of("ring", 5, 10, 0), server = scheme_setup_of("ps-sync", 5, 10, 1);
    assert_int_equal(ring.nodes, 5);
    assert_int_equal(server.nodes, 6);
    assert_true(scheme_talks(&ring, 4, 0) && scheme_talks(&ring, 2, 3) && !scheme_talks(&ring, 0, 2));
    assert_true(scheme_talks(&server, 5, 0) && !scheme_talks(&server, 0, 1));
}

static void test_ring_refuses_bad_segments(void **state)
{
    (void)state;
    struct err err = {0};
    struct scheme_setup setup = scheme_setup_of("ring", 4, 1000, 3);
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "segment"));
    setup = scheme_setup_of("ring", 1000, (size_t)3000000000, 4);
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    setup = scheme_setup_of("ring", 1000, (size_t)3000000000, 0);
    assert_int_equal(setup.scheme->check(&setup, &err), 0);
}

/* Segments and buckets by one rule: 0, or a float at least; of other sizes whole floats are left, so that none is larger than
 * asked. */
static void test_sizes_are_whole_floats(void **state)
{
    (void)state;
    struct err err = {0};
    int found = 0;
    for (int i = 0; i < scheme_count(); i++) {
        const struct scheme *scheme = scheme_at(i);
        for (int k = 0; k < scheme->param_count && scheme->family == FAMILY_ALLREDUCE; k++) {
            if (scheme->params[k].unit != PARAM_BYTES)
                continue;
            struct scheme_setup setup = scheme_setup_of(scheme->name, 4, 1000, scheme->params[0].standard);
            setup.values[k] = 3;
            assert_int_equal(scheme->check(&setup, &err), -ERR_USAGE);
            assert_non_null(strstr(err.text, scheme->params[k].name));
            assert_non_null(strstr(err.text, "3B, allowed are 0 (automatic) and 4B to 1GiB"));
            setup.values[k] = 5;
            assert_int_equal(scheme->check(&setup, &err), 0);
            found++;
        }
    }
    assert_true(found >= 9);
    static const struct {
        double bytes;
        size_t floats; /* of 10 */
    } buckets[] = {{0, 10}, {4, 1}, {5, 1}, {8, 2}, {11, 2}, {39, 5}, {40, 10}, {4000, 10}};
    for (size_t i = 0; i < sizeof(buckets) / sizeof(buckets[0]); i++) {
        struct scheme_setup setup = scheme_setup_of("naive", 2, 10, 0);
        struct allreduce_shape shape;
        setup.values[ALLREDUCE_BUCKET] = buckets[i].bytes;
        allreduce_rounds_algorithm(&setup, &shape);
        assert_int_equal(shape.count, buckets[i].floats);
    }
    assert_int_equal(ring_allreduce_layout(1, 10, 5).segments, 10);
}

static void test_ring_layout(void **state)
{
    (void)state;
    struct ring_allreduce_layout layout = ring_allreduce_layout(3, 8, 4);
    assert_int_equal(layout.segments, 3);
    assert_int_equal(ring_allreduce_chunk(&layout, 0).count, 3); /* 3 + 3 + 2 */
    assert_int_equal(ring_allreduce_chunk(&layout, 2).first, 6);
    assert_int_equal(ring_allreduce_chunk(&layout, 2).count, 2);
    assert_int_equal(ring_allreduce_segment(&layout, 2, 1).first, 7);
    assert_int_equal(ring_allreduce_segment(&layout, 2, 2).count, 0); /* nothing is left for it */
    assert_int_equal(ring_allreduce_sent_bytes(&layout, 0), 4 * (2 * 8 - 3 - 2));
    /* automatic: two segments, fewer below 8 KiB, more above 2 MiB */
    assert_int_equal(ring_allreduce_layout(2, 2 * 2047, 0).segments, 1);
    assert_int_equal(ring_allreduce_layout(2, 2 * 2048, 0).segments, 2);
    assert_int_equal(ring_allreduce_layout(2, 2 * (512 << 10), 0).segments, 2);
    assert_int_equal(ring_allreduce_layout(2, 2 * (512 << 10) + 1, 0).segments, 3);
    assert_int_equal(ring_allreduce_layout(4, 0, 0).segments, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_ring_layout),
        cmocka_unit_test(test_sizes_are_whole_floats),
        cmocka_unit_test(test_ring_refuses_bad_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
