/* plan_cell.c: finds a cell by its number or label; see plan_cell.h. */
#include "harness/plan_cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"

static const char *nearest_label(const struct plan *plan, const char *word)
{
    const char *found = NULL;
    cleanup(free_pointer) const char **labels = calloc((size_t)plan->cell_count + 1, sizeof(*labels));
    for (int c = 0; labels && c < plan->cell_count; c++)
        labels[c] = plan->cells[c].label;
    if (labels)
        found = options_nearest(word, labels, (size_t)plan->cell_count);
    return found;
}

int plan_cell_find(const struct plan *plan, const char *option, const char *word, int *cell, struct err *err)
{
    int found = -1;
    for (int c = 0; c < plan->cell_count; c += plan_variants(plan)) {
        char number[16];
        snprintf(number, sizeof(number), "%d", c / plan_variants(plan));
        if (strcmp(word, number) == 0 || strcmp(word, plan->cells[c].label) == 0)
            found = c;
    }
    if (found < 0) {
        const char *near = nearest_label(plan, word);
        return err_set(err, ERR_USAGE, "--%s '%s' is no cell of %s%s%s%s `laggard plan %s` lists them", option, word,
                       plan->file_path, near ? ", did you mean '" : ":", near ? near : "", near ? "'?" : "", plan->file_path);
    }
    *cell = found;
    return 0;
}
