/* agent.c: the agent's side of the control protocol: one state a message awaited, one row a message understood.
 *
 * Theory of operation. SETUP does everything that takes long or needs the file system, then closes the sandbox; only then does the
 * node accept a peer. CONNECT makes the connections, START sets the hour. While the scheme runs, the control socket is one more
 * descriptor of the same loop. Whatever goes wrong becomes one sentence, which is sent as FAILURE before the agent ends; if the
 * controller closes the socket, the agent ends at once, since nobody is left to hear it. */
#include "agents/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agents/agent_internal.h"
#include "agents/transport.h"
#include "agents/workload.h"
#include "agents/world_emulated.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/loop.h"
#include "base/text.h"

enum state { AWAIT_SETUP, AWAIT_CONNECT, CONNECTING, AWAIT_START, RUNNING, AWAIT_COLLECT, SETTLING, AWAIT_QUIT, STATE_COUNT };
static const char *const state_names[STATE_COUNT] = {
    [AWAIT_SETUP] = "waits for SETUP",
    [AWAIT_CONNECT] = "waits for CONNECT",
    [CONNECTING] = "is connecting",
    [AWAIT_START] = "waits for START",
    [RUNNING] = "is running",
    [AWAIT_COLLECT] = "waits for COLLECT",
    [SETTLING] = "goes on to the next size",
    [AWAIT_QUIT] = "waits for QUIT",
};

static const int64_t PATIENCE_NS = 600 * NS_PER_S;     /* with a controller that lives and says nothing, outside of the rounds */
static const int64_t START_LATEST_NS = 600 * NS_PER_S; /* no START lies further ahead, */
static const int64_t START_OLDEST_NS = 900 * NS_PER_S; /* or further back: who is stopped by an event may read it late */
static const int64_t QUIT_GRACE_NS = 200 * NS_PER_MS;  /* a peer that goes may go because the trial is over */
static const int64_t PROGRESS_NS = 200 * NS_PER_MS;

struct agent {
    int control_fd;
    enum state state;
    struct arena *arena;
    struct loop *loop;
    struct frame_reader reader;
    struct timer *patience, *grace;
    struct agent_setup setup;
    struct host_counters host;
    struct agent_node node;
    int64_t progress_ns;
    uint32_t next_mark; /* of SETUP's marks */
    struct err grief;   /* the sentence to send if no QUIT comes within the grace */
    struct err failure;
    bool over, mute; /* mute: the controller is gone */
};

static void stop(struct agent *agent)
{
    agent->over = true;
    loop_stop(agent->loop);
}

static void fail(struct agent *agent, const struct err *reason)
{
    if (agent->failure.kind == ERR_NONE)
        agent->failure = *reason;
    stop(agent);
}

static int send_operation(struct agent *agent, enum control_operation operation, const void *body, struct err *err)
{
    cleanup(text_free) struct text bytes = {0};
    const struct control_row *row = &control_operations[operation];
    if (row->body)
        wire_encode(row->body, body, &bytes);
    int result = frame_send(agent->control_fd, (uint16_t)operation, CONTROL_VERSION, bytes.bytes, bytes.length, err);
    return result < 0 ? err_wrap(err, "sending %s to the controller", row->name) : 0;
}

static void send_or_fail(struct agent *agent, enum control_operation operation, const void *body)
{
    struct err err;
    if (send_operation(agent, operation, body, &err) < 0) {
        agent->mute = true;
        fail(agent, &err);
    }
}

static void enter(struct agent *agent, enum state state)
{
    bool between_sizes = state == SETTLING || (state == AWAIT_START && emulated_size(agent->node.emulated) > 0);
    agent->state = state;
    if (state == RUNNING || state == AWAIT_COLLECT || between_sizes) /* as long as the rounds take, on the slowest node */
        loop_disarm(agent->patience);
    else
        loop_arm(agent->patience, clock_now_ns() + PATIENCE_NS);
}

