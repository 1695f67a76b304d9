/* agents_loopback.c: runs one trial of real agents on loopback addresses 127.0.0.1, 127.0.0.2 ... without namespaces or links, as a
 * controller would, and prints TAP: that every node finished, that all hold the same vector, that every reduction was right, and
 * that each sent the bytes that theory says. A tool for work on schemes and agents:
 *
 *     build/release/tests/netns/agents_loopback --scheme ring --workers 4 --model synthetic --size 25MiB --rounds 20
 *     segment=1048576
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "agents/scheme.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/options.h"
#include "base/process.h"
#include "base/text.h"
#include "base/units.h"
#include "schemas/control.h"
#include "tests/child.h"
#include "tests/netns/loopback_bytes.h"
#include "tests/netns/loopback_options.h"
#include "tests/receive.h"

enum { LOOPBACK = 0x7f000001 };

struct member {
    struct process process;
    int fd;
    struct frame_reader reader;
    struct control_report report;
};
struct rig {
    const struct loopback_options *options;
    const struct scheme *scheme;
    bool approximates;
    struct blob prepared;
    struct control_value values[SCHEME_PARAMS_MAX];
    int workers, nodes;
    uint64_t parameter_count;
    struct arena *arena;
    struct member members[NODES_MAX];
};

static int tests_run, tests_failed;

static void check(bool good, const char *what)
{
    tests_failed += !good;
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++tests_run, what);
}

static void release(struct rig *rig)
{
    for (int i = 0; i < rig->nodes; i++) {
        close_fd(&rig->members[i].fd);
        process_end(&rig->members[i].process);
        frame_reader_free(&rig->members[i].reader);
    }
    free(rig->prepared.bytes);
    arena_cleanup(&rig->arena);
}

/* ---- the controller's side of the protocol ---- */

static int say(struct rig *rig, int node, enum control_operation operation, const void *body, struct err *err)
{
    cleanup(text_free) struct text bytes = {0};
    if (control_operations[operation].body)
        wire_encode(control_operations[operation].body, body, &bytes);
    return frame_send(rig->members[node].fd, (uint16_t)operation, CONTROL_VERSION, bytes.bytes, bytes.length, err);
}

static int hear(struct rig *rig, int node, enum control_operation wanted, void *body, int64_t deadline_ns, struct err *err)
{
    struct frame frame;
    do {
        if (receive_frame(&rig->members[node].reader, rig->members[node].fd, deadline_ns, &frame, err) < 0)
            return err_wrap(err, "node %d, waiting for %s", node, control_operations[wanted].name);
    } while (frame.operation == CONTROL_PROGRESS);
    struct control_failure failure = {0};
    if (frame.operation == CONTROL_FAILURE &&
        wire_decode(control_operations[CONTROL_FAILURE].body, frame.body, frame.length, rig->arena, &failure, err) == 0)
        return err_set(err, ERR_TRIAL, "node %d, round %u: %s", node, failure.round, failure.text);
    if (frame.operation != wanted || frame.version != CONTROL_VERSION)
        return err_set(err, ERR_TRIAL, "node %d sent operation %u instead of %s", node, frame.operation,
                       control_operations[wanted].name);
    const struct wire_table *table = control_operations[wanted].body;
    return table ? wire_decode(table, frame.body, frame.length, rig->arena, body, err) : 0;
}

static int start_agent(struct rig *rig, int node, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, ERR_HOST, "no socket pair");
    cleanup(close_fd) int agent_end = pair[1];
    rig->members[node].fd = pair[0];
    char *const arguments[] = {(char *)"laggard-agent", NULL};
    struct process_spec spec = {
        .path = rig->options->agent, .arguments = arguments, .descriptors = &agent_end, .descriptor_count = 1};
    return child_start(&spec, &rig->members[node].process, err);
}

static struct path equal_path(const void *context, int from, int to)
{
    (void)context;
    (void)from;
    (void)to;
    return (struct path){.latency_ns = 1e5, .bytes_per_second = 1e9};
}

