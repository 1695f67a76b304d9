/* test_plot_names.c: names of a picture's rows are short enough, and told apart, however long and alike they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "results/plot_names.h"

/* labels and expected: NULL ends them. */
static void check(const char *const *labels, size_t most, const char *const *expected)
{
    cleanup(plot_names_free) struct plot_names names = {0};
    for (int i = 0; labels[i]; i++)
        plot_names_add(&names, labels[i], NULL, NULL);
    plot_names_shorten(&names, most);
    for (int i = 0; labels[i]; i++)
        assert_string_equal(plot_names_get(&names, i), expected[i]);
    assert_true(plot_names_width(&names) <= most);
}

static void what_fits_is_left_as_it_is(void **state)
{
    (void)state;
    static const char *const labels[] = {"scheme=ps-sync workers=2", "scheme=ring workers=2", NULL};
    check(labels, 44, labels);
    cleanup(plot_names_free) struct plot_names names = {0};
    plot_names_add(&names, "", "a", "w0");
    plot_names_add(&names, NULL, "", "w\n1");
    plot_names_add(&names, "scheme=ring", "b", NULL);
    plot_names_shorten(&names, 44);
    assert_string_equal(plot_names_get(&names, 0), "the only cell, a, w0");
    assert_string_equal(plot_names_get(&names, 1), "the only cell, w 1");
    assert_string_equal(plot_names_get(&names, 2), "scheme=ring, b");
}

static void paths_lose_what_tells_nothing(void **state)
{
    (void)state;
    static const char *const labels[] = {"scheme=ps-sync topology.overrides.0.rate=500mbit",
                                         "scheme=ring topology.overrides.0.rate=1gbit", NULL};
    static const char *const expected[] = {"scheme=ps-sync rate=500mbit", "scheme=ring rate=1gbit", NULL};
    check(labels, 40, expected);
    static const char *const two[] = {"topology.link.rate=1gbit topology.overrides.0.rate=1gbit",
                                      "topology.link.rate=1gbit topology.overrides.0.rate=2gbit", NULL};
    static const char *const told[] = {"link.rate=1gbit 0.rate=1gbit", "link.rate=1gbit 0.rate=2gbit", NULL};
    check(two, 44, told);
}

static void values_keep_that_by_which_they_differ(void **state)
{
    (void)state;
    static const char *const labels[] = {"compute.time=lognormal(mu=3,sigma=0.1,unit=ms) scheme=ps-sync",
                                         "compute.time=lognormal(mu=3,sigma=0.1,unit=ms) scheme=k-sync(k=96)",
                                         "compute.time=lognormal(mu=3,sigma=0.2,unit=ms) scheme=ps-sync",
                                         "compute.time=lognormal(mu=3,sigma=0.2,unit=ms) scheme=k-sync(k=96)", NULL};
    static const char *const expected[] = {"time=…0.1,unit=ms) scheme=ps-sync", "time=…0.1,unit=ms) scheme=k-sync(k=96)",
                                           "time=…0.2,unit=ms) scheme=ps-sync", "time=…0.2,unit=ms) scheme=k-sync(k=96)", NULL};
    static const char *const example[] = {"compute.time=exponential(mean=10ms) scheme=ps-sync",
                                          "compute.time=lognormal(mu=3,sigma=0.1,unit=ms) scheme=ring", NULL};
    static const char *const shortened[] = {"time=exponential(mean=10… scheme=ps-sync", "time=lognormal(mu=3,sigm… scheme=ring",
                                            NULL};
    check(example, 40, shortened);
    check(labels, 44, expected);
}

static void what_is_the_same_in_all_is_left_out(void **state)
{
    (void)state;
    static const char *const labels[] = {"workload.file=one-and-the-same-long-name-of-a-file.yaml scheme=ring",
                                         "workload.file=one-and-the-same-long-name-of-a-file.yaml scheme=tree", NULL};
    static const char *const expected[] = {"scheme=ring", "scheme=tree", NULL};
    check(labels, 44, expected);
}

static void names_that_are_alike_are_numbered(void **state)
{
    (void)state;
    static const char *const labels[] = {"a name that is alike", "a name that is alike", NULL};
    static const char *const expected[] = {"1: a name that …", "2: a name that …", NULL};
    check(labels, 16, expected);
    static const char *const odd[] = {"no setting", "scheme=ring", "scheme=ring and=more", NULL};
    check(odd, 44, odd);
}

/* Whatever they are: not too wide, and apart when there are different ones. */
static void any_names_stay_apart(void **state)
{
    (void)state;
    struct rng rng = rng_stream(7, 0, 0, RNG_BOOTSTRAP);
    for (int trial = 0; trial < 300; trial++) {
        cleanup(plot_names_free) struct plot_names names = {0};
        int count = 1 + (int)rng_below(&rng, PLOT_NAMES_MAX);
        size_t most = 16 + (size_t)rng_below(&rng, 40);
        for (int i = 0; i < count; i++) {
            cleanup(text_free) struct text label = {0};
            for (int k = 0; k < 4; k++)
                text_printf(&label, "%sa.%d.b=%s%d%s", k ? " " : "", k, rng_below(&rng, 2) ? "µµµµµµµµµµµµµµµ" : "x\xffyz",
                            (int)rng_below(&rng, 3), rng_below(&rng, 2) ? "tail of it" : "");
            plot_names_add(&names, label.bytes, rng_below(&rng, 2) ? "an arm" : "", NULL);
        }
        plot_names_shorten(&names, most);
        assert_true(plot_names_width(&names) <= most);
        for (int i = 0; i < count; i++)
            for (int k = 0; k < i; k++)
                assert_string_not_equal(plot_names_get(&names, i), plot_names_get(&names, k));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_left_as_it_is),
        cmocka_unit_test(paths_lose_what_tells_nothing),
        cmocka_unit_test(values_keep_that_by_which_they_differ),
        cmocka_unit_test(what_is_the_same_in_all_is_left_out),
        cmocka_unit_test(names_that_are_alike_are_numbered),
        cmocka_unit_test(any_names_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
