/* capture_ring.c: packet sockets with rings in the kernel; see capture_ring.h. */
#include "netem/capture_ring.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

enum {
    THREADS_MOST = 32,
    ROUND_PACKETS = 65536, /* of one ring at a time */
    ETHERNET_BYTES = 14,
    ETHERTYPE_AT = 12,
    ETHERTYPE_IPV4 = 0x0800,
    PROTOCOL_AT = ETHERNET_BYTES + 9,
};

struct ring {
    struct capture_rings *all;
    const struct capture_ring_spec *spec;
    int index;
    pcap_t *pcap; /* NULL: not open, or reading has failed */
    char failure[120];
};
struct capture_rings {
    int count;
    struct ring *rings;
    capture_ring_packet *on_packet; /* of the reading under way */
    void *context;
};

/* ---- one socket ---- */

/* In the kernel, so that what is not wanted is not copied. Attached to libpcap's socket directly: its own way runs the filter once
 * more in user space on the ring's first block, where nobody knows whether a packet came or left, and everything is lost. */
static int attach_filter(int fd, const struct capture_ring_spec *spec, struct err *err)
{
    const uint32_t packet_type = (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE);
    struct sock_filter any[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, packet_type),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, spec->leaves ? 0 : 1, spec->leaves ? 1 : 0),
        BPF_STMT(BPF_RET | BPF_K, spec->snap_bytes),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_filter tcp[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, packet_type),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, spec->leaves ? 0 : 5, spec->leaves ? 5 : 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETHERTYPE_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IPV4, 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, PROTOCOL_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, spec->snap_bytes),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {.len = sizeof(any) / sizeof(any[0]), .filter = any};
    if (spec->tcp_alone)
        program = (struct sock_fprog){.len = sizeof(tcp) / sizeof(tcp[0]), .filter = tcp};
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0)
        return err_set_errno(err, ERR_HOST, errno, "the kernel refused the filter of a packet socket");
    int ignore = !spec->leaves; /* a refinement, since Linux 4.20: what leaves is not even shown to the filter */
    (void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &ignore, sizeof(ignore));
    return 0;
}

static void close_pcap(pcap_t **pcap)
{
    if (*pcap)
        pcap_close(*pcap);
    *pcap = NULL;
}

static int open_ring(struct ring *ring, struct err *err)
{
    const struct capture_ring_spec *spec = ring->spec;
    char text[PCAP_ERRBUF_SIZE] = "";
    if (setns(spec->namespace_fd, CLONE_NEWNET) < 0) /* of this thread */
        return err_set_errno(err, ERR_HOST, errno, "capturing %s: entering its namespace", spec->name);
    cleanup(close_pcap) pcap_t *pcap = pcap_create(spec->device, text);
    if (!pcap)
        return err_set(err, ERR_HOST, "capturing %s: %s", spec->name, text);
    if (pcap_set_snaplen(pcap, (int)spec->snap_bytes) != 0 || pcap_set_promisc(pcap, 0) != 0 ||
        pcap_set_timeout(pcap, CAPTURE_RETIRE_MS) != 0 || pcap_set_buffer_size(pcap, (int)spec->bytes) != 0 ||
        pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO) != 0)
        return err_set(err, ERR_HOST, "capturing %s: libpcap refused its settings", spec->name);
    int code = pcap_activate(pcap);
    if (code < 0)
        return err_set(err, ERR_HOST, "capturing %s on %s: %s: %s", spec->name, spec->device, pcap_statustostr(code),
                       pcap_geterr(pcap));
    if (pcap_datalink(pcap) != DLT_EN10MB)
        return err_set(err, ERR_HOST, "capturing %s: %s is no Ethernet device", spec->name, spec->device);
    if (attach_filter(pcap_fileno(pcap), spec, err) < 0)
        return err_wrap(err, "capturing %s", spec->name);
    if (pcap_setdirection(pcap, spec->leaves ? PCAP_D_OUT : PCAP_D_IN) != 0 || pcap_setnonblock(pcap, 1, text) != 0)
        return err_set(err, ERR_HOST, "capturing %s: %s", spec->name, text[0] ? text : pcap_geterr(pcap));
    ring->pcap = steal_pointer(&pcap);
    return 0;
}

