/* run_files.c: the files that decide what a campaign runs beside the campaign file: those that it names, and the programs of its
 * nodes. Each is a fact of the environment, its digest; --resume compares them. */
#include <string.h>

#include "base/arena.h"
#include "harness/run_internal.h"
#include "results/digest.h"
#include "results/store.h"

struct file_list {
    struct arena *arena;
    struct environment_fact *facts;
    int count;
};

/* A file that cannot be read now is none of our business: whoever needs it says so. */
static void add(struct file_list *list, const char *name, const char *path, bool affects_performance)
{
    char hex[DIGEST_HEX_BYTES];
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->facts[i].name, name) == 0)
            return;
    if (digest_of_file(path, hex) == 0)
        list->facts[list->count++] = (struct environment_fact){name, arena_strdup(list->arena, hex), affects_performance};
}

/* Programs are what an arm or a gate compares: another one is no other environment. */
void run_files(const struct run *run, const struct environment_fact **facts, int *count)
{
    struct arena *arena = run->arena;
    int most = run->plan.cell_count + run->plan.arm_count;
    for (const struct plan_file *file = run->plan.files; file; file = file->next)
        most++;
    struct file_list list = {.arena = arena, .facts = arena_new_array(arena, struct environment_fact, (size_t)most + 1)};
    for (const struct plan_file *file = run->plan.files; file; file = file->next)
        add(&list, arena_printf(arena, RUN_FILE_FACT "%s", file->written), file->path, true);
    for (int a = 0; run->agent_paths && a < run->plan.arm_count; a++)
        if (run->plan.arms[a].agent)
            add(&list, arena_printf(arena, RUN_PROGRAM_FACT "%s", run->plan.arms[a].agent), run->agent_paths[a], false);
    for (int c = 0; run->program_paths && c < run->plan.cell_count; c++)
        if (run->program_paths[c])
            add(&list, arena_printf(arena, RUN_PROGRAM_FACT "%s", run->plan.cells[c].settings.workload.exec.words[0]),
                run->program_paths[c], false);
    *facts = list.facts;
    *count = list.count;
}
