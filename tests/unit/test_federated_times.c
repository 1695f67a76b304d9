/* test_federated_times.c: whom the servers of federated schemes wait for and how long, on a virtual clock; who fails and who is
 * lost; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "agents/recorder.h"
#include "agents/schemes/federated.h"
#include "base/err.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { FLOATS = 5, ROUNDS = 12 };
enum { FRACTION = FEDERATED_OWN };
enum { K = FEDERATED_OWN, CONCURRENCY, WAIT };

static struct scheme_setup setup_of(const char *scheme, int workers, int period)
{
    struct scheme_setup setup = scheme_setup_of(scheme, workers, FLOATS, period);
    setup.rounds = ROUNDS;
    return setup;
}

/* Links without delay, compute times of 1 ms a step times the worker's factor. */
static struct virtual_rig rig_of(const struct scheme_setup *setup, const double *factors)
{
    struct virtual_rig rig = virtual_rig_new(*setup);
    rig.options.slow_factors = factors;
    virtual_rig_run(&rig);
    return rig;
}

static void assert_records(struct virtual_rig *rig, const struct gradient_record *expected, int count)
{
    const struct recorder *recorder = virtual_node(rig->world, rig->setup.workers).recorder;
    assert_true((int)recorder->gradient_count >= count);
    for (int r = 0; r < count; r++) {
        const struct gradient_record *found = &recorder->gradients[r];
        if (found->round != expected[r].round || found->worker != expected[r].worker || found->fate != expected[r].fate ||
            found->staleness != expected[r].staleness)
            fail_msg("record %d: round %u, worker %u, fate %u, staleness %u", r, found->round, found->worker, found->fate,
                     found->staleness);
    }
}

/* Workers take 1, 2 and 7 ms, two of three are picked. Round 0 ends at 2 ms with 0 and 1. In round 1 both answer early and are put
 * aside; worker 2, not picked yet, comes at 7 ms, and one is missing: 0, which came first. 1 takes the bypass. In round 2 worker 1
 * may be picked again, and is, at 9 ms; 0 had been put aside at 8, and follows when 2 has answered at 14 ms. */
static void safa_picks_those_left_out_first(void **state)
{
    (void)state;
    static const double factors[] = {1, 2, 7};
    static const struct gradient_record expected[] = {
        {.round = 0, .worker = 0, .fate = GRADIENT_USED},
        {.round = 0, .worker = 1, .fate = GRADIENT_USED},
        {.round = 1, .worker = 2, .fate = GRADIENT_USED, .staleness = 1},
        {.round = 1, .worker = 0, .fate = GRADIENT_USED},
        {.round = 1, .worker = 1, .fate = GRADIENT_DROPPED},
        {.round = 2, .worker = 1, .fate = GRADIENT_USED},
        {.round = 2, .worker = 0, .fate = GRADIENT_USED},
        {.round = 2, .worker = 2, .fate = GRADIENT_DROPPED},
    };
    struct scheme_setup setup = setup_of("safa", 3, 1);
    setup.values[FRACTION] = 0.5;
    setup.rounds = 3;
    struct virtual_rig rig = rig_of(&setup, factors);
    static const int64_t ends_ns[] = {2000000, 7000000, 14000000};
    const struct recorder *recorder = virtual_node(rig.world, 3).recorder;
    for (int round = 0; round < 3; round++)
        assert_int_equal(recorder->rounds[round].held_ns, ends_ns[round]);
    assert_records(&rig, expected, 8);
    virtual_rig_free(&rig);
}

/* Who fails is missed until the deadline and no earlier; a round without failures takes as long as its slowest client. */
static void fedavg_waits_for_failures_until_the_deadline(void **state)
{
    (void)state;
    enum { WORKERS = 5 };
    struct scheme_setup setup = setup_of("fedavg", WORKERS, 2);
    setup.values[FEDERATED_DROPOUT] = 0.2;
    setup.values[FEDERATED_DEADLINE] = 5e6;
    setup.rounds = 50;
    struct virtual_rig rig = rig_of(&setup, NULL);
    int failed[50] = {0}, failures = 0, whole = 0;
    for (int worker = 0; worker < WORKERS; worker++) {
        const struct recorder *recorder = virtual_node(rig.world, worker).recorder;
        for (uint32_t r = 0; r < recorder->gradient_count; r++) {
            assert_int_equal(recorder->gradients[r].fate, GRADIENT_CANCELLED);
            failed[recorder->gradients[r].round]++;
            failures++;
        }
    }
    const struct recorder *server = virtual_node(rig.world, WORKERS).recorder;
    assert_int_equal(server->gradient_count, WORKERS * 50 - failures); /* and says nothing else */
    for (int round = 0; round < 50; round++) {
        int64_t took_ns = server->rounds[round].held_ns - (round > 0 ? server->rounds[round - 1].held_ns : 0);
        assert_int_equal(took_ns, failed[round] > 0 ? 5000000 : 2000000);
        whole += failed[round] == 0;
    }
    assert_in_range(failures, 30, 70); /* 50 are expected, of 250 */
    assert_in_range(whole, 6, 28);     /* 0.8^5 x 50 = 16 */
    virtual_rig_free(&rig);
}

