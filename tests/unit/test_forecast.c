/* test_forecast.c: a cell set up for prediction: paths of a star as asked and as measured, slow workers, nodes, and how long a
 * trial takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "harness/forecast.h"
#include "schemas/events.h"

static const int slow_first[] = {0}, slow_both[] = {0, 2};
static const struct slow_workers slow[] = {{slow_first, 1, 4}, {slow_both, 2, 1.5}};

static struct cell a_cell(const char *scheme)
{
    return (struct cell){
        .index = 7,
        .settings =
            {
                .link = {.rate_bps = 1000000000, .delay_ns = 250 * NS_PER_US},
                .workers = 3,
                .scheme = {.name = scheme, .values = {1, 2, 3, 4, 5, 6, 7, 8}},
                .workload = {.model = MODEL_SYNTHETIC,
                             .size_bytes = 4000,
                             .batch = 64,
                             .learning_rate = 0.25,
                             .decay_factor = 0.5,
                             .decay_every = 10,
                             .rounds = 20,
                             .gradients = GRADIENTS_REAL},
                .compute_time = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 20e6},
                .warmup_rounds = 2,
                .mtu = 1500,
            },
    };
}

static void an_outside_program_has_nodes_and_no_prediction(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct topology topology;
    struct forecast forecast;
    struct prediction prediction = {.available = true};
    int servers = -1;
    struct cell cell = a_cell(OUTSIDE_SCHEME);
    cell.settings.scheme.outside = true;
    cell.settings.workload = (struct workload_settings){0};
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    assert_true(servers == 0 && topology.host_count == 3);
    forecast_setup(&cell, &topology, NULL, 0, 1, arena, &forecast);
    assert_true(forecast.setup.nodes == 3 && forecast.setup.parameter_count == 0);
    forecast_predict(&forecast, &prediction);
    assert_false(prediction.available);
    assert_string_equal(prediction.reason, "an outside program runs: what it sends is not known");
    assert_true(isnan(forecast_trial_seconds(&cell.settings, &prediction)));
}

static void a_dedicated_server_is_a_node_more(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct topology topology;
    int servers = -1;
    struct cell cell = a_cell("ring");
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    assert_int_equal(servers, 0);
    assert_int_equal(topology.host_count, 3);
    cell = a_cell("ps-sync");
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    assert_int_equal(servers, 1);
    assert_int_equal(topology.host_count, 4);
    assert_string_equal(topology.places[3].name, "s0");
    struct err err;
    cell.settings.scheme.name = "rnig";
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, &err), -ERR_USAGE);
    assert_string_equal(err.text, "unknown scheme 'rnig'; `laggard schemes` lists them");
}

static void the_setup_says_what_the_cell_says(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cell = a_cell("ps-sync");
    struct topology topology;
    struct forecast forecast;
    int servers;
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    forecast_setup(&cell, &topology, NULL, 3e6, 99, arena, &forecast);
    const struct scheme_setup *setup = &forecast.setup;
    assert_ptr_equal(setup->scheme, scheme_find("ps-sync"));
    assert_int_equal(setup->workers, 3);
    assert_int_equal(setup->servers, 1);
    assert_int_equal(setup->nodes, 4);
    assert_memory_equal(setup->values, cell.settings.scheme.values, sizeof(setup->values));
    assert_int_equal(setup->parameter_count, 1000);
    assert_float_equal(setup->learning_rate, 0.25, 0);
    assert_float_equal(scheme_rate(setup, 9), 0.25, 0);
    assert_float_equal(scheme_rate(setup, 20), 0.0625, 0);
    assert_int_equal(setup->batch, 64);
    assert_int_equal(setup->rounds, 22);
    assert_true(setup->values_carried);
    assert_int_equal(setup->seed, 99);
    assert_int_equal(setup->cell, 7);
    assert_float_equal(setup->gradient_ns, 3e6, 0);
    assert_ptr_equal(setup->compute_time, &cell.settings.compute_time);
    assert_null(setup->slow_factors);
    cell.settings.workload.gradients = GRADIENTS_NONE;
    cell.settings.slow = slow;
    cell.settings.slow_count = 2;
    forecast_setup(&cell, &topology, NULL, 0, 99, arena, &forecast);
    assert_false(setup->values_carried);
    const double factors[] = {6, 1, 1.5}; /* factors of one worker multiply */
    for (int w = 0; w < 3; w++)
        assert_float_equal(setup->slow_factors[w], factors[w], 0);
}

