/* trial_events_internal.h: what happened in a trial, in numbers (trial_events.c), to be put in words (trial_event_rows.c). */
#ifndef LAGGARD_HARNESS_TRIAL_EVENTS_INTERNAL_H
#define LAGGARD_HARNESS_TRIAL_EVENTS_INTERNAL_H

#include "harness/event_schedule.h"
#include "harness/trial_internal.h"

struct timer;

enum { NOTES_EACH_MOST = 1000 }; /* steps of one event that get rows of their own */
struct live_direction {
    struct direction asked;
    bool down;
};
struct note {
    struct event_due due;
    int64_t at_ns, at_unix_ns;
    int direction; /* EVENT_NO_NUMBER: both, or none */
    struct direction now;
    bool down;
};
struct tally { /* of one event */
    int64_t steps, noted_steps, passed_over, late_most_ns, last_ns;
};
/* How what is due is done, in a fabric or in the virtual world. Times are those of now_ns(). */
struct event_means {
    int64_t (*now_ns)(const struct trial *trial);
    void (*wake)(struct trial *trial, int64_t at_ns); /* calls trial_events_due() then; EVENT_NEVER_NS: not at all */
    int (*change)(struct trial *trial, int link, int direction, const struct direction *then, bool down, struct err *err);
    int (*separate)(struct trial *trial, const int *group, struct err *err); /* NULL: all reach all */
    bool (*runs)(struct trial *trial, int node);
    int (*stop)(struct trial *trial, int node, bool stops, struct err *err); /* or goes on */
    int (*kill)(struct trial *trial, int node, struct err *err);
};
extern const struct event_means event_means_fabric, event_means_virtual;

struct trial_events {
    const struct event_means *means;
    struct event_plan plan;
    struct event_schedule *schedule;
    struct timer *timer;
    int64_t start_ns;
    bool started;
    bool over; /* nothing happens any more */
    struct live_direction (*links)[DIRECTIONS];
    int *group;    /* one a node: who reaches whom */
    int *scratch;  /* of event_part() */
    int *pauses;   /* one a node: under way */
    bool *paused;  /* one a node: ever */
    bool *crashed; /* one a node */
    struct tally *tallies;
    struct note *notes;
    int note_count, note_room;
};

void trial_events_due(struct trial *trial); /* does what is due now */
/* Rows for all notes, then for events that have more to tell; into the trial's end. */
void trial_event_rows(struct trial *trial);

#endif
