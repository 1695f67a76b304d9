/* test_crew.c: the crew of three agents: everything goes well, and every way in which an agent can go wrong, each with its sentence. After
 * every case no descriptor is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "harness/crew.h"
#include "tests/unit/fake_agents.h"

static const char *const names[AGENTS] = {"w0", "w1", "s0"};
static const int64_t SHORT_NS = 600 * NS_PER_MS, LONG_NS = 60 * NS_PER_S;

/* One run of a crew, and what came out. */
struct rig {
    int64_t setup_deadline_ns, run_deadline_ns;
    bool prepared;             /* SETUP carries more than a socket holds */
    bool interrupt;            /* at the first progress */
    const char *ends_at_start; /* before_start: node 1's process ends so */
    sem_t go, gone;
    struct fake_agent agents[AGENTS];

    struct crew *crew;
    struct arena *arena;
    struct loop *loop;
    int ended_fds[2], sockets[AGENTS];
    int result;
    struct err err;
    int before_start_count, after_done_count;
    uint32_t progress;
};

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void on_before_start(void *context)
{
    struct rig *rig = context;
    rig->before_start_count++;
    assert_true(crew_times(rig->crew).ready_ns > 0);
    assert_true(crew_results(rig->crew)[1].idle_gradient_ns > 0);
    if (!rig->ends_at_start)
        return;
    sem_post(&rig->go); /* what the agent now says lies unread in its socket when its process' end is told */
    sem_wait(&rig->gone);
    crew_process_ended(rig->crew, 1, rig->ends_at_start);
}

static void on_progress(void *context, uint32_t rounds_done)
{
    struct rig *rig = context;
    rig->progress = rounds_done;
    if (rig->interrupt)
        crew_interrupt(rig->crew);
}

static void on_after_done(void *context)
{
    struct rig *rig = context;
    rig->after_done_count++;
    assert_true(crew_times(rig->crew).done_ns >= crew_times(rig->crew).ready_ns);
}

static void on_process_end(void *context, uint32_t events)
{
    (void)events;
    struct rig *rig = context;
    char node;
    if (read(rig->ended_fds[0], &node, 1) == 1)
        crew_process_ended(rig->crew, node, "killed by SIGSEGV");
}

static struct rig new_rig(fake_fault *fault, enum control_operation at)
{
    struct rig rig = {.setup_deadline_ns = LONG_NS, .run_deadline_ns = LONG_NS};
    rig.agents[1].fault = fault;
    rig.agents[1].fault_at = at;
    return rig;
}

/* Leaves the arena, whose results the caller looks at, and everything else closed. */
static void run(struct rig *rig)
{
    int agent_fds[AGENTS], before = count_descriptors();
    sem_init(&rig->go, 0, 0);
    sem_init(&rig->gone, 0, 0);
    assert_int_equal(pipe(rig->ended_fds), 0);
    rig->arena = arena_new();
    rig->loop = loop_new(&rig->err);
    assert_non_null(rig->loop);
    assert_non_null(loop_watch(rig->loop, rig->ended_fds[0], EPOLLIN, on_process_end, rig, NULL));
    static const struct control_node roster[AGENTS] = {
        {.name = "w0", .slow_factor = 1}, {.name = "w1", .slow_factor = 1}, {.name = "s0", .role = ROLE_SERVER, .slow_factor = 1}};
    struct control_setup setups[AGENTS];
    for (int i = 0; i < AGENTS; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        rig->sockets[i] = pair[0];
        agent_fds[i] = pair[1];
        rig->agents[i].ended_fd = rig->ended_fds[1];
        rig->agents[i].go = &rig->go;
        rig->agents[i].gone = &rig->gone;
        setups[i] = (struct control_setup){.node = (uint32_t)i,
                                           .nodes = roster,
                                           .node_count = AGENTS,
                                           .scheme = "ring",
                                           .rounds = ROUNDS,
                                           .prepared = rig->prepared ? fake_prepared() : NULL,
                                           .prepared_bytes = rig->prepared ? PREPARED_BYTES : 0};
    }
    struct crew_spec spec = {
        .setups = setups,
        .names = names,
        .count = AGENTS,
        .sockets = rig->sockets,
        .loop = rig->loop,
        .arena = rig->arena,
        .setup_deadline_ns = rig->setup_deadline_ns,
        .run_deadline_ns = rig->run_deadline_ns,
        .hooks = {.before_start = on_before_start, .progress = on_progress, .after_done = on_after_done, .context = rig},
    };
    rig->crew = crew_new(&spec, &rig->err);
    assert_non_null(rig->crew);
    fake_agents_start(rig->agents, agent_fds);
    rig->result = crew_run(rig->crew, &rig->err);
    crew_process_ended(rig->crew, 2, "exit status 1"); /* after the end nothing changes */
    crew_interrupt(rig->crew);
    crew_free(rig->crew);
    fake_agents_join(rig->agents);
    loop_free(rig->loop);
    close(rig->ended_fds[0]);
    close(rig->ended_fds[1]);
    sem_destroy(&rig->go);
    sem_destroy(&rig->gone);
    assert_int_equal(count_descriptors(), before);
}

