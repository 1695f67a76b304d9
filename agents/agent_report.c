/* agent_report.c: what is done once all rounds are over: evaluations, the last check, digests, counters. */
#include <nettle/sha2.h>
#include <sys/resource.h>

#include "agents/agent_internal.h"
#include "agents/workload.h"
#include "agents/world_emulated.h"
#include "base/arena.h"

static const uint8_t *digest(const float *floats, size_t count, struct arena *arena)
{
    struct sha256_ctx context;
    uint8_t *bytes = arena_alloc(arena, SHA256_DIGEST_SIZE);
    sha256_init(&context);
    sha256_update(&context, count * sizeof(float), (const uint8_t *)floats);
    sha256_digest(&context, SHA256_DIGEST_SIZE, bytes);
    return bytes;
}

/* The final model; of a synthetic workload, which has none, the last sum. */
static const float *final_vector(struct node *node, const struct workload *workload)
{
    const struct scheme *scheme = node->setup->scheme;
    const float *model = scheme->model_to_evaluate ? scheme->model_to_evaluate(node) : NULL;
    if (!node->setup->values_carried)
        return NULL;
    return model ? model : workload_last_sum(workload);
}

static const struct evaluation_record *evaluate(const struct recorder *recorder, struct workload *workload, struct arena *arena)
{
    struct evaluation_record *evaluations = arena_new_array(arena, struct evaluation_record, recorder->snapshot_count);
    for (uint32_t i = 0; i < recorder->snapshot_count; i++) {
        const struct snapshot *snapshot = &recorder->snapshots[i];
        evaluations[i].round = snapshot->round;
        evaluations[i].at_ns = snapshot->at_ns;
        workload_evaluate(workload, snapshot->model, &evaluations[i].loss, &evaluations[i].accuracy, &evaluations[i].sample_count);
    }
    return evaluations;
}

static void count_host(const struct host_counters *host, struct node_counters *counters)
{
    struct rusage usage;
    counters->tcp_timeouts = host_counters_timeouts(host) - host->timeouts_before;
    counters->private_bytes = host_counters_private_bytes(host);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        counters->peak_rss_bytes = (uint64_t)usage.ru_maxrss << 10;
}

int agent_report_make(struct agent_node *node, const struct host_counters *host, struct arena *arena, struct control_report *report,
                      struct err *err)
{
    struct workload *workload = node->workload;
    const struct recorder *recorder = &node->recorder;
    struct node *scheme_node = emulated_node(node->emulated);
    char sentence[512];
    if (!workload_check_last(workload, sentence, sizeof(sentence)))
        return err_set(err, ERR_TRIAL, "node %d: %s", scheme_node->index, sentence);
    const float *final = final_vector(scheme_node, workload);
    *report = (struct control_report){
        .rounds = recorder->rounds,
        .round_count = recorder->round_count,
        .spans = recorder->spans,
        .span_count = recorder->span_count,
        .evaluations = evaluate(recorder, workload, arena),
        .evaluation_count = recorder->snapshot_count,
        .model_sha256 = final ? digest(final, workload_parameter_count(workload), arena) : NULL,
        .model_sha256_bytes = final ? SHA256_DIGEST_SIZE : 0,
    };
    emulated_counters(node->emulated, &report->counters);
    count_host(host, &report->counters);
    return 0;
}
