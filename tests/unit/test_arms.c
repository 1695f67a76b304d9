/* test_arms.c: arms of a campaign: what they change, in which order their trials run, what their programs find in their
 * environment, and how they are stored. */
#include "results_fixture.h"

#include "base/arena.h"
#include "harness/arm.h"
#include "harness/campaign.h"
#include "schemas/gate.h"

static void load(const char *path, struct arena *arena, struct plan *plan)
{
    struct err err = {0};
    must(campaign_load(path, NULL, arena, plan, &err), &err);
}

static void every_cell_is_there_under_every_arm(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    load("tests/golden/good-arms.yaml", arena, &plan);
    assert_int_equal(plan.arm_count, 2);
    assert_int_equal(plan_variants(&plan), 2);
    assert_int_equal(plan.cell_count, 4 * 2);
    assert_int_equal(plan.trial_count, 4 * 2 * 3);
    for (int c = 0; c < plan.cell_count; c++) {
        assert_int_equal(plan.cells[c].index, c / 2);
        assert_string_equal(plan.cells[c].arm->name, c % 2 ? "after" : "before");
        assert_string_equal(plan.cells[c].label, plan.cells[c - c % 2].label);
        assert_true(plan_same_cell(&plan, c, c - c % 2) && !plan_same_cell(&plan, c, c ^ 2));
    }
    assert_string_equal(cell_title(&plan.cells[3]), "scheme=ps-sync workers=3 arm=after");
    assert_string_equal(plan.arms[0].agent, "old/laggard-agent");
    assert_string_equal(plan.arms[1].text, "{\"settings\":{\"compute.time.value\":\"9ms\",\"congestion_control\":\"reno\","
                                           "\"topology.link.delay\":\"2ms\"}}");
}

static void an_arm_changes_its_own_trials_alone(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    load("tests/golden/good-arms.yaml", arena, &plan);
    for (int c = 0; c < plan.cell_count; c += 2) {
        const struct settings *before = &plan.cells[c].settings, *after = &plan.cells[c + 1].settings;
        assert_true(before->compute_time.value_ns == 8e6 && after->compute_time.value_ns == 9e6);
        assert_string_equal(before->congestion_control, "cubic");
        assert_string_equal(after->congestion_control, "reno");
        assert_true(before->link.delay_ns == NS_PER_MS && after->link.delay_ns == 2 * NS_PER_MS);
        assert_true(before->link.rate_bps == 100000000 && after->link.rate_bps == 100000000);
        assert_memory_equal(before->scheme.values, after->scheme.values, sizeof(after->scheme.values));
    }
}

static void arms_can_be_outside_programs(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    load("tests/golden/good-arms-exec.yaml", arena, &plan);
    assert_int_equal(plan.cells[0].settings.workload.exec.count, 2);
    assert_int_equal(plan.cells[1].settings.workload.exec.count, 1);
    assert_true(plan.cells[1].settings.scheme.outside);
}

/* In a block, arms of a cell stand side by side; each comes first about as often as the other. */
static void arms_of_a_cell_follow_each_other_in_random_order(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    load("tests/golden/good-arms.yaml", arena, &plan);
    for (int t = 0; t < plan.trial_count; t += 2) {
        assert_true(plan_same_cell(&plan, plan.trials[t].cell, plan.trials[t + 1].cell));
        assert_int_not_equal(plan.trials[t].cell, plan.trials[t + 1].cell);
        assert_int_equal(plan.trials[t].repeat, t / 8);
        assert_true(plan.trials[t].seed == plan.trials[t - t % 8].seed); /* a block draws the same */
    }
    int first = 0;
    static const char head[] = "name: t\nworkers: 2\nscheme: ring\nworkload: {model: mlp, rounds: 2}\nrepeats: 1000\n"
                               "arms: [{name: a}, {name: b}]\n";
    struct err err = {0};
    must(campaign_parse("t.yaml", head, sizeof(head) - 1, arena, &plan, &err), &err);
    for (int t = 0; t < plan.trial_count; t += 2)
        first += plan.trials[t].cell == 0;
    assert_in_range(first, 400, 600);
}

static void without_arms_nothing_changes(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    load("tests/golden/good-minimal.yaml", arena, &plan);
    assert_true(plan.arm_count == 0 && !plan.arms && !plan.gate && plan_variants(&plan) == 1 && !plan.cells[0].arm);
    assert_ptr_equal(cell_title(&plan.cells[0]), plan.cells[0].title);
    assert_string_equal(plan.cells[0].title, plan.cells[0].label);
}

/* What the command line says of all trials, no arm may say otherwise. */
static void a_world_of_the_command_line_is_every_arms(void **state)
{
    (void)state;
    static const char text[] = "name: t\nscheme: ring\nworkers: 2\nworkload: {model: synthetic, size: 1KB, rounds: 1}\n"
                               "compute.time: {distribution: constant, value: 1ms}\n"
                               "arms: [{name: a}, {name: b, settings: {world: virtual}}]\n";
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    char path[] = "/tmp/laggard-arms-XXXXXX";
    cleanup(close_fd) int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    static const char *const worlds[] = {NULL, "emulated", "virtual", "both"};
    for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++) {
        struct plan plan;
        struct err err = {0};
        int result = campaign_load(path, &(struct campaign_overrides){.world = worlds[i]}, arena, &plan, &err);
        assert_int_equal(result, worlds[i] ? -ERR_USAGE : 0);
        assert_true(!worlds[i] || strstr(err.text, "arm b sets the world, so --world "));
    }
    unlink(path);
}