static void assert_failed(struct rig *rig, enum err_kind kind, const char *sentence)
{
    if (rig->result != -(int)kind || !strstr(rig->err.text, sentence))
        fail_msg("result %d, found \"%s\", awaited \"%s\"", rig->result, rig->err.text, sentence);
    arena_cleanup(&rig->arena);
}

static void assert_good(struct rig *rig)
{
    if (rig->result != 0)
        fail_msg("%s", rig->err.text);
    const struct node_result *results = crew_results(rig->crew);
    for (int i = 0; i < AGENTS; i++) {
        struct control_report report;
        fake_report(i, &report);
        assert_int_equal(results[i].round_count, ROUNDS);
        assert_memory_equal(results[i].rounds, report.rounds, ROUNDS * sizeof(*report.rounds));
        assert_int_equal(results[i].span_count, SPANS);
        assert_memory_equal(results[i].spans, report.spans, SPANS * sizeof(*report.spans));
        assert_int_equal(results[i].evaluation_count, 2);
        assert_memory_equal(results[i].evaluations, report.evaluations, 2 * sizeof(*report.evaluations));
        assert_memory_equal(&results[i].counters, &report.counters, sizeof(report.counters));
        assert_memory_equal(results[i].model_sha256, report.model_sha256, 32);
        assert_string_equal(results[i].blas, "OpenBLAS 0.3.21 Test");
        assert_float_equal(results[i].idle_gradient_ns, 1e6 + i, 0);
    }
    arena_cleanup(&rig->arena);
}

/* ---- all is well ---- */

