/* link_survey.c: distinct topologies and their measurement; see link_survey.h. */
#include "harness/link_survey.h"

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "harness/event_plan.h"
#include "harness/forecast.h"
#include "harness/host_limits.h"
#include "netem/fabric.h"
#include "netem/topology.h"

static int find_entry(const struct link_survey *survey, const char *description)
{
    for (int i = 0; i < survey->count; i++)
        if (strcmp(survey->entries[i].description, description) == 0)
            return i;
    return -1;
}

/* Cells with the same network may ask for different things to happen to it. */
static int check_events(const struct cell *cell, const struct topology *topology, enum engine_kind engine,
                        const struct fabric_host *host, struct err *err)
{
    for (int i = 0; i < cell->settings.event_count; i++)
        if (cell->settings.events[i].kind == EVENT_PARTITION && !host->rules)
            return err_set(err, ERR_HOST,
                           "event %d: this kernel cannot part a network: it has no policy rules "
                           "(CONFIG_IP_MULTIPLE_TABLES)",
                           i);
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct topology marked = *topology;
    struct event_plan plan;
    struct event_fault fault;
    int result = event_plan_make(&cell->settings, &marked, arena, &plan, &fault, err);
    return result < 0 ? result : event_plan_check_engine(&plan, &marked, engine, err);
}

int link_survey_prepare(const struct plan *plan, const int *engine_override, int only_cell, const struct fabric_host *host,
                        struct arena *arena, struct link_survey *survey, struct err *err)
{
    survey->entries = arena_new_array(arena, struct survey_entry, (size_t)plan->cell_count);
    survey->entry_of_cell = arena_new_array(arena, int, (size_t)plan->cell_count);
    survey->count = 0;
    for (int c = 0; c < plan->cell_count; c++) {
        const struct cell *cell = &plan->cells[c];
        survey->entry_of_cell[c] = -1;
        if (only_cell >= 0 && !plan_same_cell(plan, only_cell, c))
            continue;
        enum engine_kind asked = engine_override ? (enum engine_kind) * engine_override : cell->settings.engine;
        struct topology topology;
        int servers;
        int result = forecast_topology(&cell->settings, arena, &topology, &servers, err);
        if (result < 0)
            return err_wrap(err, "cell %d (%s)", c / plan_variants(plan), cell_title(cell));
        const bool virtual = cell->settings.world == WORLD_VIRTUAL;
        cleanup(text_free) struct text description = {0};
        text_printf(&description, "engine %s\n", virtual ? "of the virtual world" : engine_names[asked]);
        topology_describe(&topology, &description);
        int found = find_entry(survey, description.bytes);
        if (found < 0) {
            found = survey->count++;
            survey->entries[found] = (struct survey_entry){.description = arena_strdup(arena, description.bytes),
                                                           .topology = topology,
                                                           .virtual = virtual,
                                                           .engine = ENGINE_NONE};
            if (!virtual)
                result = fabric_check(host, &topology, asked, &survey->entries[found].engine, err);
        }
        if (result == 0 && !virtual)
            result = check_events(cell, &topology, survey->entries[found].engine, host, err);
        if (result < 0)
            return err_wrap(err, "cell %d (%s)", c / plan_variants(plan), cell_title(cell));
        survey->entry_of_cell[c] = found;
    }
    return 0;
}

int link_survey_check_limits(const struct plan *plan, const struct link_survey *survey, const struct host_limits *limits,
                             struct err *err)
{
    for (int c = 0; c < plan->cell_count; c++) {
        if (survey->entry_of_cell[c] < 0 || plan->cells[c].settings.world == WORLD_VIRTUAL)
            continue;
        const struct survey_entry *entry = link_survey_of(survey, c);
        struct host_demand demand;
        host_demand_of(&plan->cells[c], &entry->topology, entry->engine, true, &demand);
        if (host_limits_check(limits, &demand, err) < 0)
            return err_wrap(err, "cell %d (%s)", c / plan_variants(plan), cell_title(&plan->cells[c]));
    }
    return 0;
}

int link_survey_check_processes(const struct plan *plan, int only_cell, const struct host_limits *limits, struct err *err)
{
    for (int c = 0; c < plan->cell_count; c++) {
        const struct cell *cell = &plan->cells[c];
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        struct topology topology;
        struct host_demand demand;
        int servers;
        if ((only_cell >= 0 && !plan_same_cell(plan, only_cell, c)) || cell->settings.world == WORLD_VIRTUAL)
            continue;
        int result = forecast_topology(&cell->settings, arena, &topology, &servers, err);
        if (result == 0) {
            host_demand_of(cell, &topology, ENGINE_NONE, true, &demand);
            result = host_limits_check_processes(limits, &demand, err);
        }
        if (result < 0)
            return err_wrap(err, "cell %d (%s)", c / plan_variants(plan), cell_title(cell));
    }
    return 0;
}

const struct survey_entry *link_survey_of(const struct link_survey *survey, int cell)
{
    return &survey->entries[survey->entry_of_cell[cell]];
}

static int measure_once(struct survey_entry *entry, const struct measure_effort *effort, int interrupt_fd, struct arena *arena,
                        struct err *err)
{
    struct fabric_spec spec = {.topology = &entry->topology, .engine = entry->engine, .awake = true};
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    int result = fabric_build(&spec, &fabric, err);
    if (result < 0)
        return result;
    struct link_check *checks = arena_new_array(arena, struct link_check, (size_t)entry->topology.link_count);
    struct host_load before = host_load_now();
    result = fabric_measure(fabric, effort, interrupt_fd, checks, err);
    if (result < 0)
        return err_wrap(err, "measuring the links");
    struct host_load after = host_load_now();
    entry->load = host_load_between(&before, &after);
    entry->readback = arena_copy(arena, fabric_readback(fabric), sizeof(struct link_readback) * (size_t)entry->topology.link_count);
    struct err changed;
    result = fabric_read_back_again(fabric, &changed);
    if (result == -ERR_TRIAL) /* it has died, which is nobody's change */
        return err_set(err, ERR_TRIAL, "measuring the links: %s", changed.text);
    if (result < 0)
        entry->changed = arena_strdup(arena, changed.text);
    entry->checks = checks;
    return 0;
}

/* ERR_TRIAL: a part of this network died, which says nothing about the next one. No trial has begun yet, so in the end it is the
 * host's. */
int link_survey_measure(struct survey_entry *entry, const struct measure_effort *effort, int interrupt_fd, struct arena *arena,
                        struct err *err)
{
    struct err local = {0}; /* a NULL err is allowed */
    err = err ? err : &local;
    int result = measure_once(entry, effort, interrupt_fd, arena, err);
    if (result == -ERR_TRIAL) {
        log_warning("%s; trying once more", err->text);
        result = measure_once(entry, effort, interrupt_fd, arena, err);
    }
    if (result == -ERR_TRIAL) {
        err->kind = ERR_HOST;
        result = -ERR_HOST;
    }
    return result;
}
