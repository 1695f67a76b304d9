/* tests/unit/test_compressed_rounds.c: rounds of compressed gradients in the hostile world: every node takes the same step, bit
 * for bit, and it is the one that a plain computation finds; bytes are as many as promised; what cannot be is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agents/predict.h"
#include "agents/schemes/allreduce_rounds.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { ROUNDS = 8, WORKERS_MAX = 8, COUNT_MOST = 3000 };
static const int worker_counts[] = {1, 2, 3, 5, 8};
static const size_t float_counts[] = {1, 2, 7, 600, 3000};

static int behind(const struct scheme_setup *setup)
{
    const struct allreduce_algorithm *algorithm = setup->scheme->detail;
    return algorithm && algorithm->parameter != ALLREDUCE_NO_PARAMETER;
}

static struct scheme_setup compressed(const char *scheme, int workers, size_t count, int compress)
{
    struct scheme_setup setup = scheme_setup_of(scheme, workers, count, 0);
    if (setup.scheme->detail == &allreduce_hierarchical)
        setup.values[0] = workers % 2 ? 1 : 2;
    setup.values[behind(&setup) + ALLREDUCE_COMPRESS] = compress;
    setup.values[behind(&setup) + ALLREDUCE_COMPRESS_SHARE] = 0.1;
    setup.rounds = ROUNDS;
    return setup;
}

/* ---- what every node finds ---- */

struct found {
    const struct scheme_setup *setup;
    bool whole; /* whole numbers as gradients, that are sums of the reference without rounding */
    float sums[WORKERS_MAX][ROUNDS][COUNT_MOST];
    size_t told[WORKERS_MAX];
};
static struct found found;

static float gradient_at(int worker, uint64_t step, size_t i)
{
    uint64_t mixed = (i + 1) * 2654435761u + step * 40503u + (uint64_t)worker * 977u;
    return (float)(mixed % 2003) - 1001;
}

static void make_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct found *all = context;
    (void)model;
    for (size_t i = 0; i < all->setup->parameter_count; i++)
        gradient[i] = gradient_at(worker, step, i);
}

static void note_sum(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct found *all = context;
    assert_int_equal(contributors, all->setup->workers);
    memcpy(all->sums[node][step] + first, sum + first, count * sizeof(float));
    all->told[node] += count;
}

