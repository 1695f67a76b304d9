/* netem/impairment.c: decides the fate of each packet of one direction; impairment.h has the rules. */
#include "netem/impairment.h"

#include <inttypes.h>
#include <linux/virtio_net.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

enum { ETHERNET_HEADER = 14 };
#define MANGLED_ZERO 0xffff /* a UDP checksum of 0 says that there is none */

static bool uses_gilbert_elliott(const struct impairments *asked)
{
    return asked->gilbert_elliott.p > 0;
}

bool impairment_any_loss(const struct impairments *asked)
{
    return asked->loss > 0 || uses_gilbert_elliott(asked);
}

bool impairment_any_probability(const struct impairments *asked)
{
    return impairment_any_loss(asked) || asked->duplicate > 0 || asked->corrupt > 0 || asked->reorder > 0;
}

bool impairment_asked(const struct impairments *asked)
{
    return asked->jitter_ns > 0 || impairment_any_probability(asked);
}

bool impairment_needs_engine(const struct direction *direction)
{
    return direction->changes || direction->delay_ns > 0 || impairment_asked(&direction->impairments);
}

bool impairment_same(const struct impairments *a, const struct impairments *b)
{
    const struct gilbert_elliott *x = &a->gilbert_elliott, *y = &b->gilbert_elliott;
    bool tables = a->jitter_table_size == b->jitter_table_size &&
                  (a->jitter_table_size == 0 ||
                   memcmp(a->jitter_table, b->jitter_table, (size_t)a->jitter_table_size * sizeof(*a->jitter_table)) == 0);
    return tables && a->jitter_ns == b->jitter_ns && a->jitter_distribution == b->jitter_distribution &&
           a->jitter_correlation == b->jitter_correlation && a->loss == b->loss && a->loss_correlation == b->loss_correlation &&
           x->p == y->p && x->r == y->r && x->loss_bad == y->loss_bad && x->loss_good == y->loss_good &&
           a->duplicate == b->duplicate && a->corrupt == b->corrupt && a->reorder == b->reorder;
}

static uint32_t table_sum(const struct impairments *asked)
{
    uint32_t sum = 2166136261u; /* FNV-1a, over entries */
    for (int i = 0; i < asked->jitter_table_size; i++)
        sum = (sum ^ (uint16_t)asked->jitter_table[i]) * 16777619u;
    return sum;
}

