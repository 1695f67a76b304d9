/* run_check.c: everything about a `laggard run` that can be wrong, before anything exists. */
#include <stdio.h>
#include <string.h>

#include "agents/dataset.h"
#include "base/arena.h"
#include "base/err.h"
#include "harness/agent_path.h"
#include "harness/capture_session.h"
#include "harness/cpu_limit.h"
#include "harness/host_limits.h"
#include "harness/link_survey.h"
#include "harness/program_path.h"
#include "harness/run_internal.h"
#include "harness/virtual_demand.h"
#include "results/store.h"

/* Where every cell reads the same data, they are unpacked once and shared; otherwise each agent reads its own. */
static int check_data(struct run *run, struct err *err)
{
    const struct workload_settings *first = NULL;
    bool same = true;
    for (int c = 0; c < run->plan.cell_count; c++) {
        const struct workload_settings *workload = &run->plan.cells[c].settings.workload;
        bool has_data = workload->model != MODEL_SYNTHETIC && workload->gradients == GRADIENTS_REAL &&
                        !run->plan.cells[c].settings.scheme.outside;
        if (!has_data || !run_wants(run, c))
            continue;
        int result = dataset_check(workload->dataset, workload->dataset_path, err);
        if (result < 0)
            return result;
        first = first ? first : workload;
        const char *path = workload->dataset_path ? workload->dataset_path : "";
        same = same && workload->dataset == first->dataset && strcmp(path, first->dataset_path ? first->dataset_path : "") == 0;
    }
    return first && same ? dataset_export(first->dataset, first->dataset_path, &run->dataset_fd, err) : 0;
}

/* Where each arm's agent program is: its own, or the campaign's. */
static int check_agents(struct run *run, struct err *err)
{
    int result = agent_path_find(run->agent_path, sizeof(run->agent_path), err);
    if (run->plan.arm_count == 0 || result < 0)
        return result;
    run->agent_paths = arena_new_array(run->arena, const char *, (size_t)run->plan.arm_count);
    for (int a = 0; a < run->plan.arm_count; a++) {
        const struct arm *arm = &run->plan.arms[a];
        run->agent_paths[a] = run->agent_path;
        if (arm->agent && program_path_find(arm->agent, run->plan.file_path, run->arena, &run->agent_paths[a], err) < 0)
            return err_wrap(err, "%s: the agent program of arm %s", run->plan.file_path, arm->name);
    }
    return 0;
}

/* Where each cell's outside program is, one a cell; NULL: it has none. */
static int check_programs(struct run *run, struct err *err)
{
    run->program_paths = arena_new_array(run->arena, const char *, (size_t)run->plan.cell_count);
    for (int c = 0; c < run->plan.cell_count; c++) {
        const struct outside_command *command = &run->plan.cells[c].settings.workload.exec;
        if (command->count == 0 || !run_wants(run, c))
            continue;
        int result = program_path_find(command->words[0], run->plan.file_path, run->arena, &run->program_paths[c], err);
        if (result < 0)
            return err_wrap(err, "%s:%d:%d: workload.exec", run->plan.file_path, command->line, command->column);
    }
    return 0;
}

/* Where captures go, and that every cell has the links. */
static int check_captures(struct run *run, struct err *err)
{
    for (int c = 0; c < run->plan.cell_count; c++) {
        const struct cell *cell = &run->plan.cells[c];
        if (!run_wants(run, c) || cell->settings.world == WORLD_VIRTUAL)
            continue;
        int result =
            capture_session_check(&cell->settings.capture, &link_survey_of(&run->survey, c)->topology, &run->host, run->arena, err);
        if (result == -ERR_USAGE)
            return err_wrap(err, "--capture: cell %d (%s)", cell->index, cell_title(cell));
        if (result < 0)
            return result;
    }
    return 0;
}

