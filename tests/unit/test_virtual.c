/* tests/unit/test_virtual.c: every scheme in the virtual world: exact sums, bytes by the formula, repeatable to the bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "agents/collectives/allreduce.h"
#include "agents/recorder.h"
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/local_rounds.h"
#include "agents/workload.h"
#include "base/arena.h"
#include "base/err.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { ROUNDS = 12 };
static const int worker_counts[] = {1, 2, 3, 5, 8};
static const size_t float_counts[] = {1, 7, 3000};
enum { WORKER_COUNTS = sizeof(worker_counts) / sizeof(worker_counts[0]) };
enum { FLOAT_COUNTS = sizeof(float_counts) / sizeof(float_counts[0]) };

/* The scheme with its default parameters; false: not for so many workers. */
static bool setup_of(const struct scheme *scheme, int workers, size_t floats, struct scheme_setup *setup)
{
    struct err err;
    *setup = scheme_setup_of(scheme->name, workers, floats, scheme->param_count > 0 ? scheme->params[0].standard : 0);
    if (scheme->family == FAMILY_LOCAL)
        setup->values[LOCAL_PERIOD] = 3; /* by default longer than these runs */
    setup->rounds = ROUNDS;
    setup->batch = 1;
    setup->reduce_ns_per_byte = 0.15;
    return !scheme->check || scheme->check(setup, &err) == 0;
}

static struct virtual_rig run(const struct scheme_setup *setup)
{
    struct virtual_rig rig = virtual_rig_new(*setup);
    rig.setup.path = setup->path;
    rig.compute_time = (struct distribution){.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 1e6};
    virtual_rig_links(&rig, 1e8, 50000);
    virtual_rig_run(&rig);
    return rig;
}

static void assert_good_node(struct virtual_rig *rig, int node)
{
    const struct scheme_setup *setup = &rig->setup;
    const bool at_server = setup->scheme->flags & SCHEME_ROUNDS_AT_SERVER;
    struct virtual_node_view view = virtual_node(rig->world, node);
    char sentence[512];
    if (!workload_check_last(view.workload, sentence, sizeof(sentence)))
        fail_msg("%s among %d: %s", setup->scheme->name, setup->workers, sentence);
    assert_int_equal(view.counters->check_failures, 0);
    assert_int_equal(view.counters->spans_lost, 0);
    if (!at_server || node == setup->workers)
        assert_int_equal(view.recorder->round_count, ROUNDS);
    int64_t end_ns = 0;
    for (uint32_t i = 0; i < view.recorder->span_count; i++) {
        const struct span_record *span = &view.recorder->spans[i];
        assert_true(span->begin_ns >= 0 && span->begin_ns <= span->end_ns);
        end_ns = span->end_ns > end_ns ? span->end_ns : end_ns;
    }
    assert_true(end_ns <= virtual_now_ns(rig->world) + 1000000);
}

/* Payload that a node sends in all rounds; UINT64_MAX: not fixed. */
static uint64_t bytes_of(const struct scheme_setup *setup, int node)
{
    const uint64_t vector = setup->parameter_count * sizeof(float), rounds = (uint64_t)setup->rounds;
    if (setup->scheme->family == FAMILY_ALLREDUCE) {
        struct allreduce_shape shape;
        const struct allreduce_algorithm *algorithm = allreduce_rounds_algorithm(setup, &shape);
        return algorithm->sent_bytes(algorithm, &shape, node) * rounds;
    }
    if (strcmp(setup->scheme->name, "ps-sync") == 0)
        return vector * rounds * (node < setup->workers ? 1 : (uint64_t)setup->workers);
    return UINT64_MAX;
}

static void every_scheme_is_exact(void **state)
{
    (void)state;
    for (int s = 0; s < scheme_count(); s++)
        for (int w = 0; w < WORKER_COUNTS; w++)
            for (int f = 0; f < FLOAT_COUNTS; f++) {
                struct scheme_setup setup;
                if (!setup_of(scheme_at(s), worker_counts[w], float_counts[f], &setup))
                    continue;
                struct virtual_rig rig = run(&setup);
                uint64_t checks = 0;
                for (int node = 0; node < setup.nodes; node++) {
                    assert_good_node(&rig, node);
                    const uint64_t expected = bytes_of(&setup, node);
                    checks += virtual_node(rig.world, node).counters->checks;
                    if (expected != UINT64_MAX)
                        assert_int_equal(virtual_node(rig.world, node).counters->sent_payload_bytes, expected);
                }
                if (float_counts[f] > 1 && !scheme_approximates(&setup) && checks == 0)
                    fail_msg("%s among %d checks nothing", setup.scheme->name, setup.workers);
                virtual_rig_free(&rig);
            }
}

