/* test_trial_setup.c: what each agent is told, field by field, and after a way over the wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agents/scheme.h"
#include "agents/shards.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "harness/trial_setup.h"
#include "schemas/events.h"

static const int slow_second[] = {1};
static const struct slow_workers slow[] = {{slow_second, 1, 4}};
static const struct trial_plan trial = {.cell = 7, .repeat = 2, .order = 11, .seed = UINT64_C(0xfedcba9876543210)};

static struct cell a_cell(void)
{
    return (struct cell){
        .index = 7,
        .settings =
            {
                .link = {.rate_bps = 1000000000, .delay_ns = 250 * NS_PER_US},
                .workers = 2,
                .scheme = {.name = "ps-sync", .values = {1}},
                .workload = {.model = MODEL_MLP,
                             .layers = {128, 64},
                             .layer_count = 2,
                             .shards = {.split = SHARDS_DIRICHLET, .alpha = 0.3, .size_alpha = 0.7},
                             .batch = 64,
                             .learning_rate = 0.25,
                             .rounds = 20,
                             .evaluate_every = 5,
                             .size_bytes = 4000},
                .compute_time = {DISTRIBUTION_LOGNORMAL, 1, 2, 3, 4, 5, 6, 7, 8},
                .slow = slow,
                .slow_count = 1,
                .warmup_rounds = 2,
                .mtu = 1500,
                .record_spans = true,
                .sample_every_ns = 50 * NS_PER_MS,
                .busy_wait_ns = 200 * NS_PER_US,
            },
    };
}

static const struct control_setup *setups_of(const struct cell *cell, const struct blob *prepared, bool shared, struct arena *arena)
{
    struct topology *topology = arena_new_object(arena, struct topology);
    struct forecast *forecast = arena_new_object(arena, struct forecast);
    int servers;
    assert_int_equal(forecast_topology(&cell->settings, arena, topology, &servers, NULL), 0);
    forecast_setup(cell, topology, NULL, 0, trial.seed, arena, forecast);
    return trial_setups(cell, &trial, forecast, prepared, shared, arena);
}

static void each_node_is_told_who_it_is(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cell = a_cell();
    const struct control_setup *setups = setups_of(&cell, NULL, false, arena);
    static const char *const names[] = {"w0", "w1", "s0"};
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(setups[n].node, n);
        assert_int_equal(setups[n].node_count, 3);
        assert_int_equal(setups[n].port, AGENT_PORT);
        for (uint32_t i = 0; i < 3; i++) {
            const struct control_node *node = &setups[n].nodes[i];
            assert_string_equal(node->name, names[i]);
            assert_int_equal(node->role, i < 2 ? ROLE_WORKER : ROLE_SERVER);
            assert_int_equal(node->address, 0x0a400001 + i);
            assert_float_equal(node->slow_factor, i == 1 ? 4 : 1, 0);
        }
    }
}

/* A thousand nodes have one roster, and paths only where a scheme asks for them: what a trial's setups take grows with the
 * nodes. */
static void the_setups_of_a_large_network_are_linear(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cell = a_cell();
    cell.settings.workers = 999;
    cell.settings.slow_count = 0;
    const struct control_setup *setups = setups_of(&cell, NULL, false, arena);
    for (int n = 0; n < 1000; n++) {
        assert_ptr_equal(setups[n].nodes, setups[0].nodes);
        assert_null(setups[n].paths);
        assert_int_equal(setups[n].path_count, 0);
    }
    assert_true(arena_bytes(arena) < 1000 * 2000);
}

static void a_scheme_that_asks_for_paths_gets_its_own(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cell = a_cell();
    struct topology topology;
    struct forecast forecast;
    int servers;
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    forecast_setup(&cell, &topology, NULL, 0, trial.seed, arena, &forecast);
    struct scheme asking = *forecast.setup.scheme;
    asking.flags |= SCHEME_NEEDS_PATHS;
    forecast.setup.scheme = &asking;
    const struct control_setup *setups = trial_setups(&cell, &trial, &forecast, NULL, false, arena);
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(setups[n].path_count, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(setups[n].paths[i].latency_ns, i == n ? 0 : 500000);
            assert_int_equal(setups[n].paths[i].payload_bps, i == n ? 0 : 956406869); /* 10^9 x 1448/1514 */
        }
    }
    cell.settings.link.rate_bps = 0;
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    forecast_setup(&cell, &topology, NULL, 0, trial.seed, arena, &forecast);
    forecast.setup.scheme = &asking;
    assert_int_equal(trial_setups(&cell, &trial, &forecast, NULL, false, arena)[0].paths[1].payload_bps, 0);
}

