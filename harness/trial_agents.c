/* trial_agents.c: the driver of trials in which our agents carry a scheme: one agent a node, led by the crew. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "harness/arm.h"
#include "harness/crew.h"
#include "harness/event_plan.h"
#include "harness/interruption.h"
#include "harness/message_sizes.h"
#include "harness/rounds.h"
#include "harness/trial_internal.h"
#include "harness/trial_setup.h"

struct trial_crew {
    struct crew *crew;
    struct blob *prepared; /* one a message size */
    int *sockets;          /* the controller's ends, one a node; the crew's once it is there */
    int socket_count;
};

enum { TRIAL_DESCRIPTORS_MAX = 2 };

static const int64_t SETUP_DEADLINE_NS = 30 * NS_PER_S, SETUP_DEADLINE_PER_NODE_NS = 100 * NS_PER_MS;
/* Without trial_deadline in the campaign file: ten times the prediction, more where agents share processors, and never under
 * half a minute. */
static const double RUN_DEADLINE_FACTOR = 10;
static const int64_t RUN_DEADLINE_MINIMUM_NS = 30 * NS_PER_S, RUN_DEADLINE_UNPREDICTED_NS = 600 * NS_PER_S,
                     RUN_DEADLINE_MAXIMUM_NS = INT64_MAX / 4;

/* With a worker that does not follow when the server has done all rounds; more where agents share processors. */
static const double LATE_LEAST_NS = 2e9;

/* ---- hooks of the loop and the crew ---- */

static void on_fabric_event(void *context, uint32_t events)
{
    (void)events;
    struct trial *trial = context;
    struct crew *crew = trial->agents->crew;
    int program;
    struct process_exit how;
    struct err err = {0};
    int got;
    while ((got = fabric_next_exit(trial->fabric, &program, &how, &err)) == 1) {
        char text[64];
        crew_process_ended(crew, program, process_describe(text, sizeof(text), &how));
    }
    if (got < 0)
        crew_abandon(crew, &err);
}

/* The third word of /proc/PID/stat, behind the name in brackets: T. */
static bool on_stopped(void *context, int node)
{
    const struct trial *trial = context;
    char path[32], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)fabric_pid(trial->fabric, node));
    cleanup(close_file) FILE *file = fopen(path, "re");
    const char *name_end = file && fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
    return name_end && strncmp(name_end, ") T", 3) == 0;
}

static void on_signal(void *context, uint32_t events)
{
    (void)events;
    struct trial *trial = context;
    if (interruption_pending())
        crew_interrupt(trial->agents->crew);
}

/* Of the rounds of one message size. */
static double rounds_deadline_ns(const struct trial *trial, const struct prediction *undisturbed)
{
    double crowding = 1 + trial->topology.host_count / (double)sysconf(_SC_NPROCESSORS_ONLN); /* agents share the processors */
    double run_ns = undisturbed->round_ns * trial->asked.setup.rounds * RUN_DEADLINE_FACTOR * crowding;
    if (!undisturbed->available || !(run_ns < (double)RUN_DEADLINE_MAXIMUM_NS)) /* infinite: a heavy tail without a mean */
        run_ns = 0;
    bool known = run_ns > 0 && !trial->asked.disturbance; /* what such a thing makes of the rounds nobody knows */
    return fmax(run_ns, (double)(known ? RUN_DEADLINE_MINIMUM_NS : RUN_DEADLINE_UNPREDICTED_NS));
}

static int64_t run_deadline_ns(struct trial *trial)
{
    const struct settings *settings = &trial->cell->settings;
    if (settings->trial_deadline_ns > 0)
        return settings->trial_deadline_ns;
    double sum_ns = 0;
    for (int i = 0; i < message_sizes_count(settings); i++)
        sum_ns += rounds_deadline_ns(trial, &trial->undisturbed[i]);
    return event_extra_ns(settings) + (int64_t)fmin(sum_ns, (double)RUN_DEADLINE_MAXIMUM_NS);
}

