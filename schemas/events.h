/* events.h: what changes in the network and among the nodes while a trial runs: as a campaign file asks for it (event_request), in
 * the numbers of one cell's network (event_plan), and as it happened in a trial (event_record). */
#ifndef LAGGARD_SCHEMAS_EVENTS_H
#define LAGGARD_SCHEMAS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/settings.h"

struct trace_step { /* what a link is from then on; of the members that the trace has */
    int64_t at_ns;  /* after the trace's beginning */
    uint64_t rate_bps;
    int64_t delay_ns;
    double loss;
};
struct link_trace { /* read from a file */
    const struct trace_step *steps;
    int count;         /* at least 1; each step later than the one before it */
    int64_t period_ns; /* after which it begins anew, if it is repeated; later than the last step */
    bool has_rate, has_delay, has_loss;
};

enum event_direction { EVENT_BOTH, EVENT_FORWARD, EVENT_BACKWARD, EVENT_DIRECTION_COUNT };
enum { EVENT_BY_TIME = -1 };

/* Only the members that the kind uses are meaningful, the others 0. */
struct event_request {
    enum event_kind kind;
    int64_t at_ns;             /* after the start of the first round, warm-up included */
    int round;                 /* instead: before this measured round, from 0, on scheme_round_node(); EVENT_BY_TIME: not so */
    const char *link;          /* name or index */
    struct name_list nodes;    /* names or indexes; pause and crash: one */
    struct link_change change; /* set; zeros change nothing. back: from link.to to link.from */
    int direction;             /* down, up, flap, trace: enum event_direction */
    int64_t down_ns, up_ns;    /* flap */
    int times;                 /* flap */
    int64_t pause_ns;          /* pause */
    const char *trace_path;    /* trace: from where laggard runs, */
    const char *trace_written; /* and from where the campaign file is */
    int trace_format;          /* enum trace_format */
    bool repeat;
    const struct link_trace *trace;
};

struct planned_event {
    const struct event_request *asked;
    int link;         /* -1: none */
    const int *nodes; /* hosts */
    int node_count;
};
struct event_change { /* what an event asks of one direction, as far as that can be known; a trace: the most of each member */
    int event, link, direction;
    bool down;
    struct direction then;
};
struct event_plan {
    const struct planned_event *events; /* as in the campaign file: the number of an event is its index */
    int count;
    const struct event_change *changes;
    int change_count;
};

enum { EVENT_NO_NUMBER = -1 };
/* One thing that happened, or did not. Times are ns after the trial's start. */
struct event_record {
    const char *kind;
    const char *text;   /* a sentence */
    int64_t at_unix_ns; /* when it happened, or was noted */
    int event;          /* index of the event in the campaign file, */
    int64_t step;       /* step of a flap, a pause or a trace, */
    int link, node;     /* what it is about; of each: EVENT_NO_NUMBER: none */
    int direction;      /* EVENT_NO_NUMBER: both, or none */
    bool asked_known;   /* asked_ns is meaningful */
    bool happened;      /* at_ns is meaningful */
    int64_t asked_ns;   /* when it was to happen */
    int64_t at_ns;      /* when it was in force */
    bool has_direction; /* the members below are meaningful: what the link, or its direction, is since then */
    bool down;
    struct direction now; /* rate, delay and impairments */
};

#endif
