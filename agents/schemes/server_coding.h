/* agents/schemes/server_coding.h: what a server of server_rounds.h and its workers do besides where workers send combinations of
 * several partitions' gradients (`gradient-coding`): the codes, a worker's tasks and combination, decoding. */
#ifndef LAGGARD_AGENTS_SCHEMES_SERVER_CODING_H
#define LAGGARD_AGENTS_SCHEMES_SERVER_CODING_H

#include "agents/node.h"

struct server_coding;

/* ---- of the cell ---- */
int server_coding_load(const struct scheme_setup *setup); /* partitions a worker */
/* Workers of one group send the same sum; one of each is enough. 1: each sends its own, or nothing is coded. */
int server_coding_group(const struct scheme_setup *setup);
int server_coding_quota(const struct scheme_setup *setup); /* groups, or workers, that make an update */
int server_coding_check(const struct scheme_setup *setup, struct err *err);
int server_coding_prepare_cell(const struct scheme_setup *setup, struct blob *blob, struct err *err);
double server_coding_amplification(const struct scheme_setup *setup);

/* ---- on a node ---- */
struct server_coding *server_coding_new(struct node *node); /* in prepare_node() */

/* Worker. Starts the task, whose kind, partitions and weights are filled in. Returns its generation. */
uint32_t server_coding_compute(struct node *node, const struct server_coding *coding, struct task *task);

/* Server. false: a worker of the same group was there before. */
bool server_coding_counts(const struct server_coding *coding, int worker);
void server_coding_take(struct node *node, struct server_coding *coding, uint64_t round, const struct message *message, float *sum);
/* The quota is there: `sum` becomes the sum over all partitions. false: the node has failed. */
bool server_coding_finish(struct node *node, struct server_coding *coding, uint64_t round, float *sum);
/* A worker is lost. false: no update can be made without it, `sentence` says why. */
bool server_coding_lose(struct node *node, struct server_coding *coding, int worker, char *sentence, size_t sentence_bytes);

#endif