/* Values decide nothing about times where a scheme does not look at them. */
static void times_are_the_same_without_values(void **state)
{
    (void)state;
    for (int s = 0; s < scheme_count(); s++) {
        struct scheme_setup setup;
        if (scheme_at(s)->flags & SCHEME_NEEDS_VALUES || !setup_of(scheme_at(s), 5, 3000, &setup))
            continue;
        struct virtual_rig with = run(&setup);
        setup.values_carried = false;
        struct virtual_rig without = run(&setup);
        assert_int_equal(virtual_now_ns(with.world), virtual_now_ns(without.world));
        assert_int_equal(virtual_moments(with.world), virtual_moments(without.world));
        virtual_rig_free(&with);
        virtual_rig_free(&without);
    }
}

static void runs_are_repeatable(void **state)
{
    (void)state;
    for (int s = 0; s < scheme_count(); s++) {
        struct scheme_setup setup;
        if (!setup_of(scheme_at(s), 5, 700, &setup))
            continue;
        struct virtual_rig first = run(&setup), again = run(&setup);
        for (int node = 0; node < setup.nodes; node++) {
            const struct recorder *a = virtual_node(first.world, node).recorder, *b = virtual_node(again.world, node).recorder;
            assert_int_equal(a->span_count, b->span_count);
            assert_memory_equal(a->spans, b->spans, a->span_count * sizeof(*a->spans));
        }
        setup.seed++;
        struct virtual_rig other = run(&setup);
        if (scheme_param(setup.scheme, "window") < 0) /* then a round takes as long whatever is drawn */
            assert_true(virtual_now_ns(other.world) != virtual_now_ns(first.world));
        virtual_rig_free(&first);
        virtual_rig_free(&again);
        virtual_rig_free(&other);
    }
}

static uint64_t hash_of(struct virtual_rig *rig)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, over numbers */
    for (int node = 0; node < rig->setup.nodes; node++) {
        const struct recorder *recorder = virtual_node(rig->world, node).recorder;
        for (uint32_t i = 0; i < recorder->span_count; i++) {
            const struct span_record *span = &recorder->spans[i];
            const uint64_t numbers[] = {span->round, span->kind, span->peer, (uint64_t)span->begin_ns, (uint64_t)span->end_ns,
                                        span->bytes, span->flags};
            for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
                hash = (hash ^ numbers[k]) * UINT64_C(1099511628211);
        }
    }
    return hash;
}

/* Every build of this test, on every machine, has to come to these numbers. Who changes what a scheme sends, or how the world
 * works, finds the new ones in the failure. */
static void every_build_comes_to_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        uint64_t hash;
    } expected[] = {{"ps-sync", UINT64_C(0x49485da709cb06ec)},
                    {"async", UINT64_C(0x257f16ea6351e0a1)},
                    {"ring", UINT64_C(0x38ba37cc32e77c19)},
                    {"halving-doubling", UINT64_C(0x82bbd7747d258e4d)}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct scheme_setup setup;
        assert_true(setup_of(scheme_find(expected[i].scheme), 5, 3000, &setup));
        struct virtual_rig rig = run(&setup);
        if (hash_of(&rig) != expected[i].hash)
            fail_msg("%s: 0x%016llx, expected 0x%016llx", expected[i].scheme, (unsigned long long)hash_of(&rig),
                     (unsigned long long)expected[i].hash);
        virtual_rig_free(&rig);
    }
}

static void memory_of_a_node_is_small(void **state)
{
    (void)state;
    assert_true(virtual_bytes_a_node() <= 1024 + 512); /* with its links, flows and what is on its way */
    enum { WORKERS = 2000 };
    struct scheme_setup setup = scheme_setup_of("ps-sync", WORKERS, 1, 1);
    setup.values_carried = false;
    struct virtual_rig rig = virtual_rig_new(setup);
    rig.options.record_spans = false;
    virtual_rig_run(&rig);
    assert_true(arena_bytes(rig.arena) <
                (UINT64_C(64) << 20) + WORKERS * UINT64_C(2048)); /* a block is for what the scheme holds */
    virtual_rig_free(&rig);
}

/* A node's few words far from the others' cost the processor more than all else that a message takes. */
static void small_memory_lies_together(void **state)
{
    (void)state;
    enum { NODES = 8, WORDS = 64, VECTOR = 1 << 20 };
    struct scheme_setup setup;
    assert_true(setup_of(scheme_find("ring"), NODES, 3000, &setup));
    struct virtual_rig rig = virtual_rig_new(setup);
    virtual_rig_make(&rig);
    uintptr_t least = UINTPTR_MAX, most = 0;
    for (int i = 0; i < NODES; i++) {
        struct node *node = virtual_node(rig.world, i).node;
        const uintptr_t words = (uintptr_t)node_alloc(node, WORDS);
        assert_non_null(node_alloc(node, VECTOR));
        least = words < least ? words : least;
        most = words > most ? words : most;
    }
    assert_true(most - least == (NODES - 1) * WORDS);
    virtual_rig_free(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scheme_is_exact),     cmocka_unit_test(times_are_the_same_without_values),
        cmocka_unit_test(runs_are_repeatable),       cmocka_unit_test(every_build_comes_to_the_same),
        cmocka_unit_test(memory_of_a_node_is_small), cmocka_unit_test(small_memory_lies_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
