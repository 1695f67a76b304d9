/* results/metric_list.h: the metrics that a database can hold, without a database: to check names before anything runs. */
#ifndef LAGGARD_RESULTS_METRIC_LIST_H
#define LAGGARD_RESULTS_METRIC_LIST_H

#include <stdbool.h>

struct err;

struct metric_row {
    const char *name, *unit;
    bool lower; /* is better */
};
/* The rows of the table `metric`, in the order of their numbers; they live as long as the program. Not for several threads. */
int metric_list_read(const struct metric_row **rows, int *count, struct err *err);

#endif
