/* results/migrate_spans.c: what the spans of trials come to, for databases of version 1, in which that was not stored. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/migrate_internal.h"
#include "results/store_internal.h"

enum { NODES_MOST = 1 << 24 }; /* beyond, a file is damaged */

struct gathered { /* of one trial, in the order of its nodes */
    int64_t trial_id;
    struct span_record *spans;
    size_t count, room;
    struct node_result *nodes;
    int node_count, node_room;
};

static void gathered_free(struct gathered *gathered)
{
    free(gathered->spans);
    free(gathered->nodes);
}

static int out_of_memory(struct err *err)
{
    err_set(err, ERR_HOST, "cannot sum up spans: out of memory");
    return -ERR_HOST;
}

static int add_node(struct gathered *gathered, int node, struct err *err)
{
    if (node < 0 || node > NODES_MOST) {
        err_set(err, ERR_HOST, "a span of trial %lld belongs to node %d, which no network has", (long long)gathered->trial_id,
                node);
        return -ERR_HOST;
    }
    if (gathered->nodes && node < gathered->node_count)
        return 0;
    if (!gathered->nodes || node >= gathered->node_room) {
        const int room = 2 * node + 8;
        struct node_result *nodes = realloc(gathered->nodes, (size_t)room * sizeof(*nodes));
        if (!nodes)
            return out_of_memory(err);
        gathered->nodes = nodes;
        gathered->node_room = room;
    }
    while (gathered->node_count <= node)
        gathered->nodes[gathered->node_count++] = (struct node_result){0};
    return 0;
}

static int add_span(struct gathered *gathered, int node, const struct span_record *span, struct err *err)
{
    if (add_node(gathered, node, err) < 0)
        return -ERR_HOST;
    if (!gathered->spans || gathered->count == gathered->room) {
        const size_t room = 2 * gathered->room + 1024;
        struct span_record *spans = realloc(gathered->spans, room * sizeof(*spans));
        if (!spans)
            return out_of_memory(err);
        gathered->spans = spans;
        gathered->room = room;
    }
    gathered->spans[gathered->count++] = *span;
    gathered->nodes[node].span_count++;
    return 0;
}

static int take_sizes(struct sql *sql, int64_t trial_id, struct message_size **sizes, int *count, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (sql_prepare(sql,
                    "SELECT payload_bytes, first_round, round_count FROM message_size WHERE trial_id = ? ORDER BY size_position",
                    &rows, err) < 0)
        return -ERR_HOST;
    sql_start(rows);
    sql_put_integer(rows, trial_id);
    int found;
    while ((found = sql_next(rows, err)) > 0) {
        struct message_size *grown = realloc(*sizes, (size_t)(*count + 1) * sizeof(*grown));
        if (!grown)
            return out_of_memory(err);
        *sizes = grown;
        grown[(*count)++] = (struct message_size){.payload_bytes = (uint64_t)sql_integer(rows, 0),
                                                  .first_round = (int)sql_integer(rows, 1),
                                                  .round_count = (int)sql_integer(rows, 2)};
    }
    return found;
}

static int finish_trial(struct store *store, struct gathered *gathered, struct err *err)
{
    cleanup(free_pointer) struct message_size *sizes = NULL;
    struct trial_end end = {.nodes = gathered->nodes, .node_count = gathered->node_count};
    size_t first = 0;
    if (gathered->count == 0)
        return 0;
    for (int node = 0; node < gathered->node_count; node++) {
        gathered->nodes[node].spans = gathered->spans + first;
        first += gathered->nodes[node].span_count;
    }
    int result = take_sizes(store->sql, gathered->trial_id, &sizes, &end.size_count, err);
    end.sizes = sizes;
    if (result == 0)
        result = store_span_summaries(store, gathered->trial_id, &end, err);
    gathered->count = 0;
    gathered->node_count = 0;
    return result;
}

int migrate_span_summaries(struct store *store, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(gathered_free) struct gathered gathered = {0};
    int64_t summed = 0;
    if (sql_ask_integer(store->sql, "SELECT count(*) FROM source.sqlite_schema WHERE name = 'span_total'", &summed, err) < 0)
        return -ERR_HOST;
    if (summed > 0)
        return 0;
    if (sql_prepare(store->sql,
                    "SELECT trial_id, node, round, kind, coalesce(peer, -1), flags, begin_ns, end_ns, moved_bytes FROM source.span "
                    "ORDER BY trial_id, node, span_id",
                    &rows, err) < 0)
        return -ERR_HOST;
    sql_start(rows);
    int found, result = 0;
    while (result == 0 && (found = sql_next(rows, err)) > 0) {
        const int64_t peer = sql_integer(rows, 4);
        const struct span_record span = {.round = (uint32_t)sql_integer(rows, 2),
                                         .kind = (uint32_t)sql_integer(rows, 3),
                                         .peer = peer < 0 ? NO_PEER : (uint32_t)peer,
                                         .flags = (uint32_t)sql_integer(rows, 5),
                                         .begin_ns = sql_integer(rows, 6),
                                         .end_ns = sql_integer(rows, 7),
                                         .bytes = (uint64_t)sql_integer(rows, 8)};
        if (sql_integer(rows, 0) != gathered.trial_id)
            result = finish_trial(store, &gathered, err);
        gathered.trial_id = sql_integer(rows, 0);
        if (result == 0)
            result = add_span(&gathered, (int)sql_integer(rows, 1), &span, err);
    }
    if (result == 0 && found == 0)
        result = finish_trial(store, &gathered, err);
    return result < 0 ? result : found;
}
