/* event_schedule.c: the steps of events in the order of their times; see event_schedule.h. */
#include "harness/event_schedule.h"

#include "base/arena.h"
#include "harness/event_plan.h"

struct running {
    bool moment_known;
    int64_t moment_ns; /* when its first step is due */
    int64_t step;      /* the next one */
};
struct event_schedule {
    const struct event_plan *plan;
    const struct settings *settings;
    struct running *running; /* one an event */
};

struct event_schedule *event_schedule_new(const struct event_plan *plan, const struct settings *settings, struct arena *arena)
{
    struct event_schedule *schedule = arena_new_object(arena, struct event_schedule);
    schedule->plan = plan;
    schedule->settings = settings;
    schedule->running = arena_new_array(arena, struct running, (size_t)plan->count);
    return schedule;
}

/* ---- steps of each kind ---- */

int64_t event_step_count(const struct event_request *asked)
{
    if (asked->kind == EVENT_FLAP)
        return 2 * (int64_t)asked->times;
    if (asked->kind == EVENT_PAUSE)
        return 2;
    if (asked->kind == EVENT_TRACE)
        return asked->repeat && asked->trace->count > 1 ? EVENT_NEVER_NS : asked->trace->count;
    return 1;
}

/* After the event's moment. */
static int64_t step_ns(const struct event_request *asked, int64_t step)
{
    if (asked->kind == EVENT_FLAP)
        return step / 2 * (asked->down_ns + asked->up_ns) + step % 2 * asked->down_ns;
    if (asked->kind == EVENT_PAUSE)
        return step * asked->pause_ns;
    if (asked->kind == EVENT_TRACE)
        return step / asked->trace->count * asked->trace->period_ns + asked->trace->steps[step % asked->trace->count].at_ns;
    return 0;
}

static int64_t due_ns(const struct event_schedule *schedule, int event, int64_t step)
{
    const struct running *running = &schedule->running[event];
    const struct event_request *asked = schedule->plan->events[event].asked;
    return running->moment_known && step < event_step_count(asked) ? running->moment_ns + step_ns(asked, step) : EVENT_NEVER_NS;
}

/* ---- moments ---- */
static void begin(struct running *running, int64_t moment_ns)
{
    if (!running->moment_known)
        *running = (struct running){.moment_known = true, .moment_ns = moment_ns};
}

void event_schedule_start(struct event_schedule *schedule, int64_t start_ns)
{
    for (int i = 0; i < schedule->plan->count; i++)
        if (schedule->plan->events[i].asked->round == EVENT_BY_TIME)
            begin(&schedule->running[i], start_ns + schedule->plan->events[i].asked->at_ns);
    event_schedule_round(schedule, 0, start_ns);
}

void event_schedule_round(struct event_schedule *schedule, uint32_t rounds_done, int64_t now_ns)
{
    for (int i = 0; i < schedule->plan->count; i++) {
        const struct event_request *asked = schedule->plan->events[i].asked;
        if (asked->round != EVENT_BY_TIME && event_mark(schedule->settings, asked) <= rounds_done)
            begin(&schedule->running[i], now_ns);
    }
}

/* ---- what is next ---- */
static int earliest(const struct event_schedule *schedule, int64_t *at_ns)
{
    int found = -1;
    *at_ns = EVENT_NEVER_NS;
    for (int i = 0; i < schedule->plan->count; i++) {
        int64_t ns = due_ns(schedule, i, schedule->running[i].step);
        if (ns < *at_ns) {
            *at_ns = ns;
            found = i;
        }
    }
    return found;
}

int64_t event_schedule_next_ns(const struct event_schedule *schedule)
{
    int64_t at_ns;
    (void)earliest(schedule, &at_ns);
    return at_ns;
}

bool event_schedule_take(struct event_schedule *schedule, int64_t now_ns, struct event_due *due)
{
    int64_t at_ns, passed_over = 0;
    int event = earliest(schedule, &at_ns);
    if (event < 0 || at_ns > now_ns)
        return false;
    struct running *running = &schedule->running[event];
    const struct event_request *asked = schedule->plan->events[event].asked;
    for (; asked->kind == EVENT_TRACE && due_ns(schedule, event, running->step + 1) <= now_ns; passed_over++)
        running->step++;
    *due = (struct event_due){
        .event = event, .step = running->step, .asked_ns = due_ns(schedule, event, running->step), .passed_over = passed_over};
    running->step++;
    due->last = running->step >= event_step_count(asked);
    return true;
}

void event_schedule_paused(struct event_schedule *schedule, int event, int64_t at_ns)
{
    schedule->running[event].moment_ns = at_ns;
}
