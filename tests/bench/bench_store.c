/* bench_store.c: how fast spans come into the store, and what they take there: made-up trials of eight workers, 10,000 spans each,
 * as a ring with segments records them, each trial in one transaction with its digest and percentiles.
 *
 *     bench_store FILE TRIALS
 *
 * Prints a line "SPANS FILL CLOSE FILL-ELAPSED BYTES": spans stored, seconds of processor time until the last trial was committed
 * and of closing, which builds the indexes, seconds that filling took by the clock, bytes of FILE. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "results/store.h"

enum { WORKERS = 8, ROUNDS = 50, SPANS_A_ROUND = 25, CELLS = 4, LINK_BPS = 1000000000, DELAY_NS = 100000 };

static const char *const cell_labels[CELLS] = {"scheme=ring workers=8 size=50KB", "scheme=ring workers=8 size=100KB",
                                               "scheme=ring workers=8 size=150KB", "scheme=ring workers=8 size=200KB"};

static void must(int result, const struct err *err)
{
    if (result >= 0)
        return;
    fprintf(stderr, "bench_store: %s\n", err->text);
    exit(1);
}

static double processor_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* --- what a trial did -------------------------------------------------- */

struct content {
    struct round_summary rounds[ROUNDS];
    struct round_record held[WORKERS][ROUNDS];
    struct span_record spans[WORKERS][ROUNDS * SPANS_A_ROUND];
    struct node_result nodes[WORKERS];
    struct link_counters counters[WORKERS];
};

/* A worker computes, and then sends, receives and adds in turn, one segment after the other. */
static int64_t fill_round(struct content *content, int worker, uint32_t round, int64_t now, struct rng *rng)
{
    static const uint32_t kinds[] = {SPAN_SEND, SPAN_WAIT, SPAN_RECEIVE, SPAN_REDUCE};
    for (int i = 0; i < SPANS_A_ROUND; i++) {
        uint32_t kind = i == 0 ? SPAN_COMPUTE : kinds[i % 4];
        int64_t duration = i == 0 ? 20 * NS_PER_MS : kind == SPAN_REDUCE ? 2 * NS_PER_US : 200 * NS_PER_US;
        duration += (int64_t)rng_below(rng, (uint32_t)duration);
        content->spans[worker][(int)round * SPANS_A_ROUND + i] = (struct span_record){
            .round = round,
            .kind = kind,
            .peer = i == 0              ? NO_PEER
                    : kind == SPAN_SEND ? (uint32_t)(worker + 1) % WORKERS
                                        : (uint32_t)(worker + WORKERS - 1) % WORKERS,
            .begin_ns = now,
            .end_ns = now + duration,
            .bytes = i == 0 || kind == SPAN_WAIT ? 0 : 12500,
        };
        now += duration;
    }
    content->held[worker][round] = (struct round_record){.round = round, .held_ns = now};
    return now;
}

static void fill(struct content *content, struct rng *rng)
{
    *content = (struct content){0};
    int64_t now[WORKERS] = {0}, before = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t last = 0;
        for (int worker = 0; worker < WORKERS; worker++) {
            now[worker] = fill_round(content, worker, round, now[worker], rng);
            last = now[worker] > now[last] ? (uint32_t)worker : last;
        }
        content->rounds[round] = (struct round_summary){.round = round, .begin_ns = before, .end_ns = now[last], .last_node = last};
        before = now[last];
    }
    for (int worker = 0; worker < WORKERS; worker++)
        content->nodes[worker] = (struct node_result){.rounds = content->held[worker],
                                                      .round_count = ROUNDS,
                                                      .spans = content->spans[worker],
                                                      .span_count = ROUNDS * SPANS_A_ROUND,
                                                      .blas = ""};
}

/* --- the campaign that did it ------------------------------------------ */

struct star {
    struct place places[WORKERS + 1];
    struct link links[WORKERS];
    char names[WORKERS][2][16];
    struct topology topology;
};

