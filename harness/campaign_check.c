/* campaign_check.c: what more than one field decides. Every sentence is placed at the value at fault and names the cell. */
#include <stdlib.h>
#include <string.h>

#include "agents/model.h"
#include "agents/scheme.h"
#include "agents/shards.h"
#include "base/units.h"
#include "campaign_internal.h"
#include "harness/message_sizes.h"
#include "yaml_document.h"

const struct yaml_value *campaign_place(const struct cell_check *check, const char *path, const char *otherwise)
{
    const struct yaml_value *value = check->values[campaign_field_find(path) - campaign_fields];
    if (!value && otherwise)
        value = check->values[campaign_field_find(otherwise) - campaign_fields];
    return value ? value : check->reading->root;
}

static double standard_alpha(void)
{
    return strtod(campaign_field_find("workload.shards.alpha")->standard, NULL);
}

static int check_unused(const struct cell_check *check)
{
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        if (!campaign_field_used(field, check->settings) &&
            (matrix_sweeps(check->reading, field, false) || campaign_arm_sets(check->reading->arm, field)))
            return campaign_fail(&check->reading->reader, check->values[i], field->path, "%s does not use this field",
                                 campaign_field_refuser(field, check->settings, check->reading->reader.arena));
    }
    /* A field that other cells use is not there for this one: what is stored says what ran. */
    const struct workload_settings empty = {0};
    struct workload_settings *workload = &check->settings->workload;
    if (check->settings->scheme.outside) {
        *workload = (struct workload_settings){.exec = workload->exec};
        check->settings->compute_time = (struct distribution){.kind = DISTRIBUTION_MEASURED};
        check->settings->slow = NULL;
        check->settings->slow_count = 0;
    } else {
        workload->exec = (struct outside_command){0};
    }
    if (!campaign_field_used(campaign_field_find("workload.size"), check->settings)) {
        workload->size_bytes = 0;
        workload->sizes = (struct size_list){0};
    }
    if (workload->shards.split != SHARDS_DIRICHLET)
        workload->shards.alpha = standard_alpha();
    if (!campaign_field_used(campaign_field_find("workload.layers"), check->settings)) {
        memcpy(workload->layers, empty.layers, sizeof(workload->layers));
        workload->layer_count = 0;
    }
    for (int i = 0; i < campaign_field_count; i++)
        if (campaign_fields[i].shapes != 0 && !campaign_field_used(&campaign_fields[i], check->settings))
            memset((char *)check->settings + campaign_fields[i].offset, 0, campaign_fields[i].bytes);
    return 0;
}

static int check_exec(const struct cell_check *check)
{
    if (check->settings->workload.exec.count > 0)
        return 0;
    return campaign_fail(&check->reading->reader, campaign_place(check, "scheme", NULL), "scheme",
                         OUTSIDE_SCHEME " needs workload.exec, the program that runs on every node, for example [./train, --fast]");
}

static int check_size(const struct cell_check *check)
{
    const struct workload_settings *workload = &check->settings->workload;
    const struct reader *reader = &check->reading->reader;
    if (workload->model == MODEL_SYNTHETIC && workload->size_bytes == 0 && workload->sizes.count == 0)
        return campaign_fail(reader, campaign_place(check, "workload.model", NULL), "workload.model",
                             "synthetic needs workload.size, for example 25MiB");
    if (workload->size_bytes > 0 && workload->sizes.count > 0)
        return campaign_fail(reader, campaign_place(check, "workload.sizes", NULL), "workload.sizes",
                             "workload.size is set too: a trial has one size, or sweeps several");
    if (message_sizes_count(check->settings) * (double)message_sizes_rounds_each(check->settings) > MESSAGE_SIZES_ROUNDS_MAX)
        return campaign_fail(reader, campaign_place(check, "workload.sizes", NULL), "workload.sizes",
                             "%d sizes of %d rounds each are more than the %d rounds that a trial may have", workload->sizes.count,
                             message_sizes_rounds_each(check->settings), MESSAGE_SIZES_ROUNDS_MAX);
    return 0;
}

