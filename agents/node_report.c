/* node_report.c: evaluations and digests; see node_report.h. */
#include "agents/node_report.h"

#include <nettle/sha2.h>

#include "agents/recorder.h"
#include "agents/workload.h"
#include "base/arena.h"

/* The final model; of a synthetic workload, which has none, the last sum. */
static const float *final_vector(struct node *node, const struct workload *workload)
{
    const struct scheme *scheme = node->setup->scheme;
    if (!node->setup->values_carried)
        return NULL;
    const float *model = scheme->model_to_evaluate ? scheme->model_to_evaluate(node) : NULL;
    return model ? model : workload_last_sum(workload);
}

const uint8_t *node_report_digest(struct node *node, const struct workload *workload, struct arena *arena)
{
    const float *floats = final_vector(node, workload);
    if (!floats)
        return NULL;
    struct sha256_ctx context;
    uint8_t *bytes = arena_alloc(arena, NODE_REPORT_DIGEST_BYTES);
    sha256_init(&context);
    sha256_update(&context, workload_parameter_count(workload) * sizeof(float), (const uint8_t *)floats);
    sha256_digest(&context, NODE_REPORT_DIGEST_BYTES, bytes);
    return bytes;
}

const struct evaluation_record *node_report_evaluations(const struct recorder *recorder, struct workload *workload,
                                                        struct arena *arena)
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