static int close_ring(struct ring *ring, struct err *err)
{
    (void)err;
    close_pcap(&ring->pcap);
    return 0;
}

/* ---- all of them ---- */

struct worker {
    struct capture_rings *rings;
    int (*work)(struct ring *ring, struct err *err);
    int first, step, code;
    bool started;
    pthread_t thread;
    struct err err;
};

static void *run_worker(void *context)
{
    struct worker *worker = context;
    for (int i = worker->first; i < worker->rings->count && worker->code == 0; i += worker->step)
        worker->code = worker->work(&worker->rings->rings[i], &worker->err);
    return NULL;
}

/* One that cannot have a thread works here, after the others have begun; its namespace stays this process's, which does nothing
 * more that depends on it. */
static int for_each(struct capture_rings *rings, int (*work)(struct ring *ring, struct err *err), struct err *err)
{
    struct worker workers[THREADS_MOST] = {0};
    int count = rings->count < THREADS_MOST ? rings->count : THREADS_MOST, code = 0;
    for (int i = 0; i < count; i++) {
        workers[i] = (struct worker){.rings = rings, .work = work, .first = i, .step = count};
        workers[i].started = pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) == 0;
    }
    for (int i = 0; i < count; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        else
            run_worker(&workers[i]);
        if (code == 0 && workers[i].code < 0) {
            code = workers[i].code;
            if (err)
                *err = workers[i].err;
        }
    }
    return code;
}

int capture_rings_open(const struct capture_ring_spec *specs, int count, struct capture_rings **rings, struct err *err)
{
    struct capture_rings *made = calloc(1, sizeof(*made));
    struct ring *list = calloc((size_t)count, sizeof(*list));
    if (!made || !list) {
        free(made);
        free(list);
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot open %d packet sockets", count);
    }
    *made = (struct capture_rings){.count = count, .rings = list};
    for (int i = 0; i < count; i++)
        list[i] = (struct ring){.all = made, .spec = &specs[i], .index = i};
    int code = for_each(made, open_ring, err);
    if (code < 0)
        capture_rings_close(made);
    else
        *rings = made;
    return code;
}

void capture_rings_close(struct capture_rings *rings)
{
    if (!rings)
        return;
    for_each(rings, close_ring, NULL);
    free(rings->rings);
    free(rings);
}

static void on_pcap_packet(u_char *context, const struct pcap_pkthdr *header, const u_char *bytes)
{
    const struct ring *ring = (const void *)context;
    int64_t unix_ns = (int64_t)header->ts.tv_sec * NS_PER_S + header->ts.tv_usec; /* the precision says that these are ns */
    ring->all->on_packet(ring->all->context, ring->index, unix_ns, bytes, header->caplen, header->len);
}

int64_t capture_rings_read(struct capture_rings *rings, capture_ring_packet *on_packet, void *context)
{
    int64_t total = 0;
    rings->on_packet = on_packet;
    rings->context = context;
    for (int i = 0; i < rings->count; i++) {
        struct ring *ring = &rings->rings[i];
        if (!ring->pcap || ring->failure[0])
            continue;
        int got = pcap_dispatch(ring->pcap, ROUND_PACKETS, on_pcap_packet, (u_char *)ring);
        if (got > 0)
            total += got;
        else if (got < 0) /* the device is gone, or down */
            snprintf(ring->failure, sizeof(ring->failure), "%s", pcap_geterr(ring->pcap));
    }
    return total;
}

uint64_t capture_rings_dropped(const struct capture_rings *rings, int ring)
{
    struct pcap_stat statistics = {0};
    pcap_t *pcap = rings->rings[ring].pcap;
    return pcap && pcap_stats(pcap, &statistics) == 0 ? statistics.ps_drop : 0;
}

const char *capture_rings_failure(const struct capture_rings *rings, int ring)
{
    return rings->rings[ring].failure[0] ? rings->rings[ring].failure : NULL;
}