static int check_evaluations(const struct cell_check *check)
{
    const struct workload_settings *workload = &check->settings->workload;
    if (workload->evaluate_every > workload->rounds)
        return campaign_fail(&check->reading->reader, campaign_place(check, "workload.evaluate_every", NULL),
                             "workload.evaluate_every", "found %d, but there %s only %d round%s", workload->evaluate_every,
                             workload->rounds == 1 ? "is" : "are", workload->rounds, units_plural(workload->rounds));
    return 0;
}

/* Each worker owns its share of the training samples and draws its batches there. */
static int check_batch(const struct cell_check *check)
{
    const struct settings *settings = check->settings;
    int samples = (int)shards_standard_samples(settings->workload.dataset), share = samples / settings->workers;
    if (settings->workload.model == MODEL_SYNTHETIC || settings->workload.batch <= share)
        return 0;
    return campaign_fail(&check->reading->reader, campaign_place(check, "workload.batch", "workers"), "workload.batch",
                         "found %d, but each of %d worker%s owns %d of the %d samples of %s", settings->workload.batch,
                         settings->workers, units_plural(settings->workers), share, samples,
                         dataset_names[settings->workload.dataset]);
}

static int check_model_size(const struct cell_check *check)
{
    const double allowed = 0x1p32;
    double bytes = 4.0 * (double)model_parameter_count_of(&check->settings->workload);
    char found[UNITS_TEXT_BYTES];
    if (bytes <= allowed)
        return 0;
    return campaign_fail(&check->reading->reader, campaign_place(check, "workload.layers", "workload.model"), "workload.layers",
                         "a gradient of this model has %s, allowed is 4 GiB", units_show_size(found, sizeof(found), bytes));
}

static int check_slow(const struct cell_check *check)
{
    const struct settings *settings = check->settings;
    const struct yaml_value *list = campaign_place(check, "compute.slow", NULL), *entry = list->first;
    for (int i = 0; i < settings->slow_count; i++, entry = entry->next) {
        const struct yaml_value *at = yaml_document_child(entry, "workers")->first;
        for (int w = 0; w < settings->slow[i].worker_count; w++, at = at->next)
            if (settings->slow[i].workers[w] >= settings->workers)
                return campaign_fail(&check->reading->reader, at, "compute.slow", "found worker %d, here the workers are 0 to %d",
                                     settings->slow[i].workers[w], settings->workers - 1);
    }
    return 0;
}

static int check_byzantine(const struct cell_check *check)
{
    const struct workload_settings *workload = &check->settings->workload;
    const struct byzantine_workers *byzantine = &workload->byzantine;
    const struct reader *reader = &check->reading->reader;
    const struct yaml_value *at = campaign_place(check, "byzantine", NULL);
    if (byzantine->worker_count == 0)
        return 0;
    if (workload->model == MODEL_SYNTHETIC)
        return campaign_fail(reader, at, "byzantine",
                             "workload.model synthetic compares every sum with the exact mean, which a falsified gradient changes; "
                             "take softmax or mlp");
    if (workload->gradients == GRADIENTS_NONE)
        return campaign_fail(reader, at, "byzantine",
                             "with workload.gradients none there is no gradient to be falsified; take real");
    const struct scheme *scheme = scheme_find(check->settings->scheme.name);
    if (scheme && scheme->flags & SCHEME_NEEDS_BATCHES)
        return campaign_fail(reader, at, "byzantine", "workers of scheme %s multiply matrices and compute no gradient",
                             scheme->name);
    at = yaml_document_child(at, "workers")->first;
    for (int i = 0; i < byzantine->worker_count; i++, at = at->next)
        if (byzantine->workers[i] >= check->settings->workers)
            return campaign_fail(reader, at, "byzantine.workers", "found worker %d, here the workers are 0 to %d",
                                 byzantine->workers[i], check->settings->workers - 1);
    return 0;
}

