/* harness/program_output.h: what an outside program wrote to one of its streams: the beginning is kept, the rest is counted.
 * Pure. */
#ifndef LAGGARD_HARNESS_PROGRAM_OUTPUT_H
#define LAGGARD_HARNESS_PROGRAM_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { PROGRAM_OUTPUT_KEPT_BYTES = 65536, PROGRAM_OUTPUT_TAIL_BYTES = 256 };

struct program_output { /* zeros: nothing yet */
    struct text kept;
    char tail[PROGRAM_OUTPUT_TAIL_BYTES + 1]; /* what came last, for the sentence of a failure; NUL-terminated */
    size_t tail_length;
    uint64_t bytes; /* all that came */
};

void program_output_take(struct program_output *output, const char *bytes, size_t length);
/* What was kept, as text: UTF-8 without NUL, what was none is U+FFFD. No character is cut in two where the limit is. */
void program_output_text(const struct program_output *output, struct text *text);
bool program_output_truncated(const struct program_output *output);
/* The last line that is not empty, fit for a message (no control characters); "" when there is none. Cut at its beginning where it
 * is longer than the tail. */
void program_output_last_line(const struct program_output *output, struct text *line);
void program_output_free(struct program_output *output);

#endif