/* Over two links: the delays add up, the narrowest rate counts, 1448 of 1514 bytes are payload. */
static void paths_as_asked(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cell = a_cell("ring");
    struct topology topology;
    struct forecast forecast;
    int servers;
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    forecast_setup(&cell, &topology, NULL, 0, 1, arena, &forecast);
    struct path path = forecast.setup.path(forecast.setup.path_context, 0, 2);
    assert_float_equal(path.latency_ns, 500000, 0);
    assert_float_equal(path.bytes_per_second, 125e6 * 1448 / 1514, 1e-3);
    cell.settings.link.rate_bps = 0;
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    forecast_setup(&cell, &topology, NULL, 0, 1, arena, &forecast);
    path = forecast.setup.path(forecast.setup.path_context, 2, 1);
    assert_true(isinf(path.bytes_per_second));
}

/* A leg that was measured counts as measured, in its own direction; one that was not, as asked. */
static void paths_as_measured(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cell = a_cell("ring");
    struct topology topology;
    struct forecast forecast;
    int servers;
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    const struct link_check checks[3] = {
        {.direction = {{.measured = true, .delay_mean_ns = 300e3, .goodput_bps = 800e6},
                       {.measured = true, .delay_mean_ns = 310e3, .goodput_bps = 700e6}}},
        {.direction = {{.measured = true, .delay_mean_ns = 280e3},
                       {.measured = true, .delay_mean_ns = 290e3, .goodput_bps = 600e6}}},
    };
    forecast_setup(&cell, &topology, checks, 0, 1, arena, &forecast);
    const double asked = 125e6 * 1448 / 1514;
    static const struct {
        int from, to;
        double latency_ns, bytes_per_second;
    } cases[] = {
        {0, 1, 300e3 + 290e3, 75e6}, /* up over link 0, down over link 1 */
        {1, 0, 280e3 + 310e3, 87.5e6}, {0, 2, 300e3 + 250e3, 100e6},
        {2, 0, 250e3 + 310e3, 87.5e6}, {1, 2, 280e3 + 250e3, 0}, /* neither goodput is known: as asked */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct path path = forecast.setup.path(forecast.setup.path_context, cases[i].from, cases[i].to);
        assert_float_equal(path.latency_ns, cases[i].latency_ns, 1e-6);
        assert_float_equal(path.bytes_per_second, cases[i].bytes_per_second > 0 ? cases[i].bytes_per_second : asked, 1e-3);
    }
}

static void predictions_are_the_schemes(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cell = a_cell("ring");
    struct topology topology;
    struct forecast forecast;
    struct prediction prediction;
    int servers;
    memset(&prediction, 0x5a, sizeof(prediction));
    memset(cell.settings.scheme.values, 0, sizeof(cell.settings.scheme.values));
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    forecast_setup(&cell, &topology, NULL, 0, 1, arena, &forecast);
    forecast_predict(&forecast, &prediction);
    assert_true(prediction.available);
    assert_float_equal(prediction.compute_ns, 20e6, 1);
    /* four hops of a third of 4,000 bytes and 0.5 ms each */
    assert_true(prediction.round_ns > 20e6 + 4 * 500e3 && prediction.round_ns < 20e6 + 4 * 500e3 + 500e3);

    const struct scheme mute = {.name = "mute"};
    forecast.setup.scheme = &mute;
    forecast_predict(&forecast, &prediction);
    assert_false(prediction.available);
    assert_string_equal(prediction.reason, "this scheme has no prediction");
    assert_float_equal(prediction.round_ns, 0, 0);
}

static void events_leave_no_formula(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct event_request pause = {
        .kind = EVENT_PAUSE, .round = 3, .nodes = {(const char *const[]){"w1"}, 1}, .pause_ns = NS_PER_S};
    struct cell cell = a_cell("ring");
    struct topology topology;
    struct forecast calm, disturbed;
    struct prediction prediction, undisturbed;
    int servers;
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    forecast_setup(&cell, &topology, NULL, 0, 1, arena, &calm);
    forecast_predict(&calm, &prediction);
    assert_true(prediction.available);
    double seconds = forecast_trial_seconds(&cell.settings, &prediction);
    cell.settings.events = &pause;
    cell.settings.event_count = 1;
    forecast_setup(&cell, &topology, NULL, 0, 1, arena, &disturbed);
    forecast_undisturbed(&disturbed, &undisturbed);
    assert_true(undisturbed.available && undisturbed.round_ns == prediction.round_ns);
    forecast_predict(&disturbed, &prediction);
    assert_false(prediction.available);
    assert_string_equal(prediction.reason, "events change links or nodes while rounds run, and no formula knows of them");
    assert_true(fabs(forecast_trial_seconds(&cell.settings, &undisturbed) - seconds - 1) < 1e-9);
    cell.settings.event_count = 0;
    cell.settings.traffic.count = 1;
    forecast_setup(&cell, &topology, NULL, 0, 1, arena, &disturbed);
    forecast_predict(&disturbed, &prediction);
    assert_false(prediction.available);
    assert_string_equal(prediction.reason, "cross traffic takes its part of the links, and no formula knows how much");
}

