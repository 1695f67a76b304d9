/* packet_ledger.c: sums over captured packets; see packet_ledger.h. */
#include "netem/packet_ledger.h"

#include <stdbool.h>
#include <stdlib.h>

#include "netem/packet.h"
#include "netem/packet_flow.h"

enum {
    NONE = -1,
    STEPS_BITS = 6, /* buckets an octave, as a power of two */
    STEPS = 1 << STEPS_BITS,
    OCTAVES = 38 - STEPS_BITS, /* up to 2^38 ns, 275 s; what is longer counts there */
    BUCKETS = STEPS * (OCTAVES + 1),
};

struct key { /* of one direction of a connection, on one captured direction */
    int direction;
    uint32_t source, target;
    uint16_t source_port, target_port;
};
struct entry {
    struct key key;
    int next;         /* with the same hash */
    int older, newer; /* by when they were last seen */
    struct packet_flow flow;
};
struct account {
    uint64_t captured, packets, wire_bytes, payload_bytes, again_segments, again_bytes;
    uint64_t round_trips;
    int64_t shortest_ns, longest_ns;
    uint64_t buckets[BUCKETS];
};
struct packet_ledger {
    unsigned mtu;
    int direction_count, flow_most, flow_count;
    int oldest, newest;
    uint32_t hash_mask;
    int *heads; /* one a hash */
    struct entry *entries;
    struct account *accounts;
};

struct packet_ledger *packet_ledger_new(int direction_count, int flow_most, unsigned mtu)
{
    struct packet_ledger *ledger = calloc(1, sizeof(*ledger));
    if (!ledger)
        return NULL;
    uint32_t hashes = 1;
    while (hashes < 2 * (uint32_t)flow_most)
        hashes *= 2;
    *ledger = (struct packet_ledger){
        .mtu = mtu,
        .direction_count = direction_count,
        .flow_most = flow_most,
        .oldest = NONE,
        .newest = NONE,
        .hash_mask = hashes - 1,
        .heads = malloc(hashes * sizeof(*ledger->heads)),
        .entries = calloc((size_t)flow_most, sizeof(*ledger->entries)), /* the kernel gives pages as they are used */
        .accounts = calloc((size_t)direction_count, sizeof(*ledger->accounts)),
    };
    if (!ledger->heads || !ledger->entries || !ledger->accounts) {
        packet_ledger_free(ledger);
        return NULL;
    }
    for (uint32_t i = 0; i < hashes; i++)
        ledger->heads[i] = NONE;
    return ledger;
}

void packet_ledger_free(struct packet_ledger *ledger)
{
    if (!ledger)
        return;
    free(ledger->heads);
    free(ledger->entries);
    free(ledger->accounts);
    free(ledger);
}

/* ---- the table of connections ---- */

static uint32_t hash_of(const struct packet_ledger *ledger, const struct key *key)
{
    uint64_t hash = ((uint64_t)key->source << 32 | key->target) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= ((uint64_t)(uint32_t)key->direction << 32 | (uint32_t)key->source_port << 16 | key->target_port) *
            UINT64_C(0xc2b2ae3d27d4eb4f);
    hash ^= hash >> 29;
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(hash >> 32) & ledger->hash_mask;
}

static bool keys_equal(const struct key *a, const struct key *b)
{
    return a->direction == b->direction && a->source == b->source && a->target == b->target && a->source_port == b->source_port &&
           a->target_port == b->target_port;
}

static void leave_order(struct packet_ledger *ledger, int index)
{
    const struct entry *entry = &ledger->entries[index];
    *(entry->older == NONE ? &ledger->oldest : &ledger->entries[entry->older].newer) = entry->newer;
    *(entry->newer == NONE ? &ledger->newest : &ledger->entries[entry->newer].older) = entry->older;
}

static void become_newest(struct packet_ledger *ledger, int index)
{
    struct entry *entry = &ledger->entries[index];
    entry->older = ledger->newest;
    entry->newer = NONE;
    *(ledger->newest == NONE ? &ledger->oldest : &ledger->entries[ledger->newest].newer) = index;
    ledger->newest = index;
}

/* A place for one more connection: the next free one, or that of the connection that has been silent longest. */
static int take_place(struct packet_ledger *ledger)
{
    if (ledger->flow_count < ledger->flow_most)
        return ledger->flow_count++;
    int index = ledger->oldest;
    leave_order(ledger, index);
    int *link = &ledger->heads[hash_of(ledger, &ledger->entries[index].key)];
    while (*link != index)
        link = &ledger->entries[*link].next;
    *link = ledger->entries[index].next;
    return index;
}

static struct packet_flow *find_flow(struct packet_ledger *ledger, const struct key *key)
{
    int *head = &ledger->heads[hash_of(ledger, key)];
    for (int i = *head; i != NONE; i = ledger->entries[i].next)
        if (keys_equal(&ledger->entries[i].key, key)) {
            if (i != ledger->newest) {
                leave_order(ledger, i);
                become_newest(ledger, i);
            }
            return &ledger->entries[i].flow;
        }
    int index = take_place(ledger);
    struct entry *entry = &ledger->entries[index];
    *entry = (struct entry){.key = *key, .next = *head};
    *head = index;
    become_newest(ledger, index);
    return &entry->flow;
}

/* ---- round trips ---- */