static int send_setup(struct rig *rig, int node, struct err *err)
{
    const struct loopback_options *options = rig->options;
    struct control_node *nodes = arena_new_array(rig->arena, struct control_node, (size_t)rig->nodes);
    for (int i = 0; i < rig->nodes; i++)
        nodes[i] = (struct control_node){.name = "node",
                                         .role = i < rig->workers ? ROLE_WORKER : ROLE_SERVER,
                                         .address = LOOPBACK + (uint32_t)i,
                                         .slow_factor = 1};
    uint64_t size_bytes = 0;
    if (units_parse_size(options->size, 4, UINT64_C(1) << 32, &size_bytes, err) < 0)
        return -ERR_USAGE;
    if (rig->scheme->prepare && !rig->prepared.bytes) { /* as for a network of equal paths */
        struct scheme_setup scheme = {.scheme = rig->scheme,
                                      .workers = rig->workers,
                                      .servers = rig->nodes - rig->workers,
                                      .parameter_count = options->model == MODEL_SYNTHETIC ? size_bytes / sizeof(float) : 10000,
                                      .seed = options->seed,
                                      .values_carried = options->gradients == GRADIENTS_REAL,
                                      .path = equal_path};
        for (int i = 0; i < rig->scheme->param_count; i++)
            scheme.values[i] = rig->values[i].value;
        if (rig->scheme->prepare(&scheme, &rig->prepared, err) < 0)
            return -ERR_USAGE;
    }
    struct control_layer layer = {.width = (uint32_t)options->hidden};
    struct control_setup setup = {
        .node = (uint32_t)node,
        .nodes = nodes,
        .node_count = (uint32_t)rig->nodes,
        .port = (uint32_t)options->port,
        .seed = options->seed,
        .scheme = rig->scheme->name,
        .values = rig->values,
        .value_count = (uint32_t)rig->scheme->param_count,
        .model = (uint32_t)options->model,
        .gradients = (uint32_t)options->gradients,
        .dataset_path = options->dataset,
        .layers = &layer,
        .layer_count = options->model == MODEL_MLP,
        .batch = (uint32_t)options->batch,
        .learning_rate = 0.1,
        .rounds = (uint32_t)options->rounds,
        .evaluate_every = (uint32_t)options->evaluate_every,
        .size_bytes = size_bytes,
        .compute_time = {.kind = options->compute_ns < 0 ? DISTRIBUTION_MEASURED : DISTRIBUTION_CONSTANT,
                         .value_ns = (double)options->compute_ns},
        .record_spans = !options->no_spans,
        .prepared = rig->prepared.bytes,
        .prepared_bytes = (uint32_t)rig->prepared.length,
    };
    return say(rig, node, CONTROL_SETUP, &setup, err);
}

/* Says `operation` to all (unless it is 0, already said), then hears `answer` from all. */
static int phase(struct rig *rig, enum control_operation operation, const void *body, enum control_operation answer,
                 int64_t limit_ns, struct err *err)
{
    int64_t deadline_ns = clock_now_ns() + limit_ns;
    for (int i = 0; i < rig->nodes && operation; i++)
        if (say(rig, i, operation, body, err) < 0)
            return -ERR_TRIAL;
    for (int i = 0; i < rig->nodes; i++) {
        struct control_listening listening;
        void *into = answer == CONTROL_LISTENING ? (void *)&listening : answer == CONTROL_REPORT ? &rig->members[i].report : NULL;
        if (hear(rig, i, answer, into, deadline_ns, err) < 0)
            return -ERR_TRIAL;
        if (answer == CONTROL_LISTENING)
            rig->parameter_count = listening.parameter_count;
    }
    return 0;
}

/* ---- what came out ---- */

static void report_rounds(const struct rig *rig)
{
    int64_t begin_ns = 0, total_ns = 0, least_ns = INT64_MAX;
    for (uint32_t round = 0; round < (uint32_t)rig->options->rounds; round++) {
        int64_t end_ns = begin_ns;
        for (int i = rig->scheme->flags & SCHEME_ROUNDS_AT_SERVER ? rig->workers : 0; i < rig->nodes; i++)
            end_ns = rig->members[i].report.rounds[round].held_ns > end_ns ? rig->members[i].report.rounds[round].held_ns : end_ns;
        int64_t took_ns = end_ns - begin_ns;
        if (rig->options->print_rounds)
            printf("# round %u: %.3f ms\n", round, (double)took_ns / 1e6);
        total_ns += took_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
        begin_ns = end_ns;
    }
    printf("# %" PRId64 " rounds, mean %.3f ms, least %.3f ms\n", rig->options->rounds,
           (double)total_ns / 1e6 / (double)rig->options->rounds, (double)least_ns / 1e6);
    for (int i = 0; i < rig->nodes; i++) {
        const struct control_report *report = &rig->members[i].report;
        const struct node_counters *counters = &report->counters;
        printf("# node %d: %u spans (%" PRIu64 " lost), sent %" PRIu64 " B in %" PRIu64 " messages, %" PRIu64
               " retransmits, %" PRIu64 " checks, %" PRIu64 " overruns, gradient %.3f ms, latest timer %.3f ms, private %" PRIu64
               " KiB\n",
               i, report->span_count, counters->spans_lost, counters->sent_payload_bytes, counters->sent_messages,
               counters->tcp_retransmits, counters->checks, counters->overruns, counters->gradient_mean_ns / 1e6,
               (double)counters->timer_late_max_ns / 1e6, counters->private_bytes >> 10);
        for (uint32_t k = 0; k < report->evaluation_count; k++)
            printf("# node %d: after %u rounds loss %.4f, accuracy %.4f\n", i, report->evaluations[k].round,
                   report->evaluations[k].loss, report->evaluations[k].accuracy);
    }
}

