/* test_campaign_values.c: which settings a campaign file comes to: the design's example, defaults, impairments, events, what is
 * swept, fields without use, outside programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "harness/campaign.h"
#include "harness/campaign_internal.h"
#include "schemas/events.h"
#include "tests/unit/campaign_rig.h"

static void the_design_example_has_these_settings(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-design.yaml", NULL, arena, &plan, &err), 0);
    assert_string_equal(plan.name, "ring-vs-ps");
    assert_int_equal(plan.cell_count, 6);
    assert_int_equal(plan.trial_count, 36);
    const struct settings *settings = &plan.cells[4].settings;
    assert_string_equal(plan.cells[4].label, "scheme=ring workers=4");
    assert_string_equal(settings->scheme.name, "ring");
    assert_int_equal(settings->workers, 4);
    assert_true(settings->link.rate_bps == 1000000000 && settings->link.delay_ns == 250 * NS_PER_US &&
                settings->link.queue_bytes == 0);
    assert_true(settings->workload.model == MODEL_MLP && settings->workload.layer_count == 1 &&
                settings->workload.layers[0] == 128);
    assert_true(settings->workload.batch == 64 && settings->workload.learning_rate == 0.1);
    assert_true(settings->workload.rounds == 100 && settings->workload.evaluate_every == 10);
    assert_int_equal(settings->compute_time.kind, DISTRIBUTION_LOGNORMAL);
    assert_true(settings->compute_time.mu == 3 && settings->compute_time.sigma == 0.1 &&
                settings->compute_time.unit_ns == NS_PER_MS);
    assert_true(settings->slow_count == 1 && settings->slow[0].worker_count == 1);
    assert_true(settings->slow[0].workers[0] == 1 && settings->slow[0].factor == 4);
    assert_int_equal(settings->repeats, 6);
    assert_string_equal(plan.cells[4].swept[0].path, "scheme");
    assert_string_equal(plan.cells[4].swept[1].text, "4");
}

static void defaults_are_these(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    parse_good(HEAD, arena, &plan);
    const struct settings *settings = &plan.cells[0].settings;
    assert_true(plan.cell_count == 1 && plan.trial_count == 1 && plan.seed == 1 && settings->seed == 1);
    assert_true(settings->world == WORLD_EMULATED && settings->engine == ENGINE_AUTO && settings->shape == SHAPE_STAR);
    assert_true(settings->link.rate_bps == 0 && settings->link.delay_ns == 0 && settings->link.queue_bytes == 0);
    assert_int_equal(settings->compute_time.kind, DISTRIBUTION_MEASURED);
    assert_true(settings->mtu == 1500 && settings->warmup_rounds == 0 && settings->repeats == 1);
    assert_string_equal(settings->congestion_control, "cubic");
    assert_true(settings->rto_min_ns == 0 && settings->trial_deadline_ns == 0 && settings->busy_wait_ns == 0);
    assert_true(!settings->slow_start_after_idle && settings->record_spans && settings->record_nodes);
    assert_null(settings->workload.dataset_path);
    assert_string_equal(plan.cells[0].label, "scheme=ring workers=4");
    assert_int_equal(plan.cells[0].swept_count, 0);
}

static void impairments_and_their_table(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-impairments.yaml", NULL, arena, &plan, &err), 0);
    assert_int_equal(plan.cell_count, 2);
    const struct link_settings *link = &plan.cells[1].settings.link;
    const struct impairments *asked = &link->impairments;
    assert_true(link->queue_packets == 100 && link->queue_bytes == 0 && link->framing == FRAMING_L1);
    assert_true(asked->jitter_ns == 1500000 && asked->jitter_distribution == JITTER_TABLE && asked->jitter_correlation == 0.25);
    static const int16_t entries[] = {-16384, -8192, 0, 8192, 16384};
    assert_int_equal(asked->jitter_table_size, 5);
    assert_memory_equal(asked->jitter_table, entries, sizeof(entries));
    assert_true(asked->gilbert_elliott.p == 0.01 && asked->gilbert_elliott.r == 0.1);
    assert_true(asked->gilbert_elliott.loss_bad == 0.7 && asked->gilbert_elliott.loss_good == 1e-4);
    assert_true(asked->duplicate == 0.005 && asked->corrupt == 0.001 && asked->reorder == 0.02);
    assert_true(plan.cells[0].settings.link.impairments.reorder == 0);
}

static void a_byte_order_mark_is_no_part_of_a_file(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    if (campaign_load("tests/golden/good-bom.yaml", NULL, arena, &plan, &err) < 0)
        fail_msg("%s", err.text);
    const struct settings *settings = &plan.cells[0].settings;
    assert_string_equal(plan.name, "bom");
    assert_int_equal(settings->link.impairments.jitter_table_size, 5);
    assert_int_equal(settings->events[0].trace->steps[1].rate_bps, 2000000);
    assert_int_equal(settings->events[1].trace->period_ns, 199000000);
}

static void events_and_their_defaults(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-events.yaml", NULL, arena, &plan, &err), 0);
    const struct settings *settings = &plan.cells[0].settings;
    assert_int_equal(settings->event_count, 11);
    for (int i = 0; i < settings->event_count; i++) /* one of the two */
        assert_true((settings->events[i].round == EVENT_BY_TIME) != (settings->events[i].at_ns == 0 && i != 9 && i != 10));
    assert_true(settings->events[2].direction == EVENT_FORWARD && settings->events[4].direction == EVENT_BOTH);
    assert_true(settings->events[4].down_ns == 50 * NS_PER_MS && settings->events[4].up_ns == 200 * NS_PER_MS);
    const struct event_request *trace = &settings->events[9];
    assert_string_equal(trace->trace_path, "tests/golden/cellular.trace"); /* from where the campaign file is */
    assert_true(!trace->repeat && settings->events[10].repeat && trace->trace->has_rate);
    assert_true(settings->events[10].trace->count == 4 && settings->events[10].trace->steps[1].rate_bps == 12500000);

    assert_int_equal(campaign_load("tests/golden/good-events-swept.yaml", NULL, arena, &plan, &err), 0);
    assert_true(plan.cell_count == 3 && plan.cells[0].settings.event_count == 0 && plan.cells[2].settings.event_count == 2);
    assert_int_equal(campaign_load("tests/golden/good-events-parts.yaml", NULL, arena, &plan, &err), 0);
    assert_int_equal(plan.cell_count, 8);
    assert_ptr_equal(plan.cells[0].settings.events[1].trace, plan.cells[7].settings.events[1].trace); /* read once */
    const struct event_request *last = &plan.cells[7].settings.events[0];
    assert_true(last->at_ns == 2 * NS_PER_S && last->change.both.values.rate_bps == 20000000);
    assert_true(last->change.both.values.impairments.loss == 0.01);
}

