/* harness/node_output.h: what the programs of many nodes write: line by line, so that lines of different nodes never mix, each with
 * its node's name in front. */
#ifndef LAGGARD_HARNESS_NODE_OUTPUT_H
#define LAGGARD_HARNESS_NODE_OUTPUT_H

#include <stdbool.h>

struct arena;
struct err;
struct loop;
struct node_output;

/* A line without an end is cut here, so that memory stays bounded. */
enum { NODE_OUTPUT_LINE_BYTES = 1 << 20 };

/* At most `most` streams. */
struct node_output *node_output_new(int most, struct arena *arena);
/* One more stream: what is written into *write_end (the caller's) appears on descriptor `to`, each line behind `prefix`. */
int node_output_add(struct node_output *output, const char *prefix, int to, int *write_end, struct err *err);
/* From now on the loop carries what comes; `failed` is called once if the lines cannot be written any more. */
int node_output_start(struct node_output *output, struct loop *loop, void (*failed)(void *context, int error), void *context,
                      struct err *err);
/* Shows what is still in the pipes, last lines without an end too. All writers have ended: it would wait for them. */
void node_output_finish(struct node_output *output);
void node_output_close(struct node_output *output); /* the descriptors; NULL allowed */

#endif
