/* results/export_trace_internal.h: between the walk over a trial's rows (export_trace.c) and what it needs: the forms of traces
 * (trace_forms), tracks on which spans do not overlap (trace_lanes), and messages that have both ends (trace_messages).
 *
 * Memory grows with nodes, with spans of a node that are open at a time and with pairs of nodes that talk, never with spans: spans
 * are sorted by SQLite, which uses files for what does not fit into its cache. */
#ifndef LAGGARD_RESULTS_EXPORT_TRACE_INTERNAL_H
#define LAGGARD_RESULTS_EXPORT_TRACE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "results/export.h"

struct arena;
struct err;
struct sql;

/* What a form writes to, and its buffers, which it uses as it likes. */
struct trace_out {
    FILE *stream;
    bool some; /* an event was written */
    struct text packet, body, part, inner;
};

/* A node's process is the number of the node plus one: zero is the idle process to viewers. Tracks and processes have no number in
 * common. Times are ns after the start of the trial. */
struct trace_slice {
    int64_t process, track;
    int64_t begin_ns, end_ns;
    const char *name; /* its kind and round */
    int64_t round, moved_bytes, flags;
    const char *peer;        /* NULL: none */
    uint64_t sent, received; /* numbers of the message whose arrow begins or ends here; 0: none */
};

enum trace_unit { TRACE_SEGMENTS, TRACE_BYTES };

struct trace_counter {
    int64_t process, track;
    const char *name, *label; /* what is counted; of which link's direction, or "" */
    enum trace_unit unit;
};

/* One form of traces: begin, each process, tracks, each before what is on it, and end. Strings are bytes from anywhere. */
struct trace_form_operations {
    void (*begin)(struct trace_out *out);
    void (*process)(struct trace_out *out, int64_t process, const char *name);
    void (*track)(struct trace_out *out, int64_t process, int64_t track, const char *name);
    void (*slice)(struct trace_out *out, const struct trace_slice *slice);
    void (*counter_track)(struct trace_out *out, const struct trace_counter *counter);
    void (*counter)(struct trace_out *out, const struct trace_counter *counter, int64_t at_ns, int64_t value);
    /* process 0: of the whole trial, on `track`, which is of its own then */
    void (*event)(struct trace_out *out, int64_t process, int64_t track, int64_t at_ns, const char *kind, const char *text);
    void (*end)(struct trace_out *out);
};
extern const struct trace_form_operations trace_perfetto, trace_chrome;

/* Viewers nest what overlaps on one track, and need it to nest whole: so a kind of spans of a node has as many tracks as it has
 * spans at a time. Spans come in the order in which they begin. */
struct trace_lanes;
struct trace_lanes *trace_lanes_new(struct arena *arena, int64_t processes, int64_t kinds, int64_t first_track);
/* The track for a span, on which it is alone for its time; *is_new: the first on it. */
int64_t trace_lanes_take(struct trace_lanes *lanes, int64_t process, int64_t kind, int64_t begin_ns, int64_t end_ns, bool *is_new);
int64_t trace_lanes_new_track(struct trace_lanes *lanes); /* one that is no lane */

/* The k-th message that a node sends another one is the k-th that this one receives from it: between two nodes messages keep their
 * order. A pair of nodes has no arrows where these numbers differ (a node was lost, a message discarded before it was told of) or a
 * message would come before it was sent. */
struct trace_messages;
int trace_messages_read(struct sql *sql, int64_t trial, struct arena *arena, struct trace_messages **messages, struct err *err);
/* For every span with a peer, in the order in which they begin. */
void trace_messages_take(struct trace_messages *messages, int64_t kind, int64_t node, int64_t peer, struct trace_slice *slice);

#endif