static void reports_arrive_whole(void **state)
{
    (void)state;
    struct rig rig = new_rig(NULL, 0);
    run(&rig);
    struct crew_times times = crew_times(rig.crew);
    assert_int_equal(crew_parameter_count(rig.crew), 1234);
    assert_good(&rig);
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
    struct rig rig = new_rig(NULL, 0);
    rig.prepared = true;
    run(&rig);
    for (int i = 0; i < AGENTS; i++)
        assert_true(rig.agents[i].setup_good);
    assert_good(&rig);
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
        struct rig rig = new_rig(faults[i], CONTROL_COLLECT);
        run(&rig);
        assert_good(&rig);
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

static bool fail_and_close(struct fake_agent *agent)
{
    struct control_failure failure = {.round = 2, .text = "the peer w0 is lost: connection reset"};
    fake_send(agent, CONTROL_FAILURE, &failure);
    return false;
}

static bool fail_and_stay(struct fake_agent *agent)
{
    return fail_and_close(agent) || true;
}

static bool answer_and_close(struct fake_agent *agent)
{
    fake_answer(agent, agent->fault_at);
    return false;
}

static bool answer_fail_and_close(struct fake_agent *agent)
{
    fake_answer(agent, agent->fault_at);
    return fail_and_close(agent);
}

static bool be_silent(struct fake_agent *agent)
{
    (void)agent;
    return true;
}

static bool end_and_close(struct fake_agent *agent) /* told and closed at once: either is seen first */
{
    return write(agent->ended_fd, "\1", 1) == 0;
}

static bool fail_end_and_close(struct fake_agent *agent)
{
    fail_and_close(agent);
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
        {close_socket, CONTROL_SETUP, "node w1 closed its control socket after round 0, when it was to load its data and listen"},
        {close_socket, CONTROL_CONNECT, "node w1 closed its control socket after round 0, when it was to connect to its peers"},
        {close_socket, CONTROL_START, "when it was to finish its rounds"},
        {close_socket, CONTROL_COLLECT, "node w1 closed its control socket after round 3, when it was to evaluate and report"},
        {close_inside_a_frame, CONTROL_CONNECT, "node w1 closed its control socket"},
        {answer_and_close, CONTROL_SETUP, "node w1 closed its control socket"},
        {answer_and_close, CONTROL_CONNECT, "node w1 closed its control socket"},
        {answer_and_close, CONTROL_START, "node w1 closed its control socket"},
        {claim_a_long_body, CONTROL_SETUP, "node w1: a message claims 67108865 bytes"},
        {send_noise, CONTROL_START, "node w1: a message claims"},
        {send_unknown, CONTROL_SETUP, "node w1: it sent operation 77, which no agent sends"},
        {send_nothing_known, CONTROL_COLLECT, "node w1: it sent operation 0, which no agent sends"},
        {send_a_controllers, CONTROL_START, "node w1: it sent operation 11, which no agent sends"},
        {send_another_version, CONTROL_SETUP,
         "node w1: it speaks version 2 of the control protocol, this program version 1: install"},
        {send_a_short_body, CONTROL_SETUP, "node w1: it sent an operation listening that cannot be read"},
        {send_a_body_too_many, CONTROL_CONNECT, "node w1: it sent operation ready with 4 bytes"},
        {send_done_early, CONTROL_CONNECT, "node w1: it sent operation done out of turn, when it was to connect to its peers"},
        {progress_early, CONTROL_SETUP, "node w1: it sent operation progress out of turn, when it was to load its data"},
        {fail_and_close, CONTROL_SETUP, "node w1, round 2: the peer w0 is lost: connection reset"},
        {fail_and_close, CONTROL_START, "node w1, round 2: the peer w0 is lost: connection reset"},
        {fail_and_stay, CONTROL_COLLECT, "node w1, round 2: the peer w0 is lost: connection reset"},
        {answer_fail_and_close, CONTROL_SETUP, "node w1, round 2: the peer w0 is lost: connection reset"},
        {answer_fail_and_close, CONTROL_CONNECT, "node w1, round 2: the peer w0 is lost: connection reset"},
        {end_and_close, CONTROL_SETUP,
         "the agent of node w1 ended (killed by SIGSEGV) after round 0, when it was to load its data"},
        {end_and_close, CONTROL_COLLECT, "the agent of node w1 ended (killed by SIGSEGV) after round 3, when it was to evaluate"},
        {fail_end_and_close, CONTROL_START, "node w1, round 2: the peer w0 is lost: connection reset"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig = new_rig(cases[i].fault, cases[i].at);
        run(&rig);
        assert_failed(&rig, ERR_TRIAL, cases[i].sentence);
    }
}

static void an_answer_given_twice_is_out_of_turn(void **state)
{
    (void)state;
    struct rig rig = new_rig(listen_twice, CONTROL_SETUP);
    rig.agents[2].fault = be_silent; /* so that the phase cannot end in between */
    rig.agents[2].fault_at = CONTROL_SETUP;
    run(&rig);
    assert_failed(&rig, ERR_TRIAL, "node w1: it sent operation listening out of turn, when it was to wait for the other nodes");
    rig = new_rig(report_twice, CONTROL_COLLECT);
    rig.agents[2].fault = be_silent;
    rig.agents[2].fault_at = CONTROL_COLLECT;
    run(&rig);
    assert_failed(&rig, ERR_TRIAL, "node w1: it sent operation report out of turn, when it was to wait for the other nodes");
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
        struct rig rig = new_rig(report_spoilt, CONTROL_COLLECT);
        run(&rig);
        assert_failed(&rig, ERR_TRIAL, cases[i].sentence);
    }
}

/* ---- deadlines, ends, interruption ---- */

