/* agents/collectives/ring_allreduce.c: the ring all-reduce, pipelined by segments.
 *
 * Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib.
 * Comput. 69 (2009); brought to deep learning by Baidu's "Bringing HPC techniques to deep learning" (A. Gibiansky, 2017).
 *
 * Theory of operation. N ranks in a ring; rank r receives from r-1 (its left) and sends to r+1 (its right). The vector is cut
 * into N chunks. An all-reduce has H = 2(N-1) hops, numbered 0 .. H-1 on every rank; all ranks do the same hop at about the same
 * time:
 *
 *     hop h sends chunk (r - h) mod N and receives chunk (r - h - 1) mod N.
 *
 * Hops 0 .. N-2 are the scatter-reduce: what comes in is a partial sum, to which the rank adds its own part. Hops N-1 .. H-1 are
 * the all-gather: what comes in is final. The chunk that comes in at hop h is the one that goes out at hop h+1, so each chunk
 * makes its own journey: it starts at the rank of its number, collects one addend at each of the N-1 other ranks, is complete at
 * rank c-1, and travels N-1 hops more until everyone has it. A chunk's sum is thus made once, in the order c, c+1, ..., c-1, and
 * copied: all ranks end with the same bits.
 *
 * Example, N = 3, rank 0 (c2+ means: partial sum of chunk 2):
 *
 *     hop 0   sends c0 (own)       receives c2+ (of rank 2)      adds own part
 *     hop 1   sends c2+ (2, 0)     receives c1+ (of ranks 1, 2)  adds own part: c1 is complete here
 *     hop 2   sends c1             receives c0                   final
 *     hop 3   sends c0             receives c2                   final
 *
 * With S = 12 MiB each hop carries 4 MiB, each rank sends 4 x 4 = 16 MiB = 2(N-1)/N x S. In general rank r sends every chunk
 * twice but for chunks r+1 and r+2, which it sends once (for N = 2: chunks r+1 and r, both once).
 *
 * Segments. Each chunk is cut into M segments. A segment that was received (and added to) is sent on at once, so that a rank
 * receives one segment while another leaves; with M >= 2 the link never idles for want of a reduction. The position p = h M + k
 * of segment k at hop h numbers all messages of one all-reduce; a rank receives them in this order, since its left sends them in
 * this order: first its own chunk's M segments, then one for each that it received. Empty segments are skipped by both sides.
 *
 * Memory. The input is only read: hop 0 sends from it. Everything else happens in the output: a partial sum lands straight in
 * its place of the output, the own part is added to it there, and it is sent on from there; all-gather segments land in their
 * place. No scratch memory is needed, and segments may land as soon as the output is open, before the own input exists: they
 * then wait for their addend. The one hazard is that a place is landed in while an earlier send from it is not over. `in_flight`
 * has a mark for each segment of the output; a segment whose place is marked is put off (LAND_LATER) and asked for again at the
 * next on_sent().
 *
 * Bounds. At most SENDS_MAX sends are under way, from wrapped memory, without copies; what else may be sent is all between two
 * positions, `sending` and the frontier M behind `reduced`, and needs no list. A left neighbour can be ahead by at most one
 * all-reduce, since the next one's messages come after the last of this one.
 *
 * No deadlock. Order all messages of the ring by (all-reduce, hop, segment). A message that cannot land waits for its receiver
 * to open the all-reduce, which takes only its own computing and messages of earlier all-reduces, or for an earlier send out of
 * the same place: a message of an earlier hop. A send that the window holds up waits for earlier ones of its rank. Everything
 * waits for smaller messages only, so the smallest one outstanding can always land. */
#include "agents/collectives/ring_allreduce.h"

#include "base/err.h"

enum { KIND_SEGMENT = 1 };
enum { SENDS_MAX = 256 };
enum { SEGMENT_BYTES_MIN = 4 << 10, SEGMENT_BYTES_MAX = 1 << 20 };