void impairment_describe(const struct impairments *asked, struct text *out)
{
    const struct gilbert_elliott *bursts = &asked->gilbert_elliott;
    if (asked->jitter_ns > 0)
        text_printf(out, " jitter %" PRId64 "ns %s", asked->jitter_ns, jitter_names[asked->jitter_distribution]);
    if (asked->jitter_ns > 0 && asked->jitter_table_size > 0)
        text_printf(out, " %d entries %08" PRIx32, asked->jitter_table_size, table_sum(asked));
    if (uses_gilbert_elliott(asked))
        text_printf(out, " p %.17g r %.17g loss_bad %.17g loss_good %.17g", bursts->p, bursts->r, bursts->loss_bad,
                    bursts->loss_good);
    const struct {
        const char *name;
        double value;
    } values[] = {
        {"jitter_correlation", asked->jitter_correlation},
        {"loss", asked->loss},
        {"loss_correlation", asked->loss_correlation},
        {"duplicate", asked->duplicate},
        {"corrupt", asked->corrupt},
        {"reorder", asked->reorder},
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (values[i].value > 0)
            text_printf(out, " %s %.17g", values[i].name, values[i].value);
}

uint32_t impairment_probability(double probability)
{
    return (uint32_t)rint(probability * UINT32_MAX);
}

/* As netem does it in whole numbers, rounded away from zero. */
static int64_t scaled(int64_t jitter_ns, int entry)
{
    int64_t part = jitter_ns % IMPAIRMENT_SCALE * entry;
    part += part >= 0 ? IMPAIRMENT_SCALE / 2 : -IMPAIRMENT_SCALE / 2;
    return part / IMPAIRMENT_SCALE + jitter_ns / IMPAIRMENT_SCALE * entry;
}

int64_t impairment_jitter_most_ns(const struct impairments *asked)
{
    if (asked->jitter_ns == 0)
        return 0;
    struct impairment_table table = impairment_table_for(asked);
    int most = 0;
    for (int i = 0; i < table.size; i++)
        if (table.entries[i] > most)
            most = table.entries[i];
    return scaled(asked->jitter_ns, most);
}

struct gilbert_elliott impairment_bursts(const struct impairments *asked)
{
    double fresh = 1 - asked->loss_correlation;
    if (uses_gilbert_elliott(asked) || asked->loss == 0 || asked->loss_correlation == 0)
        return asked->gilbert_elliott;
    return (struct gilbert_elliott){.p = asked->loss * fresh, .r = (1 - asked->loss) * fresh, .loss_bad = 1};
}

/* All but the random stream, and what carries over from packet to packet. */
static struct impairment settings_of(const struct impairments *asked)
{
    const struct gilbert_elliott bursts = impairment_bursts(asked);
    double correlation = asked->jitter_correlation;
    struct impairment state = {
        .jitter_ns = asked->jitter_ns,
        .correlation = correlation,
        .innovation = sqrt(1 - correlation * correlation),
        .loss = impairment_probability(asked->loss),
        .duplicate = impairment_probability(asked->duplicate),
        .corrupt = impairment_probability(asked->corrupt),
        .reorder = impairment_probability(asked->reorder),
        .gilbert_elliott = bursts.p > 0,
        .to_bad = impairment_probability(bursts.p),
        .to_good = impairment_probability(bursts.r),
        .loss_bad = impairment_probability(bursts.loss_bad),
        .loss_good = impairment_probability(bursts.loss_good),
    };
    if (asked->jitter_ns > 0)
        state.table = impairment_table_for(asked);
    return state;
}

void impairment_begin(struct impairment *state, const struct impairments *asked, uint64_t seed, uint32_t link, uint32_t direction)
{
    *state = settings_of(asked);
    state->rng = rng_stream(seed, link, direction, RNG_LINK);
    if (state->correlation > 0)
        state->normal = rng_normal(&state->rng);
}

void impairment_change(struct impairment *state, const struct impairments *asked)
{
    struct impairment before = *state;
    *state = settings_of(asked);
    state->rng = before.rng;
    state->bad = before.bad && state->gilbert_elliott;
    state->normal = before.normal;
    if (state->correlation > 0 && before.correlation == 0)
        state->normal = rng_normal(&state->rng);
}

struct rng impairment_netem_seeds(uint64_t seed, uint32_t link, uint32_t direction)
{
    return rng_stream(seed, link, direction, RNG_LINK);
}

/* Nothing is drawn for what was not asked: a setting of 0 does not move the others' sequence. */
static bool happens(struct rng *rng, uint32_t probability)
{
    return probability > 0 && rng_u32(rng) <= probability;
}

bool impairment_duplicates(struct impairment *state)
{
    return happens(&state->rng, state->duplicate);
}

bool impairment_corrupts(struct impairment *state)
{
    return happens(&state->rng, state->corrupt);
}

bool impairment_reorders(struct impairment *state)
{
    return happens(&state->rng, state->reorder);
}

/* The state that a packet finds decides its loss; it moves in the same step. */
static bool burst_loses(struct impairment *state)
{
    uint32_t loss = state->bad ? state->loss_bad : state->loss_good;
    if (happens(&state->rng, state->bad ? state->to_good : state->to_bad))
        state->bad = !state->bad;
    return happens(&state->rng, loss);
}

bool impairment_loses(struct impairment *state)
{
    if (state->gilbert_elliott)
        return burst_loses(state);
    return happens(&state->rng, state->loss);
}

int64_t impairment_jitter_ns(struct impairment *state)
{
    if (state->jitter_ns == 0)
        return 0;
    int at;
    if (state->correlation > 0) {
        state->normal = state->correlation * state->normal + state->innovation * rng_normal(&state->rng);
        at = impairment_rank(state->normal, state->table.size);
    } else {
        at = (int)((uint64_t)rng_u32(&state->rng) * (uint32_t)state->table.size >> 32);
    }
    return scaled(state->jitter_ns, state->table.entries[at]);
}

/* --- corruption
 * ---------------------------------------------------------------------------------------------------------------------- */

static uint16_t folded_sum(const unsigned char *bytes, uint32_t length)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i + 1 < length; i += 2)
        sum += (uint64_t)bytes[i] << 8 | bytes[i + 1];
    if (length % 2 == 1)
        sum += (uint64_t)bytes[length - 1] << 8;
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* The field holds the sum of the pseudo header already. */
static void finish_checksum(struct virtio_net_hdr *header, unsigned char *frame, uint32_t length)
{
    uint32_t field = (uint32_t)header->csum_start + header->csum_offset;
    if (!(header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || field + 2 > length)
        return;
    uint16_t checksum = (uint16_t)~folded_sum(frame + header->csum_start, length - header->csum_start);
    if (checksum == 0)
        checksum = MANGLED_ZERO;
    frame[field] = (unsigned char)(checksum >> 8);
    frame[field + 1] = (unsigned char)checksum;
}

void impairment_flip_bit(struct impairment *state, unsigned char *packet, uint32_t length)
{
    struct virtio_net_hdr header;
    uint64_t draw = (uint64_t)rng_u32(&state->rng) << 3; /* one draw a packet, whatever its length */
    if (length <= sizeof(header) + ETHERNET_HEADER)
        return;
    memcpy(&header, packet, sizeof(header));
    unsigned char *frame = packet + sizeof(header);
    uint32_t end = length - (uint32_t)sizeof(header);
    if (header.gso_type == VIRTIO_NET_HDR_GSO_NONE) {
        finish_checksum(&header, frame, end);
        header.flags = 0;
        header.csum_start = header.csum_offset = 0;
        memcpy(packet, &header, sizeof(header));
    } else if (header.csum_start > ETHERNET_HEADER && header.csum_start < end) {
        end = header.csum_start;
    }
    uint64_t bit = draw * (end - ETHERNET_HEADER) >> 32; /* of 8 x bytes */
    frame[ETHERNET_HEADER + bit / 8] ^= (unsigned char)(1u << bit % 8);
}
