/* plan_cell.c: finds a cell by its number or label; see plan_cell.h. */
#include "harness/plan_cell.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

int plan_cell_find(const struct plan *plan, const char *option, const char *word, int *cell, struct err *err)
{
    int found = -1;
    for (int c = 0; c < plan->cell_count; c += plan_variants(plan)) {
        char number[16];
        snprintf(number, sizeof(number), "%d", c / plan_variants(plan));
        if (strcmp(word, number) == 0 || strcmp(word, plan->cells[c].label) == 0)
            found = c;
    }
    if (found < 0)
        return err_set(err, ERR_USAGE, "--%s '%s' is no cell of %s: `laggard plan %s` lists them", option, word, plan->file_path,
                       plan->file_path);
    *cell = found;
    return 0;
}
