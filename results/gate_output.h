/* results/gate_output.h: a gate's result for people and for other programs. Nothing that is no finite number leaves: it is null, or
 * is left out where a format has no null. */
#ifndef LAGGARD_RESULTS_GATE_OUTPUT_H
#define LAGGARD_RESULTS_GATE_OUTPUT_H

#include <stdbool.h>

#include "results/gate.h"

struct text;

void gate_print_table(const struct gate_result *result, bool colour, struct text *out);
void gate_print_json(const struct gate_result *result, struct text *out);
void gate_print_markdown(const struct gate_result *result, struct text *out); /* under 1 MiB, the gravest rows first */
void gate_print_junit(const struct gate_result *result, struct text *out);
void gate_print_github(const struct gate_result *result, struct text *out); /* workflow commands, a line a finding */
void gate_print_bmf(const struct gate_result *result, struct text *out);    /* Bencher metric format */
/* github-action-benchmark's own format, of metrics of which less (lower) or more is better: each needs a file of its own. */
void gate_print_benchmark(const struct gate_result *result, bool lower, struct text *out);

/* For these files: */
const char *gate_show_value(char *text, unsigned long size, double value, const char *unit); /* "12.3 ms"; "–" when not finite */
const char *gate_show_change(char *text, unsigned long size, const struct gate_row *row);    /* "+3.1 % [+1.0, +5.2]" */
const char *gate_show_where(const struct gate_row *row);                                     /* the label, or "the cell" */

#endif
