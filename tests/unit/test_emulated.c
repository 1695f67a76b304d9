/* test_emulated.c: one node of the emulated world against a peer played by the test: callbacks are never nested, messages can be put off and come
 * back, sends come back once each, compute tasks take their drawn time in parts and can be cancelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#undef fail
#include "agents/emulated_internal.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"

enum { FLOATS = 4096, EVENTS_MAX = 512 };

/* ---- a scheme that does what the test says and writes down what happens ---- */

static struct happened {
    int depth; /* of callbacks on the stack */
    int starts, tasks, headers, messages, sent, timers, losses;
    struct task_result results[EVENTS_MAX];
    int64_t result_ns[EVENTS_MAX];
    uint32_t order[EVENTS_MAX]; /* header.index of delivered messages */
    struct message last;
    intptr_t tags[EVENTS_MAX];
} happened;

static struct script {
    struct landing (*on_header)(struct node *node, const struct message *message);
    void (*on_message)(struct node *node, const struct message *message);
    void (*start)(struct node *node);
    void (*on_sent)(struct node *node, struct buffer *buffer);
    void (*on_task)(struct node *node, const struct task_result *result);
} script;

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

static void on_sent(struct node *node, struct buffer *buffer)
{
    begin();
    happened.tags[happened.sent++] = buffer->tag;
    if (script.on_sent)
        script.on_sent(node, buffer);
    end();
}

