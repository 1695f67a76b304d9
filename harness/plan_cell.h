/* harness/plan_cell.h: finds a cell by the word that a user has for it. */
#ifndef LAGGARD_HARNESS_PLAN_CELL_H
#define LAGGARD_HARNESS_PLAN_CELL_H

#include "schemas/plan.h"

struct err;

/* The cell of that number or label, as `laggard plan` prints them. ERR_USAGE names the option and the command that lists them. */
int plan_cell_find(const struct plan *plan, const char *option, const char *word, int *cell, struct err *err);

#endif
