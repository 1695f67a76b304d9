/* crew_rig.c: a crew of three fake agents, run once; see crew_rig.h. */
#include "tests/unit/crew_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/loop.h"

const char *const crew_rig_names[AGENTS] = {"w0", "w1", "s0"};

int crew_rig_count_descriptors(void)
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
    struct crew_rig *rig = context;
    rig->before_start_count++;
    assert_true(crew_times(rig->crew).ready_ns > 0);
    assert_true(crew_results(rig->crew)[1].idle_gradient_ns > 0);
    if (!rig->ends_at_start)
        return;
    sem_post(&rig->go); /* what the agent now says lies unread in its socket when its process' end is told */
    sem_wait(&rig->gone);
    crew_process_ended(rig->crew, 1, rig->ends_at_start);
}

static void on_progress(void *context, uint32_t rounds_done, int64_t at_ns)
{
    struct crew_rig *rig = context;
    rig->progress = rounds_done;
    assert_true(at_ns > crew_times(rig->crew).ready_ns && at_ns <= clock_now_ns()); /* whatever an agent says */
    if (rig->interrupt)
        crew_interrupt(rig->crew);
}

static void on_ending(void *context)
{
    struct crew_rig *rig = context;
    rig->ending_count++;
}

static void on_after_done(void *context)
{
    struct crew_rig *rig = context;
    rig->after_done_count++;
    assert_true(crew_times(rig->crew).done_ns >= crew_times(rig->crew).ready_ns);
}

static bool on_stopped(void *context, int node)
{
    const struct crew_rig *rig = context;
    return rig->stopped & 1U << node;
}

static void on_process_end(void *context, uint32_t events)
{
    (void)events;
    struct crew_rig *rig = context;
    char node;
    if (read(rig->ended_fds[0], &node, 1) == 1)
        crew_process_ended(rig->crew, node, "killed by SIGSEGV");
}

struct crew_rig crew_rig_new(fake_fault *fault, enum control_operation at)
{
    struct crew_rig rig = {.setup_deadline_ns = LONG_NS, .run_deadline_ns = LONG_NS};
    rig.agents[1].fault = fault;
    rig.agents[1].fault_at = at;
    return rig;
}

void crew_rig_run(struct crew_rig *rig)
{
    int agent_fds[AGENTS], before = crew_rig_count_descriptors();
    sem_init(&rig->go, 0, 0);
    sem_init(&rig->gone, 0, 0);
    assert_int_equal(pipe(rig->ended_fds), 0);
    rig->arena = arena_new();
    rig->loop = loop_new(&rig->err);
    assert_non_null(rig->loop);
    assert_non_null(loop_watch(rig->loop, rig->ended_fds[0], EPOLLIN, on_process_end, rig, NULL));
    static const struct control_node roster[AGENTS] = {
        {.name = "w0", .slow_factor = 1}, {.name = "w1", .slow_factor = 1}, {.name = "s0", .role = ROLE_SERVER, .slow_factor = 1}};
    static const struct control_message_size sizes[ROUNDS] = {{.bytes = 4}, {.bytes = 8}, {.bytes = 12}, {.bytes = 16}};
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
                                           .rounds = ROUNDS / (rig->size_count ? rig->size_count : 1),
                                           .sizes = sizes,
                                           .size_count = rig->size_count,
                                           .prepared = rig->prepared ? fake_prepared() : NULL,
                                           .prepared_bytes = rig->prepared ? PREPARED_BYTES : 0};
    }
    struct crew_spec spec = {
        .setups = setups,
        .names = crew_rig_names,
        .count = AGENTS,
        .sockets = rig->sockets,
        .loop = rig->loop,
        .arena = rig->arena,
        .setup_deadline_ns = rig->setup_deadline_ns,
        .run_deadline_ns = rig->run_deadline_ns,
        .expendable = rig->expendable,
        .late_ns = SHORT_NS / 4,
        .hooks = {.before_start = on_before_start,
                  .progress = on_progress,
                  .ending = on_ending,
                  .after_done = on_after_done,
                  .stopped = on_stopped,
                  .context = rig},
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
    assert_int_equal(crew_rig_count_descriptors(), before);
}

void crew_rig_assert_failed(struct crew_rig *rig, enum err_kind kind, const char *sentence)
{
    if (rig->result != -(int)kind || !strstr(rig->err.text, sentence))
        fail_msg("result %d, found \"%s\", awaited \"%s\"", rig->result, rig->err.text, sentence);
    arena_cleanup(&rig->arena);
}

void crew_rig_assert_good(struct crew_rig *rig)
{
    if (rig->result != 0)
        fail_msg("%s", rig->err.text);
    const struct node_result *results = crew_results(rig->crew);
    for (int i = 0; i < AGENTS; i++) {
        struct control_report report;
        fake_report(i, &report);
        assert_int_equal(results[i].lost, crew_loss(rig->crew, i) != NULL);
        if (results[i].lost) {
            assert_int_equal(results[i].round_count + results[i].span_count + results[i].evaluation_count, 0);
            continue;
        }
        assert_int_equal(results[i].round_count, ROUNDS);
        assert_memory_equal(results[i].rounds, report.rounds, ROUNDS * sizeof(*report.rounds));
        assert_int_equal(results[i].span_count, SPANS);
        assert_memory_equal(results[i].spans, report.spans, SPANS * sizeof(*report.spans));
        assert_int_equal(results[i].evaluation_count, 2);
        assert_memory_equal(results[i].evaluations, report.evaluations, 2 * sizeof(*report.evaluations));
        assert_memory_equal(&results[i].counters, &report.counters, sizeof(report.counters));
        assert_memory_equal(results[i].model_sha256, report.model_sha256, 32);
        assert_string_equal(results[i].blas, "OpenBLAS 0.3.21 Test");
        assert_float_equal(results[i].idle_gradient_ns, 100 + i, 0);
    }
    arena_cleanup(&rig->arena);
}

bool fake_be_silent(struct fake_agent *agent)
{
    (void)agent;
    return true;
}

bool fake_fail_and_close(struct fake_agent *agent)
{
    struct control_failure failure = {.round = 2, .text = "the peer w0 is lost: connection reset"};
    fake_send(agent, CONTROL_FAILURE, &failure);
    return false;
}
