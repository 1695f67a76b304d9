/* capture.c: the process that empties the rings of captured links into files and sums; see capture.h. */
#include "netem/capture.h"

#include <cap-ng.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/capture_file.h"
#include "netem/capture_ring.h"
#include "netem/packet.h"
#include "netem/packet_ledger.h"

enum {
    RINGS = 2, /* a direction: what leaves, what returns */
    LEAVES = 0,
    RETURNS = 1,
    TICK_MOST_MS = 50,
    TICK_LEAST_MS = 2,
    TICKS_A_RING = 5,      /* how often a ring at full rate is read before it is full */
    DATA_SNAP_LEAST = 160, /* what the sums look at, whatever is written */
    RING_HOLDS_MS = 250,
    RING_RECORD_BYTES = 96, /* the kernel's own beside a packet */
    ETHERNET_BYTES = 14,
    NICE = -10, /* there is little to do, but late is lost; where it is allowed */
};
#define RING_LEAST_BYTES (UINT64_C(8) * CAPTURE_BLOCK_BYTES)
#define RING_SHARE_LEAST_BYTES (UINT64_C(4) * CAPTURE_BLOCK_BYTES) /* where there are very many */
#define RING_MOST_BYTES (UINT64_C(16) << 20)
#define RINGS_MOST_BYTES (UINT64_C(512) << 20)   /* all of them together */
#define RATE_UNLIMITED_BPS UINT64_C(10000000000) /* what a link without a rate is taken for */

struct capture {
    int count; /* of directions */
    struct capture_ring_spec *specs;
    struct capture_rings *rings; /* RINGS * direction + LEAVES or RETURNS */
    struct capture_file **files;
    struct packet_ledger *ledger;
    struct packet_summary *summaries;
    int tick_ms;
};

/* ---- sizes ---- */

static uint64_t ring_bytes_a_second(uint64_t rate_bps, uint64_t snap_bytes, unsigned mtu)
{
    uint64_t frame = mtu + ETHERNET_BYTES, kept = snap_bytes < frame ? snap_bytes : frame;
    return (rate_bps ? rate_bps : RATE_UNLIMITED_BPS) / (8 * frame) * (kept + RING_RECORD_BYTES);
}

uint64_t capture_ring_bytes(uint64_t rate_bps, uint64_t snap_bytes, unsigned mtu)
{
    uint64_t bytes = ring_bytes_a_second(rate_bps, snap_bytes, mtu) * RING_HOLDS_MS / 1000;
    return bytes < RING_LEAST_BYTES ? RING_LEAST_BYTES : bytes > RING_MOST_BYTES ? RING_MOST_BYTES : bytes;
}

static void describe_ring(struct capture *capture, const struct capture_direction *direction, int which, unsigned mtu,
                          struct capture_ring_spec *spec)
{
    bool returns = which == RETURNS;
    uint64_t rate_bps = returns ? direction->return_rate_bps : direction->rate_bps;
    *spec = (struct capture_ring_spec){
        .name = direction->name,
        .namespace_fd = direction->namespace_fd,
        .device = returns ? direction->return_device : direction->device,
        .leaves = !returns || direction->returns_leave,
        .tcp_alone = returns,
        .snap_bytes = returns                                   ? PACKET_HEADERS_MOST
                      : direction->snap_bytes > DATA_SNAP_LEAST ? (uint32_t)direction->snap_bytes
                                                                : DATA_SNAP_LEAST,
    };
    spec->bytes = capture_ring_bytes(rate_bps, spec->snap_bytes, mtu);
    uint64_t lasts_ms = spec->bytes * 1000 / (ring_bytes_a_second(rate_bps, spec->snap_bytes, mtu) + 1);
    if (lasts_ms / TICKS_A_RING < (uint64_t)capture->tick_ms)
        capture->tick_ms = (int)lasts_ms / TICKS_A_RING > TICK_LEAST_MS ? (int)lasts_ms / TICKS_A_RING : TICK_LEAST_MS;
}

static int open_all(struct capture *capture, const struct capture_direction *directions, unsigned mtu, struct err *err)
{
    uint64_t total = 0;
    capture->tick_ms = TICK_MOST_MS;
    for (int i = 0; i < RINGS * capture->count; i++) {
        describe_ring(capture, &directions[i / RINGS], i % RINGS, mtu, &capture->specs[i]);
        total += capture->specs[i].bytes;
    }
    for (int i = 0; i < RINGS * capture->count && total > RINGS_MOST_BYTES; i++) {
        uint64_t share = capture->specs[i].bytes / (total / RINGS_MOST_BYTES + 1);
        capture->specs[i].bytes = share > RING_SHARE_LEAST_BYTES ? share : RING_SHARE_LEAST_BYTES;
    }
    int code = capture_rings_open(capture->specs, RINGS * capture->count, &capture->rings, err);
    for (int i = 0; i < capture->count && code == 0; i++) {
        const struct capture_direction *direction = &directions[i];
        capture->files[i] = capture_file_new(direction->file_fd, direction->snap_bytes, direction->size_bytes, err);
        if (!capture->files[i])
            code = err_wrap(err, "capturing %s", direction->name);
    }
    return code;
}