/* What the file says counts in both worlds; what is measured, in the emulated one where the file says nothing. */
static void a_message_costs_what_is_said_or_measured(void **state)
{
    (void)state;
    static const struct {
        enum world_kind world;
        int64_t said_ns;
        double first_ns, then_ns;
    } cases[] = {{WORLD_EMULATED, 0, FORECAST_MESSAGE_NS, 50e3},
                 {WORLD_EMULATED, 70000, 70e3, 70e3},
                 {WORLD_VIRTUAL, 0, 0, 0},
                 {WORLD_VIRTUAL, 70000, 70e3, 70e3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        struct cell cell = a_cell("ring");
        struct topology topology;
        struct forecast forecast;
        int servers;
        cell.settings.world = cases[i].world;
        cell.settings.message_cost_ns = cases[i].said_ns;
        assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
        forecast_setup(&cell, &topology, NULL, 0, 1, arena, &forecast);
        assert_float_equal(forecast.setup.message_ns, cases[i].first_ns, 0);
        forecast_message_cost(&forecast, 50e3);
        assert_float_equal(forecast.setup.message_ns, cases[i].then_ns, 0);
    }
}

static void every_message_size_has_a_prediction(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    static const uint64_t sizes[] = {4000, 1 << 20, 4096};
    struct cell cell = a_cell("ring");
    struct topology topology;
    struct forecast forecast;
    struct prediction swept[3], alone;
    int servers;
    cell.settings.workload.size_bytes = 0;
    cell.settings.workload.sizes = (struct size_list){sizes, 3};
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    forecast_setup(&cell, &topology, NULL, 0, 1, arena, &forecast);
    assert_int_equal(forecast.setup.parameter_count, 1 << 18); /* the largest */
    assert_int_equal(forecast.setup.rounds, 22);
    forecast_predict_sizes(&forecast, swept);
    assert_int_equal(forecast.setup.parameter_count, 1 << 18);
    double seconds = 0.3 + 2 * 0.02;
    for (int i = 0; i < 3; i++) {
        struct cell single = a_cell("ring");
        single.settings.workload.size_bytes = sizes[i];
        struct forecast one;
        forecast_setup(&single, &topology, NULL, 0, 1, arena, &one);
        forecast_predict(&one, &alone);
        assert_true(swept[i].available && swept[i].round_ns == alone.round_ns);
        seconds += 22 * alone.round_ns / 1e9;
    }
    assert_float_equal(forecast_trial_seconds(&cell.settings, swept), seconds, 1e-6);
}

static void trials_take_their_rounds_and_a_setup(void **state)
{
    (void)state;
    struct cell cell = a_cell("ring");
    struct prediction prediction = {.available = true, .round_ns = 50e6};
    assert_float_equal(forecast_trial_seconds(&cell.settings, &prediction), 0.3 + 22 * 0.05, 1e-9);
    const double guess = 0.3 + 22 * 0.01;
    prediction.round_ns = INFINITY; /* pareto with shape 1: no mean */
    assert_float_equal(forecast_trial_seconds(&cell.settings, &prediction), guess, 1e-9);
    prediction.round_ns = NAN;
    assert_float_equal(forecast_trial_seconds(&cell.settings, &prediction), guess, 1e-9);
    prediction.available = false;
    assert_float_equal(forecast_trial_seconds(&cell.settings, &prediction), guess, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outside_program_has_nodes_and_no_prediction),
        cmocka_unit_test(a_dedicated_server_is_a_node_more),
        cmocka_unit_test(the_setup_says_what_the_cell_says),
        cmocka_unit_test(paths_as_asked),
        cmocka_unit_test(paths_as_measured),
        cmocka_unit_test(predictions_are_the_schemes),
        cmocka_unit_test(events_leave_no_formula),
        cmocka_unit_test(a_message_costs_what_is_said_or_measured),
        cmocka_unit_test(every_message_size_has_a_prediction),
        cmocka_unit_test(trials_take_their_rounds_and_a_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
