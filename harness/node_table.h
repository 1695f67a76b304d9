/* harness/node_table.h: the nodes of a network for people: names, addresses, links. */
#ifndef LAGGARD_HARNESS_NODE_TABLE_H
#define LAGGARD_HARNESS_NODE_TABLE_H

#include "schemas/topology.h"

struct text;

/* One line a link of each host, with what it sends there: rate and one-way delay as asked. */
void node_table_print(const struct topology *topology, struct text *out);

#endif