/* ---- what the world tells ---- */

static void on_connected(void *context)
{
    struct agent *agent = context;
    if (agent_node_evaluates(&agent->node))
        emulated_evaluate_here(agent->node.emulated);
    enter(agent, AWAIT_START);
    send_or_fail(agent, CONTROL_READY, NULL);
}

/* Whether the controller waits for the end of just this round. */
static bool take_mark(struct agent *agent, uint64_t rounds_done)
{
    const struct control_setup *setup = agent->setup.control;
    bool marked = false;
    for (; agent->next_mark < setup->mark_count && setup->marks[agent->next_mark].rounds_done <= rounds_done; agent->next_mark++)
        marked = true;
    return marked;
}

static bool can_write(int fd)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    return poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT);
}

static void on_round_finished(void *context, uint64_t rounds_done)
{
    struct agent *agent = context;
    const struct node *node = emulated_node(agent->node.emulated);
    if (node->index != scheme_round_node(node->setup->scheme, node->setup->workers))
        return;
    int64_t now_ns = clock_now_ns();
    if (!take_mark(agent, rounds_done) && (now_ns - agent->progress_ns < PROGRESS_NS || !can_write(agent->control_fd)))
        return;
    agent->progress_ns = now_ns;
    struct control_progress progress = {.rounds_done = (uint32_t)rounds_done, .at_ns = now_ns};
    send_or_fail(agent, CONTROL_PROGRESS, &progress);
}

static void on_finished(void *context)
{
    struct agent *agent = context;
    host_counters_end(&agent->host);
    if (emulated_size(agent->node.emulated) + 1 == (int)agent_setup_sizes(&agent->setup))
        sampler_stop(&agent->node.sampler);
    enter(agent, AWAIT_COLLECT);
    send_or_fail(agent, CONTROL_DONE, NULL);
}

static void on_sized(void *context)
{
    enter(context, AWAIT_START);
    send_or_fail(context, CONTROL_READY, NULL);
}

static void on_failed(void *context, const char *sentence)
{
    struct err err;
    err_set(&err, ERR_TRIAL, "%s", sentence);
    fail(context, &err);
}

static void on_peer_lost(void *context, int peer, const char *sentence)
{
    (void)peer;
    struct agent *agent = context;
    if (agent->grief.kind != ERR_NONE)
        return;
    err_set(&agent->grief, ERR_TRIAL, "%s", sentence);
    loop_arm(agent->grace, clock_now_ns() + QUIT_GRACE_NS);
}

static const struct emulated_events world_events = {
    .connected = on_connected,
    .round_finished = on_round_finished,
    .finished = on_finished,
    .sized = on_sized,
    .failed = on_failed,
    .peer_lost = on_peer_lost,
    .thread_begins = agent_thread_begins,
};

static void on_grace(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct agent *agent = context;
    fail(agent, &agent->grief);
}

static void on_patience(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct agent *agent = context;
    struct err err;
    err_set(&err, ERR_TRIAL, "the agent %s, and the controller has said nothing for %" PRId64 " s", state_names[agent->state],
            PATIENCE_NS / NS_PER_S);
    fail(agent, &err);
}

/* ---- what the controller says ---- */

static int take_setup(struct agent *agent, const void *body, struct err *err)
{
    int result = agent_setup_take(body, agent->arena, &agent->setup, err);
    if (result == 0)
        result = agent_node_make(&agent->setup, agent->loop, agent->arena, &world_events, agent, &agent->node, err);
    if (result < 0 || agent->over)
        return result;
    if (agent_close_sandbox(&agent->setup, &agent->node, &agent->host, err) < 0)
        return -ERR_HOST;
    enter(agent, AWAIT_CONNECT);
    struct control_listening listening = {.blas = workload_blas(agent->node.workload),
                                          .gradient_ns = workload_gradient_ns(agent->node.workload),
                                          .parameter_count = workload_parameter_count(agent->node.workload)};
    return send_operation(agent, CONTROL_LISTENING, &listening, err);
}