static void one_node_alone_has_marks(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    static const char *const first[] = {"w0"};
    const struct event_request events[] = {{.kind = EVENT_CRASH, .round = 5, .nodes = {first, 1}},
                                           {.kind = EVENT_CRASH, .round = 0, .nodes = {first, 1}},
                                           {.kind = EVENT_CRASH, .round = EVENT_BY_TIME, .nodes = {first, 1}}};
    struct cell cell = a_cell();
    cell.settings.events = events;
    cell.settings.event_count = 3;
    const struct control_setup *setups = setups_of(&cell, NULL, false, arena);
    assert_int_equal(setups[0].mark_count, 2);
    assert_true(setups[0].marks[0].rounds_done == 2 && setups[0].marks[1].rounds_done == 7); /* the warm-up counts */
    assert_int_equal(setups[1].mark_count, 0);
    assert_int_equal(setups[2].mark_count, 0);
    cell.settings.scheme.name = "async"; /* its rounds are the server's updates, of which a worker sees some, and may be lost */
    setups = setups_of(&cell, NULL, false, arena);
    assert_int_equal(setups[0].mark_count, 0);
    assert_int_equal(setups[2].mark_count, 2);
}

static void every_setting_arrives(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text bytes = {0};
    struct cell cell = a_cell();
    uint8_t code[] = {1, 0, 255};
    const struct blob prepared = {.bytes = code, .length = sizeof(code)};
    const struct control_setup *setups = setups_of(&cell, &prepared, true, arena);
    struct control_setup setup; /* as the agent sees it */
    wire_encode(control_operations[CONTROL_SETUP].body, &setups[2], &bytes);
    assert_int_equal(wire_decode(control_operations[CONTROL_SETUP].body, bytes.bytes, bytes.length, arena, &setup, NULL), 0);
    assert_int_equal(setup.node, 2);
    assert_int_equal(setup.seed, trial.seed);
    assert_int_equal(setup.cell, 7);
    assert_string_equal(setup.scheme, "ps-sync");
    assert_int_equal(setup.value_count, (uint32_t)scheme_find("ps-sync")->param_count);
    for (uint32_t i = 0; i < setup.value_count; i++)
        assert_float_equal(setup.values[i].value, cell.settings.scheme.values[i], 0);
    assert_int_equal(setup.model, MODEL_MLP);
    assert_int_equal(setup.dataset, DATASET_FASHION_MNIST);
    assert_int_equal(setup.gradients, GRADIENTS_REAL);
    assert_string_equal(setup.dataset_path, "");
    assert_int_equal(setup.dataset_fd, DATASET_FD);
    assert_int_equal(setup.layer_count, 2);
    assert_int_equal(setup.layers[0].width, 128);
    assert_int_equal(setup.layers[1].width, 64);
    assert_int_equal(setup.shard_split, SHARDS_DIRICHLET);
    assert_float_equal(setup.shard_alpha, 0.3, 0);
    assert_float_equal(setup.shard_size_alpha, 0.7, 0);
    const struct shard_rule rule = {.settings = &cell.settings.workload.shards, .seed = trial.seed, .workers = 2, .least = 64};
    uint32_t samples[2];
    shards_sizes(&rule, 60000, samples); /* what every node is told is what workers deal out to themselves */
    assert_int_equal(setup.nodes[0].samples, samples[0]);
    assert_int_equal(setup.nodes[1].samples, samples[1]);
    assert_int_equal(setup.nodes[2].samples, 0);
    assert_true(samples[0] + samples[1] == 60000 && samples[0] != samples[1]);
    assert_int_equal(setup.batch, 64);
    assert_float_equal(setup.learning_rate, 0.25, 0);
    assert_int_equal(setup.rounds, 22);
    assert_int_equal(setup.warmup_rounds, 2);
    assert_int_equal(setup.evaluate_every, 5);
    assert_int_equal(setup.size_bytes, 4000);
    assert_int_equal(setup.record_spans, 1);
    assert_int_equal(setup.sample_every_ns, 50 * NS_PER_MS);
    assert_int_equal(setup.busy_wait_ns, 200 * NS_PER_US);
    assert_int_equal(setup.prepared_bytes, 3);
    assert_memory_equal(setup.prepared, code, 3);
    const struct control_distribution *time = &setup.compute_time;
    const double parts[] = {time->value_ns, time->mean_ns, time->shift_ns, time->mu,
                            time->sigma,    time->unit_ns, time->scale_ns, time->shape};
    assert_int_equal(time->kind, DISTRIBUTION_LOGNORMAL);
    for (int i = 0; i < 8; i++)
        assert_float_equal(parts[i], 1 + i, 0);
}

