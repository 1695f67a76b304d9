/* emulated_rig.c: a node, its scripted scheme and its peer; see emulated_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#undef fail
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "tests/unit/emulated_rig.h"

/* ---- the scheme ---- */

struct happened happened;
struct script script;

static void begin(void)
{
    assert_int_equal(happened.depth++, 0);
}

static void end(void)
{
    happened.depth--;
}

static void start(struct node *node)
{
    begin();
    happened.starts++;
    if (script.start)
        script.start(node);
    end();
}

static void on_task(struct node *node, const struct task_result *result)
{
    begin();
    happened.result_ns[happened.tasks] = node_now(node);
    happened.results[happened.tasks++] = *result;
    if (script.on_task)
        script.on_task(node, result);
    end();
}

static struct landing on_header(struct node *node, const struct message *message)
{
    begin();
    happened.headers++;
    assert_null(message->payload);
    struct landing landing = script.on_header ? script.on_header(node, message) : (struct landing){.kind = LAND_POOL};
    end();
    return landing;
}

static void on_message(struct node *node, const struct message *message)
{
    begin();
    happened.order[happened.messages++] = message->header.index;
    happened.last = *message;
    for (size_t i = 0; i < message->length; i++)
        assert_int_equal(((const uint8_t *)message->payload)[i], (uint8_t)(message->header.index + i));
    if (script.on_message)
        script.on_message(node, message);
    end();
}

static void on_sent(struct node *node, struct buffer *buffer, int destination)
{
    (void)destination;
    begin();
    happened.tags[happened.sent++] = buffer->tag;
    if (script.on_sent)
        script.on_sent(node, buffer);
    end();
}

static void on_timer(struct node *node, int timer)
{
    begin();
    happened.timers++;
    if (script.on_timer)
        script.on_timer(node, timer);
    end();
}

static void on_peer(struct node *node, int peer, enum peer_state state)
{
    (void)node;
    begin();
    assert_int_equal(peer, 1);
    assert_int_equal(state, PEER_LOST);
    happened.losses++;
    end();
}

static struct scheme scheme = {
    .name = "scripted",
    .start = start,
    .on_task = on_task,
    .on_header = on_header,
    .on_message = on_message,
    .on_sent = on_sent,
    .on_timer = on_timer,
    .on_peer = on_peer,
};

/* ---- the node ---- */

static void note_failure(void *context, const char *sentence)
{
    struct rig *rig = context;
    assert_true(rig->failure[0] == '\0');
    snprintf(rig->failure, sizeof(rig->failure), "%s", sentence);
}

static void note_lost(void *context, int peer, const char *sentence)
{
    (void)peer, (void)sentence;
    ((struct rig *)context)->lost++;
}

static void note_round(void *context, uint64_t rounds_done)
{
    ((struct rig *)context)->rounds_done = rounds_done;
}

static void note_finished(void *context)
{
    ((struct rig *)context)->finished++;
}

static void note_sized(void *context)
{
    ((struct rig *)context)->sized++;
}

static const struct emulated_events events = {
    .round_finished = note_round, .finished = note_finished, .sized = note_sized, .failed = note_failure, .peer_lost = note_lost};

static void open_rig(struct rig *rig, struct distribution time, unsigned flags, int size_count)
{
    static const struct workload_settings settings = {.model = MODEL_SYNTHETIC, .size_bytes = RIG_FLOATS * 4, .batch = 10};
    memset(rig, 0, sizeof(*rig));
    happened = (struct happened){0};
    scheme.flags = flags;
    rig->arena = arena_new();
    rig->loop = loop_new(NULL);
    rig->time = time;
    rig->workload = workload_new(
        &(struct workload_options){.settings = &settings, .workers = 2, .role = ROLE_WORKER, .arena = rig->arena}, NULL);
    rig->setup = (struct scheme_setup){.scheme = &scheme,
                                       .workers = 2,
                                       .nodes = 2,
                                       .parameter_count = RIG_FLOATS,
                                       .batch = 10,
                                       .rounds = 100,
                                       .values_carried = true,
                                       .learning_rate = 1};
    for (int i = 0; i < RIG_SIZES; i++) {
        rig->setups[i] = rig->setup;
        rig->setups[i].parameter_count <<= i;
    }
    struct recorder_options recorder = {.arena = rig->arena, .rounds = 100 * RIG_SIZES, .spans_wanted = 1000};
    assert_int_equal(recorder_init(&rig->recorder, &recorder, NULL), 0);
    recorder_begin(&rig->recorder, 0, 100);
    struct emulated_options options = {.loop = rig->loop,
                                       .arena = rig->arena,
                                       .setup = size_count > 0 ? rig->setups : &rig->setup,
                                       .size_count = size_count,
                                       .optimiser = {.learning_rate = 0.125},
                                       .compute_time = &rig->time,
                                       .slow_factor = 1,
                                       .workload = rig->workload,
                                       .recorder = &rig->recorder,
                                       .transport = {.node_count = 2},
                                       .events = &events,
                                       .context = rig};
    rig->emulated = emulated_new(&options, NULL);
    assert_non_null(rig->emulated);
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    rig->other = pair[1];
    transport_attach(emulated_transport(rig->emulated), 1, pair[0], 0);
}

void rig_open(struct rig *rig, struct distribution time, unsigned flags)
{
    open_rig(rig, time, flags, 0);
}

void rig_open_sizes(struct rig *rig, struct distribution time, unsigned flags)
{
    open_rig(rig, time, flags, RIG_SIZES);
}

void rig_turn(struct rig *rig, int64_t for_ns)
{
    int64_t until_ns = clock_now_ns() + for_ns;
    do
        assert_int_equal(loop_turn(rig->loop, until_ns, NULL), 0);
    while (clock_now_ns() < until_ns);
    for (int i = 0; i < 8; i++)
        assert_int_equal(loop_turn(rig->loop, 0, NULL), 0);
}

void rig_go(struct rig *rig)
{
    emulated_start(rig->emulated, clock_now_ns());
    rig_turn(rig, 0);
    assert_int_equal(happened.starts, 1);
}

void rig_close(struct rig *rig)
{
    emulated_stop(rig->emulated);
    emulated_free(rig->emulated);
    workload_free(rig->workload);
    close_fd(&rig->other);
    loop_free(rig->loop);
    arena_free(rig->arena);
    script = (struct script){0};
}

void rig_peer_sends(struct rig *rig, uint32_t index, size_t length, size_t only)
{
    rig_peer_sends_message(rig, &(struct message_header){.index = index}, length, only);
}

void rig_peer_sends_message(struct rig *rig, const struct message_header *message, size_t length, size_t only)
{
    uint8_t *bytes = arena_alloc(rig->arena, TRANSPORT_HEADER_BYTES + length);
    struct transport_header header = {.message = *message, .sequence = rig->sequence++, .length = length};
    transport_header_encode(&header, bytes);
    for (size_t i = 0; i < length; i++)
        bytes[TRANSPORT_HEADER_BYTES + i] = (uint8_t)(message->index + i);
    size_t total = only ? only : TRANSPORT_HEADER_BYTES + length;
    for (size_t sent = 0; sent < total;) {
        ssize_t part = send(rig->other, bytes + sent, total - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += part > 0 ? (size_t)part : 0;
        rig_turn(rig, 0);
    }
}
