/* agents/schemes/allreduce_rounds.h: synchronous training by an all-reduce of every gradient: what the schemes of this family
 * share, whatever the algorithm (agents/collectives/). A scheme's row is a few lines: its `detail` is the algorithm. */
#ifndef LAGGARD_AGENTS_SCHEMES_ALLREDUCE_ROUNDS_H
#define LAGGARD_AGENTS_SCHEMES_ALLREDUCE_ROUNDS_H

#include "agents/collectives/allreduce.h"
#include "agents/scheme.h"

/* The parameters that every scheme of the family has; the algorithm's own, if it has one, comes in front of them. */
enum allreduce_common {
    ALLREDUCE_BUCKET,
    ALLREDUCE_OVERLAP,
    ALLREDUCE_COMPRESS,
    ALLREDUCE_COMPRESS_SHARE,
    ALLREDUCE_COMPRESS_LEVELS,
    ALLREDUCE_COMPRESS_RANK
};
#define ALLREDUCE_PARAMS                                                                                                           \
    {.name = "bucket",                                                                                                             \
     .unit = PARAM_BYTES,                                                                                                          \
     .minimum = 0,                                                                                                                 \
     .maximum = 1 << 30,                                                                                                           \
     .standard = 0,                                                                                                                \
     .help = "the gradient is cut into buckets of so many bytes, 64 at most, with an all-reduce each; 0: one"},                    \
        {.name = "overlap",                                                                                                        \
         .unit = PARAM_BOOL,                                                                                                       \
         .maximum = 1,                                                                                                             \
         .standard = 0,                                                                                                            \
         .help = "whether a bucket is sent while the gradient of others is still computed"},                                       \
        {.name = "compress",                                                                                                       \
         .unit = PARAM_CHOICE,                                                                                                     \
         .maximum = COMPRESSOR_COUNT - 1,                                                                                          \
         .standard = COMPRESSOR_NONE,                                                                                              \
         .choices = compressor_choices,                                                                                            \
         .help = "what makes gradients smaller before they travel; all but powersgd need naive or allreduce-auto"},                \
        {.name = "compress_share",                                                                                                 \
         .unit = PARAM_NUMBER,                                                                                                     \
         .minimum = 1e-6,                                                                                                          \
         .maximum = 1,                                                                                                             \
         .standard = 0.01,                                                                                                         \
         .help = "top-k: the share of the gradient's entries that travel"},                                                        \
        {.name = "compress_levels",                                                                                                \
         .unit = PARAM_COUNT,                                                                                                      \
         .minimum = 1,                                                                                                             \
         .maximum = 127,                                                                                                           \
         .standard = 7,                                                                                                            \
         .help = "qsgd: levels above zero that a value is rounded to; 1, 3, 7 take 2, 3, 4 bits a value"},                         \
    {                                                                                                                              \
        .name = "compress_rank", .unit = PARAM_COUNT, .minimum = 1, .maximum = 64, .standard = 2,                                  \
        .help = "powersgd: rank of the factors that stand for a layer's gradient"                                                  \
    }

#define ALLREDUCE_PARAM_SEGMENT                                                                                                    \
    {                                                                                                                              \
        .name = "segment", .unit = PARAM_BYTES, .minimum = 0, .maximum = 1 << 30, .standard = 0,                                   \
        .help = "bytes sent at once, a part of a chunk; 0: two segments a chunk or more, each of 4 KiB to 1 MiB"                   \
    }

/* The algorithm that takes the place of the given one where gradients are compressed; `shape` learns how. */
const struct allreduce_algorithm *allreduce_rounds_compressed(const struct scheme_setup *setup,
                                                              const struct allreduce_algorithm *algorithm,
                                                              struct allreduce_shape *shape);

/* The algorithm, and what its messages are decided by; with compression the one that carries it. */
const struct allreduce_algorithm *allreduce_rounds_algorithm(const struct scheme_setup *setup, struct allreduce_shape *shape);

bool allreduce_rounds_approximates(const struct scheme_setup *setup);
int allreduce_rounds_check(const struct scheme_setup *setup, struct err *err);
bool allreduce_rounds_talks(const struct scheme_setup *setup, int node, int peer);
uint64_t allreduce_rounds_spans(const struct scheme_setup *setup, int node);
void allreduce_rounds_prepare(struct node *node);
void allreduce_rounds_start(struct node *node);
void allreduce_rounds_on_task(struct node *node, const struct task_result *result);
struct landing allreduce_rounds_on_header(struct node *node, const struct message *message);
void allreduce_rounds_on_message(struct node *node, const struct message *message);
void allreduce_rounds_on_sent(struct node *node, struct buffer *buffer, int destination);
const float *allreduce_rounds_model(struct node *node);
void allreduce_rounds_predict(const struct scheme_setup *setup, struct prediction *prediction);

enum { ALLREDUCE_BUCKETS_MAX = 64 };
struct allreduce_bucket {
    struct allreduce *allreduce;
    struct allreduce_range range;
    size_t missing; /* floats of the gradient that are not final yet */
    bool owes_step; /* its sum was there before the whole gradient was */
};
struct allreduce_rounds_state { /* here for its size alone */
    struct allreduce_bucket *buckets;
    int bucket_count, bucket_channels; /* each */
    int open;                          /* all-reduces of this round that are not done */
    int *members;
    float *model; /* NULL: synthetic, or values are not carried */
    float *gradient, *sum;
    bool computing;
    uint64_t round;
    uint32_t generation; /* of the running gradient */
};

/* Everything of a row but its name, texts and parameters; NULL: allreduce-auto's choice. */
#define ALLREDUCE_ROUNDS(algorithm_row)                                                                                            \
    .family = FAMILY_ALLREDUCE, .detail = (algorithm_row), .state_bytes = sizeof(struct allreduce_rounds_state),                   \
    .check = allreduce_rounds_check, .talks = allreduce_rounds_talks, .spans_a_round = allreduce_rounds_spans,                     \
    .approximates = allreduce_rounds_approximates, .prepare_node = allreduce_rounds_prepare, .start = allreduce_rounds_start,      \
    .on_task = allreduce_rounds_on_task, .on_header = allreduce_rounds_on_header, .on_message = allreduce_rounds_on_message,       \
    .on_sent = allreduce_rounds_on_sent, .model_to_evaluate = allreduce_rounds_model, .predict = allreduce_rounds_predict

#endif
