/* netem/measure_fates.c: what becomes of the packets of one direction: how many are lost, and in what runs, come twice, come with a
 * wrong bit, or come in front of one that was sent before them.
 *
 * Theory of operation. Numbered datagrams leave in small batches, a batch a tick, at no more than half of the link's rate and half
 * of its queue, and no more than the receiving socket can hold of what is in flight while this thread is kept from its processor;
 * what that socket drops all the same, the kernel tells, and it counts as never sent. A payload is the datagram's number over and
 * over: a wrong bit, which no checksum is there to catch, spoils one copy, and two others still agree. */
#include <errno.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/impairment.h"
#include "netem/measure.h"
#include "netem/measure_internal.h"
#include "netem/shaping.h"

#define SURVEY_TIME_NS (100 * NS_PER_MS)
#define PATIENCE_NS (500 * NS_PER_MS) /* beyond the asked delay, for the last ones */
#define SURVEY_PATIENCE_NS (100 * NS_PER_MS)
#define BATCH_TICK_NS NS_PER_MS
#define SPACING_LEAST_NS (50 * NS_PER_US) /* what one thread sends and receives with ease */
#define STALL_NS (20 * NS_PER_MS)         /* for so long this thread may be kept from its processor */
enum {
    PAYLOAD_BYTES = 48,
    PAYLOAD_CORRUPT_BYTES = 256, /* so that most wrong bits hit it */
    COUNT_UNASKED = 2000,
    COUNT_MOST = 1 << 20,
    SOCKET_BYTES = 8 << 20,
    SOCKET_BYTES_A_DATAGRAM = 2304, /* what the kernel may charge for one, a page's fragments included */
    MARGIN_PERCENT = 130,
};

struct stamp { /* a copy of the number; the payload is full of them */
    uint32_t magic, number;
};
#define MAGIC UINT32_C(0x6661746f)

enum fate { FATE_SEEN = 1, FATE_TWICE = 2, FATE_CORRUPT = 4 };

struct stream {
    int source, target;
    struct sockaddr_in to;
    uint64_t sent, first_arrivals;
    uint8_t *fates;     /* one a datagram */
    uint32_t *arrivals; /* numbers in order of their first arrival */
};

static void stream_free(struct stream *stream)
{
    close_fd(&stream->source);
    close_fd(&stream->target);
    free(stream->fates);
    free(stream->arrivals);
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
    return value < limit ? value : limit;
}

static uint64_t most_needed(const struct direction *asked)
{
    struct measure_fates_expectation expected;
    measure_expect_fates(asked, 0, PAYLOAD_BYTES, &expected);
    const uint64_t needed[] = {
        measure_packets_needed(impairment_any_loss(&asked->impairments) ? expected.lost : 0, expected.loss_variance),
        measure_packets_needed(asked->impairments.duplicate, 1), measure_packets_needed(asked->impairments.corrupt, 1),
        measure_packets_needed(asked->impairments.reorder, 1)};
    uint64_t most = 0;
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        most = needed[i] > most ? needed[i] : most;
    return most > 0 ? most * MARGIN_PERCENT / 100 : COUNT_UNASKED;
}

uint32_t measure_fates_payload_bytes(const struct direction *asked)
{
    return asked->impairments.corrupt > 0 ? PAYLOAD_CORRUPT_BYTES : PAYLOAD_BYTES;
}