static void on_timer(struct node *node, int timer)
{
    (void)node, (void)timer;
    begin();
    happened.timers++;
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

struct rig {
    struct arena *arena;
    struct loop *loop;
    struct workload *workload;
    struct recorder recorder;
    struct distribution time;
    struct scheme_setup setup;
    struct emulated *emulated;
    int other;
    uint32_t sequence;
    char failure[512];
    int lost, finished;
    uint64_t rounds_done;
};

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

static const struct emulated_events events = {
    .round_finished = note_round, .finished = note_finished, .failed = note_failure, .peer_lost = note_lost};

static void open_rig(struct rig *rig, struct distribution time, unsigned flags)
{
    static const struct workload_settings settings = {.model = MODEL_SYNTHETIC, .size_bytes = FLOATS * 4, .batch = 10};
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
                                       .parameter_count = FLOATS,
                                       .batch = 10,
                                       .rounds = 100,
                                       .values_carried = true,
                                       .learning_rate = 1};
    assert_int_equal(
        recorder_init(&rig->recorder, &(struct recorder_options){.arena = rig->arena, .rounds = 100, .spans_wanted = 1000}, NULL), 0);
    struct emulated_options options = {.loop = rig->loop,
                                       .arena = rig->arena,
                                       .setup = &rig->setup,
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

static void turn(struct rig *rig, int64_t for_ns)
{
    int64_t until_ns = clock_now_ns() + for_ns;
    do
        assert_int_equal(loop_turn(rig->loop, until_ns, NULL), 0);
    while (clock_now_ns() < until_ns);
    for (int i = 0; i < 8; i++)
        assert_int_equal(loop_turn(rig->loop, 0, NULL), 0);
}

static void go(struct rig *rig)
{
    emulated_start(rig->emulated, clock_now_ns());
    turn(rig, 0);
    assert_int_equal(happened.starts, 1);
}

static void close_rig(struct rig *rig)
{
    emulated_stop(rig->emulated);
    emulated_free(rig->emulated);
    workload_free(rig->workload);
    close_fd(&rig->other);
    loop_free(rig->loop);
    arena_free(rig->arena);
    script = (struct script){0};
}

/* The peer sends a message of `length` bytes, or only the first `only` bytes of it. */
static void peer_sends(struct rig *rig, uint32_t index, size_t length, size_t only)
{
    uint8_t *bytes = arena_alloc(rig->arena, TRANSPORT_HEADER_BYTES + length);
    struct transport_header header = {.message = {.index = index}, .sequence = rig->sequence++, .length = length};
    transport_header_encode(&header, bytes);
    for (size_t i = 0; i < length; i++)
        bytes[TRANSPORT_HEADER_BYTES + i] = (uint8_t)(index + i);
    size_t total = only ? only : TRANSPORT_HEADER_BYTES + length;
    for (size_t sent = 0; sent < total;) {
        ssize_t part = send(rig->other, bytes + sent, total - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += part > 0 ? (size_t)part : 0;
        turn(rig, 0);
    }
}

static const struct distribution measured = {.kind = DISTRIBUTION_MEASURED};

/* ---- messages ---- */

static uint8_t own_memory[1 << 20];
static bool wanted;

static struct landing when_wanted(struct node *node, const struct message *message)
{
    (void)node;
    if (!wanted)
        return (struct landing){.kind = LAND_LATER};
    if (message->header.index % 3 == 0)
        return (struct landing){.kind = LAND_POOL};
    return message->header.index % 3 == 1 ? (struct landing){.kind = LAND_INTO, .into = own_memory}
                                          : (struct landing){.kind = LAND_DISCARD};
}

static void want_all(struct node *node, int timer)
{
    (void)timer;
    begin();
    wanted = true;
    node_retry(node, -1);
    assert_int_equal(happened.messages, 0); /* not from within this call */
    end();
}

static void messages_put_off_come_back_in_order(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, measured, 0);
    script.on_header = when_wanted;
    scheme.on_timer = want_all;
    wanted = false;
    int timer = node_timer(emulated_node(rig.emulated));
    go(&rig);
    for (uint32_t i = 0; i < 7; i++)
        peer_sends(&rig, i, 10 * i, 0);
    assert_int_equal(happened.messages, 0);
    node_arm(emulated_node(rig.emulated), timer, 0);
    turn(&rig, 0);
    assert_int_equal(happened.messages, 5); /* two were discarded */
    const uint32_t order[] = {0, 1, 3, 4, 6};
    assert_memory_equal(happened.order, order, sizeof(order));
    struct node_counters counters;
    emulated_counters(rig.emulated, &counters);
    assert_int_equal(counters.received_messages, 7);
    assert_int_equal(counters.received_payload_bytes, 210);
    assert_int_equal(counters.discarded_messages, 2);
    scheme.on_timer = on_timer;
    close_rig(&rig);
}

static void a_message_put_off_can_land_in_place_while_it_still_comes(void **state)
{
    (void)state;
    for (uint32_t index = 3; index < 6; index++) { /* pool, in place, discarded */
        struct rig rig;
        open_rig(&rig, measured, 0);
        script.on_header = when_wanted;
        scheme.on_timer = want_all;
        wanted = false;
        int timer = node_timer(emulated_node(rig.emulated));
        go(&rig);
        peer_sends(&rig, index, 1000, TRANSPORT_HEADER_BYTES + 400);
        assert_int_equal(happened.headers, 1);
        node_arm(emulated_node(rig.emulated), timer, 0);
        turn(&rig, 0);
        assert_int_equal(happened.headers, 2);
        assert_int_equal(happened.messages, 0);
        uint8_t rest[600];
        for (size_t i = 0; i < sizeof(rest); i++)
            rest[i] = (uint8_t)(index + 400 + i);
        assert_int_equal(send(rig.other, rest, sizeof(rest), MSG_NOSIGNAL), (ssize_t)sizeof(rest));
        turn(&rig, 0);
        assert_int_equal(happened.messages, index % 3 == 2 ? 0 : 1);
        if (index % 3 == 1)
            assert_ptr_equal(happened.last.payload, own_memory);
        peer_sends(&rig, 6, 5, 0);
        assert_int_equal(happened.order[happened.messages - 1], 6);
        scheme.on_timer = on_timer;
        close_rig(&rig);
    }
}

static void beyond_the_bound_the_peer_is_held_back(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, measured, 0);
    script.on_header = when_wanted;
    scheme.on_timer = want_all;
    wanted = false;
    int timer = node_timer(emulated_node(rig.emulated));
    go(&rig);
    for (uint32_t i = 0; i < 2 * LATER_MESSAGES_MAX; i++)
        peer_sends(&rig, 3 * i, 100, 0);
    assert_int_equal(happened.headers, LATER_MESSAGES_MAX + 1);
    node_arm(emulated_node(rig.emulated), timer, 0);
    turn(&rig, 0);
    assert_int_equal(happened.messages, 2 * LATER_MESSAGES_MAX);
    for (uint32_t i = 0; i < 2 * LATER_MESSAGES_MAX; i++)
        assert_int_equal(happened.order[i], 3 * i);
    scheme.on_timer = on_timer;
    close_rig(&rig);
}

static struct buffer *kept;
static void keep(struct node *node, const struct message *message)
{
    if (kept)
        node_release(node, kept);
    kept = message->buffer;
    node_hold(node, kept);
}

static void a_held_buffer_outlives_its_message(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, measured, 0);
    script.on_message = keep;
    kept = NULL;
    go(&rig);
    peer_sends(&rig, 9, 50, 0);
    struct buffer *first = kept;
    assert_int_equal(first->references, 1);
    assert_int_equal(((uint8_t *)first->bytes)[49], 9 + 49);
    peer_sends(&rig, 20, 50, 0); /* needs another one, then the first is free */
    assert_ptr_not_equal(kept, first);
    assert_int_equal(first->references, 0);
    close_rig(&rig);
}