/* How long workers may take to hear that the rounds are over: behind a model for each of them on the way. */
static int64_t late_ns(const struct trial *trial)
{
    const struct scheme_setup *setup = &trial->asked.setup;
    double crowding = 1 + setup->nodes / (double)sysconf(_SC_NPROCESSORS_ONLN), slowest_ns = 0;
    for (int worker = 0; worker < setup->workers && setup->servers > 0; worker++) {
        struct path path = setup->path(setup->path_context, setup->workers, worker);
        double models_ns = (double)setup->parameter_count * sizeof(float) * setup->workers / path.bytes_per_second * 1e9;
        slowest_ns = fmax(slowest_ns, 2 * path.latency_ns + models_ns);
    }
    return (int64_t)fmin(LATE_LEAST_NS * crowding + RUN_DEADLINE_FACTOR * slowest_ns, (double)RUN_DEADLINE_MAXIMUM_NS);
}

/* c, the real work of a gradient, as the agents measured it while idle: the prediction for the network as asked uses it. */
static void predict_with_gradient(struct trial *trial)
{
    const struct node_result *results = crew_results(trial->agents->crew);
    const double before_ns = trial->asked.setup.gradient_ns;
    double gradient_ns = 0;
    for (int n = 0; n < trial->topology.host_count; n++)
        gradient_ns = fmax(gradient_ns, results[n].idle_gradient_ns);
    trial->asked.setup.gradient_ns = gradient_ns;
    if (gradient_ns != before_ns)
        trial_predict(trial);
}

static void on_before_start(void *context)
{
    struct trial *trial = context;
    predict_with_gradient(trial);
    crew_set_run_deadline(trial->agents->crew, run_deadline_ns(trial));
    fabric_reset_counters(trial->fabric, NULL);
    trial->load_before = host_load_now();
}

static void on_start(void *context, int64_t start_ns)
{
    trial_start(context, start_ns);
}

static void on_progress(void *context, uint32_t rounds_done, int64_t at_ns)
{
    struct trial *trial = context;
    trial->round_ns = at_ns;
    trial_round(trial, rounds_done);
}

static void on_ending(void *context)
{
    trial_ending(context);
}

static void on_after_done(void *context)
{
    trial_done(context);
}

/* ---- stages ---- */

static int prepare_scheme(struct trial *trial, struct err *err)
{
    const struct scheme_setup *setup = &trial->asked.setup;
    const size_t largest = setup->parameter_count;
    int count = message_sizes_count(&trial->cell->settings), result = 0;
    trial->agents->prepared = arena_new_array(trial->arena, struct blob, (size_t)count);
    for (int i = 0; i < count && setup->scheme->prepare && result == 0; i++) {
        forecast_take_size(&trial->asked, i);
        result = setup->scheme->prepare(setup, &trial->agents->prepared[i], err);
    }
    trial->asked.setup.parameter_count = largest;
    return result < 0 ? err_wrap(err, "preparing scheme %s", setup->scheme->name) : 0;
}

/* Until they connect, agents need no network: those that have SETUP waiting for them prepare while it is made. Those that
 * measure how long a gradient takes get it later, since that is to be measured while nothing else runs. */