static void run(struct scheme_setup *setup, uint64_t seed)
{
    struct blob prepared = {0};
    if (setup->scheme->prepare)
        assert_int_equal(setup->scheme->prepare(setup, &prepared, NULL), 0);
    cleanup(free_pointer) uint8_t *bytes_of_choice = prepared.bytes;
    setup->prepared = prepared.bytes;
    setup->prepared_bytes = prepared.length;
    found.setup = setup;
    memset(found.told, 0, sizeof(found.told));
    struct memory_world_settings settings = memory_world_hostile(setup, seed);
    settings.context = &found;
    settings.gradient = make_gradient;
    settings.check = note_sum;
    struct err err = {0};
    if (setup->scheme->check(setup, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(scheme_approximates(setup));
    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
    memory_world_run(world);
    if (memory_world_failure(world))
        fail_msg("%s", memory_world_failure(world));
    assert_int_equal(memory_world_buffers_out(world), 0);
    struct allreduce_shape shape;
    const struct allreduce_algorithm *algorithm = allreduce_rounds_algorithm(setup, &shape);
    const size_t buckets = (setup->parameter_count + shape.count - 1) / shape.count;
    for (int node = 0; node < setup->workers; node++) {
        struct memory_node_result result = memory_world_result(world, node);
        assert_true(result.finished);
        assert_int_equal(result.rounds_finished, ROUNDS);
        assert_int_equal(found.told[node], ROUNDS * setup->parameter_count);
        uint64_t bytes = 0, spans = 0;
        for (size_t bucket = 0; bucket < buckets; bucket++) {
            shape.count = allreduce_cut(0, setup->parameter_count, buckets, bucket).count;
            bytes += algorithm->sent_bytes(algorithm, &shape, node);
        }
        assert_int_equal(result.sent_bytes, ROUNDS * bytes);
        for (int kind = 0; kind < SPAN_COUNT; kind++)
            spans += result.spans[kind];
        assert_true(spans <= ROUNDS * setup->scheme->spans_a_round(setup, node));
        for (int round = 0; round < ROUNDS; round++)
            assert_memory_equal(found.sums[node][round], found.sums[0][round], setup->parameter_count * sizeof(float));
    }
    setup->prepared = NULL;
    setup->prepared_bytes = 0;
}

/* ---- encoded: against encoders that are run here, in the order of workers ---- */

static void compare_with_encoders(const struct scheme_setup *setup)
{
    static float residual[COUNT_MOST], gradient[COUNT_MOST], sums[ROUNDS][COUNT_MOST];
    static uint8_t bytes[8 * COUNT_MOST + 64];
    struct allreduce_shape shape;
    allreduce_rounds_algorithm(setup, &shape);
    const struct compression *compression = &shape.compression;
    const size_t buckets = (setup->parameter_count + shape.count - 1) / shape.count;
    memset(sums, 0, sizeof(sums));
    for (int worker = 0; worker < setup->workers; worker++) {
        struct rng rng = rng_stream(setup->seed, setup->cell, (uint32_t)worker, RNG_SCHEME);
        rng_u64(&rng); /* of channel 0, which is the scheme's */
        memset(residual, 0, sizeof(residual));
        for (size_t bucket = 0; bucket < buckets; bucket++) {
            const struct allreduce_range range = allreduce_cut(0, setup->parameter_count, buckets, bucket);
            const uint64_t seed = rng_u64(&rng);
            for (uint64_t step = 0; step < ROUNDS; step++) {
                for (size_t i = 0; i < range.count; i++)
                    gradient[i] = gradient_at(worker, step, range.first + i);
                const struct compressor_input input = {
                    .gradient = gradient, .count = range.count, .residual = residual + range.first, .seed = seed, .step = step};
                compression->compressor->encode(compression, &input, bytes);
                compression->compressor->decode(compression, range.count, bytes, worker == 0, sums[step] + range.first);
            }
        }
    }
    for (int round = 0; round < ROUNDS; round++)
        assert_memory_equal(found.sums[0][round], sums[round], setup->parameter_count * sizeof(float));
}

static void test_encoded(void **state)
{
    (void)state;
    for (int compress = COMPRESSOR_TOP_K; compress <= COMPRESSOR_QSGD; compress++)
        for (size_t w = 0; w < sizeof(worker_counts) / sizeof(worker_counts[0]); w++)
            for (size_t c = 0; c < sizeof(float_counts) / sizeof(float_counts[0]); c++)
                for (uint64_t seed = 0; seed<16; seed += c> 2 ? 5 : 1) {
                    struct scheme_setup setup =
                        compressed(seed % 5 == 0 ? "allreduce-auto" : "naive", worker_counts[w], float_counts[c], compress);
                    run(&setup, seed);
                    compare_with_encoders(&setup);
                }
}

static void test_encoded_buckets(void **state)
{
    (void)state;
    for (int compress = COMPRESSOR_TOP_K; compress <= COMPRESSOR_QSGD; compress++)
        for (int workers = 1; workers <= 4; workers++)
            for (uint64_t seed = 0; seed < 16; seed += 3) {
                struct scheme_setup setup = compressed("naive", workers, 3000, compress);
                setup.values[ALLREDUCE_BUCKET] = 2500; /* 5 of 600 */
                setup.values[ALLREDUCE_OVERLAP] = seed / 8;
                run(&setup, seed);
                compare_with_encoders(&setup);
            }
}

/* ---- factors ---- */

/* As matrices of low rank the gradients' sum is exact, to rounding; the sum of all rounds always is, but for what is left. */
static void test_factors(void **state)
{
    (void)state;
    static const char *const schemes[] = {
        "ring",  "halving-doubling", "recursive-doubling", "binomial-tree", "double-binary-tree", "hierarchical", "direct",
        "naive", "allreduce-auto"};
    for (size_t s = 0; s < sizeof(schemes) / sizeof(schemes[0]); s++)
        for (size_t w = 0; w < sizeof(worker_counts) / sizeof(worker_counts[0]); w++)
            for (size_t c = 0; c < sizeof(float_counts) / sizeof(float_counts[0]); c++)
                for (uint64_t seed = 0; seed<16; seed += c> 2 ? 15 : 5) {
                    struct scheme_setup setup = compressed(schemes[s], worker_counts[w], float_counts[c], COMPRESSOR_POWERSGD);
                    run(&setup, seed);
                    if (float_counts[c] > 7)
                        continue;
                    for (int round = 0; round < ROUNDS; round++) /* so small that nothing is left out */
                        for (size_t i = 0; i < float_counts[c]; i++) {
                            float sum = 0;
                            for (int worker = 0; worker < setup.workers; worker++)
                                sum += gradient_at(worker, (uint64_t)round, i);
                            assert_true(found.sums[0][round][i] == sum);
                        }
                }
}

static void test_factors_of_layers(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 5; workers++)
        for (uint64_t seed = 0; seed < 16; seed++) {
            struct scheme_setup setup = compressed("ring", workers, 1250, COMPRESSOR_POWERSGD);
            setup.matrix_count = 2;
            setup.matrices[0] = (struct model_matrix){.first = 0, .rows = 20, .columns = 50};
            setup.matrices[1] = (struct model_matrix){.first = 1020, .rows = 10, .columns = 20};
            run(&setup, seed);
            for (int round = 0; round < ROUNDS; round++)
                for (size_t i = 1000; i < 1020; i++) { /* the first layer's biases */
                    float sum = 0;
                    for (int worker = 0; worker < workers; worker++)
                        sum += gradient_at(worker, (uint64_t)round, i);
                    assert_true(found.sums[0][round][i] == sum);
                }
            struct allreduce_shape shape;
            const struct allreduce_algorithm *algorithm = allreduce_rounds_algorithm(&setup, &shape);
            uint64_t all = 0;
            for (int rank = 0; rank < workers; rank++)
                all += algorithm->sent_bytes(algorithm, &shape, rank);
            /* ring: 2 (P - 1) times the left factors with the biases, and the right ones */
            assert_int_equal(all, 2 * (uint64_t)(workers - 1) * 4 * ((2 * (20 + 10) + 20 + 30) + 2 * (50 + 20)));
        }
}

/* ---- what is refused, and what messages are ---- */

static void assert_refused(struct scheme_setup setup, const char *why)
{
    struct err err = {0};
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    if (!strstr(err.text, why))
        fail_msg("'%s' is not in: %s", why, err.text);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const schemes[] = {
        "ring", "halving-doubling", "recursive-doubling", "binomial-tree", "double-binary-tree", "hierarchical", "direct"};
    for (size_t s = 0; s < sizeof(schemes) / sizeof(schemes[0]); s++)
        for (int compress = COMPRESSOR_TOP_K; compress <= COMPRESSOR_QSGD; compress++)
            assert_refused(compressed(schemes[s], 4, 100, compress), "'naive' and 'allreduce-auto'");
    for (int s = 0; s < 2; s++) {
        struct scheme_setup setup = compressed(s ? "allreduce-auto" : "ring", 4, 100, COMPRESSOR_POWERSGD);
        setup.values[behind(&setup) + ALLREDUCE_BUCKET] = 100;
        assert_refused(setup, "leave 'bucket' out");
    }
}

static void run_foreign(int compress, struct message_header header, size_t length, int fill)
{
    struct scheme_setup setup = compressed("naive", 3, 600, compress);
    uint8_t payload[1024];
    memset(payload, fill, sizeof(payload));
    found.setup = &setup;
    for (uint64_t seed = 0; seed < 8; seed++) {
        const struct memory_world_settings settings = {
            .setup = &setup, .seed = seed, .later_limit = 3, .context = &found, .gradient = make_gradient};
        cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
        memory_world_inject(world, 0, 1, &header, payload, length);
        memory_world_run(world);
        assert_non_null(memory_world_failure(world));
        assert_non_null(strstr(memory_world_failure(world), "the nodes do not run the same scheme"));
    }
}

static void test_foreign_messages_fail_the_node(void **state)
{
    (void)state;
    const size_t top_k = 8 * 60;
    run_foreign(COMPRESSOR_TOP_K, (struct message_header){.channel = 9, .kind = 1}, top_k, 0);
    run_foreign(COMPRESSOR_TOP_K, (struct message_header){.channel = 2, .kind = 1}, top_k, 0);
    run_foreign(COMPRESSOR_TOP_K, (struct message_header){.channel = 1, .kind = 2}, top_k, 0);
    run_foreign(COMPRESSOR_TOP_K, (struct message_header){.channel = 1, .kind = 1, .index = 1}, top_k, 0);
    run_foreign(COMPRESSOR_TOP_K, (struct message_header){.channel = 1, .kind = 1, .step = 5}, top_k, 0);
    run_foreign(COMPRESSOR_TOP_K, (struct message_header){.channel = 1, .kind = 1}, top_k - 8, 0);
    run_foreign(COMPRESSOR_TOP_K, (struct message_header){.channel = 1, .kind = 1}, top_k, 0); /* all indexes 0 */
    run_foreign(COMPRESSOR_QSGD, (struct message_header){.channel = 1, .kind = 1}, 2 * 4 + 300, 0xff);
    run_foreign(COMPRESSOR_ONE_BIT, (struct message_header){.channel = 1, .kind = 1}, 2 * 8 + 75,
                0); /* good, but not the only one */
    run_foreign(COMPRESSOR_POWERSGD, (struct message_header){.channel = 3, .kind = 1}, 4, 0);
}

/* ---- predictions ---- */

static struct prediction predict(struct scheme_setup setup, double reduce_ns_per_byte)
{
    static const struct distribution none = {.kind = DISTRIBUTION_MEASURED};
    struct prediction prediction;
    setup.compute_time = &none;
    setup.reduce_ns_per_byte = reduce_ns_per_byte;
    setup.scheme->predict(&setup, &prediction);
    assert_true(prediction.available && prediction.method);
    return prediction;
}

/* Paths have 1 ms and 100 MB/s: with P - 1 messages of C bytes one after the other, (P - 1) C / B and one delay. */
static void test_predictions(void **state)
{
    (void)state;
    enum { P = 4, N = 1000000 };
    const double messages[] = {8 * 1e5, 8 * 1954 + 125000, 4 * 1954 + 500000};
    for (int compress = COMPRESSOR_TOP_K; compress <= COMPRESSOR_QSGD; compress++) {
        struct scheme_setup setup = compressed("naive", P, N, compress);
        struct prediction found_parts = predict(setup, 0);
        const double bytes = 4 * ceil(messages[compress - 1] / 4);
        assert_true(fabs(found_parts.bandwidth_ns / ((P - 1) * bytes * 10) - 1) < 1e-9);
        assert_true(fabs(found_parts.latency_ns / 1e6 - 1) < 1e-9);
        assert_true(found_parts.reduce_ns == 0);
        /* the last message has a decoding behind it, the encoding is in front */
        const struct compressor *compressor = compressor_at(compress);
        const double alone_ns = found_parts.round_ns;
        found_parts = predict(setup, 1e-3);
        double least = (compressor->encode_additions + compressor->decode_additions) * N * 4 * 1e-3;
        assert_true(found_parts.reduce_ns >= least * (1 - 1e-9) && found_parts.reduce_ns < least * P);
        assert_true(found_parts.round_ns - alone_ns >= least * (1 - 1e-9)); /* in every round that is followed */
        struct scheme_setup chosen = compressed("allreduce-auto", P, N, compress);
        assert_true(predict(chosen, 1e-3).round_ns == found_parts.round_ns);
    }
    /* powersgd: 2 (1,000 + 1,000) floats around the ring in two all-reduces of one segment a chunk, 6 hops each */
    struct scheme_setup ring = compressed("ring", P, N, COMPRESSOR_POWERSGD);
    ring.values[0] = 1e6;
    struct prediction parts = predict(ring, 0);
    assert_true(fabs(parts.latency_ns / 12e6 - 1) < 1e-9);
    assert_true(fabs(parts.bandwidth_ns / (2 * (P - 1) / (double)P * 16000 * 10) - 1) < 1e-9);
    assert_string_equal(parts.method, "max-plus recurrence");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoded),     cmocka_unit_test(test_encoded_buckets),
        cmocka_unit_test(test_factors),     cmocka_unit_test(test_factors_of_layers),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_foreign_messages_fail_the_node),
        cmocka_unit_test(test_predictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
