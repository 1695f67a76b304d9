/* results/merge.h: several databases into one. */
#ifndef LAGGARD_RESULTS_MERGE_H
#define LAGGARD_RESULTS_MERGE_H

#include <stdbool.h>

struct err;

struct merge_counts {
    int campaigns;  /* that are new in the merged file */
    int joined;     /* shards: their trials went to a campaign that was there */
    int trials;     /* that came along; one that did not finish and was there has given way to it */
    int duplicates; /* trials that did not: the same one was there already, or they had not finished and another one was there */
};

/* Adds all campaigns of the database `from` to the database at `to`, which is made when it is missing; all of them or none.
 * Campaigns with the same name, file, seed, environment and cells are shards of one, unless `separate`. ERR_USAGE, with the trial:
 * two different ones of the same cell, arm and block that finished both, or two that claim to be the same and are not. */
int merge_add(const char *to, const char *from, bool separate, struct merge_counts *counts, struct err *err);

#endif
