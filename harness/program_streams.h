/* harness/program_streams.h: the pipes of one outside program: standard output, standard error and its report. They are read
 * whenever something is there and never let the program wait: what is beyond the bounds is counted and dropped. */
#ifndef LAGGARD_HARNESS_PROGRAM_STREAMS_H
#define LAGGARD_HARNESS_PROGRAM_STREAMS_H

#include "harness/program_output.h"
#include "harness/program_report.h"

struct err;
struct loop;
struct watch;

enum { STREAM_OUTPUT, STREAM_ERRORS, STREAM_REPORT, STREAM_COUNT };

struct program_streams {
    int pipes[STREAM_COUNT]; /* our ends; -1: closed */
    struct watch *watches[STREAM_COUNT];
    struct program_output output[STREAM_REPORT];
    struct program_report report;                           /* its bounds and times by the caller */
    void (*on_rounds)(void *context, uint32_t round_count); /* more rounds than before are reported */
    void (*on_bad)(void *context, const struct err *why);   /* a line of the report makes no sense; no other is read */
    void *context;
};

/* theirs: the program's ends, the caller's to close, also after a failure; -1 where there is none. */
int program_streams_open(struct program_streams *streams, int theirs[static STREAM_COUNT], struct err *err);
/* Until the loop is gone the streams must stay where they are. */
int program_streams_watch(struct program_streams *streams, struct loop *loop, struct err *err);
/* Reads what is there now from the first `count` of them: all that an ended program wrote. */
void program_streams_drain(struct program_streams *streams, int count);
/* Closes the pipes and frees what was kept; before the loop is freed. */
void program_streams_close(struct program_streams *streams);

#endif
