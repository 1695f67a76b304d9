/* netem/relay_line.c: what becomes of a packet that has come: lost, duplicated, corrupted, sent at once, or kept until its
 * deadline.
 *
 * The order of decisions is netem's (impairment.h). Each copy that is not lost is corrupted and delayed by itself. A reordered
 * packet is written here and now; a port that does not take it makes it wait like the others, in order. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "netem/relay_internal.h"

void relay_line_count(struct relay_line *line, uint32_t length, int64_t late_ns)
{
    struct relay_counters *counters = line->counters;
    if (late_ns < 0)
        late_ns = 0;
    counters->packets++;
    counters->bytes += length - RELAY_VNET_HEADER;
    counters->lateness[relay_lateness_bucket(late_ns)]++;
    if (late_ns > counters->lateness_max_ns)
        counters->lateness_max_ns = late_ns;
}

void relay_line_change(struct relay_line *line, const struct relay_direction *to, bool down, int64_t now_ns)
{
    line->asked = *to;
    line->down = down;
    relay_pace_change(&line->pace, to, &line->ring, now_ns);
    impairment_change(&line->impairment, &to->impairments);
}

/* Whether the packet is dealt with: written, or refused for good. */
static bool overtake(struct relay_line *line, const struct relay_packet *packet, uint32_t length)
{
    ssize_t written;
    if (line->blocked)
        return false;
    do
        written = write(line->out, packet->data, length);
    while (written < 0 && errno == EINTR);
    if (written < 0 && errno == EAGAIN)
        return false;
    if (written < 0) {
        line->counters->write_refused++;
        return true;
    }
    line->counters->reordered++;
    relay_line_count(line, length, 0);
    return true;
}

/* One copy that was not lost. */
static void forward(struct relay_line *line, struct relay_packet *packet, const struct relay_arrival *arrival)
{
    struct impairment *impairment = &line->impairment;
    uint32_t wire_bytes = relay_wire_bytes(packet->data, arrival->length);
    if (impairment_corrupts(impairment)) {
        line->counters->corrupted++;
        impairment_flip_bit(impairment, packet->data, arrival->length);
    }
    if (impairment_reorders(impairment) && overtake(line, packet, arrival->length))
        return;
    int64_t deadline_ns = relay_pace_deadline_ns(&line->pace, arrival->now_ns, arrival->now_ns - arrival->early_ns,
                                                 arrival->receiver_ns, impairment_jitter_ns(impairment), wire_bytes);
    relay_ring_commit(&line->ring, arrival->length, deadline_ns);
    packet->held_ns = line->pace.held_ns;
}

static void forward_duplicate(struct relay_line *line, const struct relay_arrival *arrival, const unsigned char *spare)
{
    if (impairment_loses(&line->impairment)) {
        line->counters->lost++;
        return;
    }
    struct relay_packet *packet = relay_ring_reserve(&line->ring);
    if (!packet) {
        line->counters->ring_full++;
        return;
    }
    memcpy(packet->data, spare, arrival->length);
    forward(line, packet, arrival);
}

void relay_line_take(struct relay_line *line, struct relay_packet *packet, const struct relay_arrival *arrival,
                     unsigned char *spare)
{
    if (line->down) {
        line->counters->lost++;
        return;
    }
    bool duplicated = impairment_duplicates(&line->impairment), lost = impairment_loses(&line->impairment);
    line->counters->duplicated += duplicated;
    line->counters->lost += lost;
    if (lost && !duplicated)
        return;
    bool two = duplicated && !lost;
    if (two) /* before the first copy is changed */
        memcpy(spare, packet->data, arrival->length);
    forward(line, packet, arrival);
    if (two)
        forward_duplicate(line, arrival, spare);
}