static int take_connect(struct agent *agent, const void *body, struct err *err)
{
    (void)body, (void)err;
    struct node *node = emulated_node(agent->node.emulated);
    const struct scheme *scheme = node->setup->scheme;
    bool has_model = scheme->model_to_evaluate && scheme->model_to_evaluate(node);
    enter(agent, CONNECTING);
    transport_connect(emulated_transport(agent->node.emulated), has_model ? HELLO_HAS_MODEL : 0);
    return 0;
}

static int take_start(struct agent *agent, const void *body, struct err *err)
{
    const struct control_start *start = body;
    int64_t ahead_ns = start->start_ns - clock_now_ns();
    if (ahead_ns < -START_OLDEST_NS || ahead_ns > START_LATEST_NS)
        return err_set(err, ERR_TRIAL, "START lies %" PRId64 " ms ahead, allowed are %" PRId64 " to %" PRId64 " ms",
                       ahead_ns / NS_PER_MS, -START_OLDEST_NS / NS_PER_MS, START_LATEST_NS / NS_PER_MS);
    enter(agent, RUNNING);
    host_counters_begin(&agent->host);
    if (emulated_size(agent->node.emulated) == 0)
        sampler_start(&agent->node.sampler, start->start_ns);
    emulated_start(agent->node.emulated, start->start_ns);
    return 0;
}

/* Memory goes with the size: what it was checked for is checked to the end before. */
static int take_size(struct agent *agent, const void *body, struct err *err)
{
    const struct control_size *size = body;
    struct emulated *emulated = agent->node.emulated;
    uint32_t next = (uint32_t)emulated_size(emulated) + 1, count = agent_setup_sizes(&agent->setup);
    char sentence[512];
    if (size->position != next || next >= count)
        return err_set(err, ERR_TRIAL, "SIZE names message size %u where size %u of %u is over", size->position, next - 1, count);
    emulated_stop(emulated);
    if (!workload_check_last(agent->node.workload, sentence, sizeof(sentence)))
        return err_set(err, ERR_TRIAL, "node %u: %s", agent->setup.control->node, sentence);
    enter(agent, SETTLING);
    emulated_next_size(emulated);
    return 0;
}

static int take_peer(struct agent *agent, const void *body, struct err *err)
{
    const struct control_peer *peer = body;
    if (peer->node >= agent->setup.control->node_count || peer->node == agent->setup.control->node || peer->lost != 1)
        return err_set(err, ERR_TRIAL, "PEER names node %u with lost = %u, which cannot be", peer->node, peer->lost);
    if (agent->setup.scheme.scheme->flags & SCHEME_SURVIVES_PEER_LOSS)
        emulated_peer_lost(agent->node.emulated, (int)peer->node);
    return 0;
}

static int take_collect(struct agent *agent, const void *body, struct err *err)
{
    (void)body;
    struct control_report report;
    emulated_stop(agent->node.emulated);
    int result = agent_report_make(&agent->node, &agent->host, agent->arena, &report, err);
    if (result < 0)
        return result;
    enter(agent, AWAIT_QUIT);
    return send_operation(agent, CONTROL_REPORT, &report, err);
}

static int take_quit(struct agent *agent, const void *body, struct err *err)
{
    (void)body, (void)err;
    stop(agent);
    return 0;
}

enum { PEER_STATES = 1U << RUNNING | 1U << AWAIT_COLLECT | 1U << SETTLING | 1U << AWAIT_START };
static const struct handler {
    unsigned states; /* bit set of enum state */
    int (*take)(struct agent *, const void *body, struct err *);
} handlers[CONTROL_OPERATION_END] = {
    [CONTROL_SETUP] = {1U << AWAIT_SETUP, take_setup},       [CONTROL_CONNECT] = {1U << AWAIT_CONNECT, take_connect},
    [CONTROL_START] = {1U << AWAIT_START, take_start},       [CONTROL_PEER] = {PEER_STATES, take_peer},
    [CONTROL_COLLECT] = {1U << AWAIT_COLLECT, take_collect}, [CONTROL_QUIT] = {~0U, take_quit},
    [CONTROL_SIZE] = {1U << AWAIT_COLLECT, take_size},
};

