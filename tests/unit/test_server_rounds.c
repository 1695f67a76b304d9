/* tests/unit/test_server_rounds.c: servers that do not wait for every worker use the gradients that they should, each once,
 * whatever the order of events, and every node comes to its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h>

enum { ROUNDS = 20, WORKERS_MAX = 8, FLOATS = 67, SEEDS = 32 };

struct rules { /* what a scheme promises, of every gradient that it uses */
    const char *scheme;
    bool fresh;    /* computed at the model that it meets */
    bool distinct; /* a worker once an update */
};
static const struct rules all_rules[] = {
    {"backup", true, true},   {"ps-drop", true, true},         {"k-sync", true, true}, {"k-batch-sync", true, false},
    {"k-async", false, true}, {"k-batch-async", false, false}, {"async", false, true}, {"ssp", false, true},
};

struct watch {
    const struct scheme_setup *setup;
    const struct rules *rules;
    int quota;
    float expected[FLOATS];
    int collected;
    bool counted[WORKERS_MAX];
    uint64_t updates, last_step[WORKERS_MAX], staleness, used_of[WORKERS_MAX];
    uint32_t order;
    int64_t last_ns;
};

static float whole_number(int worker, uint64_t step, size_t i)
{
    return (float)((i * 31 + step * 7) % 1009 + (size_t)(worker + 1) * 2003);
}

static void whole_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    (void)context;
    (void)model;
    for (size_t i = 0; i < FLOATS; i++)
        gradient[i] = whole_number(worker, step, i);
}

static void on_told(void *context, int node, const struct gradient_record *record)
{
    struct watch *watch = context;
    const int worker = (int)record->worker;
    if (record->fate == GRADIENT_CANCELLED) {
        assert_int_equal(node, worker);
        return;
    }
    assert_int_equal(node, watch->setup->workers);
    assert_int_equal(record->round, watch->updates);
    assert_int_equal(record->order, watch->order++);
    assert_true(record->arrived_ns >= watch->last_ns);
    watch->last_ns = record->arrived_ns;
    if (record->fate != GRADIENT_USED)
        return;
    if (watch->rules->fresh)
        assert_int_equal(record->staleness, 0);
    if (watch->rules->distinct)
        assert_false(watch->counted[worker]);
    if (watch->used_of[worker]++)
        assert_true(record->step > watch->last_step[worker]);
    watch->last_step[worker] = record->step;
    watch->counted[worker] = true;
    watch->staleness += record->staleness;
    for (size_t i = 0; i < FLOATS; i++)
        watch->expected[i] = (watch->collected ? watch->expected[i] : 0) + whole_number(worker, record->step, i);
    watch->collected++;
}

static void check_sum(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct watch *watch = context;
    assert_int_equal(node, watch->setup->workers);
    assert_int_equal(contributors, watch->quota);
    assert_int_equal(watch->collected, watch->quota);
    assert_int_equal(first, 0);
    assert_int_equal(count, FLOATS);
    assert_int_equal(step, watch->updates);
    assert_memory_equal(sum, watch->expected, sizeof(watch->expected));
    watch->updates++;
    watch->collected = 0;
    watch->order = 0;
    memset(watch->counted, 0, sizeof(watch->counted));
}

/* `first`: the scheme's first parameter, `second` that of backup. */
static struct watch run(const struct rules *rules, int workers, int quota, double first, double second, uint64_t seed)
{
    struct scheme_setup setup = scheme_setup_of(rules->scheme, workers, FLOATS, first);
    if (strcmp(rules->scheme, "backup") == 0)
        setup.values[1] = second;
    setup.rounds = ROUNDS;
    assert_int_equal(setup.scheme->check(&setup, NULL), 0);
    struct watch watch = {.setup = &setup, .rules = rules, .quota = quota};
    struct memory_world_settings settings = memory_world_hostile(&setup, seed);
    settings.context = &watch;
    settings.gradient = whole_gradient;
    settings.gradient_told = on_told;
    settings.check = check_sum;
    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
    memory_world_run(world);
    if (memory_world_failure(world))
        fail_msg("%s with %d workers, seed %d: %s", rules->scheme, workers, (int)seed, memory_world_failure(world));
    for (int node = 0; node < setup.nodes; node++)
        if (!memory_world_result(world, node).finished)
            fail_msg("%s with %d workers, quota %d, seed %d: node %d has not come to its end", rules->scheme, workers, quota,
                     (int)seed, node);
    struct memory_node_result server = memory_world_result(world, workers);
    assert_int_equal(server.rounds_finished, ROUNDS);
    assert_int_equal(server.gradients[GRADIENT_USED], quota * ROUNDS);
    if (!rules->fresh)
        assert_int_equal(server.gradients[GRADIENT_DROPPED], 0);
    assert_int_equal(memory_world_buffers_out(world), 0);
    watch.setup = NULL;
    return watch;
}