struct ring_allreduce {
    struct allreduce base; /* first */
    int left, right;       /* node indexes of the members at rank - 1 and rank + 1 */
    struct ring_allreduce_layout layout;
    uint64_t number; /* of the all-reduce that is open, or that comes next */
    uint64_t round;
    float *output;
    const float *input;
    uint32_t positions; /* 2 (size-1) x segments */
    uint32_t landing, arrived,
        reduced;              /* the next position to land, to arrive whole, to be worked on: landing >= arrived >= reduced */
    uint32_t sending;         /* the next position to send */
    uint32_t under_way;       /* sends that are not over, of this all-reduce or the one before */
    uint32_t input_under_way; /* of these, the ones from the input */
    bool open, contributed;
    bool put_off;          /* a message was answered with LAND_LATER since the last retry */
    uint64_t overtakable;  /* messages of all-reduces below this number were put off: newer headers may be seen before them */
    int64_t wait_begin_ns; /* -1: not waiting for the first message */
    uint8_t *in_flight;    /* [size x segments]: a send from this place of the output is to come or not over */
};

struct ring_allreduce_layout ring_allreduce_layout(int size, size_t count, size_t segment_bytes)
{
    size_t chunk_bytes = (count / (size_t)size + (count % (size_t)size != 0)) * sizeof(float);
    size_t segments;
    if (segment_bytes >= sizeof(float)) {
        size_t whole = segment_bytes / sizeof(float) * sizeof(float);
        segments = (chunk_bytes + whole - 1) / whole;
    } else {
        segments = (chunk_bytes + SEGMENT_BYTES_MAX - 1) / SEGMENT_BYTES_MAX;
        if (segments < 2)
            segments = chunk_bytes >= 2 * SEGMENT_BYTES_MIN ? 2 : 1;
    }
    return (struct ring_allreduce_layout){.size = size, .count = count, .segments = segments ? (uint32_t)segments : 1};
}

struct allreduce_range ring_allreduce_chunk(const struct ring_allreduce_layout *layout, int chunk)
{
    return allreduce_cut(0, layout->count, (size_t)layout->size, (size_t)chunk);
}

struct allreduce_range ring_allreduce_segment(const struct ring_allreduce_layout *layout, int chunk, uint32_t segment)
{
    struct allreduce_range whole = ring_allreduce_chunk(layout, chunk);
    return allreduce_cut(whole.first, whole.count, layout->segments, segment);
}

uint64_t ring_allreduce_sent_bytes(const struct ring_allreduce_layout *layout, int rank)
{
    if (layout->size == 1)
        return 0;
    size_t floats = 2 * layout->count - ring_allreduce_chunk(layout, (rank + 1) % layout->size).count -
                    ring_allreduce_chunk(layout, (rank + 2) % layout->size).count;
    return floats * sizeof(float);
}

static uint32_t hop_of(const struct ring_allreduce *ring, uint32_t position)
{
    return position / ring->layout.segments;
}

/* Where in the vector, counted in segments, that lies which is sent at this position. */
static size_t place_sent(const struct ring_allreduce *ring, uint32_t position)
{
    int size = ring->base.spec.shape.size, hop = (int)hop_of(ring, position);
    size_t chunk = (size_t)((ring->base.spec.rank - hop + 2 * size) % size);
    return chunk * ring->layout.segments + position % ring->layout.segments;
}

/* What is received at hop h is what is sent at hop h + 1. */
static size_t place_received(const struct ring_allreduce *ring, uint32_t position)
{
    return place_sent(ring, position + ring->layout.segments);
}

static struct allreduce_range range_of_place(const struct ring_allreduce *ring, size_t place)
{
    return ring_allreduce_segment(&ring->layout, (int)(place / ring->layout.segments), (uint32_t)(place % ring->layout.segments));
}

/* The first position from `position` on at which something is received. */
static uint32_t skip_empty(const struct ring_allreduce *ring, uint32_t position)
{
    while (position < ring->positions && range_of_place(ring, place_received(ring, position)).count == 0)
        position++;
    return position;
}

static struct ring_allreduce *ring_of(struct allreduce *allreduce)
{
    return (struct ring_allreduce *)allreduce;
}

static struct ring_allreduce_layout layout_of(const struct allreduce_shape *shape)
{
    return ring_allreduce_layout(shape->size, shape->count, shape->segment_bytes);
}

static struct allreduce *create(struct node *node, const struct allreduce_spec *spec)
{
    struct ring_allreduce *ring = node_alloc(node, sizeof(*ring));
    const int size = spec->shape.size;
    ring->left = spec->members[(spec->rank + size - 1) % size];
    ring->right = spec->members[(spec->rank + 1) % size];
    ring->layout = layout_of(&spec->shape);
    ring->positions = 2 * (uint32_t)(size - 1) * ring->layout.segments;
    ring->wait_begin_ns = -1;
    ring->in_flight = node_alloc(node, (size_t)size * ring->layout.segments);
    return &ring->base;
}

