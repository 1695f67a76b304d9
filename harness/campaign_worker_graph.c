/* campaign_worker_graph.c: the field worker_graph: a file with the graph between workers, and what it and a cell decide
 * together. */
#include "agents/mixing/graph.h"
#include "agents/scheme.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "campaign_internal.h"
#include "harness/worker_graph_file.h"
#include "yaml_document.h"

static int read_worker_graph(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                             const char *key, struct settings *settings)
{
    (void)field;
    const char *path, *written;
    int status = campaign_read_path(reader, value, key, &path, &written);
    if (status < 0)
        return status;
    struct worker_graph *graph = arena_new_object(reader->arena, struct worker_graph);
    struct err err;
    if (worker_graph_load(path, reader->arena, graph, &err) < 0)
        return campaign_fail(reader, value, key, "%s", err.text);
    graph->written = written;
    campaign_note_file(reader, path, written);
    settings->worker_graph = graph;
    return 0;
}

static bool spell_worker_graph(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    if (settings->worker_graph)
        campaign_spell_string(settings->worker_graph->written, out);
    return settings->worker_graph;
}

static void allowed_worker_graph(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_add(out, "path of a file");
}

static void schema_worker_graph(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "string");
    json_integer(json, "minLength", 1);
}

const struct field_operations campaign_worker_graph_operations = {
    .read = read_worker_graph,
    .spell = spell_worker_graph,
    .allowed = allowed_worker_graph,
    .schema = schema_worker_graph,
};

bool campaign_worker_graph_used(const struct settings *settings)
{
    const struct scheme *scheme = settings->scheme.outside ? NULL : scheme_find(settings->scheme.name);
    for (int i = 0; scheme && i < scheme->param_count; i++)
        if (scheme->params[i].choices == graph_shape_names)
            return settings->scheme.values[i] == GRAPH_FILE;
    return false;
}

/* Every edge is between workers that the cell has. A file that the cell's scheme does not read is not there for it. */
int campaign_check_worker_graph(const struct cell_check *check)
{
    const struct worker_graph *graph = check->settings->worker_graph;
    const int workers = check->settings->workers;
    if (graph && !campaign_worker_graph_used(check->settings)) {
        check->settings->worker_graph = NULL;
        return 0;
    }
    const struct worker_edge_place *first = NULL; /* in the file */
    int worker = 0, column = 0;
    for (int i = 0; graph && i < graph->count; i++) {
        const struct worker_edge_place *place = &graph->places[i];
        if (graph->edges[i].high < workers || (first && place->line > first->line))
            continue;
        const bool low = graph->edges[i].low >= workers && place->low_column < place->high_column;
        first = place;
        worker = low ? graph->edges[i].low : graph->edges[i].high;
        column = low ? place->low_column : place->high_column;
    }
    if (!first)
        return 0;
    return campaign_fail(&check->reading->reader, campaign_place(check, "worker_graph", "scheme"), "worker_graph",
                         "%s:%d:%d: found worker %d, here the workers are 0 to %d", graph->path, first->line, column, worker,
                         workers - 1);
}
