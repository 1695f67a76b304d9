/* harness/link_trace.h: files that say what a link is from moment to moment, as an event of kind trace follows them.
 *
 * mahimahi: a whole number a line, the millisecond at which a packet of 1,500 bytes may leave; a number that stands there n times
 * is n packets; the last one is also the length of the trace. Lines never go back in time. What leaves within a bin of
 * LINK_TRACE_BIN_NS becomes the rate of that bin: 1,514 bytes a packet, which is what such a packet is on a link. A bin in which
 * nothing leaves gets LINK_TRACE_FLOOR_BPS.
 *
 * csv: the first line names the columns, time and at least one of rate, delay and loss, in any order; commas between, white space
 * around them does not matter, '#' begins a line to be left out. Values carry units (1.5s, 10mbit, 5ms; a loss is 0.01 or 1%), or
 * the column's name does: time_s, rate_kbit, delay_us. A line says what the link is from its time on. Times grow. The last line
 * counts as long as the one before it. */
#ifndef LAGGARD_HARNESS_LINK_TRACE_H
#define LAGGARD_HARNESS_LINK_TRACE_H

#include <stddef.h>

#include "base/clock.h"
#include "schemas/events.h"

struct arena;
struct err;

enum { LINK_TRACE_STEPS_MOST = 100000, LINK_TRACE_FILE_MOST = 16 << 20 };
#define LINK_TRACE_BIN_NS (100 * NS_PER_MS)
#define LINK_TRACE_FLOOR_BPS UINT64_C(12112) /* one packet a second */

/* Pure. Steps go into the arena; of bins with the same rate only the first becomes one. Errors are ERR_USAGE and begin with
 * "file:line:column: ". */
int link_trace_parse(enum trace_format format, const char *file, const char *text, size_t length, struct arena *arena,
                     struct link_trace *trace, struct err *err);
/* Reads a file of at most LINK_TRACE_FILE_MOST (input_file.h) and parses it. */
int link_trace_load(enum trace_format format, const char *path, struct arena *arena, struct link_trace *trace, struct err *err);

#endif
