/* tests/unit/test_scheme_table.c: the table of schemes is complete and consistent; the ring's layout and what its check refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agents/collectives/ring_allreduce.h"
#include "agents/scheme.h"
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
            struct scheme_setup setup = scheme_setup_of(scheme->name, workers, 10, 0);
            for (int a = 0; a < setup.nodes; a++)
                for (int b = 0; b < setup.nodes; b++)
                    assert_int_equal(scheme_talks(&setup, a, b), a != b && scheme_talks(&setup, b, a));
        }
    }
    struct scheme_setup ring = scheme_setup_of("ring", 5, 10, 0), server = scheme_setup_of("ps-sync", 5, 10, 0);
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
        cmocka_unit_test(test_ring_refuses_bad_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
