/* results/export.h: a database in other programs' formats. Everything is written to a stream as it is read. */
#ifndef LAGGARD_RESULTS_EXPORT_H
#define LAGGARD_RESULTS_EXPORT_H

#include <stdint.h>
#include <stdio.h>

struct err;
struct sql;

/* One trial as a trace: a process a node, in it the spans of a kind on tracks of its name (several where they overlap), arrows for
 * messages, counters where there are samples, and events. trial 0: the first finished one. ERR_USAGE: there is no such trial. */
enum trace_form {
    TRACE_PERFETTO, /* Perfetto's TrackEvent in Protocol Buffers; times in ns after the trial's start */
    TRACE_CHROME,   /* Chrome's JSON; times in us, with three decimals */
    TRACE_FORM_COUNT
};
int export_trace(struct sql *sql, int64_t trial, enum trace_form form, FILE *stream, struct err *err);
/* The cells of a campaign (0: of all) as OpenMetrics text. */
int export_openmetrics(struct sql *sql, int64_t campaign_id, FILE *stream, struct err *err);

#endif
