/* doctor_programs.c: what has to be installed beside laggard: its agents, a data set, gnuplot. */
#include "agents/dataset.h"
#include "base/arena.h"
#include "base/err.h"
#include "harness/agent_path.h"
#include "harness/doctor_internal.h"
#include "results/gnuplot.h"

enum { PATH_BYTES = 4096 };

/* `result` is what looking for it returned. */
static void found_or_not(const struct doctor_host *host, int result, const struct err *err, struct doctor_finding *finding)
{
    doctor_answer(finding, result == 0, NULL, result == 0 ? NULL : arena_strdup(host->arena, err->text));
}

void doctor_agent(const struct doctor_host *host, struct doctor_finding *finding)
{
    char path[PATH_BYTES];
    struct err err = {0};
    found_or_not(host, agent_path_find(path, sizeof(path), &err), &err, finding);
}

void doctor_data(const struct doctor_host *host, struct doctor_finding *finding)
{
    struct err err = {0};
    found_or_not(host, dataset_check(DATASET_FASHION_MNIST, NULL, &err), &err, finding);
}

void doctor_gnuplot(const struct doctor_host *host, struct doctor_finding *finding)
{
    char path[PATH_BYTES];
    struct err err = {0};
    found_or_not(host, gnuplot_find(path, sizeof(path), &err), &err, finding);
}
