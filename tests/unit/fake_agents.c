/* fake_agents.c: agents as threads; see fake_agents.h. */
#include "tests/unit/fake_agents.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "tests/receive.h"

const uint8_t *fake_prepared(void)
{
    static uint8_t bytes[PREPARED_BYTES];
    if (!bytes[1]) /* first called before there are threads */
        for (size_t i = 0; i < PREPARED_BYTES; i++)
            bytes[i] = (uint8_t)(i * 7 + i / 256);
    return bytes;
}

void fake_report(int node, struct control_report *report)
{
    static struct round_record rounds[AGENTS][ROUNDS];
    static struct span_record spans[AGENTS][SPANS];
    static struct evaluation_record evaluations[AGENTS][2];
    static uint8_t digests[AGENTS][32];
    for (uint32_t r = 0; r < ROUNDS; r++)
        rounds[node][r] = (struct round_record){.round = r, .held_ns = 1000 * (r + 1) + node};
    for (uint32_t s = 0; s < SPANS; s++)
        spans[node][s] = (struct span_record){.round = s % ROUNDS,
                                              .kind = s % SPAN_COUNT,
                                              .peer = s == 0 ? NO_PEER : s % AGENTS,
                                              .flags = s == 0 ? SPAN_OVERRUN : 0,
                                              .begin_ns = 100 * s + node,
                                              .end_ns = 100 * s + node + 50,
                                              .bytes = UINT64_C(1) << (40 + s)};
    for (uint32_t e = 0; e < 2; e++)
        evaluations[node][e] = (struct evaluation_record){
            .round = e * ROUNDS, .at_ns = 5000 + e, .loss = 2.25 + node, .accuracy = 0.5 + 0.125 * e, .sample_count = 10000};
    memset(digests[node], 0xa0 + node, sizeof(digests[node]));
    *report = (struct control_report){
        .rounds = rounds[node],
        .round_count = ROUNDS,
        .spans = spans[node],
        .span_count = SPANS,
        .evaluations = evaluations[node],
        .evaluation_count = 2,
        .counters = {.overruns = 10 + (uint64_t)node,
                     .gradient_mean_ns = 1.5e6,
                     .timer_late_max_ns = -1,
                     .private_bytes = UINT64_C(1) << 50},
        .model_sha256 = digests[node],
        .model_sha256_bytes = 32,
    };
}

void fake_send(struct fake_agent *agent, enum control_operation operation, const void *body)
{
    cleanup(text_free) struct text bytes = {0};
    if (control_operations[operation].body)
        wire_encode(control_operations[operation].body, body, &bytes);
    frame_send(agent->fd, (uint16_t)operation, CONTROL_VERSION, bytes.bytes, bytes.length, NULL);
}

void fake_answer(struct fake_agent *agent, enum control_operation operation)
{
    struct control_listening listening = {
        .blas = "OpenBLAS 0.3.21 Test", .gradient_ns = 100 + agent->node, .parameter_count = 1234};
    uint32_t each = agent->rounds_each,
             starts = (uint32_t)agent->starts; /* behind START: told of the last round but one, or of it */
    struct control_progress progress = {.rounds_done = starts * each - (each > 1), .at_ns = -7};
    struct control_report report;
    switch (operation) {
    case CONTROL_SETUP:
        fake_send(agent, CONTROL_LISTENING, &listening);
        break;
    case CONTROL_CONNECT:
    case CONTROL_SIZE:
        fake_send(agent, CONTROL_READY, NULL);
        break;
    case CONTROL_START:
        if (agent->node == 0)
            fake_send(agent, CONTROL_PROGRESS, &progress);
        fake_send(agent, CONTROL_DONE, NULL);
        break;
    case CONTROL_COLLECT:
        fake_report(agent->node, &report);
        fake_send(agent, CONTROL_REPORT, &report);
        break;
    default:
        agent->quit = operation == CONTROL_QUIT;
        break;
    }
}

static void look_at(struct fake_agent *agent, const struct frame *frame)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct control_setup setup;
    struct control_peer peer;
    if (frame->operation == CONTROL_PEER &&
        wire_decode(control_operations[CONTROL_PEER].body, frame->body, frame->length, arena, &peer, NULL) == 0 && peer.lost == 1) {
        agent->peers_lost |= 1U << peer.node;
        agent->peer_before_start |= agent->start.start_ns == 0;
    }
    struct control_size size;
    if (frame->operation == CONTROL_SIZE &&
        wire_decode(control_operations[CONTROL_SIZE].body, frame->body, frame->length, arena, &size, NULL) == 0)
        agent->sizes = size.position;
    agent->starts += frame->operation == CONTROL_START;
    if (frame->operation == CONTROL_START)
        wire_decode(control_operations[CONTROL_START].body, frame->body, frame->length, arena, &agent->start, NULL);
    if (frame->operation != CONTROL_SETUP ||
        wire_decode(control_operations[CONTROL_SETUP].body, frame->body, frame->length, arena, &setup, NULL) < 0)
        return;
    agent->rounds_each = setup.rounds;
    agent->setup_good = setup.node == (uint32_t)agent->node && setup.rounds * (setup.size_count ? setup.size_count : 1) == ROUNDS &&
                        strcmp(setup.scheme, "ring") == 0 &&
                        (setup.prepared_bytes == 0 ||
                         (setup.prepared_bytes == PREPARED_BYTES && memcmp(setup.prepared, fake_prepared(), PREPARED_BYTES) == 0));
}

static void *run_agent(void *context)
{
    struct fake_agent *agent = context;
    struct frame frame;
    while (!agent->quit && receive_frame(&agent->reader, agent->fd, INT64_MAX, &frame, NULL) == 0) {
        look_at(agent, &frame);
        if (agent->fault && frame.operation == agent->fault_at && !agent->fault(agent))
            break;
        if (!agent->fault || frame.operation != agent->fault_at)
            fake_answer(agent, frame.operation);
    }
    close_fd(&agent->fd);
    frame_reader_free(&agent->reader);
    return NULL;
}

void fake_agents_start(struct fake_agent *agents, const int *fds)
{
    fake_prepared();
    for (int i = 0; i < AGENTS; i++) {
        agents[i].node = i;
        agents[i].fd = fds[i];
        if (pthread_create(&agents[i].thread, NULL, run_agent, &agents[i]) != 0)
            abort();
    }
}

void fake_agents_join(struct fake_agent *agents)
{
    for (int i = 0; i < AGENTS; i++)
        pthread_join(agents[i].thread, NULL);
}
