/* agents/collectives/encoded_allgather.c: an all-reduce of encoded vectors (agents/compressors/, the form `message`): everyone
 * encodes its vector and sends it to everyone; everyone decodes all of them, its own too, and adds in the order of ranks.
 *
 * Encoded vectors cannot be added on the way, so each must come whole: (N-1) C out of and into each rank, C being the bytes of one
 * message, one step of latency, N decodings. All ranks decode the same bytes in the same order: all end with the same bits.
 *
 * Theory of operation. Every rank has a place for every rank's message. One that comes lands in its place, also before the own
 * vector is there, and is checked; decoding starts with the own contribution and goes on as far as messages have come without a
 * gap. The all-reduce is done when all are added and the own message's bytes are needed no longer, since the next one is encoded
 * over them. A rank can be at most one all-reduce ahead of another; what belongs to the next one is put off.
 *
 * What the own encoding leaves out stays here, in `residual`, for the next all-reduce. */
#include <stdlib.h>
#include <string.h>

#include "agents/collectives/schedule.h"
#include "base/cleanup.h"
#include "base/err.h"

enum { KIND_ENCODED = 1, ALIGNMENT = 64 };
enum state { AWAITED, LANDING, HERE };

struct encoded {
    struct allreduce base; /* first */
    size_t bytes, stride;  /* of a message, of its place */
    uint8_t *messages;     /* [size] places */
    uint8_t *states;       /* [size] of enum state */
    float *residual;       /* NULL: nothing is kept */
    uint64_t seed;
    int next;            /* rank to be decoded next */
    int sends_under_way; /* of the own message */
    uint64_t number, round;
    float *output;
    bool open, contributed, put_off;
    int64_t wait_begin_ns; /* -1: not waiting for the first message */
};

static struct encoded *encoded_of(struct allreduce *allreduce)
{
    return (struct encoded *)allreduce;
}

static size_t message_bytes(const struct allreduce_shape *shape)
{
    return shape->compression.compressor->encoded_bytes(&shape->compression, shape->count);
}

static uint8_t *place_of(const struct encoded *encoded, int rank)
{
    return encoded->messages + (size_t)rank * encoded->stride;
}