static uint8_t outgoing[300000];
static void send_three_times(struct node *node)
{
    struct buffer *buffer = node_wrap(node, outgoing, sizeof(outgoing), 77);
    const struct message_header header = {.index = 1};
    node_hold(node, buffer);
    node_hold(node, buffer);
    for (int i = 0; i < 3; i++)
        node_send(node, 1, &header, buffer, (size_t)i * 100000, 100000);
    node_send(node, 1, &header, NULL, 0, 0); /* a header alone tells nobody */
    assert_int_equal(happened.sent, 0);      /* not from within this call */
}

static void every_send_is_told_once_and_later(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, measured, 0);
    script.start = send_three_times;
    go(&rig);
    size_t got = 0;
    uint8_t sink[65536];
    while (got < 4 * TRANSPORT_HEADER_BYTES + 300000) {
        ssize_t received = recv(rig.other, sink, sizeof(sink), MSG_DONTWAIT);
        got += received > 0 ? (size_t)received : 0;
        turn(&rig, 0);
    }
    assert_int_equal(happened.sent, 3);
    assert_int_equal(happened.tags[2], 77);
    struct node_counters counters;
    emulated_counters(rig.emulated, &counters);
    assert_int_equal(counters.sent_messages, 4);
    assert_int_equal(counters.sent_payload_bytes, 300000);
    assert_int_equal(rig.recorder.span_count, 4);
    assert_int_equal(rig.recorder.spans[0].kind, SPAN_SEND);
    assert_int_equal(rig.recorder.spans[0].bytes, 100000);
    close_rig(&rig);
}

static void a_scheme_that_breaks_the_rules_fails_with_a_sentence(void **state)
{
    (void)state;
    struct rig rig;
    const struct message_header header = {.index = 1};
    open_rig(&rig, measured, 0);
    go(&rig);
    struct node *node = emulated_node(rig.emulated);
    node_send(node, 0, &header, NULL, 0, 0);
    assert_non_null(strstr(rig.failure, "does not talk"));
    close_rig(&rig);
    open_rig(&rig, measured, 0);
    go(&rig);
    node = emulated_node(rig.emulated);
    struct buffer *buffer = node_buffer(node, 10);
    node_send(node, 1, &header, buffer, 5, 6);
    assert_non_null(strstr(rig.failure, "6 bytes from offset 5 of a buffer of 10"));
    close_rig(&rig);
    open_rig(&rig, measured, 0);
    go(&rig);
    node_round_finished(emulated_node(rig.emulated), 0);
    node_round_finished(emulated_node(rig.emulated), 2);
    assert_non_null(strstr(rig.failure, "finished round 2"));
    assert_int_equal(rig.rounds_done, 1);
    close_rig(&rig);
}