static int make_crew(struct trial *trial, struct err *err)
{
    struct trial_crew *agents = trial->agents;
    const struct scheme_setup *setup = &trial->asked.setup;
    const struct workload_settings *workload = &trial->cell->settings.workload;
    int count = trial->topology.host_count;
    trial->loop = loop_new(err);
    if (!trial->loop)
        return -ERR_HOST;
    struct crew_spec spec = {
        .setups =
            trial_setups(trial->cell, trial->plan, &trial->asked, agents->prepared, trial->context->dataset_fd >= 0, trial->arena),
        .names = trial->names,
        .count = count,
        .sockets = agents->sockets,
        .loop = trial->loop,
        .arena = trial->arena,
        .setup_deadline_ns = SETUP_DEADLINE_NS + count * SETUP_DEADLINE_PER_NODE_NS,
        .run_deadline_ns = RUN_DEADLINE_UNPREDICTED_NS, /* on_before_start() knows better */
        .expendable = setup->scheme->flags & SCHEME_SURVIVES_PEER_LOSS ? setup->workers : 0,
        .teller = scheme_round_node(setup->scheme, setup->workers),
        .late_ns = late_ns(trial),
        .hooks = {.before_start = on_before_start,
                  .start = on_start,
                  .progress = on_progress,
                  .ending = on_ending,
                  .after_done = on_after_done,
                  .stopped = on_stopped,
                  .context = trial},
    };
    agents->socket_count = 0;
    agents->crew = crew_new(&spec, err);
    if (!agents->crew)
        return -ERR_HOST;
    if (workload->model == MODEL_SYNTHETIC || workload->gradients == GRADIENTS_NONE)
        crew_begin(agents->crew);
    return 0;
}

/* The agents' ends are closed here: only the agents themselves may keep a socket open, so that its closing means an agent's end. */
static int build_agents(struct trial *trial, struct err *err)
{
    int count = trial->topology.host_count;
    struct trial_crew *agents = trial->agents = arena_new_object(trial->arena, struct trial_crew);
    int result = prepare_scheme(trial, err);
    if (result < 0)
        return result;
    int(*pairs)[2] = arena_calloc(trial->arena, (size_t)count, sizeof(*pairs));
    int(*descriptors)[TRIAL_DESCRIPTORS_MAX] = arena_calloc(trial->arena, (size_t)count, sizeof(*descriptors));
    char *(*arguments)[3] = arena_calloc(trial->arena, (size_t)count, sizeof(*arguments));
    struct fabric_program *programs = arena_new_array(trial->arena, struct fabric_program, (size_t)count);
    agents->sockets = arena_new_array(trial->arena, int, (size_t)count);
    const struct arm *arm = trial->cell->arm;
    char **environment = arm && arm->environment ? arm_environment(trial->arena, arm) : NULL;
    int made = 0;
    for (; made < count; made++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[made]) < 0) {
            result =
                err_set_errno(err, ERR_HOST, errno, "making the control socket of node %s (raise the hard limit with `ulimit -Hn`)",
                              trial->names[made]);
            break;
        }
        agents->sockets[agents->socket_count++] = pairs[made][0];
        descriptors[made][0] = pairs[made][1];
        descriptors[made][1] = trial->context->dataset_fd;
        arguments[made][0] = "laggard-agent";
        arguments[made][1] = (char *)trial->names[made];
        programs[made] = (struct fabric_program){
            .place = made,
            .path = trial->context->agent_path,
            .arguments = arguments[made],
            .environment = environment,
            .descriptors = descriptors[made],
            .early = true, /* CONNECT comes when the network stands */
            .forks = true,
            .descriptor_count = trial->context->dataset_fd >= 0 ? 2 : 1,
        };
    }
    if (result == 0)
        result = make_crew(trial, err);
    if (result == 0)
        result = trial_build_fabric(trial, programs, count, err);
    for (int i = 0; i < made; i++)
        close_fd(&pairs[i][1]);
    return result;
}

static int run_agents(struct trial *trial, struct err *err)
{
    struct crew *crew = trial->agents->crew;
    if (!loop_watch(trial->loop, fabric_event_fd(trial->fabric), EPOLLIN, on_fabric_event, trial, err) ||
        (trial->context->signal_fd >= 0 && !loop_watch(trial->loop, trial->context->signal_fd, EPOLLIN, on_signal, trial, err)))
        return -ERR_HOST;
    int result = trial_ready(trial, err);
    if (result == 0)
        result = crew_run(crew, err);
    trial->ready_ns = crew_times(crew).ready_ns;
    return result;
}