static void parts_of_values_are_swept(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-parts.yaml", NULL, arena, &plan, &err), 0);
    assert_int_equal(plan.cell_count, 16);
    const struct settings *settings = &plan.cells[15].settings; /* the first axis varies slowest */
    assert_string_equal(plan.cells[15].label, "workers=3 scheme.segment=8KiB compute.time.sigma=1 compute.slow.0.factor=4");
    assert_true(settings->workers == 3 && settings->scheme.values[0] == 8192 && settings->compute_time.sigma == 1);
    assert_true(settings->compute_time.mu == 3 && settings->slow[0].factor == 4 && settings->slow[1].factor == 0.5);
    assert_true(plan.cells[1].settings.slow[0].factor == 4 && plan.cells[2].settings.compute_time.sigma == 1);
}

static void fields_of_another_model_are_left_out(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-models.yaml", NULL, arena, &plan, &err), 0);
    assert_true(plan.cells[0].settings.workload.size_bytes == 0 && plan.cells[0].settings.workload.layer_count == 0);
    assert_true(plan.cells[2].settings.workload.size_bytes == 0 && plan.cells[2].settings.workload.layer_count == 2);
    assert_true(plan.cells[4].settings.workload.size_bytes == 25 << 20 && plan.cells[4].settings.workload.layer_count == 0);
    assert_string_equal(plan.cells[4].label, "workload.model=synthetic topology.link.queue=64KiB");
}

static void outside_programs_take_the_place_of_schemes(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-exec.yaml", NULL, arena, &plan, &err), 0);
    const struct settings *agents = &plan.cells[0].settings, *program = &plan.cells[2].settings;
    assert_true(!agents->scheme.outside && agents->workload.exec.count == 0 && agents->workload.size_bytes == 1 << 20);
    assert_true(program->scheme.outside && program->workload.rounds == 0 && program->workload.size_bytes == 0);
    assert_true(program->slow_count == 0 && program->compute_time.kind == DISTRIBUTION_MEASURED && program->warmup_rounds == 2);
    assert_string_equal(program->scheme.name, "exec");
    const struct outside_command *command = &program->workload.exec;
    assert_true(command->count == 6 && command->line == 9 && command->column == 7 && !command->words[6]);
    assert_string_equal(command->words[2], "echo \"rank $LAGGARD_RANK\"\nexec ./train '\t'\n");
    assert_string_equal(command->words[4], "");
    assert_int_equal(campaign_load("tests/golden/good-exec-swept.yaml", NULL, arena, &plan, &err), 0);
    assert_true(plan.cell_count == 3 && plan.cells[1].settings.scheme.outside);
    assert_string_equal(plan.cells[1].settings.workload.exec.words[1], "8");
    assert_string_equal(plan.cells[1].label, "workload.exec=[./allreduce,8]");
    for (int i = 0; i < campaign_field_count; i++) { /* whatever agents compute, a program does not take from the campaign */
        const char *path = campaign_fields[i].path;
        if (strncmp(path, "workload.", strlen("workload.")) == 0 || strncmp(path, "compute.", strlen("compute.")) == 0)
            assert_int_not_equal(campaign_fields[i].carriers, 0);
    }
}

static void a_seed_from_the_command_line_goes_everywhere(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan, other;
    struct err err;
    assert_int_equal(
        campaign_load("tests/golden/good-design.yaml", &(struct campaign_overrides){.seed = &(uint64_t){7}}, arena, &plan, &err),
        0);
    assert_int_equal(campaign_load("tests/golden/good-design.yaml", NULL, arena, &other, &err), 0);
    assert_true(plan.seed == 7 && plan.cells[5].settings.seed == 7);
    assert_true(plan.trials[0].seed != other.trials[0].seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_design_example_has_these_settings),
        cmocka_unit_test(defaults_are_these),
        cmocka_unit_test(impairments_and_their_table),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_a_file),
        cmocka_unit_test(events_and_their_defaults),
        cmocka_unit_test(parts_of_values_are_swept),
        cmocka_unit_test(fields_of_another_model_are_left_out),
        cmocka_unit_test(outside_programs_take_the_place_of_schemes),
        cmocka_unit_test(a_seed_from_the_command_line_goes_everywhere),
    };
    return cmocka_run_group_tests_name("campaign values", tests, NULL, NULL);
}