static int take_frame(struct agent *agent, const struct frame *frame, struct err *err)
{
    if (frame->version != CONTROL_VERSION)
        return err_set(
            err, ERR_TRIAL,
            "the controller speaks version %u of the control protocol, this agent version %d: install both programs from one build",
            frame->version, CONTROL_VERSION);
    if (frame->operation >= CONTROL_OPERATION_END || !handlers[frame->operation].take)
        return err_set(err, ERR_TRIAL, "the controller sent operation %u, which no agent understands", frame->operation);
    const struct handler *handler = &handlers[frame->operation];
    const struct control_row *row = &control_operations[frame->operation];
    if (!(handler->states & 1U << agent->state))
        return err_set(err, ERR_TRIAL, "the controller sent %s while the agent %s", row->name, state_names[agent->state]);
    if (!row->body && frame->length > 0)
        return err_set(err, ERR_TRIAL, "the controller sent %s with a body of %u bytes, it has none", row->name, frame->length);
    void *body = row->body ? arena_alloc(agent->arena, row->body->struct_bytes) : NULL;
    if (row->body && wire_decode(row->body, frame->body, frame->length, agent->arena, body, err) < 0)
        return err_wrap(err, "the controller's %s", row->name);
    return handler->take(agent, body, err);
}

static void on_control(void *context, uint32_t events)
{
    (void)events;
    struct agent *agent = context;
    struct err err = {0};
    struct frame frame;
    int filled = frame_reader_fill(&agent->reader, agent->control_fd, &err);
    while (filled >= 0 && !agent->over) {
        int got = frame_reader_next(&agent->reader, &frame, &err);
        if (got == 0)
            return;
        if (got < 0 || take_frame(agent, &frame, &err) < 0) {
            fail(agent, &err);
            return;
        }
    }
    if (filled < 0) {
        agent->mute = true;
        err_wrap(&err, "the controller is gone");
        fail(agent, &err);
    }
}

/* ---- life ---- */

static void release(struct agent *agent)
{
    agent_node_free(&agent->node);
    host_counters_close(&agent->host);
    loop_free(agent->loop);
    frame_reader_free(&agent->reader);
    arena_cleanup(&agent->arena);
}

static int start_loop(struct agent *agent, struct err *err)
{
    agent->loop = loop_new(err);
    if (!agent->loop)
        return -ERR_HOST;
    agent->patience = loop_timer(agent->loop, on_patience, agent);
    agent->grace = loop_timer(agent->loop, on_grace, agent);
    enter(agent, AWAIT_SETUP);
    return loop_watch(agent->loop, agent->control_fd, EPOLLIN, on_control, agent, err) ? 0 : -ERR_HOST;
}

int agent_run(int control_fd, struct err *err)
{
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1);
    cleanup(release) struct agent agent = {.control_fd = control_fd, .arena = arena_new(), .host = HOST_COUNTERS_NONE};
    int result = start_loop(&agent, err);
    if (result == 0)
        result = loop_run(agent.loop, err);
    if (result < 0)
        agent.failure = *err;
    if (agent.failure.kind == ERR_NONE)
        return 0;
    struct control_failure failure = {.round = agent.node.emulated ? (uint32_t)emulated_rounds_done(agent.node.emulated) : 0,
                                      .text = agent.failure.text};
    if (!agent.mute)
        send_operation(&agent, CONTROL_FAILURE, &failure, NULL);
    *err = agent.failure;
    return -(int)agent.failure.kind;
}
