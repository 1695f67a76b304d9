/* fabric_change.c: asks for links to change and for hosts to be parted; whether a direction could become another one at all. */
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "netem/fabric_internal.h"
#include "netem/impairment.h"

/* tbf and the way a queue is counted are there from the beginning, or not at all: what would put them in or take them out replaces
 * the qdisc of a running device, with all that waits in it. */
static int check_queue(const struct direction *built, const struct direction *to, struct err *err)
{
    char most[UNITS_TEXT_BYTES], asked[UNITS_TEXT_BYTES];
    uint64_t rate_most_bps = built->rate_most_bps > built->rate_bps ? built->rate_most_bps : built->rate_bps;
    if ((to->rate_bps == 0) != (built->rate_bps == 0))
        return err_set(
            err, ERR_USAGE,
            "a rate cannot be %s while packets flow: the qdisc would have to be replaced, with what waits in it; give the "
            "direction a rate from the beginning, a very high one where it is not to matter",
            to->rate_bps == 0 ? "taken away" : "introduced");
    if (to->rate_bps > rate_most_bps)
        return err_set(err, ERR_USAGE, "a rate of %s is more than the %s that the direction was built for",
                       units_spell_rate(asked, sizeof(asked), to->rate_bps), units_spell_rate(most, sizeof(most), rate_most_bps));
    if (to->rate_bps > 0 && (to->queue_packets == 0) != (built->queue_packets == 0))
        return err_set(
            err, ERR_USAGE,
            "a queue cannot be counted in %s from some moment on: the qdisc would have to be replaced, with what waits in "
            "it",
            to->queue_packets > 0 ? "packets" : "bytes");
    if (to->rate_bps > 0 && to->queue_bytes == 0)
        return err_set(err, ERR_USAGE, "a queue of 0 bytes would drop every packet");
    return 0;
}

int fabric_check_change(const struct direction *built, const struct direction *to, bool down, enum engine_kind engine,
                        struct err *err)
{
    char most[UNITS_TEXT_BYTES], asked[UNITS_TEXT_BYTES];
    int code = check_queue(built, to, err);
    if (code < 0)
        return code;
    bool delayed = to->delay_ns != built->delay_ns || !impairment_same(&to->impairments, &built->impairments);
    if (!built->changes && (down || delayed))
        return err_set(err, ERR_USAGE, "a direction that was not built for changes can change its rate and its queue, %s",
                       down ? "but not go down" : "but neither its delay nor its impairments");
    if (to->delay_ns < 0)
        return err_set(err, ERR_USAGE, "a delay of %s is below 0", units_spell_time(asked, sizeof(asked), to->delay_ns));
    int64_t built_ns = built->delay_ns + impairment_jitter_most_ns(&built->impairments),
            delay_ns = to->delay_ns + impairment_jitter_most_ns(&to->impairments),
            most_ns = built->delay_most_ns > built_ns ? built->delay_most_ns : built_ns;
    if (delay_ns > most_ns)
        return err_set(err, ERR_USAGE, "a delay of %s with its jitter is more than the %s that the direction was built for",
                       units_spell_time(asked, sizeof(asked), delay_ns), units_spell_time(most, sizeof(most), most_ns));
    if (engine == ENGINE_NETEM && to->impairments.jitter_correlation > 0)
        return err_set(
            err, ERR_USAGE,
            "engine netem cannot correlate jitter: the kernel's correlation does not reach its tables; use engine relay");
    return 0;
}

int fabric_change(struct fabric *fabric, int link, int direction, const struct direction *to, bool down, struct err *err)
{
    if (link < 0 || link >= fabric->link_count || direction < 0 || direction >= DIRECTIONS)
        return err_set(err, ERR_USAGE, "there is no direction %d of a link %d to change", direction, link);
    struct warden_request asked = {.operation = WARDEN_CHANGE, .argument = DIRECTIONS * link + direction};
    fabric->shared->change = *to;
    fabric->shared->change_down = down;
    return fabric_channel_ask(fabric, &asked, err);
}

int fabric_separate(struct fabric *fabric, const int *group, struct err *err)
{
    struct warden_request asked = {.operation = WARDEN_SEPARATE, .argument = group ? 1 : 0};
    if (group)
        memcpy(fabric->shared->group, group, (size_t)fabric->host_count * sizeof(*group));
    return fabric_channel_ask(fabric, &asked, err);
}