struct measure_pace measure_fates_pace(const struct measure_path *path, uint64_t socket_bytes)
{
    const struct direction *asked = &path->asked;
    struct measure_pace pace = {.payload_bytes = measure_fates_payload_bytes(asked), .tick_ns = SPACING_LEAST_NS, .batch = 1};
    uint64_t frame_bytes = pace.payload_bytes + MEASURE_FRAME_HEADERS + shaping_overhead_bytes(asked->framing);
    int64_t half_rate_ns = measure_half_rate_ns(asked, pace.payload_bytes);
    pace.tick_ns = half_rate_ns > pace.tick_ns ? half_rate_ns : pace.tick_ns;
    int64_t under_way_ns = asked->delay_ns + impairment_jitter_most_ns(&asked->impairments) + STALL_NS;
    uint64_t room = socket_bytes / SOCKET_BYTES_A_DATAGRAM;
    int64_t room_ns = under_way_ns / (int64_t)(room > 0 ? room : 1);
    pace.tick_ns = room_ns > pace.tick_ns ? room_ns : pace.tick_ns;
    /* Overtaking shows only among datagrams that are apart. */
    uint64_t batch = asked->impairments.reorder > 0 || pace.tick_ns > BATCH_TICK_NS ? 1 : (uint64_t)(BATCH_TICK_NS / pace.tick_ns);
    if (asked->rate_bps > 0)
        batch = at_most(batch, asked->queue_packets > 0 ? asked->queue_packets / 2 : asked->queue_bytes / 2 / frame_bytes);
    pace.batch = batch > 1 ? (int)batch : 1;
    pace.tick_ns *= pace.batch;
    int64_t time_ns = path->time_ns > 0 ? path->time_ns : SURVEY_TIME_NS;
    uint64_t fit = (uint64_t)(time_ns / pace.tick_ns) * (uint64_t)pace.batch;
    pace.count = at_most(at_most(most_needed(asked), fit > 0 ? fit : 1), COUNT_MOST);
    return pace;
}

/* The number, whichever copy the wrong bit has hit; false: not one of ours. */
static bool read_number(const struct stamp *copies, uint32_t payload_bytes, uint32_t *number, bool *corrupt)
{
    struct stamp right = memcmp(&copies[0], &copies[1], sizeof(copies[0])) == 0 ? copies[0] : copies[2];
    *number = right.number;
    *corrupt = false;
    for (uint32_t i = 0; i < payload_bytes / sizeof(struct stamp); i++)
        *corrupt = *corrupt || memcmp(&copies[i], &right, sizeof(right)) != 0;
    return right.magic == MAGIC;
}

static void receive(struct stream *stream, uint32_t payload_bytes)
{
    struct stamp copies[PAYLOAD_CORRUPT_BYTES / sizeof(struct stamp)];
    for (ssize_t length; (length = recv(stream->target, copies, sizeof(copies), 0)) >= 0;) {
        uint32_t number;
        bool corrupt;
        if (length != (ssize_t)payload_bytes || !read_number(copies, payload_bytes, &number, &corrupt) || number >= stream->sent)
            continue;
        uint8_t *fate = &stream->fates[number];
        if (!(*fate & FATE_SEEN))
            stream->arrivals[stream->first_arrivals++] = number;
        else
            *fate |= FATE_TWICE;
        *fate |= FATE_SEEN;
        if (corrupt)
            *fate |= FATE_CORRUPT;
    }
}

/* Takes what comes until `until_ns`, or until each of `all` has come. */
static void receive_until(struct stream *stream, uint32_t payload_bytes, int64_t until_ns, uint64_t all)
{
    for (;;) {
        receive(stream, payload_bytes);
        int64_t left_ns = until_ns - clock_now_ns();
        if (left_ns <= 0 || stream->first_arrivals == all)
            return;
        struct timespec timeout = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
        struct pollfd readable = {.fd = stream->target, .events = POLLIN};
        (void)ppoll(&readable, 1, &timeout, NULL);
    }
}

static void send_batch(struct stream *stream, const struct measure_pace *pace)
{
    struct stamp copies[PAYLOAD_CORRUPT_BYTES / sizeof(struct stamp)];
    for (int i = 0; i < pace->batch && stream->sent < pace->count; i++) {
        struct stamp stamp = {.magic = MAGIC, .number = (uint32_t)stream->sent};
        for (size_t copy = 0; copy < pace->payload_bytes / sizeof(stamp); copy++)
            copies[copy] = stamp;
        (void)sendto(stream->source, copies, pace->payload_bytes, 0, (struct sockaddr *)&stream->to, sizeof(stream->to));
        stream->sent++;
    }
}

