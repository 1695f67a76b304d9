/* crew_loss.c: members that are late, and members that the crew goes on without; see crew.h. */
#include <stdio.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/crew_internal.h"

/* ---- losses ---- */

bool crew_can_lose(const struct member *member)
{
    const struct crew *crew = member->crew;
    if (member->node >= crew->spec.expendable || member->lost || !crew->running || clock_now_ns() < crew->starts_ns[0])
        return false;
    return crew->phase <= PHASE_RUN || !member->answered;
}

static void note(struct member *member, const char *how)
{
    struct crew *crew = member->crew;
    char sentence[320];
    snprintf(sentence, sizeof(sentence), "node %s is lost: %s after round %u; the others go on", crew_name_of(member), how,
             crew->rounds_done);
    member->loss.sentence = arena_strdup(crew->spec.arena, sentence);
}

/* Nobody waits for PEER's way: of an agent that does not take it the loop tells. After the rounds nobody has to know. */
static void tell_others(const struct member *member)
{
    const struct crew *crew = member->crew;
    const struct control_peer peer = {.node = (uint32_t)member->node, .lost = 1};
    for (int i = 0; i < crew->spec.count; i++)
        if (!crew->members[i].lost)
            control_channel_send(&crew->members[i].channel, CONTROL_PEER, &peer, NULL);
}

void crew_lose(struct member *member, const char *how)
{
    struct crew *crew = member->crew;
    member->lost = true;
    crew->results[member->node].lost = true;
    member->loss.at_ns = clock_now_ns();
    note(member, how);
    if (member->channel.watch)
        control_channel_ignore(&member->channel);
    if (crew->phase <= PHASE_RUN)
        tell_others(member);
    if (!member->answered)
        crew_answer(member);
}

void crew_loss_explain(struct member *member, const char *how)
{
    if (!member->late)
        note(member, how);
}

static bool essential_answered(const struct crew *crew)
{
    for (int i = crew->spec.expendable; i < crew->spec.count; i++)
        if (!crew->members[i].answered)
            return false;
    return true;
}

/* Half of what is left until the deadline is for the reports. */
static int64_t patience_ns(const struct crew *crew)
{
    int64_t left_ns = (crew->deadline_ns - clock_now_ns()) / 2;
    return left_ns < crew->spec.late_ns ? left_ns : crew->spec.late_ns;
}

void crew_await_the_late(struct crew *crew)
{
    bool between_sizes = crew->phase == PHASE_SIZE; /* then servers wait for what every worker sent last, too */
    if (!crew->running || crew->spec.expendable == 0 || (!between_sizes && !essential_answered(crew)))
        return;
    if (crew->phase == PHASE_RUN && crew_is_last_size(crew) && !crew->ending && crew->spec.hooks.ending)
        crew->spec.hooks.ending(crew->spec.hooks.context);
    crew->ending = true;
    loop_arm(crew->late, clock_now_ns() + patience_ns(crew));
}

void crew_on_late(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct crew *crew = context;
    const enum phase phase = crew->phase;
    for (int i = 0; i < crew->spec.expendable && crew->phase == phase && crew->closed.kind == ERR_NONE; i++) {
        struct member *member = &crew->members[i];
        if (member->answered)
            continue;
        char how[160];
        snprintf(how, sizeof(how), "when nothing was left but to %s, it did not answer", crew_awaited_of(member));
        member->late = true;
        crew_lose(member, how);
    }
}

const struct crew_loss *crew_loss(const struct crew *crew, int node)
{
    return crew->members[node].lost ? &crew->members[node].loss : NULL;
}

/* ---- the deadline ---- */

/* Who is stopped comes first: the others wait for it. */
static void name_the_late(const struct crew *crew, struct text *names)
{
    enum { NAMED_MAX = 4 };
    const struct crew_hooks *hooks = &crew->spec.hooks;
    int count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < crew->spec.count; i++) {
            const bool stopped = !crew->members[i].answered && hooks->stopped && hooks->stopped(hooks->context, i);
            if (!crew->members[i].answered && stopped == (pass == 0) && count++ < NAMED_MAX)
                text_printf(names, "%s%s%s", count > 1 ? ", " : "", crew->spec.names[i],
                            stopped ? " (its process is stopped)" : "");
        }
    if (count > NAMED_MAX)
        text_printf(names, " and %d more", count - NAMED_MAX);
}

void crew_on_deadline(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct crew *crew = context;
    if (crew->closed.kind != ERR_NONE) {
        crew_abandon(crew, &crew->closed);
        return;
    }
    cleanup(text_free) struct text late = {0};
    name_the_late(crew, &late);
    char limit[UNITS_TEXT_BYTES];
    struct err err;
    if (crew->running)
        err_set(&err, ERR_TRIAL,
                "%s after the start, and after round %u, these nodes had still to %s: %s (trial_deadline in the campaign file sets "
                "the limit)",
                units_show_time(limit, sizeof(limit), (double)crew->spec.run_deadline_ns), crew->rounds_done,
                crew_awaited_in(crew->phase), late.bytes);
    else
        err_set(&err, ERR_TRIAL, "%s after they were told to, these nodes had still to %s: %s (is this host overloaded?)",
                units_show_time(limit, sizeof(limit), (double)crew->spec.setup_deadline_ns), crew_awaited_in(crew->phase),
                late.bytes);
    crew_abandon(crew, &err);
}