static void check_bytes(const struct rig *rig)
{
    const struct loopback_sum sum = {.scheme = rig->scheme,
                                     .values = rig->values,
                                     .workers = rig->workers,
                                     .parameter_count = rig->parameter_count,
                                     .synthetic = rig->options->model == MODEL_SYNTHETIC};
    const double expected = loopback_bytes(&sum) * (double)rig->options->rounds;
    if (expected < 0)
        return;
    uint64_t sent = 0;
    for (int i = 0; i < rig->workers; i++)
        sent += rig->members[i].report.counters.sent_payload_bytes;
    printf("# workers sent %" PRIu64 " B, expected %.0f B\n", sent, expected);
    check((double)sent == expected, "the workers sent as many bytes as the formula says");
}

static void check_reports(const struct rig *rig)
{
    bool rounds = true, digests = true, sums = true, unchecked = true, checked = rig->options->gradients == GRADIENTS_NONE;
    const uint8_t *digest = NULL;
    for (int i = 0; i < rig->nodes; i++) {
        const struct control_report *report = &rig->members[i].report;
        const bool may_leave_out = i < rig->workers && rig->scheme->flags & SCHEME_ROUNDS_AT_SERVER;
        rounds &= may_leave_out || report->round_count == (uint32_t)rig->options->rounds;
        sums &= report->counters.check_failures == 0;
        /* One float that differs with the step tells nothing where steps are mixed. */
        const bool mixed = rig->scheme->flags & (SCHEME_ASYNCHRONOUS | SCHEME_REPEATS_WORKERS);
        unchecked &= report->counters.checks == 0;
        checked |= report->counters.checks > 0 || rig->options->model != MODEL_SYNTHETIC || (mixed && rig->parameter_count == 1);
        if (report->model_sha256_bytes == 0)
            continue;
        digest = digest ? digest : report->model_sha256;
        digests &= memcmp(digest, report->model_sha256, report->model_sha256_bytes) == 0;
    }
    check(rounds, "every node held the model of every round");
    if (rounds)
        report_rounds(rig);
    if (rig->approximates)
        check(unchecked, "approximate sums do not count as checked");
    else
        check(sums && checked, "values were checked and none differed");
    const bool two_sums = rig->scheme->extra_vectors > 1 && rig->options->model == MODEL_SYNTHETIC; /* either may be the last one */
    const bool own_models = two_sums || rig->scheme->family == FAMILY_DECENTRALISED || rig->scheme->flags & SCHEME_ASYNCHRONOUS;
    if (!own_models && !(rig->scheme->flags & SCHEME_ROUNDS_AT_SERVER) && rig->options->gradients == GRADIENTS_REAL)
        check(digest && digests, "all nodes end with the same vector");
    check_bytes(rig);
}

static bool all_exit(struct rig *rig)
{
    bool good = true;
    struct err err;
    for (int i = 0; i < rig->nodes; i++)
        good &= say(rig, i, CONTROL_QUIT, NULL, &err) == 0;
    for (int i = 0; i < rig->nodes; i++) {
        struct process_exit how = {0};
        char text[64];
        struct pollfd ended = {.fd = rig->members[i].process.pidfd, .events = POLLIN};
        if (poll(&ended, 1, 10000) != 1) {
            printf("# node %d did not end within 10 s\n", i);
            good = false;
        } else if (child_wait(&rig->members[i].process, &how) < 0 || !how.exited || how.status != 0) {
            printf("# node %d ended with %s\n", i, process_describe(text, sizeof(text), &how));
            good = false;
        }
    }
    return good;
}

