/* agents/mixing/matching.c: matchings by formulas, and by the algorithm of Misra and Gries; see matching.h.
 *
 * Misra and Gries colour edge by edge with D+1 colours, D the largest degree; some colour is free at every worker. For an edge
 * (u, v): a fan is a list of u's neighbours, v first, in which the colour of each next one's edge to u is free at the one before
 * it, so that colours can be moved down the list by one. It grows until a colour that is free at its last worker is free at u,
 * too: then all are moved, and the last edge gets that colour. If it can grow no further, c free at u, d free at the last one:
 * along the path from u whose edges have d and c in turns the two are swapped; then d is free at u, and at the end of some
 * prefix that is still a fan. */
#include "agents/mixing/matching.h"

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"

/* ---- formulas ---- */

static int ring_count(int size)
{
    return size < 3 ? size - 1 : 2 + size % 2;
}

static int ring_matching(int size, int place, int other)
{
    const int first = (place + 1) % size == other ? place : other;
    return size % 2 == 1 && first == size - 1 ? 2 : size == 2 ? 0 : first % 2;
}

static int grid_matching(const struct graph *graph, int a, int b)
{
    const int columns = graph->columns;
    if (a / columns == b / columns)
        return ring_matching(columns, a % columns, b % columns);
    return ring_count(columns) + ring_matching(graph->rows, a / columns, b / columns);
}

static int complete_matching(int workers, int low, int high)
{
    if (workers % 2 == 1)
        return (low + high) % workers;
    return (high == workers - 1 ? 2 * low : low + high) % (workers - 1);
}

/* ---- Misra and Gries ---- */

enum { NONE = -1 };

struct colouring {
    int workers, colours;
    int *neighbour; /* [workers][colours]: by the edge of that colour; NONE: it is free */
    int *colour;    /* [workers][workers]: of the edge; NONE: not yet */
    int *fan, fan_length;
    bool *in_fan; /* [workers] */
    int *path;    /* of workers */
};

static int *neighbour_by(struct colouring *c, int worker, int colour)
{
    return &c->neighbour[(size_t)worker * (size_t)c->colours + (size_t)colour];
}

static int *colour_between(struct colouring *c, int a, int b)
{
    return &c->colour[(size_t)a * (size_t)c->workers + (size_t)b];
}

static bool is_free(struct colouring *c, int worker, int colour)
{
    return *neighbour_by(c, worker, colour) == NONE;
}

static int first_free(struct colouring *c, int worker)
{
    int colour = 0;
    while (!is_free(c, worker, colour))
        colour++;
    return colour;
}

static void remove_colour(struct colouring *c, int a, int b)
{
    const int colour = *colour_between(c, a, b);
    *neighbour_by(c, a, colour) = *neighbour_by(c, b, colour) = NONE;
    *colour_between(c, a, b) = *colour_between(c, b, a) = NONE;
}

static void set_colour(struct colouring *c, int a, int b, int colour)
{
    *neighbour_by(c, a, colour) = b;
    *neighbour_by(c, b, colour) = a;
    *colour_between(c, a, b) = *colour_between(c, b, a) = colour;
}

/* Returns a colour that is free at its last worker; *common: at u as well. */
static int grow_fan(struct colouring *c, int u, int v, bool *common)
{
    c->fan[0] = v;
    c->fan_length = 1;
    memset(c->in_fan, 0, (size_t)c->workers * sizeof(*c->in_fan));
    c->in_fan[v] = true;
    *common = false;
    for (;;) {
        const int last = c->fan[c->fan_length - 1];
        int next = NONE;
        for (int colour = 0; colour < c->colours; colour++) {
            if (!is_free(c, last, colour))
                continue;
            const int other = *neighbour_by(c, u, colour);
            *common = other == NONE;
            if (*common)
                return colour;
            next = next == NONE && !c->in_fan[other] ? other : next;
        }
        if (next == NONE)
            return first_free(c, last);
        c->in_fan[next] = true;
        c->fan[c->fan_length++] = next;
    }
}

/* Swaps colours c and d on the path of both from u on, where c is free. */
static void swap_path(struct colouring *c, int u, int free_there, int other)
{
    int length = 0, wanted = other;
    for (int at = u; at != NONE; at = *neighbour_by(c, at, wanted), wanted = wanted == other ? free_there : other) {
        c->path[length++] = at;
        if (is_free(c, at, wanted))
            break;
    }
    for (int i = 0; i + 1 < length; i++)
        remove_colour(c, c->path[i], c->path[i + 1]);
    for (int i = 0; i + 1 < length; i++)
        set_colour(c, c->path[i], c->path[i + 1], i % 2 == 0 ? free_there : other);
}