static int check_queue(const struct cell_check *check)
{
    enum { ETHERNET_HEADER_BYTES = 14 };
    const struct settings *settings = check->settings;
    uint64_t frame = (uint64_t)settings->mtu + ETHERNET_HEADER_BYTES;
    if (settings->link.queue_bytes == 0 || settings->link.queue_bytes >= frame)
        return 0;
    return campaign_fail(&check->reading->reader, campaign_place(check, "topology.link.queue", NULL), "topology.link.queue",
                         "found %lluB, but one frame has %lluB", (unsigned long long)settings->link.queue_bytes,
                         (unsigned long long)frame);
}

int campaign_check_cell(const struct reading *reading, const struct yaml_value *const *values, struct settings *settings)
{
    enum { ALL = CARRIED_BY_AGENTS | CARRIED_BY_PROGRAMS };
    static const struct {
        unsigned carriers;
        int (*run)(const struct cell_check *);
    } checks[] = {
        {ALL, check_unused},
        {ALL, campaign_check_world},
        {CARRIED_BY_PROGRAMS, check_exec},
        {CARRIED_BY_AGENTS, check_size},
        {CARRIED_BY_AGENTS, check_evaluations},
        {CARRIED_BY_AGENTS, check_batch},
        {CARRIED_BY_AGENTS, check_model_size},
        {CARRIED_BY_AGENTS, check_slow},
        {CARRIED_BY_AGENTS, check_byzantine},
        {ALL, check_queue},
        {ALL, campaign_check_impairments},
        {ALL, campaign_check_worker_graph},
        {ALL, campaign_check_network},
    };
    const struct cell_check check = {.reading = reading, .values = values, .settings = settings};
    unsigned carrier = settings->scheme.outside ? CARRIED_BY_PROGRAMS : CARRIED_BY_AGENTS;
    int status = 0;
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && status == 0; i++)
        if (checks[i].carriers & carrier)
            status = checks[i].run(&check);
    return status;
}

/* Data that nobody skews after all: other cells may split them evenly, but not all. The standard, which stands in a dump, says
 * nothing. */
static int check_alpha(const struct reading *reading, const struct cell *cells, int cell_count)
{
    const struct campaign_field *field = campaign_field_find("workload.shards.alpha");
    const struct yaml_value *placed = reading->placed[field - campaign_fields];
    const bool says_nothing = !placed || (placed->text && strtod(placed->text, NULL) == standard_alpha());
    if (says_nothing && !matrix_sweeps(reading, field, false))
        return 0;
    for (int c = 0; c < cell_count; c++)
        if (cells[c].settings.workload.shards.split == SHARDS_DIRICHLET)
            return 0;
    return campaign_fail_key(&reading->reader, placed ? placed : reading->root, field->path,
                             "every cell spreads labels alike: add 'split: dirichlet', which alone uses this field");
}

int campaign_check_whole(const struct reading *reading, const struct cell *cells, int cell_count)
{
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        if (!reading->placed[i] || (field->models == 0 && field->shapes == 0 && field->carriers == 0))
            continue;
        bool used = false;
        for (int c = 0; c < cell_count && !used; c++)
            used = campaign_field_used(field, &cells[c].settings);
        if (used && field->type == FIELD_WORKER_GRAPH) {
            used = false;
            for (int c = 0; c < cell_count && !used; c++)
                used = cells[c].settings.worker_graph;
            if (!used)
                return campaign_fail_key(&reading->reader, reading->placed[i], field->path,
                                         "no cell's scheme has the parameter 'graph: file', which reads this file");
        }
        if (!used)
            return campaign_fail_key(&reading->reader, reading->placed[i], field->path, "%s does not use this field",
                                     campaign_field_refuser(field, &cells[0].settings, reading->reader.arena));
    }
    return check_alpha(reading, cells, cell_count);
}