static void message_sizes_arrive_with_what_was_prepared_for_each(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text bytes = {0};
    static const uint64_t sizes[] = {400, 1 << 20};
    uint8_t codes[] = {7, 8, 9};
    const struct blob prepared[] = {{.bytes = codes, .length = 1}, {.bytes = codes + 1, .length = 2}};
    struct cell cell = a_cell();
    cell.settings.workload.model = MODEL_SYNTHETIC;
    cell.settings.workload.size_bytes = 0;
    cell.settings.workload.sizes = (struct size_list){sizes, 2};
    struct control_setup setup;
    wire_encode(control_operations[CONTROL_SETUP].body, &setups_of(&cell, prepared, false, arena)[1], &bytes);
    assert_int_equal(wire_decode(control_operations[CONTROL_SETUP].body, bytes.bytes, bytes.length, arena, &setup, NULL), 0);
    assert_int_equal(setup.rounds, 22); /* of each */
    assert_int_equal(setup.size_count, 2);
    assert_int_equal(setup.sizes[0].bytes, 400);
    assert_int_equal(setup.sizes[1].bytes, 1 << 20);
    assert_int_equal(setup.sizes[0].prepared_bytes, 1);
    assert_int_equal(setup.sizes[1].prepared_bytes, 2);
    assert_memory_equal(setup.sizes[1].prepared, codes + 1, 2);
    assert_int_equal(setup.prepared_bytes, 0);
}

static void only_what_there_is_arrives(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cell = a_cell();
    cell.settings.slow_count = 0;
    cell.settings.record_spans = false;
    cell.settings.workload.dataset_path = "/data/images";
    const struct blob nothing = {0};
    const struct control_setup *setup = setups_of(&cell, &nothing, false, arena);
    assert_int_equal(setup->dataset_fd, 0);
    assert_string_equal(setup->dataset_path, "/data/images");
    assert_int_equal(setup->prepared_bytes, 0);
    assert_int_equal(setup->record_spans, 0);
    assert_float_equal(setup->nodes[1].slow_factor, 1, 0);
    assert_int_equal(setup->value_count, 4); /* ps-sync: servers, placement, aggregate, trim */
    cell.settings.scheme = (struct scheme_choice){.name = "ring", .values = {65536}};
    setup = setups_of(&cell, &nothing, false, arena);
    assert_int_equal(setup->node_count, 2);
    assert_int_equal(setup->value_count, scheme_find("ring")->param_count); /* the first is segment */
    assert_float_equal(setup->values[0].value, 65536, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_node_is_told_who_it_is),
        cmocka_unit_test(the_setups_of_a_large_network_are_linear),
        cmocka_unit_test(a_scheme_that_asks_for_paths_gets_its_own),
        cmocka_unit_test(one_node_alone_has_marks),
        cmocka_unit_test(every_setting_arrives),
        cmocka_unit_test(message_sizes_arrive_with_what_was_prepared_for_each),
        cmocka_unit_test(only_what_there_is_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
