/* agents/mixing/mixing.c: checks, weights and the prepared blob of a decentralised scheme's graph; see mixing.h. */
#include "agents/mixing/mixing.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/node.h"
#include "base/cleanup.h"
#include "base/err.h"

struct head { /* of the blob, to all nodes of this host; the file's edges follow */
    float alpha;
    int32_t edge_count;
};

static enum graph_shape shape_of(const struct scheme_setup *setup)
{
    int i = 0;
    while (setup->scheme->params[i].choices != graph_shape_names)
        i++;
    assert(i < setup->scheme->param_count);
    return (enum graph_shape)setup->values[i];
}

static struct head head_of(const struct scheme_setup *setup)
{
    struct head head = {.alpha = NAN};
    if (setup->prepared_bytes >= sizeof(head))
        memcpy(&head, setup->prepared, sizeof(head));
    return head;
}

struct graph mixing_graph(const struct scheme_setup *setup)
{
    const enum graph_shape shape = shape_of(setup);
    const void *edges = NULL;
    int edge_count = 0;
    if (shape == GRAPH_FILE && setup->prepared_bytes >= sizeof(struct head)) {
        edges = setup->prepared + sizeof(struct head);
        edge_count = head_of(setup).edge_count;
    } else if (shape == GRAPH_FILE && setup->graph) {
        edges = setup->graph->edges;
        edge_count = setup->graph->count;
    }
    return graph_make(shape, setup->workers, edges, edge_count);
}

int mixing_check(const struct scheme_setup *setup, struct err *err)
{
    const struct graph graph = mixing_graph(setup);
    const char *name = setup->scheme->name;
    if (graph.shape != GRAPH_FILE)
        return 0;
    if (!setup->graph)
        return err_set(err, ERR_USAGE, "scheme '%s': 'graph: file' needs the field worker_graph, the path of a file with the edges",
                       name);
    if (setup->workers > SPECTRUM_WORKERS_MOST)
        return err_set(err, ERR_USAGE, "scheme '%s' with %d workers: 'graph: file' allows 2 to %d, the others any number", name,
                       setup->workers, SPECTRUM_WORKERS_MOST);
    int scratch[SPECTRUM_WORKERS_MOST];
    const int unreached = graph_unreached(&graph, scratch);
    if (unreached >= 0)
        return err_set(err, ERR_USAGE,
                       "scheme '%s' with %d workers: the graph of '%s' does not hold together: no way along its edges leads from "
                       "worker 0 to worker %d",
                       name, setup->workers, setup->graph->path, unreached);
    return 0;
}

bool mixing_talks(const struct scheme_setup *setup, int node, int peer)
{
    const struct graph graph = mixing_graph(setup);
    return graph_joins(&graph, node, peer);
}

size_t mixing_blob_bytes(const struct scheme_setup *setup)
{
    return sizeof(struct head) + (size_t)head_of(setup).edge_count * sizeof(struct worker_edge);
}

int mixing_prepare(const struct scheme_setup *setup, size_t behind, struct blob *blob, uint8_t **own, struct err *err)
{
    const struct graph graph = mixing_graph(setup);
    const struct head head = {.alpha = mixing_alpha(setup, err), .edge_count = graph.shape == GRAPH_FILE ? graph.edge_count : 0};
    if (isnan(head.alpha))
        return -ERR_HOST;
    const size_t edge_bytes = (size_t)head.edge_count * sizeof(struct worker_edge);
    uint8_t *bytes = calloc(1, sizeof(head) + edge_bytes + behind);
    if (!bytes)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot note the graph of %d workers", setup->workers);
    memcpy(bytes, &head, sizeof(head));
    if (edge_bytes > 0)
        memcpy(bytes + sizeof(head), graph.edges, edge_bytes);
    if (own)
        *own = bytes + sizeof(head) + edge_bytes;
    *blob = (struct blob){.bytes = bytes, .length = sizeof(head) + edge_bytes + behind};
    return 0;
}

float mixing_alpha_of(const struct spectrum *spectrum)
{
    const double sum = spectrum->second + spectrum->largest;
    return sum > 0 ? (float)(2 / sum) : 0; /* one worker: nobody to mix with */
}

float mixing_alpha(const struct scheme_setup *setup, struct err *err)
{
    const struct head head = head_of(setup);
    if (!isnan(head.alpha))
        return head.alpha;
    const struct graph graph = mixing_graph(setup);
    struct spectrum spectrum;
    return spectrum_of_graph(&graph, &spectrum, err) < 0 ? NAN : mixing_alpha_of(&spectrum);
}

void mixing_add(struct node *node, struct mixing_sum *sum, float weight, const float *values, uint64_t round, int peer)
{
    const int64_t begin_ns = node_now(node);
    if (sum->begun)
        node_axpy(node, sum->output, weight, values, sum->count);
    else
        node_scale(node, sum->output, weight, values, sum->count);
    sum->begun = true;
    node_span(node, SPAN_REDUCE, round, begin_ns, node_now(node), peer, sum->count * sizeof(float));
}
