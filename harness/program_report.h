/* harness/program_report.h: what an outside program tells about its rounds, as lines of text on the descriptor LAGGARD_REPORT.
 * Pure: bytes in, records or a sentence out; nothing in them is trusted.
 *
 *     round N [NS]                             round N, counted from 0 and without gaps, is over: now, or at NS
 *     span KIND ROUND BEGIN_NS END_NS [BYTES]  an interval: compute, send, receive, reduce, apply, wait, evaluate
 *
 * Words are separated by one space, numbers are whole and decimal, times are CLOCK_MONOTONIC in nanoseconds, which must not lie
 * before the program could have begun nor in the future; a line ends with a newline. docs/outside-programs.md is the page. */
#ifndef LAGGARD_HARNESS_PROGRAM_REPORT_H
#define LAGGARD_HARNESS_PROGRAM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/records.h"

struct err;

enum { PROGRAM_REPORT_LINE_BYTES = 200 };

struct program_report {
    int64_t earliest_ns; /* before that no program ran (CLOCK_MONOTONIC) */
    int64_t start_ns;    /* of the trial: what happened before counts as then */
    uint32_t rounds_most, spans_most;
    bool drop_spans; /* they are checked and not kept */
    /* From here on by program_report_*(); times are after start_ns. */
    struct round_record *rounds; /* on the heap */
    struct span_record *spans;
    uint32_t round_count, span_count, round_room, span_room;
    uint64_t line; /* number of the line under way, from 1 once a byte of it has come */
    char text[PROGRAM_REPORT_LINE_BYTES + 1];
    size_t length;
};

/* ERR_TRIAL: a line makes no sense; the sentence begins with its number. Nothing more may be fed then. now_ns: CLOCK_MONOTONIC. */
int program_report_feed(struct program_report *report, const char *bytes, size_t length, int64_t now_ns, struct err *err);
/* Nothing more will come: refuses a line without its end. */
int program_report_finish(const struct program_report *report, struct err *err);
void program_report_free(struct program_report *report);

#endif