static struct allreduce *create(struct node *node, const struct allreduce_spec *spec)
{
    struct encoded *encoded = node_alloc(node, sizeof(*encoded));
    const size_t size = (size_t)spec->shape.size;
    struct rng rng = node_random(node, RNG_SCHEME, (uint32_t)node->index);
    encoded->bytes = message_bytes(&spec->shape);
    encoded->stride = (encoded->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    encoded->messages = node_alloc(node, size * encoded->stride);
    encoded->states = node_alloc(node, size);
    if (spec->shape.compression.compressor->feedback)
        encoded->residual = node_alloc(node, spec->shape.count * sizeof(float));
    for (uint16_t i = 0; i <= spec->channel; i++) /* a seed of its own for every channel of a node */
        encoded->seed = rng_u64(&rng);
    encoded->wait_begin_ns = -1;
    return &encoded->base;
}

static void retry(struct encoded *encoded)
{
    if (!encoded->put_off)
        return;
    encoded->put_off = false;
    node_retry(encoded->base.node, -1);
}

static void finish_if_done(struct encoded *encoded)
{
    if (!encoded->contributed || encoded->next < encoded->base.spec.shape.size || encoded->sends_under_way > 0)
        return;
    encoded->open = encoded->contributed = false;
    encoded->number++;
    encoded->base.spec.done(encoded->base.node, encoded->base.spec.context);
}

static void decode_here(struct encoded *encoded)
{
    struct node *node = encoded->base.node;
    const struct allreduce_spec *spec = &encoded->base.spec;
    const struct compression *compression = &spec->shape.compression;
    const size_t count = spec->shape.count;
    if (!encoded->contributed || encoded->next == spec->shape.size)
        return;
    for (; encoded->next < spec->shape.size && encoded->states[encoded->next] == HERE; encoded->next++) {
        const int rank = encoded->next;
        int64_t begin_ns = node_now(node);
        if (node_arithmetic(node, compression->compressor->decode_additions * (double)count))
            compression->compressor->decode(compression, count, place_of(encoded, rank), rank == 0, encoded->output);
        node_span(node, SPAN_REDUCE, encoded->round, begin_ns, node_now(node), rank == spec->rank ? -1 : spec->members[rank],
                  count * sizeof(float));
    }
    if (encoded->next == spec->shape.size && spec->segment_ready)
        spec->segment_ready(node, spec->context, 0, count);
}

static void open_output(struct allreduce *allreduce, uint64_t round, float *output)
{
    struct encoded *encoded = encoded_of(allreduce);
    encoded->round = round;
    encoded->output = output;
    encoded->next = 0;
    encoded->open = true;
    memset(encoded->states, AWAITED, (size_t)allreduce->spec.shape.size);
    retry(encoded);
}

static void send_own(struct encoded *encoded)
{
    const struct allreduce_spec *spec = &encoded->base.spec;
    const struct message_header header = {.channel = spec->channel, .kind = KIND_ENCODED, .step = encoded->number};
    struct node *node = encoded->base.node;
    for (int step = 1; step < spec->shape.size; step++) {
        struct buffer *buffer = node_wrap(node, place_of(encoded, spec->rank), encoded->bytes, allreduce_tag(&encoded->base, 0));
        encoded->sends_under_way++;
        node_send(node, spec->members[(spec->rank + step) % spec->shape.size], &header, buffer, 0, encoded->bytes);
    }
}

static void contribute(struct allreduce *allreduce, const float *input)
{
    struct encoded *encoded = encoded_of(allreduce);
    struct node *node = allreduce->node;
    const struct allreduce_spec *spec = &allreduce->spec;
    const struct compressor *compressor = spec->shape.compression.compressor;
    const struct compressor_input vector = {.gradient = input,
                                            .count = spec->shape.count,
                                            .residual = encoded->residual,
                                            .seed = encoded->seed,
                                            .step = encoded->number};
    int64_t begin_ns = node_now(node);
    if (node_arithmetic(node, compressor->encode_additions * (double)vector.count))
        compressor->encode(&spec->shape.compression, &vector, place_of(encoded, spec->rank));
    node_span(node, SPAN_REDUCE, encoded->round, begin_ns, node_now(node), -1, vector.count * sizeof(float));
    encoded->contributed = true;
    encoded->states[spec->rank] = HERE;
    send_own(encoded);
    if (spec->shape.size > 1)
        encoded->wait_begin_ns = node_now(node);
    decode_here(encoded);
    finish_if_done(encoded);
}

static int rank_of(const struct encoded *encoded, int node)
{
    const struct allreduce_spec *spec = &encoded->base.spec;
    for (int rank = 0; rank < spec->shape.size; rank++)
        if (spec->members[rank] == node && rank != spec->rank)
            return rank;
    return -1;
}

static struct landing on_header(struct allreduce *allreduce, const struct message *message)
{
    struct encoded *encoded = encoded_of(allreduce);
    const struct message_header *header = &message->header;
    const int rank = rank_of(encoded, message->source);
    if (rank < 0 || header->kind != KIND_ENCODED || header->index != 0)
        return allreduce_refuse(allreduce, message, "no such message exists here");
    if (header->step == encoded->number + 1 || (header->step == encoded->number && !encoded->open)) {
        encoded->put_off = true;
        return (struct landing){.kind = LAND_LATER};
    }
    if (header->step != encoded->number)
        return allreduce_refuse(allreduce, message, "it belongs to another all-reduce");
    if (message->length != encoded->bytes)
        return allreduce_refuse(allreduce, message, "its length is wrong");
    if (encoded->states[rank] != AWAITED)
        return allreduce_refuse(allreduce, message, "it has come before");
    encoded->states[rank] = LANDING;
    if (encoded->wait_begin_ns >= 0)
        node_span(allreduce->node, SPAN_WAIT, encoded->round, encoded->wait_begin_ns, node_now(allreduce->node), message->source,
                  0);
    encoded->wait_begin_ns = -1;
    return (struct landing){.kind = LAND_INTO, .into = place_of(encoded, rank)};
}

static void on_message(struct allreduce *allreduce, const struct message *message)
{
    struct encoded *encoded = encoded_of(allreduce);
    const struct allreduce_shape *shape = &allreduce->spec.shape;
    const struct compressor *compressor = shape->compression.compressor;
    struct err err;
    if (node_arithmetic(allreduce->node, 0) && /* its time is in that of decoding */
        compressor->check(&shape->compression, shape->count, message->payload, message->length, &err) < 0) {
        allreduce_refuse(allreduce, message, err.text);
        return;
    }
    encoded->states[rank_of(encoded, message->source)] = HERE; /* its header was accepted */
    decode_here(encoded);
    finish_if_done(encoded);
}

static void on_sent(struct allreduce *allreduce, const struct buffer *buffer)
{
    (void)buffer;
    struct encoded *encoded = encoded_of(allreduce);
    encoded->sends_under_way--;
    finish_if_done(encoded);
}

/* Encodes and decodes all; a send, a receive, a wait and the sum that is there. */
static uint64_t spans(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank)
{
    (void)self;
    (void)rank;
    return 3 * (uint64_t)shape->size + 3;
}

static uint64_t sent_bytes(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank)
{
    (void)self;
    (void)rank;
    return (uint64_t)(shape->size - 1) * message_bytes(shape);
}

/* ---- prediction: as `naive` with messages of so many bytes, each of which takes a decoding; behind an encoding ---- */

static void plan(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    const int size = shape->size;
    for (int step = 1; step < size; step++)
        schedule_put(schedule, SCHEDULE_SEND_OWN, (rank + step) % size, 0, shape->count);
    for (int peer = 0; peer < size && size > 1; peer++)
        schedule_put(schedule, peer == rank ? SCHEDULE_OWN : SCHEDULE_ADD, peer, 0, shape->count);
}

static void predict_ns(const struct allreduce_algorithm *self, const struct allreduce_network *networks, int count,
                       double *times_ns)
{
    const struct allreduce_shape *shape = &networks->shape;
    const struct compressor *compressor = shape->compression.compressor;
    cleanup(free_pointer) struct allreduce_network *words = calloc((size_t)count, sizeof(*words));
    const size_t vector_bytes = shape->count * sizeof(float);
    const size_t floats = (message_bytes(shape) + sizeof(float) - 1) / sizeof(float);
    for (int i = 0; i < count; i++)
        times_ns[i] = NAN;
    if (!words)
        return;
    for (int i = 0; i < count; i++) {
        words[i] = networks[i];
        words[i].shape.count = floats;
        words[i].reduce_ns_per_byte *= compressor->decode_additions * (double)vector_bytes / (double)(floats * sizeof(float));
    }
    schedule_predict_ns(self, words, count, times_ns);
    for (int i = 0; i < count; i++)
        times_ns[i] += compressor->encode_additions * (double)vector_bytes * networks[i].reduce_ns_per_byte *
                       allreduce_network_rounds(&networks[i]);
}

const struct allreduce_algorithm allreduce_encoded = {
    .name = "naive, encoded",
    .plan = plan,
    .create = create,
    .open = open_output,
    .contribute = contribute,
    .on_header = on_header,
    .on_message = on_message,
    .on_sent = on_sent,
    .spans = spans,
    .sent_bytes = sent_bytes,
    .predict_ns = predict_ns,
    .method = "simulation of its messages",
};
