/* test_crew.c: the crew of three agents: everything goes well, and every way in which an agent can babble, each with its sentence.
 * After every case no descriptor is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/frame.h"
#include "tests/unit/crew_rig.h"

/* ---- all is well ---- */

static void reports_arrive_whole(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(NULL, 0);
    crew_rig_run(&rig);
    struct crew_times times = crew_times(rig.crew);
    assert_int_equal(crew_parameter_count(rig.crew), 1234);
    crew_rig_assert_good(&rig);
    assert_int_equal(rig.before_start_count, 1);
    assert_int_equal(rig.after_done_count, 1);
    assert_int_equal(rig.progress, 3);
    assert_true(times.ready_ns < times.start_ns);
    for (int i = 0; i < AGENTS; i++) {
        assert_true(rig.agents[i].setup_good);
        assert_true(rig.agents[i].quit);
        assert_int_equal(rig.agents[i].start.start_ns, times.start_ns);
    }
}

static void a_setup_longer_than_a_socket_holds_arrives_whole(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(NULL, 0);
    rig.prepared = true;
    crew_rig_run(&rig);
    for (int i = 0; i < AGENTS; i++)
        assert_true(rig.agents[i].setup_good);
    crew_rig_assert_good(&rig);
}

static void message_sizes_are_gone_through_one_by_one(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(NULL, 0);
    rig.size_count = 4;
    crew_rig_run(&rig);
    struct crew_times times = crew_times(rig.crew);
    assert_int_equal(rig.before_start_count, 1); /* what is of the trial happens once */
    assert_int_equal(rig.after_done_count, 1);
    assert_int_equal(times.starts_ns[0], times.start_ns);
    for (int i = 1; i < 4; i++)
        assert_true(times.starts_ns[i] > times.starts_ns[i - 1]);
    assert_true(times.between_ns > 0);
    for (int i = 0; i < AGENTS; i++) {
        assert_true(rig.agents[i].setup_good && rig.agents[i].quit);
        assert_int_equal(rig.agents[i].starts, 4);
        assert_int_equal(rig.agents[i].sizes, 3);
        assert_int_equal(rig.agents[i].start.start_ns, times.starts_ns[3]);
    }
    crew_rig_assert_good(&rig);
}

static bool report_and_close(struct fake_agent *agent)
{
    fake_answer(agent, CONTROL_COLLECT);
    return false;
}

static bool report_and_end(struct fake_agent *agent)
{
    fake_answer(agent, CONTROL_COLLECT);
    return write(agent->ended_fd, "\1", 1) == 0;
}

static void who_has_reported_may_go(void **state)
{
    (void)state;
    fake_fault *const faults[] = {report_and_close, report_and_end};
    for (int i = 0; i < 2; i++) {
        struct crew_rig rig = crew_rig_new(faults[i], CONTROL_COLLECT);
        crew_rig_run(&rig);
        crew_rig_assert_good(&rig);
    }
}

/* ---- faults: what an agent does instead of its answer ---- */

static bool close_socket(struct fake_agent *agent)
{
    (void)agent;
    return false;
}

static bool close_inside_a_frame(struct fake_agent *agent)
{
    static const uint8_t part[] = {40, 0, 0, 0, CONTROL_FAILURE, 0, CONTROL_VERSION, 0, 1, 2};
    return send(agent->fd, part, sizeof(part), MSG_NOSIGNAL) == 0;
}

static bool send_raw(struct fake_agent *agent, uint16_t operation, uint16_t version, const void *body, size_t length)
{
    frame_send(agent->fd, operation, version, body, length, NULL);
    return true;
}

static bool claim_a_long_body(struct fake_agent *agent)
{
    uint8_t header[FRAME_HEADER_BYTES];
    frame_header(header, CONTROL_LISTENING, CONTROL_VERSION, FRAME_BODY_MAX + 1);
    return send(agent->fd, header, sizeof(header), MSG_NOSIGNAL) > 0;
}

