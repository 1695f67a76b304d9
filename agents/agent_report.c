/* agent_report.c: what is done once all rounds are over: evaluations, the last check, digests, counters. */
#include <sys/resource.h>

#include "agents/agent_internal.h"
#include "agents/node_report.h"
#include "agents/workload.h"
#include "agents/world_emulated.h"

static void count_host(const struct host_counters *host, struct node_counters *counters)
{
    struct rusage usage;
    counters->tcp_timeouts = host_counters_timeouts(host) - host->timeouts_before;
    counters->private_bytes = host_counters_private_bytes(host);
    counters->loop_busy_ns = host->use[THREAD_LOOP].busy_ns;
    counters->loop_wait_ns = host->use[THREAD_LOOP].wait_ns;
    counters->compute_busy_ns = host->use[THREAD_COMPUTE].busy_ns;
    counters->compute_wait_ns = host->use[THREAD_COMPUTE].wait_ns;
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
    const uint8_t *digest = node_report_digest(scheme_node, workload, arena);
    *report = (struct control_report){
        .rounds = recorder->rounds,
        .round_count = recorder->round_count,
        .spans = recorder->spans,
        .span_count = recorder->span_count,
        .gradients = recorder->gradients,
        .gradient_count = recorder->gradient_count,
        .evaluations = node_report_evaluations(recorder, workload, arena),
        .evaluation_count = recorder->snapshot_count,
        .samples = node->sampler.records,
        .sample_count = node->sampler.count,
        .model_sha256 = digest,
        .model_sha256_bytes = digest ? NODE_REPORT_DIGEST_BYTES : 0,
    };
    emulated_counters(node->emulated, &report->counters);
    count_host(host, &report->counters);
    report->counters.samples_lost = node->sampler.lost;
    return 0;
}
