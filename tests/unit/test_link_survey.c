/* test_link_survey.c: which networks of a campaign are measured: each distinct one once, none that is not run, refusals
 * beforehand. */
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
#include "harness/link_survey.h"
#include "netem/fabric.h"
#include "schemas/events.h"

enum { CELLS = 5 };
static const struct fabric_host able = {.root = true, .tun = true, .tbf = true};

static struct cell a_cell(int index, const char *label, const char *scheme, int workers, int64_t delay_ns)
{
    return (struct cell){.index = index,
                         .label = label,
                         .settings = {.link = {.rate_bps = 1000000000, .delay_ns = delay_ns},
                                      .workers = workers,
                                      .scheme = {.name = scheme, .values = {1}},
                                      .mtu = 1500}};
}

/* A ring of 4 and a server with 3 workers are the same network. */
static void make_cells(struct cell *cells, struct plan *plan)
{
    cells[0] = a_cell(0, "ring 4", "ring", 4, NS_PER_MS);
    cells[1] = a_cell(1, "ps 3", "ps-sync", 3, NS_PER_MS);
    cells[2] = a_cell(2, "ring 3", "ring", 3, NS_PER_MS);
    cells[3] = a_cell(3, "ring 4 without delay", "ring", 4, 0);
    cells[4] = a_cell(4, "ring 4 again", "ring", 4, NS_PER_MS);
    *plan = (struct plan){.cells = cells, .cell_count = CELLS};
}

static void each_network_is_there_once(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cells[CELLS];
    struct plan plan;
    struct link_survey survey;
    make_cells(cells, &plan);
    assert_int_equal(link_survey_prepare(&plan, NULL, -1, &able, arena, &survey, NULL), 0);
    assert_int_equal(survey.count, 3);
    static const int entries[CELLS] = {0, 0, 1, 2, 0};
    for (int c = 0; c < CELLS; c++) {
        assert_int_equal(survey.entry_of_cell[c], entries[c]);
        assert_ptr_equal(link_survey_of(&survey, c), &survey.entries[entries[c]]);
        assert_int_equal(link_survey_of(&survey, c)->engine, c == 3 ? ENGINE_NONE : ENGINE_RELAY);
        assert_null(link_survey_of(&survey, c)->checks);
    }
    assert_int_equal(survey.entries[0].topology.host_count, 4);
    cells[4].settings.engine = ENGINE_RELAY; /* asked for by name: not the same as whatever there is */
    assert_int_equal(link_survey_prepare(&plan, NULL, -1, &able, arena, &survey, NULL), 0);
    assert_int_equal(survey.count, 4);
    const int relay = ENGINE_RELAY;
    assert_int_equal(link_survey_prepare(&plan, &relay, -1, &able, arena, &survey, NULL), 0);
    assert_int_equal(survey.count, 3);
}

static void what_does_not_run_is_neither_measured_nor_refused(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cells[CELLS];
    struct plan plan;
    struct link_survey survey;
    struct err err = {0};
    make_cells(cells, &plan);
    cells[2].settings.engine = ENGINE_NETEM; /* which this host has not */
    assert_int_equal(link_survey_prepare(&plan, NULL, -1, &able, arena, &survey, &err), -ERR_HOST);
    assert_memory_equal(err.text, "cell 2 (ring 3): ", 17);
    assert_int_equal(link_survey_prepare(&plan, NULL, 1, &able, arena, &survey, NULL), 0);
    assert_int_equal(survey.count, 1);
    for (int c = 0; c < CELLS; c++)
        assert_int_equal(survey.entry_of_cell[c], c == 1 ? 0 : -1);
}

static void refusals_name_the_cell(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cells[CELLS];
    struct plan plan;
    struct link_survey survey;
    struct err err = {0};
    make_cells(cells, &plan);
    const struct fabric_host unable = {.missing = "Ask your administrator."};
    assert_int_equal(link_survey_prepare(&plan, NULL, -1, &unable, arena, &survey, &err), -ERR_HOST);
    assert_memory_equal(err.text, "cell 0 (ring 4): ", 17);
    assert_non_null(strstr(err.text, "Ask your administrator."));
    /* The same network, but not for the same events. */
    const struct event_request parts = {.kind = EVENT_PARTITION, .round = EVENT_BY_TIME, .nodes = {(const char *const[]){"w1"}, 1}};
    struct event_request wobbles = {.kind = EVENT_SET, .round = EVENT_BY_TIME, .link = "0"};
    struct fabric_host ruled = able;
    ruled.netem = ruled.ifb = ruled.clsact = ruled.rules = true;
    wobbles.change.both.values.impairments = (struct impairments){.jitter_ns = NS_PER_MS, .jitter_correlation = 0.5};
    memset(wobbles.change.both.replaces + offsetof(struct link_settings, impairments), true, sizeof(struct impairments));
    cells[4].settings.events = &parts;
    cells[4].settings.event_count = 1;
    assert_int_equal(link_survey_prepare(&plan, NULL, -1, &able, arena, &survey, &err), -ERR_HOST);
    assert_memory_equal(err.text, "cell 4 (ring 4 again): event 0: this kernel cannot part a network", 64);
    assert_int_equal(link_survey_prepare(&plan, NULL, -1, &ruled, arena, &survey, &err), 0);
    cells[4].settings.events = &wobbles;
    assert_int_equal(link_survey_prepare(&plan, NULL, -1, &ruled, arena, &survey, &err), -ERR_USAGE);
    assert_memory_equal(err.text, "cell 4 (ring 4 again): event 0, link w0-router forward: engine netem", 67);
    cells[4].settings.event_count = 0;
    cells[3].settings.link.queue_bytes = 100; /* below one frame */
    assert_int_equal(link_survey_prepare(&plan, NULL, -1, &able, arena, &survey, &err), -ERR_USAGE);
    assert_memory_equal(err.text, "cell 3 (ring 4 without delay): ", 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_network_is_there_once),
        cmocka_unit_test(what_does_not_run_is_neither_measured_nor_refused),
        cmocka_unit_test(refusals_name_the_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
