/* needs.c: see needs.h. Bytes are measured: /proc/meminfo before and while stars of 1,000 and meshes of 60 places stood. */
#include "netem/needs.h"

#include "netem/impairment.h"
#include "netem/relay_internal.h"

enum {
    WARDEN_FILES = 32, /* streams, channels, signalfd, /dev/null, the relay's socket; who enters; what is open for a moment */
    RELAY_FILES = 24,
    PLACE_FILES = 2,          /* its namespace, its netlink socket */
    PROGRAM_FILES = 2,        /* its pidfd; the pipe that tells of its exec */
    INIT_FILES = 2,           /* its pidfd; the socket by which others enter from the place */
    OWN_PROCESSES = 4,        /* the warden, the relay and its second thread, what measures */
    PROBE_NAMESPACES = 2,     /* the scratch process that asks what the kernel can, and the warden */
    RELAY_OWN_MAPPINGS = 200, /* program, libraries, heap, stacks */
    PLACE_BYTES = 300 << 10,
    LINK_BYTES = 48 << 10,
    CAPTURE_FILES = 24,
    CAPTURE_DIRECTION_FILES = 3, /* two packet sockets, the pcap file */
    CAPTURE_PROCESSES = 33,      /* threads open and close the sockets */
    CAPTURE_BYTES = 4 << 20,     /* two rings of a slow link */
};
#define CAPTURE_MOST_BYTES (UINT64_C(512) << 20)  /* all of them together */
#define RELAY_PREFAULT_BYTES (UINT64_C(64) << 20) /* all rings together, before the first packet */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t ring_bytes(const struct direction *direction)
{
    const struct relay_direction carried = {
        .delay_ns = direction->delay_ns,
        .rate_bps = direction->rate_bps,
        .impairments = direction->impairments,
        .rate_most_bps = direction->rate_most_bps,
        .delay_most_ns = direction->delay_most_ns,
        .changes = direction->changes,
    };
    return relay_ring_capacity(&carried);
}

void needs_measure(const struct topology *topology, enum engine_kind engine, struct network_size *size)
{
    size->places = (uint64_t)topology->place_count;
    size->links = (uint64_t)topology->link_count;
    size->relay_links = size->flight_bytes = 0;
    for (int i = 0; i < topology->link_count && engine == ENGINE_RELAY; i++) {
        const struct direction *direction = topology->links[i].direction;
        if (!impairment_needs_engine(&direction[DIRECTION_FORWARD]) && !impairment_needs_engine(&direction[DIRECTION_BACKWARD]))
            continue;
        size->relay_links++;
        for (int d = 0; d < DIRECTIONS; d++)
            size->flight_bytes += ring_bytes(&direction[d]);
    }
}

void needs_of(const struct network_size *size, struct network_needs *needs)
{
    uint64_t captured_bytes = CAPTURE_BYTES * size->captures;
    uint64_t taps = DIRECTIONS * size->relay_links, inits = size->outside ? size->places : 0;
    uint64_t started = PROGRAM_FILES * size->programs + INIT_FILES * inits;
    *needs = (struct network_needs){
        /* The TAPs go to the relay once all are there: laggard's own programs start before that, others later. */
        .warden_files = WARDEN_FILES + PLACE_FILES * size->places + size->descriptors_a_program * size->programs + size->captures +
                        (size->outside ? larger(taps, started) : taps + started),
        .relay_files = taps ? RELAY_FILES + taps : 0,
        .capture_files = size->captures ? CAPTURE_FILES + size->places + CAPTURE_DIRECTION_FILES * size->captures : 0,
        .processes = OWN_PROCESSES + inits + (size->captures ? CAPTURE_PROCESSES : 0),
        .network_namespaces = PROBE_NAMESPACES + size->places,
        /* Of laggard's own programs each has its host name. */
        .uts_namespaces = PROBE_NAMESPACES + (size->outside ? inits : size->programs),
        .other_namespaces = PROBE_NAMESPACES + inits,
        .user_namespaces = size->user_namespace ? PROBE_NAMESPACES + inits : 0,
        .relay_mappings = taps ? RELAY_OWN_MAPPINGS + taps : 0,
        .kernel_bytes = PLACE_BYTES * size->places + LINK_BYTES * size->links +
                        (captured_bytes < CAPTURE_MOST_BYTES ? captured_bytes : CAPTURE_MOST_BYTES),
        .relay_bytes = size->flight_bytes < RELAY_PREFAULT_BYTES ? size->flight_bytes : RELAY_PREFAULT_BYTES,
    };
}