static bool send_noise(struct fake_agent *agent)
{
    static const char noise[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    return send(agent->fd, noise, sizeof(noise), MSG_NOSIGNAL) > 0;
}

static bool send_unknown(struct fake_agent *agent)
{
    return send_raw(agent, 77, CONTROL_VERSION, NULL, 0);
}

static bool send_nothing_known(struct fake_agent *agent)
{
    return send_raw(agent, 0, CONTROL_VERSION, NULL, 0);
}

static bool send_a_controllers(struct fake_agent *agent)
{
    return send_raw(agent, CONTROL_QUIT, CONTROL_VERSION, NULL, 0);
}

static bool send_another_version(struct fake_agent *agent)
{
    return send_raw(agent, CONTROL_LISTENING, CONTROL_VERSION + 1, NULL, 0);
}

static bool send_a_short_body(struct fake_agent *agent)
{
    return send_raw(agent, CONTROL_LISTENING, CONTROL_VERSION, "abc", 3);
}

static bool send_a_body_too_many(struct fake_agent *agent)
{
    return send_raw(agent, CONTROL_READY, CONTROL_VERSION, "abcd", 4);
}

static bool send_done_early(struct fake_agent *agent)
{
    return send_raw(agent, CONTROL_DONE, CONTROL_VERSION, NULL, 0);
}

static bool progress_early(struct fake_agent *agent)
{
    struct control_progress progress = {.rounds_done = 1};
    fake_send(agent, CONTROL_PROGRESS, &progress);
    return true;
}

static bool listen_twice(struct fake_agent *agent)
{
    fake_answer(agent, CONTROL_SETUP);
    fake_answer(agent, CONTROL_SETUP);
    return true;
}

static bool report_twice(struct fake_agent *agent)
{
    fake_answer(agent, CONTROL_COLLECT);
    fake_answer(agent, CONTROL_COLLECT);
    return true;
}

static bool fail_and_stay(struct fake_agent *agent)
{
    return fake_fail_and_close(agent) || true;
}

static bool answer_and_close(struct fake_agent *agent)
{
    fake_answer(agent, agent->fault_at);
    return false;
}

static bool answer_fail_and_close(struct fake_agent *agent)
{
    fake_answer(agent, agent->fault_at);
    return fake_fail_and_close(agent);
}

static bool end_and_close(struct fake_agent *agent) /* told and closed at once: either is seen first */
{
    return write(agent->ended_fd, "\1", 1) == 0;
}

static bool fail_end_and_close(struct fake_agent *agent)
{
    fake_fail_and_close(agent);
    return end_and_close(agent);
}

static void every_fault_has_its_sentence(void **state)
{
    (void)state;
    static const struct {
        fake_fault *fault;
        enum control_operation at;
        const char *sentence;
    } cases[] = {
        {close_socket, CONTROL_SETUP, "node w1 closed its control socket after round 0, when it was to load the data and listen"},
        {close_socket, CONTROL_CONNECT, "node w1 closed its control socket after round 0, when it was to connect to the others"},
        {close_socket, CONTROL_START, "when it was to finish all rounds"},
        {close_socket, CONTROL_COLLECT, "node w1 closed its control socket after round 3, when it was to evaluate and report"},
        {close_inside_a_frame, CONTROL_CONNECT, "node w1 closed its control socket"},
        {answer_and_close, CONTROL_SETUP, "node w1 closed its control socket"},
        {answer_and_close, CONTROL_CONNECT, "node w1 closed its control socket"},
        {answer_and_close, CONTROL_START, "node w1 closed its control socket"},
        {close_socket, CONTROL_SIZE, "node w1 closed its control socket after round 1, when it was to make ready for the next"},
        {fake_fail_and_close, CONTROL_SIZE, "node w1, round 2: the peer w0 is lost: connection reset"},
        {claim_a_long_body, CONTROL_SETUP, "node w1: a message claims 67108865 bytes"},
        {send_noise, CONTROL_START, "node w1: a message claims"},
        {send_unknown, CONTROL_SETUP, "node w1: it sent operation 77, which no agent sends"},
        {send_nothing_known, CONTROL_COLLECT, "node w1: it sent operation 0, which no agent sends"},
        {send_a_controllers, CONTROL_START, "node w1: it sent operation 11, which no agent sends"},
        {send_another_version, CONTROL_SETUP,
         "node w1: it speaks version 3 of the control protocol, this program version 2: install"},
        {send_a_short_body, CONTROL_SETUP, "node w1: it sent an operation listening that cannot be read"},
        {send_a_body_too_many, CONTROL_CONNECT, "node w1: it sent operation ready with 4 bytes"},
        {send_done_early, CONTROL_CONNECT, "node w1: it sent operation done out of turn, when it was to connect to the others"},
        {progress_early, CONTROL_SETUP, "node w1: it sent operation progress out of turn, when it was to load the data"},
        {fake_fail_and_close, CONTROL_SETUP, "node w1, round 2: the peer w0 is lost: connection reset"},
        {fake_fail_and_close, CONTROL_START, "node w1, round 2: the peer w0 is lost: connection reset"},
        {fail_and_stay, CONTROL_COLLECT, "node w1, round 2: the peer w0 is lost: connection reset"},
        {answer_fail_and_close, CONTROL_SETUP, "node w1, round 2: the peer w0 is lost: connection reset"},
        {answer_fail_and_close, CONTROL_CONNECT, "node w1, round 2: the peer w0 is lost: connection reset"},
        {end_and_close, CONTROL_SETUP,
         "the agent of node w1 ended (killed by SIGSEGV) after round 0, when it was to load the data"},
        {end_and_close, CONTROL_COLLECT, "the agent of node w1 ended (killed by SIGSEGV) after round 3, when it was to evaluate"},
        {fail_end_and_close, CONTROL_START, "node w1, round 2: the peer w0 is lost: connection reset"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct crew_rig rig = crew_rig_new(cases[i].fault, cases[i].at);
        rig.size_count = cases[i].at == CONTROL_SIZE ? 2 : 0;
        crew_rig_run(&rig);
        crew_rig_assert_failed(&rig, ERR_TRIAL, cases[i].sentence);
    }
}

static void an_answer_given_twice_is_out_of_turn(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(listen_twice, CONTROL_SETUP);
    rig.agents[2].fault = fake_be_silent; /* so that the phase cannot end in between */
    rig.agents[2].fault_at = CONTROL_SETUP;
    crew_rig_run(&rig);
    crew_rig_assert_failed(&rig, ERR_TRIAL,
                           "node w1: it sent operation listening out of turn, when it was to wait for the other nodes");
    rig = crew_rig_new(report_twice, CONTROL_COLLECT);
    rig.agents[2].fault = fake_be_silent;
    rig.agents[2].fault_at = CONTROL_COLLECT;
    crew_rig_run(&rig);
    crew_rig_assert_failed(&rig, ERR_TRIAL,
                           "node w1: it sent operation report out of turn, when it was to wait for the other nodes");
}

static void report_with(struct fake_agent *agent, void (*change)(struct control_report *, struct span_record *))
{
    struct control_report report;
    struct span_record spans[SPANS];
    fake_report(agent->node, &report);
    memcpy(spans, report.spans, sizeof(spans));
    report.spans = spans;
    change(&report, spans);
    fake_send(agent, CONTROL_REPORT, &report);
}

static void spoil_kind(struct control_report *report, struct span_record *spans)
{
    (void)report;
    spans[3].kind = SPAN_COUNT;
}
static void spoil_peer(struct control_report *report, struct span_record *spans)
{
    (void)report;
    spans[3].peer = AGENTS;
}
static void spoil_round(struct control_report *report, struct span_record *spans)
{
    (void)report;
    spans[3].round = ROUNDS + 1;
}
static void spoil_end(struct control_report *report, struct span_record *spans)
{
    (void)report;
    spans[3].begin_ns = INT64_MAX;
    spans[3].end_ns = INT64_MIN;
}
static void spoil_digest(struct control_report *report, struct span_record *spans)
{
    (void)spans;
    report->model_sha256_bytes = 31;
}
static void spoil_evaluations(struct control_report *report, struct span_record *spans)
{
    (void)spans;
    static struct evaluation_record same[2] = {{.round = 4}, {.round = 4}};
    report->evaluations = same;
}
static void (*spoil)(struct control_report *, struct span_record *);

static bool report_spoilt(struct fake_agent *agent)
{
    report_with(agent, spoil);
    return true;
}

static void a_report_that_cannot_be_true_is_refused(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct control_report *, struct span_record *);
        const char *sentence;
    } cases[] = {
        {spoil_kind, "node w1: its report cannot be true: span 3 is of kind 7, there are 7 kinds"},
        {spoil_peer, "node w1: its report cannot be true: span 3 names node 3 as its peer, there are 3 nodes"},
        {spoil_round, "node w1: its report cannot be true: span 3 is of round 5, there are 4 rounds"},
        {spoil_end, "node w1: its report cannot be true: span 3 ends 18446744073709551615 ns before it begins"},
        {spoil_digest, "node w1: its report cannot be true: the model's digest has 31 bytes, a SHA-256 has 32"},
        {spoil_evaluations, "node w1: its report cannot be true: evaluation 1 is of the model after round 4, the one before"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        spoil = cases[i].spoil;
        struct crew_rig rig = crew_rig_new(report_spoilt, CONTROL_COLLECT);
        crew_rig_run(&rig);
        crew_rig_assert_failed(&rig, ERR_TRIAL, cases[i].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_arrive_whole),
        cmocka_unit_test(message_sizes_are_gone_through_one_by_one),
        cmocka_unit_test(a_setup_longer_than_a_socket_holds_arrives_whole),
        cmocka_unit_test(who_has_reported_may_go),
        cmocka_unit_test(every_fault_has_its_sentence),
        cmocka_unit_test(an_answer_given_twice_is_out_of_turn),
        cmocka_unit_test(a_report_that_cannot_be_true_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
