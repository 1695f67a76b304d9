/* test_fidelity_host.c: what the verdict on a trial makes of the host: waits for processors, limits of them, stolen time, sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/clock.h"
#include "tests/unit/fidelity_rig.h"

static void late_timers_and_lost_spans_degrade(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.nodes[0].counters.timer_late_count = 50;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.nodes[1].counters.timer_late_count = 1;
    assert_verdict(&evidence, FIDELITY_DEGRADED,
                   "51 timers fired over 1 ms late for 1000 compute tasks: the processors are overloaded");
    evidence.nodes[1].counters.timer_late_count = 0;
    evidence.nodes[1].counters.spans_lost = 7;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "7 spans had no room in memory");
    good_evidence(&evidence);
    evidence.all.entered = 2;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "somebody entered and started 2 programs on its nodes");
}

/* The median, since one node that waits may be one that nobody waits for. */
static void waiting_for_a_processor_degrades_and_voids(void **state)
{
    (void)state;
    struct evidence evidence;
    struct node_result nodes[4] = {{.counters = {.loop_wait_ns = NS_PER_MS}},
                                   {.counters = {.loop_wait_ns = 100 * NS_PER_MS}},
                                   {.counters = {.loop_wait_ns = 900 * NS_PER_MS}},
                                   {.counters = {.loop_wait_ns = 800 * NS_PER_MS}}};
    good_evidence(&evidence);
    evidence.all.nodes = nodes;
    evidence.all.node_count = 4;
    evidence.all.duration_ns = NS_PER_S;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    nodes[1].counters.loop_wait_ns = 123 * NS_PER_MS;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "the median node waited for a processor for 12 % of the rounds' time");
    nodes[0].counters.loop_wait_ns = 500 * NS_PER_MS;
    nodes[1].counters.loop_wait_ns = 500 * NS_PER_MS;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "the median node waited for a processor for 50 % of the rounds' time");
    nodes[0].counters.loop_wait_ns = 510 * NS_PER_MS;
    nodes[1].counters.loop_wait_ns = 10 * NS_PER_MS;
    assert_verdict(&evidence, FIDELITY_VOID, "the median node waited for a processor for 51 % of the rounds' time");
    for (int n = 0; n < 4; n++)
        nodes[n].counters.loop_wait_ns = -1; /* a kernel that does not tell */
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
}

static void stolen_time_degrades(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.all.stolen_share = NAN; /* unknown */
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.all.stolen_share = 0.05;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.all.stolen_share = 0.123;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "the hypervisor took 12 % of the processors' time");
}

static void suspension_voids(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.all.suspended_ns = 42 * NS_PER_S;
    assert_verdict(&evidence, FIDELITY_VOID, "the host was suspended for 42 s while rounds ran");
}

/* Who waits because it was asked to says nothing of this host; the others' median counts. */
static void limited_nodes_wait_as_asked(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    struct cpu_limit limits[NODES] = {{.processors = 0.5}};
    evidence.all.cpu_limits = limits;
    evidence.all.duration_ns = 1000 * NS_PER_MS;
    evidence.nodes[0].counters.loop_wait_ns = 900 * NS_PER_MS;
    evidence.nodes[0].counters.timer_late_count = 400;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.nodes[1].counters.loop_wait_ns = 300 * NS_PER_MS;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "the median node waited for a processor for 30 % of the rounds' time");
    limits[1].processors = 1;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    limits[0].processors = limits[1].processors = 0;
    evidence.nodes[1].counters.loop_wait_ns = 0;
    assert_verdict(&evidence, FIDELITY_DEGRADED,
                   "400 timers fired over 1 ms late for 1000 compute tasks: the processors are overloaded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_timers_and_lost_spans_degrade),
        cmocka_unit_test(waiting_for_a_processor_degrades_and_voids),
        cmocka_unit_test(stolen_time_degrades),
        cmocka_unit_test(suspension_voids),
        cmocka_unit_test(limited_nodes_wait_as_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