static int judge_agents(struct trial *trial, struct trial_found *found, struct err *err)
{
    const struct crew *crew = trial->agents->crew;
    const struct node_result *results = crew_results(crew);
    const struct settings *settings = &trial->cell->settings;
    const struct crew_times times = crew_times(crew);
    int count = trial->topology.host_count, rounds = message_sizes_rounds(settings);
    int64_t *begins_ns = arena_new_array(trial->arena, int64_t, (size_t)message_sizes_count(settings));
    for (int i = 0; i < message_sizes_count(settings); i++)
        begins_ns[i] = times.starts_ns[i] - times.start_ns;
    const struct rounds_shape shape = {.size_count = message_sizes_count(settings),
                                       .rounds_each = message_sizes_rounds_each(settings),
                                       .warmup_each = settings->warmup_rounds,
                                       .begins_ns = begins_ns};
    struct round_summary *summaries = arena_new_array(trial->arena, struct round_summary, (size_t)rounds);
    const bool at_server = trial->asked.setup.scheme->flags & SCHEME_ROUNDS_AT_SERVER;
    int result =
        rounds_summarise(results, count, trial->names, &shape, at_server ? trial->asked.setup.workers : -1, summaries, err);
    if (result < 0)
        return result;
    for (int n = 0; n < count; n++)
        if (results[n].counters.check_failures > 0)
            return err_set(err, ERR_TRIAL,
                           "node %s found %" PRIu64 " of %" PRIu64
                           " values different from the exact mean: the scheme's result is wrong",
                           trial->names[n], results[n].counters.check_failures, results[n].counters.checks);
    *found = (struct trial_found){
        .nodes = results,
        .node_count = count,
        .rounds = summaries,
        .round_count = rounds,
        .parameter_count = message_sizes_swept(settings) ? 0 : (int64_t)crew_parameter_count(crew),
        .duration_ns = times.done_ns - times.start_ns,
        .between_ns = times.between_ns,
    };
    for (int n = 0; n < count; n++)
        found->gradient_ns = fmax(found->gradient_ns, results[n].counters.gradient_mean_ns);
    return 0;
}

static void conclude_agents(struct trial *trial)
{
    const struct crew *crew = trial->agents->crew;
    int count = trial->topology.host_count, lost = 0;
    for (int n = 0; crew && n < count; n++)
        lost += crew_loss(crew, n) != NULL;
    if (lost == 0)
        return;
    struct event_record *records = arena_new_array(trial->arena, struct event_record, (size_t)lost);
    for (int n = 0, at = 0; n < count; n++) {
        const struct crew_loss *loss = crew_loss(crew, n);
        if (loss)
            records[at++] = (struct event_record){.kind = "node-lost",
                                                  .text = loss->sentence,
                                                  .at_unix_ns = clock_wall_ns() - (clock_now_ns() - loss->at_ns),
                                                  .event = EVENT_NO_NUMBER,
                                                  .step = EVENT_NO_NUMBER,
                                                  .link = EVENT_NO_NUMBER,
                                                  .node = n,
                                                  .direction = EVENT_NO_NUMBER,
                                                  .happened = true,
                                                  .at_ns = loss->at_ns - crew_times(crew).start_ns};
    }
    trial->end.events = records;
    trial->end.event_count = lost;
}

static void abandon_agents(struct trial *trial, const struct err *reason)
{
    crew_abandon(trial->agents->crew, reason);
}

static void clean_agents(struct trial *trial)
{
    struct trial_crew *agents = trial->agents;
    if (!agents)
        return;
    crew_free(agents->crew);
    for (int i = 0; i < agents->socket_count; i++)
        close_fd(&agents->sockets[i]);
    for (int i = 0; agents->prepared && i < message_sizes_count(&trial->cell->settings); i++)
        free(agents->prepared[i].bytes);
}

const struct trial_driver trial_agents = {.build = build_agents,
                                          .run = run_agents,
                                          .conclude = conclude_agents,
                                          .judge = judge_agents,
                                          .abandon = abandon_agents,
                                          .clean = clean_agents};