static void a_peer_that_goes_is_told_to_schemes_that_survive_it(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= SCHEME_SURVIVES_PEER_LOSS; flags += SCHEME_SURVIVES_PEER_LOSS) {
        struct rig rig;
        open_rig(&rig, measured, flags);
        go(&rig);
        peer_sends(&rig, 0, 100, TRANSPORT_HEADER_BYTES + 50);
        close_fd(&rig.other);
        turn(&rig, 0);
        if (flags)
            emulated_peer_lost(rig.emulated, 1); /* the controller says so, too: told once */
        assert_int_equal(happened.losses, flags ? 1 : 0);
        assert_int_equal(rig.lost, flags ? 0 : 1);
        assert_true(rig.failure[0] == '\0');
        close_rig(&rig);
    }
}

static void bytes_that_are_no_message_fail_the_trial_even_then(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, measured, SCHEME_SURVIVES_PEER_LOSS);
    go(&rig);
    static const char noise[TRANSPORT_HEADER_BYTES + 1] = "GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n";
    assert_int_equal(send(rig.other, noise, TRANSPORT_HEADER_BYTES, MSG_NOSIGNAL), TRANSPORT_HEADER_BYTES);
    turn(&rig, 0);
    assert_non_null(strstr(rig.failure, "what node 1 sends is not a message"));
    close_rig(&rig);
}

/* ---- compute ---- */

static float gradient[FLOATS];

static struct task gradient_task(uint64_t step, int parts)
{
    return (struct task){.kind = TASK_GRADIENT, .step = step, .gradient = gradient, .parts = parts};
}

static void a_task_takes_its_drawn_time_in_parts(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 8e6}, 0);
    go(&rig);
    struct node *node = emulated_node(rig.emulated);
    struct task task = gradient_task(3, 4);
    int64_t begin_ns = node_now(node);
    uint32_t generation = node_compute(node, &task);
    assert_true(generation != 0);
    assert_int_equal(happened.tasks, 0);
    while (happened.tasks < 4)
        turn(&rig, NS_PER_MS);
    for (int i = 0; i < 4; i++) {
        const struct task_result *result = &happened.results[i];
        assert_int_equal(result->generation, generation);
        assert_true(result->part == i && result->parts == 4 && result->step == 3);
        assert_int_equal(result->count, FLOATS / 4);
        assert_int_equal(result->first, FLOATS / 4 * (3 - i));
        assert_true(happened.result_ns[i] >= begin_ns + (i + 1) * 2 * NS_PER_MS);
    }
    assert_true(gradient[7] == synthetic_value(2, 0, 3, 7));
    assert_int_equal(rig.recorder.span_count, 1);
    const struct span_record *span = &rig.recorder.spans[0];
    assert_true(span->kind == SPAN_COMPUTE && span->flags == 0 && span->peer == NO_PEER && span->round == 0);
    assert_true(span->end_ns - span->begin_ns >= 8 * NS_PER_MS);
    close_rig(&rig);
}

static void start_next(struct node *node, const struct task_result *result)
{
    if (result->step < 5) {
        struct task task = gradient_task(result->step + 1, 1);
        node_compute(node, &task);
    }
}

static void the_next_task_may_start_from_a_result(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, measured, 0); /* no time at all: yet never from within node_compute() */
    script.on_task = start_next;
    go(&rig);
    struct task task = gradient_task(0, 1);
    node_compute(emulated_node(rig.emulated), &task);
    assert_int_equal(happened.tasks, 0);
    for (int i = 0; i < 20; i++)
        turn(&rig, 0);
    assert_int_equal(happened.tasks, 6);
    assert_int_equal(happened.results[5].step, 5);
    assert_int_equal(happened.results[5].samples, 10);
    close_rig(&rig);
}

