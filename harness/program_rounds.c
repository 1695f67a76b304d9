/* program_rounds.c: from what outside programs reported to the rounds of a trial; see program_rounds.h. */
#include "harness/program_rounds.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"
#include "harness/rounds.h"

static void one_round(struct node_result *nodes, int node_count, const int64_t *ends_ns, struct arena *arena)
{
    for (int n = 0; n < node_count; n++) {
        struct round_record *mark = arena_new_object(arena, struct round_record);
        *mark = (struct round_record){.round = 0, .held_ns = ends_ns[n] > 0 ? ends_ns[n] : 0};
        nodes[n].rounds = mark;
        nodes[n].round_count = 1;
    }
}

static int check_counts(const struct node_result *nodes, int node_count, const char *const *names, int *first, struct err *err)
{
    *first = -1;
    for (int n = 0; n < node_count; n++) {
        if (nodes[n].round_count == 0)
            continue;
        if (*first < 0)
            *first = n;
        if (nodes[n].round_count != nodes[*first].round_count)
            return err_set(err, ERR_TRIAL, "node %s reported %u round%s and node %s %u: those that report any must report as many",
                           names[*first], nodes[*first].round_count, units_plural(nodes[*first].round_count), names[n],
                           nodes[n].round_count);
    }
    return 0;
}

static int check_spans(const struct node_result *nodes, int node_count, const char *const *names, uint32_t round_count,
                       struct err *err)
{
    for (int n = 0; n < node_count; n++)
        for (uint32_t i = 0; i < nodes[n].span_count; i++)
            if (nodes[n].spans[i].round >= round_count)
                return err_set(err, ERR_TRIAL, "node %s reported a span of round %u, but the trial had %u round%s", names[n],
                               nodes[n].spans[i].round, round_count, units_plural(round_count));
    return 0;
}

int program_rounds(struct node_result *nodes, int node_count, const char *const *names, const int64_t *ends_ns, int warmup_rounds,
                   struct arena *arena, const struct round_summary **rounds, int *round_count, struct err *err)
{
    int first;
    int result = check_counts(nodes, node_count, names, &first, err);
    if (result < 0)
        return result;
    if (first < 0) {
        one_round(nodes, node_count, ends_ns, arena);
        first = warmup_rounds = 0; /* a run that reports nothing has nothing to leave out */
    }
    uint32_t count = nodes[first].round_count;
    if (count <= (uint32_t)warmup_rounds)
        return err_set(err, ERR_TRIAL, "%u round%s reported, %d for warm-up: none is left to measure", count, units_plural(count),
                       warmup_rounds);
    result = check_spans(nodes, node_count, names, count, err);
    if (result < 0)
        return result;

    /* rounds_summarise() wants marks of every node it sees. */
    struct node_result *reporting = arena_new_array(arena, struct node_result, (size_t)node_count);
    const char **reporting_names = arena_new_array(arena, const char *, (size_t)node_count);
    uint32_t *node_of = arena_new_array(arena, uint32_t, (size_t)node_count);
    int reporting_count = 0;
    for (int n = 0; n < node_count; n++) {
        if (nodes[n].round_count == 0)
            continue;
        reporting[reporting_count] = nodes[n];
        reporting_names[reporting_count] = names[n];
        node_of[reporting_count++] = (uint32_t)n;
    }
    struct round_summary *summaries = arena_new_array(arena, struct round_summary, count);
    const struct rounds_shape shape = {.size_count = 1, .rounds_each = (int)count, .warmup_each = warmup_rounds};
    result = rounds_summarise(reporting, reporting_count, reporting_names, &shape, -1, summaries, err);
    if (result < 0)
        return result;
    for (uint32_t r = 0; r < count; r++)
        summaries[r].last_node = node_of[summaries[r].last_node];
    *rounds = summaries;
    *round_count = (int)count;
    return 0;
}
