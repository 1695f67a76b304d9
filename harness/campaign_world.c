/* campaign_world.c: what a world cannot carry, refused where it stands in the campaign file. One row a reason; the text of the
 * virtual world's page has the same ones. */
#include <string.h>

#include "agents/scheme.h"
#include "campaign_internal.h"
#include "schemas/events.h"

enum { WORKERS_EMULATED_MOST = 1000 };

static bool has_exec(const struct settings *settings)
{
    return settings->scheme.outside;
}

static bool has_traffic(const struct settings *settings)
{
    return settings->traffic.count > 0;
}

static bool has_capture(const struct settings *settings)
{
    return settings->capture.all || settings->capture.link_count > 0;
}

static bool has_cpu_limits(const struct settings *settings)
{
    return settings->cpu_limits.count > 0;
}

static bool has_samples(const struct settings *settings)
{
    return settings->sample_every_ns > 0;
}

static bool draws_nothing(const struct settings *settings)
{
    return !settings->scheme.outside && settings->compute_time.kind == DISTRIBUTION_MEASURED;
}

static bool leaves_gradients_out(const struct settings *settings)
{
    return !settings->scheme.outside && settings->workload.gradients == GRADIENTS_NONE;
}

static bool sweeps_sizes(const struct settings *settings)
{
    return settings->workload.sizes.count > 0;
}

static bool has_many_workers(const struct settings *settings)
{
    return settings->workers > WORKERS_EMULATED_MOST;
}

static const struct refusal {
    enum world_kind world;
    bool (*asked)(const struct settings *settings);
    const char *path, *otherwise; /* where it stands; where, if that is a default */
    const char *sentence;
} refusals[] = {
    {WORLD_VIRTUAL, has_exec, "workload.exec", "scheme",
     "world virtual cannot run outside programs: they need real time and a real network; use world: emulated"},
    {WORLD_VIRTUAL, has_traffic, "traffic", "world",
     "world virtual has no cross traffic: real packets need a real network; use world: emulated, or a lower topology.link.rate"},
    {WORLD_VIRTUAL, has_capture, "capture", "world",
     "world virtual has no packets that could be captured; use world: emulated, or record_spans: true for what was sent when"},
    {WORLD_VIRTUAL, has_cpu_limits, "cpu_limits", "world",
     "world virtual uses no processors that could be limited; use world: emulated, or compute.slow for slow workers"},
    {WORLD_VIRTUAL, has_samples, "sample_every", "world",
     "world virtual has no TCP and no processors to look at; use world: emulated, or record_spans: true"},
    {WORLD_VIRTUAL, draws_nothing, "compute.time", "world",
     "world virtual needs a drawn compute time, since real work takes none of its time: set compute.time, for example "
     "{distribution: constant, value: 20ms}"},
    {WORLD_VIRTUAL, sweeps_sizes, "workload.sizes", "world",
     "world virtual has no connections that message sizes could share: sweep workload.size in the matrix, which is the same there, "
     "or use world: emulated"},
    {WORLD_EMULATED, leaves_gradients_out, "workload.gradients", "world",
     "gradients can be left out only in the virtual world: set world: virtual"},
    {WORLD_EMULATED, has_many_workers, "workers", "world",
     "more than 1000 workers are possible only in the virtual world: set world: virtual"},
};

/* What happens to packets in no virtual link, whatever asks for it. */
static const struct packet_refusal {
    size_t offset; /* of its share, into struct link_settings */
    const char *path, *sentence;
} packet_refusals[] = {
    {offsetof(struct link_settings, impairments.duplicate), "topology.link.duplicate",
     "world virtual sends no packet twice: TCP takes duplicates out; use world: emulated to see what they cost"},
    {offsetof(struct link_settings, impairments.reorder), "topology.link.reorder",
     "world virtual lets no packet overtake another: what TCP makes of it needs TCP; use world: emulated"},
};

static bool link_asks(const struct link_settings *link, size_t offset)
{
    double share;
    memcpy(&share, (const char *)link + offset, sizeof(share));
    return share > 0;
}

static bool change_asks(const struct link_change *change, size_t offset)
{
    return change && (link_asks(&change->both.values, offset) || link_asks(&change->back.values, offset));
}

/* The field by which a link is to have it, or may have it later; NULL: none. */
static const char *asked_by(const struct settings *settings, const struct packet_refusal *refusal)
{
    if (link_asks(&settings->link, refusal->offset))
        return refusal->path;
    if (settings->back && link_asks(&settings->back->values, refusal->offset))
        return "topology.link.back";
    if (change_asks(settings->bottleneck, refusal->offset))
        return "topology.bottleneck";
    if (change_asks(settings->uplink, refusal->offset))
        return "topology.uplink";
    for (int i = 0; i < settings->links.count; i++)
        if (change_asks(&settings->links.links[i].change, refusal->offset))
            return "topology.links";
    for (int i = 0; i < settings->override_count; i++)
        if (change_asks(&settings->overrides[i].change, refusal->offset))
            return "topology.overrides";
    for (int i = 0; i < settings->event_count; i++)
        if (change_asks(&settings->events[i].change, refusal->offset))
            return "events";
    return NULL;
}

static int check_packets(const struct cell_check *check)
{
    for (size_t i = 0; i < sizeof(packet_refusals) / sizeof(packet_refusals[0]); i++) {
        const char *path = asked_by(check->settings, &packet_refusals[i]);
        if (path)
            return campaign_fail(&check->reading->reader, campaign_place(check, path, "topology.link"), path, "%s",
                                 packet_refusals[i].sentence);
    }
    return 0;
}

int campaign_check_world(const struct cell_check *check)
{
    const struct settings *settings = check->settings;
    const struct reader *reader = &check->reading->reader;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        if (refusals[i].world == settings->world && refusals[i].asked(settings))
            return campaign_fail(reader, campaign_place(check, refusals[i].path, refusals[i].otherwise), refusals[i].path, "%s",
                                 refusals[i].sentence);
    int status = settings->world == WORLD_VIRTUAL ? check_packets(check) : 0;
    if (status < 0)
        return status;
    const struct scheme *scheme = settings->scheme.outside ? NULL : scheme_find(settings->scheme.name);
    if (scheme && scheme->flags & SCHEME_NEEDS_VALUES && settings->workload.gradients == GRADIENTS_NONE)
        return campaign_fail(reader, campaign_place(check, "workload.gradients", "scheme"), "workload.gradients",
                             "scheme '%s' decides by the values of gradients, so they cannot be left out", scheme->name);
    return 0;
}