static void a_cancelled_task_says_nothing_more(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 4e6}, 0);
    go(&rig);
    struct node *node = emulated_node(rig.emulated);
    struct task task = gradient_task(1, 4);
    uint32_t first = node_compute(node, &task);
    while (happened.tasks < 1)
        turn(&rig, NS_PER_MS / 4);
    int before = happened.tasks;
    node_cancel(node, first);
    task.step = 2;
    task.parts = 1;
    uint32_t second = node_compute(node, &task);
    assert_int_not_equal(first, second);
    node_cancel(node, first); /* of a task that is over: nothing */
    while (happened.tasks < before + 1)
        turn(&rig, NS_PER_MS);
    turn(&rig, 5 * NS_PER_MS);
    assert_int_equal(happened.tasks, before + 1);
    assert_int_equal(happened.results[before].generation, second);
    assert_int_equal(rig.recorder.spans[0].flags, SPAN_CANCELLED);
    assert_int_equal(rig.recorder.spans[1].flags, 0);
    node_compute(node, &task);
    node_compute(node, &task);
    assert_non_null(strstr(rig.failure, "another one was running"));
    close_rig(&rig);
}

static void samples_stop_at_the_deadline_or_the_cap(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 10e6}, 0); /* 1 ms a sample */
    go(&rig);
    struct node *node = emulated_node(rig.emulated);
    struct task task = {.kind = TASK_SAMPLES, .gradient = gradient, .sample_cap = 3};
    int64_t begin_ns = node_now(node);
    node_compute(node, &task);
    while (happened.tasks < 1)
        turn(&rig, NS_PER_MS);
    assert_int_equal(happened.results[0].samples, 3);
    assert_true(happened.result_ns[0] >= begin_ns + 3 * NS_PER_MS);
    begin_ns = node_now(node);
    task.sample_cap = 0;
    task.deadline_ns = begin_ns + 5 * NS_PER_MS;
    node_compute(node, &task);
    while (happened.tasks < 2)
        turn(&rig, NS_PER_MS);
    assert_in_range(happened.results[1].samples, 0, 5); /* what had not passed of the window when it began */
    assert_true(happened.result_ns[1] >= task.deadline_ns);
    close_rig(&rig);
}

static void a_wrong_sum_fails_with_node_round_and_element(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, measured, 0);
    go(&rig);
    struct node *node = emulated_node(rig.emulated);
    static float sum[FLOATS];
    for (size_t i = 0; i < FLOATS; i++)
        sum[i] = synthetic_value(2, 0, 6, i) + synthetic_value(2, 1, 6, i);
    node_update(node, NULL, sum, 2, 0, FLOATS, 6);
    assert_true(rig.failure[0] == '\0');
    sum[FLOATS - 1] += 1;
    node_update(node, NULL, sum, 2, 1000, FLOATS - 1000, 6);
    assert_non_null(strstr(rig.failure, "node 0: the reduction of round 6 is wrong: element 4095"));
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_put_off_come_back_in_order),
        cmocka_unit_test(a_message_put_off_can_land_in_place_while_it_still_comes),
        cmocka_unit_test(beyond_the_bound_the_peer_is_held_back),
        cmocka_unit_test(a_held_buffer_outlives_its_message),
        cmocka_unit_test(every_send_is_told_once_and_later),
        cmocka_unit_test(a_scheme_that_breaks_the_rules_fails_with_a_sentence),
        cmocka_unit_test(a_peer_that_goes_is_told_to_schemes_that_survive_it),
        cmocka_unit_test(bytes_that_are_no_message_fail_the_trial_even_then),
        cmocka_unit_test(a_task_takes_its_drawn_time_in_parts),
        cmocka_unit_test(the_next_task_may_start_from_a_result),
        cmocka_unit_test(a_cancelled_task_says_nothing_more),
        cmocka_unit_test(samples_stop_at_the_deadline_or_the_cap),
        cmocka_unit_test(a_wrong_sum_fails_with_node_round_and_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