static int bucket_of(int64_t time_ns)
{
    if (time_ns < STEPS)
        return (int)time_ns;
    int octave = 63 - __builtin_clzll((uint64_t)time_ns) - STEPS_BITS; /* 0: from STEPS on */
    if (octave >= OCTAVES)
        return BUCKETS - 1;
    return (octave + 1) * STEPS + (int)((time_ns >> octave) & (STEPS - 1));
}

/* The middle of a bucket. */
static int64_t bucket_ns(int bucket)
{
    if (bucket < STEPS)
        return bucket;
    int octave = bucket / STEPS - 1;
    int64_t low = (int64_t)(STEPS + bucket % STEPS) << octave, width = INT64_C(1) << octave;
    return low + width / 2;
}

static void add_round_trip(struct account *account, int64_t time_ns)
{
    if (time_ns < 0)
        return;
    account->shortest_ns = account->round_trips == 0 || time_ns < account->shortest_ns ? time_ns : account->shortest_ns;
    account->longest_ns = time_ns > account->longest_ns ? time_ns : account->longest_ns;
    account->round_trips++;
    account->buckets[bucket_of(time_ns)]++;
}

/* By nearest rank. */
static int64_t quantile_ns(const struct account *account, uint64_t percent)
{
    uint64_t rank = (account->round_trips * percent + 99) / 100, count = 0;
    int bucket = 0;
    while (bucket < BUCKETS - 1 && (count += account->buckets[bucket]) < rank)
        bucket++;
    int64_t time_ns = bucket_ns(bucket);
    return time_ns < account->shortest_ns ? account->shortest_ns : time_ns > account->longest_ns ? account->longest_ns : time_ns;
}

/* ---- packets ---- */

/* Each frame is a segment of its own; SYN and FIN take a sequence number, in front of the payload and behind it. */
static void pass_segments(struct packet_flow *flow, const struct packet *packet, struct account *account)
{
    uint32_t sequence = packet->sequence, left = packet->payload_bytes;
    for (uint32_t i = 0; i < packet->frame_count; i++) {
        uint32_t payload = left < packet->segment_bytes ? left : packet->segment_bytes, numbers = payload;
        left -= payload;
        if (i == 0 && packet->flags & PACKET_SYN)
            numbers++;
        if (left == 0 && packet->flags & PACKET_FIN)
            numbers++;
        if (numbers == 0)
            break;
        uint32_t seen = packet_flow_pass(flow, sequence, numbers);
        account->again_segments += seen > 0;
        account->again_bytes += seen < payload ? seen : payload;
        sequence += numbers;
    }
}

void packet_ledger_sent(struct packet_ledger *ledger, int direction, const uint8_t *bytes, size_t captured, size_t length,
                        int64_t time_ns)
{
    struct account *account = &ledger->accounts[direction];
    struct packet packet;
    packet_parse(bytes, captured, length, ledger->mtu, &packet);
    account->captured++;
    account->packets += packet.frame_count;
    account->wire_bytes += packet.wire_bytes;
    account->payload_bytes += packet.payload_bytes;
    if (!packet.is_tcp || (packet.payload_bytes == 0 && (packet.flags & (PACKET_SYN | PACKET_FIN)) == 0))
        return;
    const struct key key = {direction, packet.source, packet.target, packet.source_port, packet.target_port};
    struct packet_flow *flow = find_flow(ledger, &key);
    if (packet.flags & PACKET_SYN)
        packet_flow_begin(flow, packet.sequence);
    pass_segments(flow, &packet, account);
    if (packet.has_timestamps)
        add_round_trip(account, packet_flow_sent(flow, packet.timestamp, packet.sequence, time_ns));
}

void packet_ledger_returned(struct packet_ledger *ledger, int direction, const uint8_t *bytes, size_t captured, size_t length,
                            int64_t time_ns)
{
    struct packet packet;
    packet_parse(bytes, captured, length, ledger->mtu, &packet);
    if (!packet.is_tcp || !packet.has_timestamps || (packet.flags & PACKET_ACKNOWLEDGES) == 0)
        return;
    const struct key key = {direction, packet.target, packet.source, packet.target_port, packet.source_port};
    /* Of a connection that is not known yet, too: its data may lie in the other buffer, which is read later. */
    struct packet_flow *flow = find_flow(ledger, &key);
    add_round_trip(&ledger->accounts[direction], packet_flow_echoed(flow, packet.timestamp_echo, packet.acknowledgement, time_ns));
}

void packet_ledger_sum(const struct packet_ledger *ledger, int direction, struct packet_summary *summary)
{
    const struct account *account = &ledger->accounts[direction];
    summary->captured_count = account->captured;
    summary->packet_count = account->packets;
    summary->wire_bytes = account->wire_bytes;
    summary->payload_bytes = account->payload_bytes;
    summary->retransmitted_segment_count = account->again_segments;
    summary->retransmitted_bytes = account->again_bytes;
    summary->round_trip_count = account->round_trips;
    bool any = account->round_trips > 0;
    summary->round_trip_minimum_ns = account->shortest_ns;
    summary->round_trip_p50_ns = any ? quantile_ns(account, 50) : 0;
    summary->round_trip_p99_ns = any ? quantile_ns(account, 99) : 0;
    summary->round_trip_maximum_ns = account->longest_ns;
}