static int open_stream(const struct measure_path *path, struct stream *stream, uint64_t *socket_bytes, struct err *err)
{
    int failed = measure_datagram_sockets(path, &stream->source, &stream->target, &stream->to, err);
    if (failed)
        return failed;
    int room = SOCKET_BYTES, on = 1, got = 0;
    socklen_t length = sizeof(got);
    if (setsockopt(stream->target, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0) /* root's alone */
        (void)setsockopt(stream->target, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    if (path->asked.impairments.corrupt > 0)
        (void)setsockopt(stream->source, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on));
    if (getsockopt(stream->target, SOL_SOCKET, SO_RCVBUF, &got, &length) < 0)
        return err_set_errno(err, ERR_HOST, errno, "the room of a socket");
    *socket_bytes = (uint64_t)got;
    return 0;
}

/* What the socket itself had no room for. */
static uint64_t dropped_here(const struct stream *stream)
{
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    socklen_t length = sizeof(memory);
    return getsockopt(stream->target, SOL_SOCKET, SO_MEMINFO, memory, &length) == 0 ? memory[SK_MEMINFO_DROPS] : 0;
}

uint64_t measure_overtakers(const uint32_t *arrivals, uint64_t count)
{
    uint64_t overtakers = 0;
    uint32_t least = UINT32_MAX; /* of all that came later */
    for (uint64_t i = count; i > 0; i--) {
        overtakers += arrivals[i - 1] > least;
        least = arrivals[i - 1] < least ? arrivals[i - 1] : least;
    }
    return overtakers;
}

static void count_fates(const struct stream *stream, struct packet_fates *fates)
{
    bool lost_before = false;
    fates->sent = stream->sent;
    for (uint64_t i = 0; i < stream->sent; i++) {
        bool lost = !(stream->fates[i] & FATE_SEEN);
        fates->lost += lost;
        fates->loss_runs += lost && !lost_before;
        fates->duplicated += (stream->fates[i] & FATE_TWICE) != 0;
        fates->corrupted += (stream->fates[i] & FATE_CORRUPT) != 0;
        lost_before = lost;
    }
    fates->reordered = measure_overtakers(stream->arrivals, stream->first_arrivals);
}

static int64_t patience_ns(const struct measure_path *path)
{
    return path->asked.delay_ns + impairment_jitter_most_ns(&path->asked.impairments) +
           (path->time_ns > 0 ? PATIENCE_NS : SURVEY_PATIENCE_NS);
}

int64_t measure_fates_expected_ns(const struct measure_path *path)
{
    struct measure_pace pace = measure_fates_pace(path, SOCKET_BYTES);
    bool waits = measure_asked_to_lose(&path->asked) || path->asked.impairments.duplicate > 0;
    return (int64_t)(pace.count / (uint64_t)pace.batch) * pace.tick_ns + (waits ? patience_ns(path) : path->asked.delay_ns);
}

int measure_fates(const struct measure_path *path, struct direction_check *check, struct err *err)
{
    cleanup(stream_free) struct stream stream = {.source = -1, .target = -1};
    uint64_t socket_bytes = 0;
    int failed = open_stream(path, &stream, &socket_bytes, err);
    if (failed)
        return failed;
    struct measure_pace pace = measure_fates_pace(path, socket_bytes);
    stream.fates = calloc(pace.count + 1, sizeof(*stream.fates));
    stream.arrivals = calloc(pace.count + 1, sizeof(*stream.arrivals));
    if (!stream.fates || !stream.arrivals)
        return err_set_errno(err, ERR_HOST, ENOMEM, "memory for %llu datagrams", (unsigned long long)pace.count);
    int64_t begin_ns = clock_now_ns(), next_ns = begin_ns;
    while (stream.sent < pace.count) {
        receive_until(&stream, pace.payload_bytes, next_ns, UINT64_MAX);
        next_ns = clock_now_ns() + pace.tick_ns; /* a late batch is not made up for */
        send_batch(&stream, &pace);
    }
    check->fates.spacing_ns = (double)(clock_now_ns() - begin_ns) / (double)stream.sent;
    receive_until(&stream, pace.payload_bytes, clock_now_ns() + patience_ns(path),
                  path->asked.impairments.duplicate > 0 ? UINT64_MAX : stream.sent);
    count_fates(&stream, &check->fates);
    uint64_t dropped = path->asked.impairments.corrupt > 0 ? 0 : at_most(dropped_here(&stream), check->fates.lost);
    check->fates.sent -= dropped;
    check->fates.lost -= dropped;
    return 0;
}