/* Everyone fails, again and again: rounds pass with the model as it was, and nothing hangs. */
static void rounds_without_an_answer_pass(void **state)
{
    (void)state;
    static const char *const schemes[] = {"fedavg", "safa"};
    for (int s = 0; s < 2; s++) {
        struct scheme_setup setup = setup_of(schemes[s], 3, 1);
        setup.values[FEDERATED_DROPOUT] = 0.99;
        setup.values[FEDERATED_DEADLINE] = 3e6;
        struct virtual_rig rig = rig_of(&setup, NULL);
        assert_int_equal(virtual_node(rig.world, 3).recorder->round_count, ROUNDS);
        virtual_rig_free(&rig);
    }
    /* A deadline that nobody can keep: fedavg's rounds are all empty, fedbuff takes what comes late. */
    struct scheme_setup setup = setup_of("fedbuff", 3, 4);
    setup.values[FEDERATED_DEADLINE] = 1e6;
    setup.values[K] = 2;
    struct virtual_rig rig = rig_of(&setup, NULL);
    assert_int_equal(virtual_node(rig.world, 3).recorder->round_count, ROUNDS);
    virtual_rig_free(&rig);
}

/* A slot whose client has failed goes to another after the deadline: as many train as before. */
static void fedbuff_gives_lost_slots_away(void **state)
{
    (void)state;
    struct scheme_setup setup = setup_of("fedbuff", 8, 2);
    setup.values[CONCURRENCY] = 3;
    setup.values[K] = 4;
    setup.values[FEDERATED_DROPOUT] = 0.5;
    setup.values[FEDERATED_DEADLINE] = 10e6;
    setup.rounds = 40;
    struct virtual_rig rig = rig_of(&setup, NULL);
    int failures = 0, clients = 0;
    uint64_t assignments = 0;
    for (int worker = 0; worker < 8; worker++) {
        const struct recorder *recorder = virtual_node(rig.world, worker).recorder;
        failures += (int)recorder->gradient_count;
        clients += recorder->span_count > 0;
    }
    assignments = virtual_node(rig.world, 8).counters->sent_payload_bytes / (FLOATS * sizeof(float));
    assert_int_equal(clients, 8); /* drawn, not always the same */
    assert_in_range(failures, 100, 240);
    assert_in_range(assignments, 4 * 40 + failures - 3, 4 * 40 + failures + 6); /* but for what ran at the end */
    virtual_rig_free(&rig);
}

/* ---- who is lost, and what is refused ---- */

static void lost_clients_are_no_longer_counted_on(void **state)
{
    (void)state;
    static const char *const schemes[] = {"fedavg", "fedbuff", "safa"};
    for (int s = 0; s < 3; s++)
        for (int lost = 1; lost <= 3; lost++) {
            struct scheme_setup setup = setup_of(schemes[s], 3, 2);
            if (s == 1)
                setup.values[K] = 2;
            struct virtual_rig rig = virtual_rig_new(setup);
            struct err err = {0};
            virtual_rig_make(&rig);
            for (int worker = 0; worker < lost; worker++)
                virtual_crash(rig.world, worker);
            const int result = virtual_rig_try(&rig, &err);
            if (lost < 3 && result < 0)
                fail_msg("%s without %d: %s", schemes[s], lost, err.text);
            if (lost == 3)
                assert_true(result < 0 && strstr(err.text, "nobody is left to train"));
            virtual_rig_free(&rig);
        }
}

static void quotas_are_rounded_up(void **state)
{
    (void)state;
    static const struct {
        int clients;
        double fraction;
        int quota;
    } known[] = {{10, 1, 10},    {10, 0.1, 1}, {10, 0.11, 2},    {25, 0.28, 7},     {3, 0.5, 2},  {100, 0.07, 7},
                 {7, 0.0001, 1}, {1, 0.5, 1},  {1000, 0.001, 1}, {1000, 0.0011, 2}, {10, 0.3, 3}, {10, 0.7, 7}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_int_equal(federated_quota(known[i].clients, known[i].fraction), known[i].quota);
}

static void bad_parameters_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int parameter;
        double value;
        const char *says;
    } cases[] = {
        {"fedavg", FEDERATED_DROPOUT, 0.1, "dropout 0.1 needs a deadline above 0"},
        {"fedbuff", FEDERATED_DROPOUT, 0.1, "dropout 0.1 needs a deadline above 0"},
        {"safa", FEDERATED_DROPOUT, 0.1, "dropout 0.1 needs a deadline above 0"},
        {"fedbuff", CONCURRENCY, 5, "found concurrency 5, allowed are 1 to 4, or 0 for all"},
        {"fedbuff", WAIT, 1, "found k 10, allowed are 1 to 4"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scheme_setup setup = setup_of(cases[i].scheme, 4, 1);
        struct err err = {0};
        assert_int_equal(setup.scheme->check(&setup, &err), 0);
        setup.values[cases[i].parameter] = cases[i].value;
        assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safa_picks_those_left_out_first),
        cmocka_unit_test(fedavg_waits_for_failures_until_the_deadline),
        cmocka_unit_test(rounds_without_an_answer_pass),
        cmocka_unit_test(fedbuff_gives_lost_slots_away),
        cmocka_unit_test(lost_clients_are_no_longer_counted_on),
        cmocka_unit_test(quotas_are_rounded_up),
        cmocka_unit_test(bad_parameters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