static int run(struct rig *rig, struct err *err)
{
    int64_t begin_ns = clock_now_ns();
    for (int i = 0; i < rig->nodes; i++)
        if (start_agent(rig, i, err) < 0 || send_setup(rig, i, err) < 0)
            return -ERR_TRIAL;
    if (phase(rig, 0, NULL, CONTROL_LISTENING, 60 * NS_PER_S, err) < 0)
        return -ERR_TRIAL;
    int64_t listening_ns = clock_now_ns();
    if (phase(rig, CONTROL_CONNECT, NULL, CONTROL_READY, 15 * NS_PER_S, err) < 0)
        return -ERR_TRIAL;
    printf("# %d agents listening after %.2f ms, connected after %.2f ms more\n", rig->nodes,
           (double)(listening_ns - begin_ns) / 1e6, (double)(clock_now_ns() - listening_ns) / 1e6);
    struct control_start start = {.start_ns = clock_now_ns() + 20 * NS_PER_MS};
    if (phase(rig, CONTROL_START, &start, CONTROL_DONE, 300 * NS_PER_S, err) < 0)
        return -ERR_TRIAL;
    return phase(rig, CONTROL_COLLECT, NULL, CONTROL_REPORT, 60 * NS_PER_S, err);
}

int main(int argc, char **argv)
{
    char agent[PATH_MAX];
    char *slash = strstr(argv[0], "tests/netns/");
    snprintf(agent, sizeof(agent), "%.*slaggard-agent", slash ? (int)(slash - argv[0]) : 0, argv[0]);
    struct loopback_options options = {.scheme = "ring",
                                       .size = "1MiB",
                                       .dataset = "",
                                       .agent = agent,
                                       .model = MODEL_SYNTHETIC,
                                       .workers = 4,
                                       .rounds = 10,
                                       .batch = 32,
                                       .hidden = 64,
                                       .port = 7700,
                                       .compute_ns = -1,
                                       .seed = 1};
    struct err err = {0};
    int positionals = 0;
    int parsed = options_parse(&options_table, argc, argv, &options, &positionals, &err);
    cleanup(release) struct rig rig = {.options = &options, .arena = arena_new(), .scheme = scheme_find(options.scheme)};
    if (parsed == 1)
        return 0;
    for (int i = 0; parsed == 0 && options.list && i < scheme_count(); i++)
        printf("%s\n", scheme_at(i)->name);
    if (options.list)
        return 0;
    if (parsed == 0 && !rig.scheme)
        parsed = err_set(&err, ERR_USAGE, "there is no scheme '%s'", options.scheme);
    if (parsed == 0)
        parsed = loopback_parameters(rig.scheme, argv, positionals, rig.values, &err);
    if (parsed < 0) {
        fprintf(stderr, "agents_loopback: %s\n", err.text);
        return 2;
    }
    double values[SCHEME_PARAMS_MAX] = {0};
    for (int i = 0; i < rig.scheme->param_count; i++)
        values[i] = rig.values[i].value;
    rig.workers = (int)options.workers;
    rig.nodes = rig.workers + scheme_servers(rig.scheme, rig.workers, values);
    if (rig.nodes > NODES_MAX)
        rig.nodes = NODES_MAX;
    for (int i = 0; i < NODES_MAX; i++)
        rig.members[i] = (struct member){.process = PROCESS_NONE, .fd = -1};

    struct scheme_setup setup = {.scheme = rig.scheme, .workers = rig.workers, .servers = rig.nodes - rig.workers};
    memcpy(setup.values, values, sizeof(values));
    if (rig.scheme->check && rig.scheme->check(&setup, &err) < 0) { /* as a campaign would be */
        printf("# not run: %s\n1..0\n", err.text);
        return 0;
    }

    rig.approximates = scheme_approximates(&setup);
    bool good = run(&rig, &err) == 0;
    check(good, "every agent set up, connected, ran its rounds and reported");
    if (good) {
        check_reports(&rig);
        check(all_exit(&rig), "every agent ends with status 0 when told to");
    } else {
        printf("# %s\n", err.text);
    }
    printf("1..%d\n", tests_run);
    return tests_failed ? 1 : 0;
}