/* The first worker of the fan where the colour is free; what lies before it is still a fan. */
static int fan_end(struct colouring *c, int u, int colour)
{
    int end = 0;
    while (!is_free(c, c->fan[end], colour) && end + 1 < c->fan_length &&
           is_free(c, c->fan[end], *colour_between(c, u, c->fan[end + 1])))
        end++;
    return end;
}

static void colour_edge(struct colouring *c, int u, int v)
{
    bool common;
    const int colour = grow_fan(c, u, v, &common);
    int end = c->fan_length - 1;
    if (!common) {
        swap_path(c, u, first_free(c, u), colour);
        end = fan_end(c, u, colour);
    }
    for (int i = 0; i < end; i++) {
        const int moved = *colour_between(c, u, c->fan[i + 1]);
        remove_colour(c, u, c->fan[i + 1]);
        set_colour(c, u, c->fan[i], moved);
    }
    set_colour(c, u, c->fan[end], colour);
}

static void fill_none(int *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = NONE;
}

/* The numbers of colours that no edge has are given to others. */
static int renumber(int32_t *colours, int count, int colour_count, struct arena *scratch)
{
    int *numbers = arena_new_array(scratch, int, (size_t)colour_count), used = 0;
    fill_none(numbers, (size_t)colour_count);
    for (int i = 0; i < count; i++) {
        if (numbers[colours[i]] == NONE)
            numbers[colours[i]] = used++;
        colours[i] = numbers[colours[i]];
    }
    return used;
}

static struct matchings of_file(const struct graph *graph, struct arena *arena)
{
    cleanup(arena_cleanup) struct arena *scratch = arena_new();
    const size_t workers = (size_t)graph->workers, colours = (size_t)graph_degree_most(graph) + 1;
    struct colouring c = {.workers = graph->workers,
                          .colours = (int)colours,
                          .neighbour = arena_new_array(scratch, int, workers *colours),
                          .colour = arena_new_array(scratch, int, workers *workers),
                          .fan = arena_new_array(scratch, int, workers),
                          .in_fan = arena_new_array(scratch, bool, workers),
                          .path = arena_new_array(scratch, int, workers + 1)};
    fill_none(c.neighbour, workers * colours);
    fill_none(c.colour, workers * workers);
    for (int i = 0; i < graph->edge_count; i++) {
        const struct worker_edge edge = graph_file_edge(graph, i);
        colour_edge(&c, edge.low, edge.high);
    }
    int32_t *numbers = arena_new_array(arena, int32_t, (size_t)graph->edge_count);
    for (int i = 0; i < graph->edge_count; i++) {
        const struct worker_edge edge = graph_file_edge(graph, i);
        numbers[i] = *colour_between(&c, edge.low, edge.high);
    }
    const int count = renumber(numbers, graph->edge_count, c.colours, scratch);
    return (struct matchings){.graph = *graph, .count = count, .of_file_edge = numbers};
}

/* ---- all ---- */

struct matchings matchings_of(const struct graph *graph, struct arena *arena)
{
    const int workers = graph->workers;
    if (graph->shape == GRAPH_FILE)
        return of_file(graph, arena);
    int count = workers == 1 ? 0 : workers - 1 + workers % 2;
    if (graph->shape != GRAPH_COMPLETE)
        count = ring_count(graph->columns) + ring_count(graph->rows);
    return (struct matchings){.graph = *graph, .count = count};
}

struct matchings matchings_known(const struct graph *graph, int count, const void *of_file_edge)
{
    return (struct matchings){.graph = *graph, .count = count, .of_file_edge = of_file_edge};
}

int matching_of(const struct matchings *matchings, int worker, int neighbour)
{
    const struct graph *graph = &matchings->graph;
    const int low = worker < neighbour ? worker : neighbour, high = worker < neighbour ? neighbour : worker;
    if (graph->shape == GRAPH_COMPLETE)
        return complete_matching(graph->workers, low, high);
    if (graph->shape != GRAPH_FILE)
        return grid_matching(graph, low, high);
    int32_t number;
    memcpy(&number, (const char *)matchings->of_file_edge + (size_t)graph_file_edge_number(graph, low, high) * sizeof(number),
           sizeof(number));
    return number;
}
