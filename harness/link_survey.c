/* link_survey.c: distinct topologies and their measurement; see link_survey.h. */
#include "harness/link_survey.h"

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "harness/forecast.h"
#include "netem/fabric.h"
#include "netem/topology.h"

/* Above this many links a sample of them is measured. */
enum { SURVEY_SAMPLE = 32 };

static int find_entry(const struct link_survey *survey, const char *description)
{
    for (int i = 0; i < survey->count; i++)
        if (strcmp(survey->entries[i].description, description) == 0)
            return i;
    return -1;
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
        if (only_cell >= 0 && only_cell != c)
            continue;
        enum engine_kind asked = engine_override ? (enum engine_kind) * engine_override : cell->settings.engine;
        struct topology topology;
        int servers;
        int result = forecast_topology(&cell->settings, arena, &topology, &servers, err);
        if (result < 0)
            return err_wrap(err, "cell %d (%s)", c, cell->label);
        cleanup(text_free) struct text description = {0};
        text_printf(&description, "engine %s\n", engine_names[asked]);
        topology_describe(&topology, &description);
        int found = find_entry(survey, description.bytes);
        if (found < 0) {
            found = survey->count++;
            survey->entries[found] =
                (struct survey_entry){.description = arena_strdup(arena, description.bytes), .topology = topology};
            result = fabric_check(host, &topology, asked, &survey->entries[found].engine, err);
            if (result < 0)
                return err_wrap(err, "cell %d (%s)", c, cell->label);
        }
        survey->entry_of_cell[c] = found;
    }
    return 0;
}

const struct survey_entry *link_survey_of(const struct link_survey *survey, int cell)
{
    return &survey->entries[survey->entry_of_cell[cell]];
}

static int measure_once(struct survey_entry *entry, int interrupt_fd, struct arena *arena, struct err *err)
{
    struct fabric_spec spec = {.topology = &entry->topology, .engine = entry->engine};
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    int result = fabric_build(&spec, &fabric, err);
    if (result < 0)
        return result;
    struct link_check *checks = arena_new_array(arena, struct link_check, (size_t)entry->topology.link_count);
    int sample = entry->topology.link_count > SURVEY_SAMPLE ? SURVEY_SAMPLE : 0;
    result = fabric_measure(fabric, sample, interrupt_fd, checks, err);
    if (result < 0)
        return err_wrap(err, "measuring the links");
    entry->checks = checks;
    return 0;
}

/* ERR_TRIAL: a part of this network died, which says nothing about the next one. No trial has begun yet, so in the end it is the
 * host's. */
int link_survey_measure(struct survey_entry *entry, int interrupt_fd, struct arena *arena, struct err *err)
{
    struct err local = {0}; /* a NULL err is allowed */
    err = err ? err : &local;
    int result = measure_once(entry, interrupt_fd, arena, err);
    if (result == -ERR_TRIAL) {
        log_warning("%s; trying once more", err->text);
        result = measure_once(entry, interrupt_fd, arena, err);
    }
    if (result == -ERR_TRIAL) {
        err->kind = ERR_HOST;
        result = -ERR_HOST;
    }
    return result;
}