static const char *value_of(char *const *environment, const char *name, int *count)
{
    const char *found = NULL;
    size_t length = strlen(name);
    *count = 0;
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
            found = *environment + length + 1;
            ++*count;
        }
    return found;
}

static void an_arms_variables_take_the_place_of_the_callers(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    int count;
    load("tests/golden/good-arms.yaml", arena, &plan);
    setenv("TZ", "Europe/Berlin", 1);
    setenv("TZX", "kept", 1);
    char **environment = arm_environment(arena, &plan.arms[0]);
    assert_string_equal(value_of(environment, "TZ", &count), "UTC");
    assert_int_equal(count, 1);
    assert_string_equal(value_of(environment, "TZX", &count), "kept");
    assert_string_equal(value_of(environment, "EMPTY", &count), "");
    assert_string_equal(value_of(arm_environment(arena, &plan.arms[1]), "TZ", &count), "Europe/Berlin");
    assert_string_equal(value_of(arm_environment(arena, NULL), "TZ", &count), "Europe/Berlin");
}

static void the_gate_of_a_campaign_is_read(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    load("tests/golden/good-arms.yaml", arena, &plan);
    const struct gate_rules *gate = plan.gate;
    assert_non_null(gate);
    assert_string_equal(gate->baseline_arm, "before");
    assert_int_equal(gate->threshold_count, 5);
    const struct gate_threshold *t = gate->thresholds;
    assert_true(t[0].form == GATE_RATIO && t[0].number == 1.05 && t[0].lower && t[0].alpha == 0.01 && t[0].min_effect == 0.02);
    assert_true(t[1].form == GATE_DIFFERENCE && t[1].number == 2e6 && t[1].alpha == 0.1 && t[1].min_effect == 0.05);
    assert_string_equal(t[1].cells, "scheme=ring*");
    assert_true(t[2].form == GATE_ABSOLUTE && t[2].number == 25e6);
    assert_true(t[3].form == GATE_RATIO && t[3].number == 1);
    assert_true(t[4].form == GATE_DIFFERENCE && t[4].number == 0.01 && !t[4].lower);
    assert_string_equal(t[2].text, "round_time_ns.mean <= 25ms");
    assert_string_equal(t[2].place, "tests/golden/good-arms.yaml:18:7");
    assert_int_equal(gate->waiver_count, 2);
    assert_true(gate->waivers[0].verdict == GATE_MISSING && gate->waivers[1].verdict == GATE_REGRESSED);
    assert_true(gate->waivers[1].expires_unix_ns == INT64_C(946684800) * NS_PER_S); /* the end of 1999 */
}

static void arms_are_stored_with_their_cells(void **state)
{
    struct fixture *fixture = *state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err = {0};
    load("tests/golden/good-arms.yaml", arena, &plan);
    static const char *const texts[8] = {"a: 1\n", "a: 2\n", "a: 3\n", "a: 4\n", "a: 5\n", "a: 6\n", "a: 7\n", "a: 8\n"};
    fixture_open(fixture, NULL);
    must(store_campaign(fixture->store, &plan, texts, NULL, 0, &fixture->campaign_id, &err), &err);
    int64_t trial_id = 0;
    const struct trial_begin begin = {.campaign_id = fixture->campaign_id,
                                      .plan = &(struct trial_plan){.cell = 5},
                                      .arm = plan.cells[5].arm->name,
                                      .arm_count = plan.arm_count,
                                      .engine = ENGINE_RELAY,
                                      .topology = &fixture_topology,
                                      .workers = FIXTURE_WORKERS};
    must(store_trial_begin(fixture->store, &begin, &trial_id, &err), &err);
    fixture_close(fixture);
    assert_asked(fixture, "SELECT count(*) FROM cell", 4);
    assert_asked(fixture, "SELECT count(*) FROM arm_cell", 8);
    assert_asked_text(fixture, "SELECT group_concat(name, ' ') FROM (SELECT name FROM arm ORDER BY position)", "before after");
    assert_asked_text(fixture, "SELECT group_concat(settings_text, '') FROM arm_cell WHERE cell_id = 3", "a: 6\na: 5\n");
    assert_asked_text(fixture, "SELECT label || ' ' || arm FROM trials", "scheme=ring(segment=8KiB) workers=2 after");
    assert_asked(fixture, "SELECT trials FROM arms WHERE arm = 'after'", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_is_there_under_every_arm),
        cmocka_unit_test(an_arm_changes_its_own_trials_alone),
        cmocka_unit_test(arms_can_be_outside_programs),
        cmocka_unit_test(arms_of_a_cell_follow_each_other_in_random_order),
        cmocka_unit_test(without_arms_nothing_changes),
        cmocka_unit_test(a_world_of_the_command_line_is_every_arms),
        cmocka_unit_test(an_arms_variables_take_the_place_of_the_callers),
        cmocka_unit_test(the_gate_of_a_campaign_is_read),
        cmocka_unit_test_setup_teardown(arms_are_stored_with_their_cells, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
