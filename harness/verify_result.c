/* verify_result.c: what is known of one direction of a measured network, and how many directions are as asked. */
#include "harness/verify_result.h"

#include "harness/verify_internal.h"
#include "netem/impairment.h"
#include "netem/topology.h"

struct verify_direction verify_direction_of(const struct survey_entry *entry, int link, int direction)
{
    struct verify_direction found = {
        .topology = &entry->topology,
        .link = &entry->topology.links[link],
        .index = direction,
        .engine = entry->readback[link].engine,
        .asked = &entry->topology.links[link].direction[direction],
        .set = &entry->readback[link].direction[direction],
        .check = &entry->checks[link].direction[direction],
    };
    found.payload_bps = (double)found.asked->rate_bps * topology_payload_share(entry->topology.mtu, found.asked->framing);
    measure_expect_delays(found.asked, found.check->probes_received, &found.delays);
    measure_expect_fates(found.asked, found.check->fates.spacing_ns, measure_fates_payload_bytes(found.asked), &found.fates);
    return found;
}

uint64_t verify_packets_needed(const struct verify_direction *direction)
{
    const struct impairments *asked = &direction->asked->impairments;
    const uint64_t needed[] = {
        impairment_any_loss(asked) ? measure_packets_needed(direction->fates.lost, direction->fates.loss_variance) : 0,
        measure_packets_needed(asked->duplicate, 1), measure_packets_needed(asked->corrupt, 1),
        measure_packets_needed(asked->reorder, 1)};
    uint64_t most = 0;
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        most = needed[i] > most ? needed[i] : most;
    return most;
}

struct verify_counts verify_count(const struct verify_result *result)
{
    struct verify_counts counts = {0};
    for (int e = 0; e < result->survey->count; e++) {
        const struct survey_entry *entry = &result->survey->entries[e];
        if (!entry->checks)
            continue;
        counts.networks++;
        for (int link = 0; link < entry->topology.link_count; link++) {
            const struct direction_check *checks = entry->checks[link].direction;
            counts.links += checks[DIRECTION_FORWARD].measured;
            for (int d = 0; d < DIRECTIONS; d++) {
                counts.directions += checks[d].measured;
                counts.out_of_tolerance += checks[d].measured && !checks[d].within_tolerance;
            }
        }
    }
    return counts;
}