/* Last of all checks: it starts a process. */
static int open_limiter(struct run *run, struct err *err)
{
    int result = 0;
    for (int c = 0; c < run->plan.cell_count && result == 0; c++) {
        const struct cell *cell = &run->plan.cells[c];
        if (!run_wants(run, c) || cell->settings.cpu_limits.count == 0)
            continue;
        if (!run->limiter)
            result = cpu_limiter_open(&run->limiter, err);
        if (result == 0 && cpu_limiter_try(run->limiter, &cell->settings.cpu_limits, err) < 0)
            result = err_wrap(err, "cell %d (%s)", cell->index, cell_title(cell));
    }
    return result;
}

/* Whether any cell that is looked at needs namespaces, links and agents; the link survey looks at those that have finished, too. */
static bool run_emulates(const struct run *run)
{
    for (int c = 0; c < run->plan.cell_count; c++)
        if ((run->only_cell == NOT_GIVEN || plan_same_cell(&run->plan, run->only_cell, c)) &&
            run->plan.cells[c].settings.world == WORLD_EMULATED)
            return true;
    return false;
}

/* That there is memory, and that the arms of a cell differ in what the virtual world has. */
static int check_virtual(struct run *run, struct err *err)
{
    for (int c = 0; c < run->plan.cell_count; c++) {
        const struct cell *cell = &run->plan.cells[c];
        if (!run_wants(run, c) || cell->settings.world != WORLD_VIRTUAL)
            continue;
        if (cell->arm && cell->arm->agent)
            return err_set(err, ERR_USAGE,
                           "%s: arm %s has an agent program of its own, but the virtual world has no agents: all nodes run in "
                           "laggard itself; use world: emulated",
                           run->plan.file_path, cell->arm->name);
        if (virtual_demand_check(cell, &link_survey_of(&run->survey, c)->topology, &run->limits, err) < 0)
            return err_wrap(err, "cell %d (%s)", cell->index, cell_title(cell));
    }
    return 0;
}

/* A host without namespaces or delays has the virtual world all the same, for schemes of the agents. */
static int no_network(const struct run *run, struct err *err)
{
    for (int c = 0; c < run->plan.cell_count; c++) {
        const struct cell *cell = &run->plan.cells[c];
        if (cell->settings.scheme.outside || (cell->arm && cell->arm->agent) || cell->settings.world == WORLD_VIRTUAL)
            return -ERR_HOST;
    }
    return err_wrap(err, "this host cannot emulate %s (`--world virtual` runs it without a network)", run->plan.file_path);
}

int run_check(struct run *run, struct err *err)
{
    int result = run_select(run, err);
    if (result < 0 || run->wanted_count == 0) /* all of a campaign that goes on has finished: nothing is asked of this host */
        return result;
    const bool emulates = run_emulates(run);
    if (emulates)
        result = check_agents(run, err);
    if (result == 0)
        result = check_programs(run, err);
    if (result == 0 && !run->store)
        result = store_check(run->db_path, err);
    host_limits_read(&run->limits);
    if (result == 0)
        result = link_survey_check_processes(&run->plan, run->only_cell, &run->limits, err);
    if (result == 0 && emulates && (result = fabric_probe(&run->host, err)) == -ERR_HOST)
        result = no_network(run, err);
    if (result == 0 && (result = link_survey_prepare(&run->plan, run->options.engine != NOT_GIVEN ? &run->options.engine : NULL,
                                                     run->only_cell, &run->host, run->arena, &run->survey, err)) == -ERR_HOST)
        result = no_network(run, err);
    if (result == 0)
        result = run_resume_check(run, err);
    if (result == 0)
        result = link_survey_check_limits(&run->plan, &run->survey, &run->limits, err);
    if (result == 0)
        result = check_virtual(run, err);
    if (result == 0)
        result = check_captures(run, err);
    if (result == 0)
        result = check_data(run, err);
    return result == 0 ? open_limiter(run, err) : result;
}