/* From here on rings are read, whatever lies in them, and files written. */
static int drop_privileges(struct err *err)
{
    capng_clear(CAPNG_SELECT_BOTH);
    if (capng_apply(CAPNG_SELECT_BOTH) < 0 && capng_apply(CAPNG_SELECT_CAPS) < 0)
        return err_set(err, ERR_HOST, "the process that captures cannot drop its capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set_errno(err, ERR_HOST, errno, "the process that captures cannot renounce new privileges");
    return 0;
}

/* ---- packets ---- */

static void on_packet(void *context, int ring, int64_t unix_ns, const uint8_t *bytes, size_t captured, size_t length)
{
    struct capture *capture = context;
    int direction = ring / RINGS;
    if (ring % RINGS == RETURNS) {
        packet_ledger_returned(capture->ledger, direction, bytes, captured, length, unix_ns);
        return;
    }
    packet_ledger_sent(capture->ledger, direction, bytes, captured, length, unix_ns);
    capture_file_add(capture->files[direction], unix_ns, bytes, captured, length);
}

/* Files are up to date after each reading: there is something to look at while a trial runs. */
static int64_t read_all(struct capture *capture)
{
    int64_t packets = capture_rings_read(capture->rings, on_packet, capture);
    for (int i = 0; i < capture->count; i++)
        capture_file_flush(capture->files[i]);
    return packets;
}

static void sum_up(struct capture *capture)
{
    for (int i = 0; i < capture->count; i++) {
        struct packet_summary summary = {0};
        packet_ledger_sum(capture->ledger, i, &summary);
        capture_file_sum(capture->files[i], &summary);
        summary.dropped_count = capture_rings_dropped(capture->rings, RINGS * i + LEAVES);
        summary.return_dropped_count = capture_rings_dropped(capture->rings, RINGS * i + RETURNS);
        const char *failure = capture_rings_failure(capture->rings, RINGS * i + LEAVES);
        if (failure) {
            snprintf(summary.reason, sizeof(summary.reason), "reading failed: %s", failure);
            summary.truncated = summary.failed = true;
        }
        capture->summaries[i] = summary;
    }
}

/* What the kernel still gathers can be read a little later. */
static void finish(struct capture *capture)
{
    int64_t until_ns = clock_now_ns() + (2 * CAPTURE_RETIRE_MS + TICK_LEAST_MS) * NS_PER_MS;
    bool over;
    do {
        over = clock_now_ns() >= until_ns;
        if (read_all(capture) == 0 && !over)
            poll(NULL, 0, CAPTURE_RETIRE_MS / 5);
    } while (!over);
    sum_up(capture);
    capture_rings_close(steal_pointer(&capture->rings));
}

static int say(int control_fd, struct err *err)
{
    char byte = 0;
    if (write(control_fd, &byte, 1) != 1)
        return err_set_errno(err, ERR_HOST, errno, "the process that captures cannot answer");
    return 0;
}

static int serve(struct capture *capture, int control_fd, struct err *err)
{
    int code = say(control_fd, err);
    while (code == 0) {
        struct pollfd control = {.fd = control_fd, .events = POLLIN};
        int ready = poll(&control, 1, capture->tick_ms);
        if (ready < 0 && errno != EINTR)
            return err_set_errno(err, ERR_HOST, errno, "the process that captures cannot wait");
        read_all(capture);
        if (ready <= 0)
            continue;
        char byte;
        ssize_t got = read(control_fd, &byte, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != 1)
            return 0;
        finish(capture);
        return say(control_fd, err);
    }
    return code;
}

int capture_run(const struct capture_direction *directions, int count, unsigned mtu, struct packet_summary *summaries,
                int control_fd, struct err *err)
{
    struct capture capture = {
        .count = count,
        .summaries = summaries,
        .specs = calloc((size_t)count * RINGS, sizeof(*capture.specs)),
        .files = calloc((size_t)count, sizeof(*capture.files)),
        .ledger = packet_ledger_new(count, PACKET_LEDGER_FLOWS, mtu),
    };
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is a write that fails */
    signal(SIGPIPE, SIG_IGN);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    int code = capture.specs && capture.files && capture.ledger
                   ? open_all(&capture, directions, mtu, err)
                   : err_set_errno(err, ERR_HOST, ENOMEM, "cannot capture %d link directions", count);
    if (code == 0)
        code = drop_privileges(err);
    if (code == 0)
        code = serve(&capture, control_fd, err);
    for (int i = 0; capture.files && i < count; i++)
        capture_file_free(capture.files[i]);
    capture_rings_close(capture.rings);
    packet_ledger_free(capture.ledger);
    free(capture.files);
    free(capture.specs);
    return code;
}