static void silence_ends_at_the_deadline(void **state)
{
    (void)state;
    static const struct {
        enum control_operation at;
        const char *sentence;
    } cases[] = {
        {CONTROL_SETUP, "600 ms after they were told to, these nodes had still to load its data and listen: w1"},
        {CONTROL_CONNECT, "600 ms after they were told to, these nodes had still to connect to its peers: w1"},
        {CONTROL_START, "these nodes had still to finish its rounds: w1 (trial_deadline in the campaign file sets the limit)"},
        {CONTROL_COLLECT,
         "600 ms after the start, and after round 3, these nodes had still to evaluate and report: w1 (trial_deadline"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig = new_rig(be_silent, cases[i].at);
        bool running = cases[i].at == CONTROL_START || cases[i].at == CONTROL_COLLECT;
        *(running ? &rig.run_deadline_ns : &rig.setup_deadline_ns) = SHORT_NS;
        run(&rig);
        assert_failed(&rig, ERR_TRIAL, cases[i].sentence);
    }
}

/* An agent that is stopped takes nothing: its SETUP fills the socket. */
static void a_stopped_agent_blocks_nobody(void **state)
{
    (void)state;
    struct rig rig = {.setup_deadline_ns = SHORT_NS, .run_deadline_ns = LONG_NS, .prepared = true};
    int before = count_descriptors(), pair[2];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    rig.loop = loop_new(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct control_setup setup = {.scheme = "ring", .prepared = fake_prepared(), .prepared_bytes = PREPARED_BYTES};
    struct crew_spec spec = {.setups = &setup,
                             .names = names,
                             .count = 1,
                             .sockets = pair,
                             .loop = rig.loop,
                             .arena = arena,
                             .setup_deadline_ns = SHORT_NS,
                             .run_deadline_ns = LONG_NS};
    struct crew *crew = crew_new(&spec, NULL);
    assert_non_null(crew);
    assert_int_equal(crew_run(crew, &rig.err), -ERR_TRIAL);
    assert_non_null(strstr(rig.err.text, "600 ms after they were told to, these nodes had still to load its data and listen: w0"));
    crew_free(crew);
    loop_free(rig.loop);
    close(pair[1]);
    assert_int_equal(count_descriptors(), before);
}

static bool answer_and_fail_when_told(struct fake_agent *agent)
{
    fake_answer(agent, agent->fault_at);
    sem_wait(agent->go);
    fail_and_close(agent);
    sem_post(agent->gone);
    return true;
}

static bool answer_and_go_when_told(struct fake_agent *agent)
{
    fake_answer(agent, agent->fault_at);
    sem_wait(agent->go);
    sem_post(agent->gone);
    return true;
}

static void an_agents_own_words_win_over_its_exit_status(void **state)
{
    (void)state;
    struct rig rig = new_rig(answer_and_fail_when_told, CONTROL_CONNECT);
    rig.ends_at_start = "exit status 1";
    run(&rig);
    assert_failed(&rig, ERR_TRIAL, "node w1, round 2: the peer w0 is lost: connection reset");
    rig = new_rig(answer_and_go_when_told, CONTROL_CONNECT);
    rig.ends_at_start = "exit status 1";
    run(&rig);
    assert_failed(&rig, ERR_TRIAL, "the agent of node w1 ended (exit status 1) after round 0, when it was to finish its rounds");
}

static void an_interruption_is_told_as_one(void **state)
{
    (void)state;
    struct rig rig = new_rig(be_silent, CONTROL_START);
    rig.interrupt = true;
    run(&rig);
    assert_failed(&rig, ERR_INTERRUPTED, "interrupted after round 3");
}

static void what_ends_a_crew_before_it_runs_is_kept(void **state)
{
    (void)state;
    int pair[2];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct loop *loop = loop_new(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct control_setup setup = {.scheme = "ring"};
    struct crew_spec spec = {.setups = &setup,
                             .names = names,
                             .count = 1,
                             .sockets = pair,
                             .loop = loop,
                             .arena = arena,
                             .setup_deadline_ns = LONG_NS,
                             .run_deadline_ns = LONG_NS};
    struct crew *crew = crew_new(&spec, NULL);
    struct err reason, err;
    err_set(&reason, ERR_TRIAL, "the relay has ended");
    crew_abandon(crew, &reason);
    assert_int_equal(crew_run(crew, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "the relay has ended");
    crew_free(crew);
    loop_free(loop);
    close(pair[1]);
}

static void a_crew_that_cannot_be_made_closes_its_sockets(void **state)
{
    (void)state;
    int before = count_descriptors(), one[2], two[2];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct loop *loop = loop_new(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, one), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two), 0);
    const int sockets[AGENTS] = {one[0], 1 << 20, two[0]};
    struct control_setup setups[AGENTS] = {0};
    struct crew_spec spec = {.setups = setups, .names = names, .count = AGENTS, .sockets = sockets, .loop = loop, .arena = arena};
    struct err err = {0};
    assert_null(crew_new(&spec, &err));
    assert_int_equal(err.kind, ERR_HOST);
    close(one[1]);
    close(two[1]);
    loop_free(loop);
    assert_int_equal(count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_arrive_whole),
        cmocka_unit_test(a_setup_longer_than_a_socket_holds_arrives_whole),
        cmocka_unit_test(who_has_reported_may_go),
        cmocka_unit_test(every_fault_has_its_sentence),
        cmocka_unit_test(an_answer_given_twice_is_out_of_turn),
        cmocka_unit_test(a_report_that_cannot_be_true_is_refused),
        cmocka_unit_test(silence_ends_at_the_deadline),
        cmocka_unit_test(a_stopped_agent_blocks_nobody),
        cmocka_unit_test(an_agents_own_words_win_over_its_exit_status),
        cmocka_unit_test(an_interruption_is_told_as_one),
        cmocka_unit_test(what_ends_a_crew_before_it_runs_is_kept),
        cmocka_unit_test(a_crew_that_cannot_be_made_closes_its_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