static void make_star(struct star *star)
{
    for (int i = 0; i < WORKERS; i++) {
        const struct direction direction = {.rate_bps = LINK_BPS, .delay_ns = DELAY_NS, .queue_bytes = 1500000};
        snprintf(star->names[i][0], sizeof(star->names[i][0]), "w%d", i);
        snprintf(star->names[i][1], sizeof(star->names[i][1]), "w%d-router", i);
        star->places[i] = (struct place){star->names[i][0], PLACE_HOST, 0x0a000002 + (uint32_t)i};
        star->links[i] = (struct link){.name = star->names[i][1], .from = i, .to = WORKERS, .direction = {direction, direction}};
    }
    star->places[WORKERS] = (struct place){"router", PLACE_ROUTER, 0};
    star->topology = (struct topology){.places = star->places,
                                       .place_count = WORKERS + 1,
                                       .host_count = WORKERS,
                                       .links = star->links,
                                       .link_count = WORKERS,
                                       .mtu = 1500,
                                       .tcp = {.congestion_control = "cubic"}};
}

static int64_t store_plan(struct store *store, int trials)
{
    struct err err = {0};
    struct cell cells[CELLS] = {0};
    const char *texts[CELLS];
    int64_t campaign_id = 0;
    for (int i = 0; i < CELLS; i++) {
        cells[i] = (struct cell){.index = i, .label = cell_labels[i], .settings = {.workers = WORKERS, .scheme = {.name = "ring"}}};
        texts[i] = "scheme: ring\n";
    }
    const struct plan plan = {
        .name = "store", .file_path = "store.yaml", .file_text = "", .cells = cells, .cell_count = CELLS, .trial_count = trials};
    must(store_campaign(store, &plan, texts, NULL, 0, &campaign_id, &err), &err);
    return campaign_id;
}

static void store_trial(struct store *store, int64_t campaign_id, int number, const struct star *star,
                        const struct content *content)
{
    struct err err = {0};
    int64_t trial_id = 0;
    const struct trial_plan plan = {.cell = number % CELLS, .repeat = number / CELLS, .order = number, .seed = (uint64_t)number};
    const struct prediction predicted = {
        .available = true, .method = "closed form", .round_ns = 35e6, .compute_ns = 30e6, .latency_ns = 3e6, .bandwidth_ns = 2e6};
    const struct trial_begin begin = {.campaign_id = campaign_id,
                                      .plan = &plan,
                                      .arm = "",
                                      .world = WORLD_VIRTUAL,
                                      .started_unix_ns = clock_wall_ns(),
                                      .topology = &star->topology,
                                      .workers = WORKERS,
                                      .payload_bytes = 100000,
                                      .predicted = &predicted};
    const struct trial_end end = {.status = TRIAL_FINISHED,
                                  .fidelity = FIDELITY_FAITHFUL,
                                  .duration_ns = content->rounds[ROUNDS - 1].end_ns,
                                  .nodes = content->nodes,
                                  .node_count = WORKERS,
                                  .rounds = content->rounds,
                                  .round_count = ROUNDS,
                                  .counters = content->counters,
                                  .link_count = WORKERS};
    must(store_trial_begin(store, &begin, &trial_id, &err), &err);
    must(store_trial_end(store, trial_id, &end, &err), &err);
}

int main(int count, char **arguments)
{
    static struct content content;
    static struct star star;
    struct err err = {0};
    struct store *store = NULL;
    struct stat file;
    int trials = count == 3 ? atoi(arguments[2]) : 0;
    if (trials < 1) {
        fputs("usage: bench_store FILE TRIALS\n", stderr);
        return 2;
    }
    struct rng rng = rng_stream(1, 0, 0, RNG_COMPUTE_TIME);
    make_star(&star);
    must(store_open(arguments[1], NULL, &store, &err), &err);
    int64_t campaign_id = store_plan(store, trials);
    double filled = 0, elapsed = 0;
    for (int i = 0; i < trials; i++) {
        fill(&content, &rng);
        double before = processor_seconds();
        int64_t began = clock_now_ns();
        store_trial(store, campaign_id, i, &star, &content);
        filled += processor_seconds() - before;
        elapsed += (double)(clock_now_ns() - began) / 1e9;
    }
    double before = processor_seconds();
    must(store_close(store, &err), &err);
    double closed = processor_seconds() - before;
    if (stat(arguments[1], &file) < 0) {
        perror(arguments[1]);
        return 1;
    }
    printf("%d %.3f %.3f %.3f %lld\n", trials * WORKERS * ROUNDS * SPANS_A_ROUND, filled, closed, elapsed, (long long)file.st_size);
    return 0;
}