static struct landing put_off(struct ring_allreduce *ring, const struct message *message)
{
    ring->put_off = true;
    if (ring->overtakable <= message->header.step)
        ring->overtakable = message->header.step + 1;
    return (struct landing){.kind = LAND_LATER};
}

static void retry(struct ring_allreduce *ring)
{
    if (!ring->put_off)
        return;
    ring->put_off = false;
    node_retry(ring->base.node, ring->left);
}

/* Sends what may be sent: the own chunk once the input is there, then what has been worked on. */
static void send_ready(struct ring_allreduce *ring)
{
    uint32_t frontier = ring->contributed ? ring->reduced + ring->layout.segments : 0;
    if (frontier > ring->positions)
        frontier = ring->positions;
    for (; ring->sending < frontier && ring->under_way < SENDS_MAX; ring->sending++) {
        const bool own = hop_of(ring, ring->sending) == 0;
        struct allreduce_range range = range_of_place(ring, place_sent(ring, ring->sending));
        if (range.count == 0)
            continue;
        struct message_header header = {
            .channel = ring->base.spec.channel, .kind = KIND_SEGMENT, .index = ring->sending, .step = ring->number};
        const float *values = (own ? ring->input : ring->output) + range.first;
        const size_t bytes = range.count * sizeof(float);
        struct buffer *buffer =
            node_wrap(ring->base.node, (void *)(uintptr_t)values, bytes, allreduce_tag(&ring->base, ring->sending));
        ring->under_way++;
        ring->input_under_way += own;
        node_send(ring->base.node, ring->right, &header, buffer, 0, bytes);
    }
}

static void finish_if_done(struct ring_allreduce *ring)
{
    if (!ring->contributed || ring->reduced < ring->positions || ring->sending < ring->positions || ring->input_under_way > 0)
        return;
    ring->open = ring->contributed = false;
    ring->number++;
    ring->base.spec.done(ring->base.node, ring->base.spec.context);
}

/* Works on everything that has arrived: adds, sends on, hands out what is final. */
static void reduce_arrived(struct ring_allreduce *ring)
{
    struct node *node = ring->base.node;
    const uint32_t last_adding_hop = (uint32_t)ring->base.spec.shape.size - 2;
    while (ring->reduced < ring->arrived) {
        uint32_t position = ring->reduced, hop = hop_of(ring, position);
        size_t place = place_received(ring, position);
        struct allreduce_range range = range_of_place(ring, place);
        float *values = ring->output + range.first;
        if (hop <= last_adding_hop) {
            int64_t begin_ns = node_now(node);
            node_add(node, values, values, ring->input + range.first, range.count);
            node_span(node, SPAN_REDUCE, ring->round, begin_ns, node_now(node), ring->left, range.count * sizeof(float));
        }
        if (position + ring->layout.segments < ring->positions)
            ring->in_flight[place] = 1;
        ring->reduced = skip_empty(ring, position + 1);
        send_ready(ring); /* first, so that the model's step hides behind it */
        if (hop >= last_adding_hop && ring->base.spec.segment_ready)
            ring->base.spec.segment_ready(node, ring->base.spec.context, range.first, range.count);
    }
}

static void open_output(struct allreduce *allreduce, uint64_t round, float *output)
{
    struct ring_allreduce *ring = ring_of(allreduce);
    ring->round = round;
    ring->output = output;
    ring->sending = 0;
    ring->landing = ring->arrived = ring->reduced = skip_empty(ring, 0);
    ring->open = true;
    retry(ring);
}

static void contribute(struct allreduce *allreduce, const float *input)
{
    struct ring_allreduce *ring = ring_of(allreduce);
    struct node *node = ring->base.node;
    ring->input = input;
    ring->contributed = true;
    if (ring->base.spec.shape.size == 1) {
        node_copy(node, ring->output, input, ring->base.spec.shape.count);
        if (ring->base.spec.segment_ready)
            ring->base.spec.segment_ready(node, ring->base.spec.context, 0, ring->base.spec.shape.count);
    } else {
        send_ready(ring);
        reduce_arrived(ring);
        /* Where a segment is just coming in, the rank does not wait for its neighbour. */
        if (ring->reduced < ring->positions && ring->landing == ring->arrived && !ring->base.spec.background)
            ring->wait_begin_ns = node_now(node);
    }
    finish_if_done(ring);
}