static double parameter_of(const char *scheme, int workers, int quota)
{
    if (strcmp(scheme, "backup") == 0 || strcmp(scheme, "ps-drop") == 0)
        return workers - quota;
    return strcmp(scheme, "ssp") == 0 ? 2 : strcmp(scheme, "async") == 0 ? 0 : quota;
}

static void test_uses_what_it_should(void **state)
{
    (void)state;
    static const int workers[] = {1, 2, 3, 5, 8};
    for (size_t s = 0; s < sizeof(all_rules) / sizeof(all_rules[0]); s++)
        for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++)
            for (int quota = 1; quota <= workers[w]; quota++) {
                const char *name = all_rules[s].scheme;
                if ((strcmp(name, "async") == 0 || strcmp(name, "ssp") == 0) && quota > 1)
                    continue;
                for (uint64_t seed = 0; seed < SEEDS; seed++)
                    run(&all_rules[s], workers[w], quota, parameter_of(name, workers[w], quota), seed / 16 % 2, seed);
            }
}

/* Under ssp no worker's used gradients run ahead of the slowest's by more than the bound and the one under way. */
static void test_ssp_bound(void **state)
{
    (void)state;
    static const struct rules rules = {"ssp", false, true};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct watch watch = run(&rules, 4, 1, 0, 0, seed);
        uint64_t least = UINT64_MAX, most = 0;
        for (int worker = 0; worker < 4; worker++) {
            least = watch.used_of[worker] < least ? watch.used_of[worker] : least;
            most = watch.used_of[worker] > most ? watch.used_of[worker] : most;
        }
        assert_true(most - least <= 1);
    }
}

static void eights(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    (void)context;
    (void)worker;
    (void)step;
    (void)model;
    for (size_t i = 0; i < FLOATS; i++)
        gradient[i] = 8;
}

/* One worker, alpha = 1/2, steps of -1: x = -1, -1.5, -2 before the exchanges, the centre -0.5, -1, -1.5 after them. */
static void test_easgd_moves_both(void **state)
{
    (void)state;
    static const float initial[FLOATS];
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct scheme_setup setup = scheme_setup_of("easgd", 1, FLOATS, 1);
        setup.values[1] = 0.5;
        setup.rounds = 3;
        struct memory_world_settings settings = {.setup = &setup,
                                                 .seed = seed,
                                                 .sent = seed & 2 ? SENT_ON_TAKE : SENT_ANY_TIME,
                                                 .initial_model = initial,
                                                 .gradient = eights};
        cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
        memory_world_run(world);
        assert_null(memory_world_failure(world));
        struct memory_node_result server = memory_world_result(world, 1);
        assert_true(server.finished && memory_world_result(world, 0).finished);
        for (size_t i = 0; i < FLOATS; i++)
            assert_true(server.model[i] == -1.5f);
        assert_int_equal(memory_world_buffers_out(world), 0);
    }
}

static void test_refuses_quotas(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        double first;
        const char *says;
    } cases[] = {
        {"backup", 4, "found backups 4, allowed are 0 to 3"},
        {"ps-drop", 5, "found drop 5, allowed are 0 to 3"},
        {"k-sync", 5, "found k 5, allowed are 1 to 4"},
        {"k-batch-async", 9, "found k 9, allowed are 1 to 4"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scheme_setup setup = scheme_setup_of(cases[i].scheme, 4, FLOATS, cases[i].first);
        struct err err = {0};
        assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
        assert_non_null(strstr(err.text, cases[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uses_what_it_should),
        cmocka_unit_test(test_ssp_bound),
        cmocka_unit_test(test_easgd_moves_both),
        cmocka_unit_test(test_refuses_quotas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