static struct landing on_header(struct allreduce *allreduce, const struct message *message)
{
    struct ring_allreduce *ring = ring_of(allreduce);
    const struct message_header *header = &message->header;
    if (message->source != ring->left || header->kind != KIND_SEGMENT || header->index >= ring->positions)
        return allreduce_refuse(&ring->base, message, "no such message exists here");
    const bool may_overtake = ring->overtakable > ring->number;
    if (header->step == ring->number + 1 && ring->open && (ring->landing >= ring->positions || may_overtake))
        return put_off(ring, message);
    if (header->step != ring->number)
        return allreduce_refuse(&ring->base, message, "it belongs to another all-reduce");
    if (!ring->open)
        return put_off(ring, message);
    if (header->index > ring->landing && may_overtake)
        return put_off(ring, message);
    if (header->index != ring->landing)
        return allreduce_refuse(&ring->base, message,
                                header->index < ring->landing ? "it has come before" : "an earlier one is missing");
    size_t place = place_received(ring, header->index);
    struct allreduce_range range = range_of_place(ring, place);
    if (message->length != range.count * sizeof(float))
        return allreduce_refuse(&ring->base, message, "its length is wrong");
    if (ring->in_flight[place])
        return put_off(ring, message);
    if (ring->wait_begin_ns >= 0) {
        node_span(ring->base.node, SPAN_WAIT, ring->round, ring->wait_begin_ns, node_now(ring->base.node), ring->left, 0);
        ring->wait_begin_ns = -1;
    }
    ring->landing = skip_empty(ring, header->index + 1);
    return (struct landing){.kind = LAND_INTO, .into = ring->output + range.first};
}

static void on_message(struct allreduce *allreduce, const struct message *message)
{
    struct ring_allreduce *ring = ring_of(allreduce);
    if (!ring->open || message->header.index != ring->arrived || ring->arrived >= ring->landing) {
        allreduce_refuse(&ring->base, message, "its header was not accepted");
        return;
    }
    ring->arrived = skip_empty(ring, ring->arrived + 1);
    if (ring->contributed)
        reduce_arrived(ring);
    retry(ring);
    finish_if_done(ring);
}

static void on_sent(struct allreduce *allreduce, const struct buffer *buffer)
{
    struct ring_allreduce *ring = ring_of(allreduce);
    uint32_t position = (uint32_t)buffer->tag;
    ring->under_way--;
    if (hop_of(ring, position) == 0)
        ring->input_under_way--;
    else
        ring->in_flight[place_sent(ring, position)] = 0;
    send_ready(ring);
    retry(ring);
    finish_if_done(ring);
}

static bool talks(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank, int peer)
{
    (void)self;
    return (rank + 1) % shape->size == peer || (peer + 1) % shape->size == rank;
}

/* A position of the pipeline (2 (N-1) hops of m segments) sends, receives, adds or is final, and may wait; the own chunk's segments
 * become final on top. */
static uint64_t spans(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank)
{
    (void)self;
    (void)rank;
    struct ring_allreduce_layout layout = layout_of(shape);
    return 4 * (uint64_t)layout.segments * (2 * (uint64_t)(shape->size - 1)) + layout.segments;
}

static uint64_t sent_bytes(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank)
{
    (void)self;
    struct ring_allreduce_layout layout = layout_of(shape);
    return ring_allreduce_sent_bytes(&layout, rank);
}

static int check(const struct allreduce_shape *shape, struct err *err)
{
    double segment = (double)shape->segment_bytes;
    double chunk_bytes = (double)shape->count * sizeof(float) / shape->size + sizeof(float);
    if (segment != 0 && chunk_bytes / segment * 2 * shape->size > 1e9)
        return err_set(
            err, ERR_USAGE,
            "segments of %gB cut the model into more messages than can be numbered; allowed are 0 (automatic) and larger "
            "segments",
            segment);
    return 0;
}

const struct allreduce_algorithm allreduce_ring = {
    .name = "ring",
    .parameter = ALLREDUCE_SEGMENT,
    .check = check,
    .create = create,
    .open = open_output,
    .contribute = contribute,
    .on_header = on_header,
    .on_message = on_message,
    .on_sent = on_sent,
    .talks = talks,
    .spans = spans,
    .sent_bytes = sent_bytes,
    .predict_ns = ring_allreduce_predict_ns,
    .method = "max-plus recurrence",
};
