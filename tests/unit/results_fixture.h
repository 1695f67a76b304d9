/* results_fixture.h: a tiny made-up campaign whose numbers can be computed by hand, for the tests of results/.
 *
 * Cell 0: ring on 4 workers, cell 1: backup(backups=1) on 4 workers. Trial k of cell 0 has one warm-up round of 99 ms and three
 * measured rounds of 10 + k, 20 + k, 40 + k ms: median 20 + k, mean 70/3 + k, 90th percentile 36 + k, 99th 39.6 + k. Worker w > 0
 * computes 5 + w r ms in round r, worker 0 takes 3 ms, but 5 ms in two parts in round 1; in round 2 worker 3 is cancelled. Accuracy
 * is 0.1 at first and 0.5 + k/100 at the end. */
#ifndef LAGGARD_TESTS_RESULTS_FIXTURE_H
#define LAGGARD_TESTS_RESULTS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "results/sqlite_wrap.h"
#include "results/store.h"

enum { FIXTURE_WORKERS = 4, FIXTURE_ROUNDS = 4, FIXTURE_SPANS = 5, FIXTURE_LINKS = FIXTURE_WORKERS };

struct fixture {
    char folder[64], path[96];
    struct store *store;
    int64_t campaign_id;
    int started; /* trials so far: their order */
};

#define MS(x) ((int64_t)(x)*NS_PER_MS)

static inline void must(int result, const struct err *err)
{
    if (result < 0)
        fail_msg("%s", err->text);
}

static inline int fixture_setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    if (!fixture)
        return -1;
    const char *root = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp"; /* memory, where there is such a place */
    snprintf(fixture->folder, sizeof(fixture->folder), "%s/laggard-results-XXXXXX", root);
    if (!mkdtemp(fixture->folder))
        return -1;
    snprintf(fixture->path, sizeof(fixture->path), "%s/tiny.db", fixture->folder);
    *state = fixture;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;
    store_close(fixture->store, NULL);
    DIR *folder = opendir(fixture->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    int result = rmdir(fixture->folder);
    free(fixture);
    return result;
}

static inline void fixture_open(struct fixture *fixture, int *interrupted)
{
    struct err err = {0};
    must(store_open(fixture->path, interrupted, &fixture->store, &err), &err);
}

static inline void fixture_close(struct fixture *fixture)
{
    struct err err = {0};
    must(store_close(steal_pointer(&fixture->store), &err), &err);
}

static const struct swept fixture_swept[2][3] = {
    {{"scheme", "ring"}, {"workers", "4"}, {"topology.link.delay", "250us"}},
    {{"scheme", "backup(backups=1)"}, {"workers", "4"}, {"topology.link.delay", "250us"}},
};
static const struct cell fixture_cells[2] = {
    {.index = 0,
     .label = "scheme=ring workers=4 delay=250us",
     .settings = {.workers = 4, .scheme = {.name = "ring"}},
     .swept = fixture_swept[0],
     .swept_count = 3},
    {.index = 1,
     .label = "scheme=backup(backups=1) workers=4 delay=250us",
     .settings = {.workers = 4, .scheme = {.name = "backup"}},
     .swept = fixture_swept[1],
     .swept_count = 3},
};

static inline void fixture_campaign(struct fixture *fixture)
{
    struct err err = {0};
    static const struct environment_fact facts[] = {
        {"kernel", "6.1", true}, {"load_before", "0.5", false}, {"governor", NULL, true}};
    static const char *const settings_texts[] = {"scheme: ring\n", "scheme: backup\n"};
    const struct plan plan = {.name = "tiny",
                              .file_path = "tiny.yaml",
                              .file_text = "abc",
                              .seed = UINT64_MAX,
                              .cells = fixture_cells,
                              .cell_count = 2,
                              .trial_count = 12};
    must(store_campaign(fixture->store, &plan, settings_texts, facts, 3, &fixture->campaign_id, &err), &err);
}

static const struct place fixture_places[] = {
    {"w0", PLACE_HOST, 0x0a000002}, {"w1", PLACE_HOST, 0x0a000003}, {"w2", PLACE_HOST, 0x0a000004},
    {"w3", PLACE_HOST, 0x0a000005}, {"router", PLACE_ROUTER, 0},
};
#define FIXTURE_DIRECTION                                                                                                          \
    {                                                                                                                              \
        .rate_bps = 1000000000, .delay_ns = 250000, .queue_bytes = 1500000                                                         \
    }
#define FIXTURE_LINK(name_, index)                                                                                                 \
    {                                                                                                                              \
        .name = name_, .from = index, .to = 4, .direction = { FIXTURE_DIRECTION, {.delay_ns = 250000} }                            \
    }
static const struct link fixture_links[] = {FIXTURE_LINK("w0-router", 0), FIXTURE_LINK("w1-router", 1),
                                            FIXTURE_LINK("w2-router", 2), FIXTURE_LINK("w3-router", 3)};
static const struct topology fixture_topology = {.places = fixture_places,
                                                 .place_count = 5,
                                                 .host_count = 4,
                                                 .links = fixture_links,
                                                 .link_count = FIXTURE_LINKS,
                                                 .mtu = 1500,
                                                 .tcp = {.congestion_control = "cubic"}};

static inline int64_t fixture_begin(struct fixture *fixture, int cell, int k, const char *arm)
{
    struct err err = {0};
    int64_t trial_id = 0;
    const struct trial_plan plan = {.cell = cell, .repeat = k, .order = fixture->started++, .seed = 1000 + (uint64_t)k};
    const struct prediction predicted = {.available = cell == 0,
                                         .reason = "backup without cancelling has no formula",
                                         .method = "closed form",
                                         .round_ns = 20e6,
                                         .compute_ns = 12e6,
                                         .latency_ns = 3e6,
                                         .bandwidth_ns = 4e6,
                                         .reduce_ns = 1e6};
    must(store_trial_begin(fixture->store,
                           &(struct trial_begin){.campaign_id = fixture->campaign_id,
                                                 .plan = &plan,
                                                 .arm = arm,
                                                 .world = WORLD_EMULATED,
                                                 .engine = ENGINE_RELAY,
                                                 .started_unix_ns = clock_wall_ns(),
                                                 .topology = &fixture_topology,
                                                 .workers = FIXTURE_WORKERS,
                                                 .payload_bytes = 1000000,
                                                 .warmup_rounds = 1,
                                                 .predicted = &predicted},
                           &trial_id, &err),
         &err);
    return trial_id;
}

/* What trial k of the comment above did; callers change what they test and hand `end` to store_trial_end(). */
struct fixture_content {
    struct round_summary rounds[FIXTURE_ROUNDS];
    struct round_record held[FIXTURE_WORKERS][FIXTURE_ROUNDS];
    struct span_record spans[FIXTURE_WORKERS][FIXTURE_SPANS];
    struct gradient_record gradients[2];
    struct evaluation_record evaluations[2];
    struct node_result nodes[FIXTURE_WORKERS];
    struct link_readback readback[FIXTURE_LINKS];
    struct link_counters counters[FIXTURE_LINKS];
    struct link_check checks[FIXTURE_LINKS];
    struct capture_result captures[3];
    struct prediction predicted_measured;
    struct trial_end end;
};

static inline void fixture_content(struct fixture_content *content, int k)
{
    static const uint8_t model_sha256[32] = {0xab, 0xcd};
    const int64_t durations[FIXTURE_ROUNDS] = {MS(99), MS(10 + k), MS(20 + k), MS(40 + k)};
    *content = (struct fixture_content){0};
    int64_t now = 0;
    for (uint32_t r = 0; r < FIXTURE_ROUNDS; r++) {
        content->rounds[r] =
            (struct round_summary){.round = r, .warmup = r == 0, .begin_ns = now, .end_ns = now + durations[r], .last_node = 3};
        for (int w = 0; w < FIXTURE_WORKERS; w++) {
            content->held[w][r] = (struct round_record){.round = r, .held_ns = now + durations[r] - 3 + w};
            content->spans[w][r] = (struct span_record){.round = r,
                                                        .kind = SPAN_COMPUTE,
                                                        .peer = NO_PEER,
                                                        .flags = w == 3 && r == 2 ? SPAN_CANCELLED : 0,
                                                        .begin_ns = now,
                                                        .end_ns = now + MS(5 + w * (int)r) - (w == 0 ? MS(2) : 0)};
        }
        now += durations[r];
    }
    for (int w = 0; w < FIXTURE_WORKERS; w++) {
        content->spans[w][4] =
            w == 0 ? (struct span_record){.round = 1, .kind = SPAN_COMPUTE, .peer = NO_PEER, .begin_ns = MS(110), .end_ns = MS(112)}
                   : (struct span_record){
                         .round = 1, .kind = SPAN_SEND, .peer = 0, .begin_ns = MS(110), .end_ns = MS(111), .bytes = 500};
        content->nodes[w] = (struct node_result){.rounds = content->held[w],
                                                 .round_count = FIXTURE_ROUNDS,
                                                 .spans = content->spans[w],
                                                 .span_count = FIXTURE_SPANS,
                                                 .counters = {.compute_tasks = 4, .gradient_mean_ns = 1234.6, .tcp_retransmits = 7},
                                                 .idle_gradient_ns = 1200.4,
                                                 .blas = "",
                                                 .model_sha256 = model_sha256};
    }
    content->gradients[0] = (struct gradient_record){.worker = 1, .step = 3, .staleness = 2, .order = 0, .arrived_ns = MS(7)};
    content->gradients[1] =
        (struct gradient_record){.round = 1, .worker = 0, .order = 1, .fate = GRADIENT_LATE, .arrived_ns = MS(8)};
    content->nodes[0].gradients = content->gradients;
    content->nodes[0].gradient_count = 2;
    content->evaluations[0] = (struct evaluation_record){.round = 0, .at_ns = 0, .loss = 2.3, .accuracy = 0.1, .sample_count = 100};
    content->evaluations[1] = (struct evaluation_record){
        .round = 4, .at_ns = now, .loss = 1 - k / 100.0, .accuracy = 0.5 + k / 100.0, .sample_count = 100};
    content->nodes[0].evaluations = content->evaluations;
    content->nodes[0].evaluation_count = 2;
    for (int i = 0; i < FIXTURE_LINKS; i++) {
        content->readback[i] = (struct link_readback){
            .engine = ENGINE_RELAY,
            .direction = {
                {.rate_bps = 1000000000, .burst_bytes = 3000, .limit_bytes = 1500000, .gso_max_bytes = 1514, .delay_ns = 250000},
                {.gso_max_bytes = 65536, .delay_ns = 250000}}};
        content->counters[i] = (struct link_counters){
            .direction = {{.packets = 10, .bytes = 15140, .lateness_p50_ns = 900, .lateness_p99_ns = 2000, .lateness_max_ns = 3000},
                          {.packets = 5,
                           .bytes = 330,
                           .queue_drops = 2,
                           .lateness_p50_ns = -1,
                           .lateness_p99_ns = -1,
                           .lateness_max_ns = -1}}};
    }
    content->checks[0] = (struct link_check){.direction = {{.measured = true,
                                                            .goodput_bps = 9.5e8,
                                                            .delay_mean_ns = 251000.4,
                                                            .delay_min_ns = 250000,
                                                            .delay_max_ns = 252000,
                                                            .delay_sd_ns = 400,
                                                            .probes_sent = 50,
                                                            .probes_received = 50,
                                                            .within_tolerance = true},
                                                           {.measured = true, .probes_sent = 50, .reason = "no probe arrived"}}};
    content->captures[0] = (struct capture_result){.direction = DIRECTION_FORWARD,
                                                   .path = "captures/a.pcap",
                                                   .snap_bytes = 128,
                                                   .summary = {.captured_count = 3,
                                                               .packet_count = 20,
                                                               .wire_bytes = 30280,
                                                               .payload_bytes = 28960,
                                                               .retransmitted_segment_count = 2,
                                                               .retransmitted_bytes = 2896,
                                                               .round_trip_count = 4,
                                                               .round_trip_minimum_ns = 1000,
                                                               .round_trip_p50_ns = 2000,
                                                               .round_trip_p99_ns = 3000,
                                                               .round_trip_maximum_ns = 4000,
                                                               .dropped_count = 5,
                                                               .return_dropped_count = 6,
                                                               .written_count = 3,
                                                               .written_bytes = 456}};
    content->captures[1] = (struct capture_result){.direction = DIRECTION_BACKWARD,
                                                   .path = "captures/b.pcap",
                                                   .snap_bytes = 128,
                                                   .summary = {.truncated = true, .reason = "the size limit was reached"}};
    content->captures[2] =
        (struct capture_result){.link = 1, .path = "captures/c.pcap", .snap_bytes = 128, .failure = "the process has ended"};
    content->predicted_measured = (struct prediction){.available = true, .method = "closed form", .round_ns = 25e6};
    content->end = (struct trial_end){.status = TRIAL_FINISHED,
                                      .fidelity = FIDELITY_FAITHFUL,
                                      .duration_ns = now,
                                      .setup_ns = MS(300),
                                      .fabric_ns = MS(200),
                                      .teardown_ns = MS(20),
                                      .nodes = content->nodes,
                                      .node_count = FIXTURE_WORKERS,
                                      .rounds = content->rounds,
                                      .round_count = FIXTURE_ROUNDS,
                                      .readback = content->readback,
                                      .counters = content->counters,
                                      .checks = content->checks,
                                      .link_count = FIXTURE_LINKS,
                                      .captures = content->captures,
                                      .capture_count = 3,
                                      .predicted_measured = &content->predicted_measured,
                                      .parameter_count = 250000};
}

static inline void fixture_end(struct fixture *fixture, int64_t trial_id, const struct trial_end *end)
{
    struct err err = {0};
    must(store_trial_end(fixture->store, trial_id, end, &err), &err);
}

/* Cell 0: seven finished trials, k = 0 to 6 not in that order, k = 3 void and k = 5 degraded. Cell 1: two finished, one failed, one
 * that never ends. */
static inline void fixture_fill(struct fixture *fixture)
{
    static const int order[] = {4, 0, 6, 3, 1, 5, 2};
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    for (int i = 0; i < 7; i++) {
        fixture_content(&content, order[i]);
        if (order[i] == 3) {
            content.end.fidelity = FIDELITY_VOID;
            content.end.fidelity_reason = "12 % of the host's CPU was stolen";
        } else if (order[i] == 5) {
            content.end.fidelity = FIDELITY_DEGRADED;
            content.end.fidelity_reason = "timers were 2 ms late";
        }
        fixture_end(fixture, fixture_begin(fixture, 0, order[i], ""), &content.end);
    }
    for (int k = 0; k < 2; k++) {
        fixture_content(&content, k);
        content.end.predicted_measured = NULL;
        content.end.checks = NULL;
        fixture_end(fixture, fixture_begin(fixture, 1, k, ""), &content.end);
    }
    int64_t failed = fixture_begin(fixture, 1, 2, "");
    fixture_end(fixture, failed,
                &(struct trial_end){.status = TRIAL_FAILED, .reason = "agent w2: exit status 3", .duration_ns = MS(7)});
    fixture_begin(fixture, 1, 3, "");
}

/* One value of the database, by a connection of its own. */
static inline double ask(const struct fixture *fixture, const char *query)
{
    struct err err = {0};
    cleanup(sql_cleanup) struct sql *sql = NULL;
    struct sql_statement *statement = NULL;
    must(sql_open(fixture->path, false, &sql, &err), &err);
    must(sql_prepare(sql, query, &statement, &err), &err);
    if (sql_next(statement, &err) != 1)
        fail_msg("no row: %s %s", query, err.text);
    return sql_real(statement, 0);
}

static inline void assert_asked_text(const struct fixture *fixture, const char *query, const char *expected)
{
    struct err err = {0};
    cleanup(sql_cleanup) struct sql *sql = NULL;
    struct sql_statement *statement = NULL;
    must(sql_open(fixture->path, false, &sql, &err), &err);
    must(sql_prepare(sql, query, &statement, &err), &err);
    if (sql_next(statement, &err) != 1)
        fail_msg("no row: %s %s", query, err.text);
    const char *found = sql_text(statement, 0);
    if (!found || !expected)
        assert_true(found == expected);
    else
        assert_string_equal(found, expected);
}

/* cmocka 1.1.5 compares floats only. */
#define assert_near(found, expected, tolerance)                                                                                    \
    do {                                                                                                                           \
        double found_ = (found), expected_ = (expected);                                                                           \
        if (!(fabs(found_ - expected_) <= (tolerance)))                                                                            \
            fail_msg("%s is %.17g, not %.17g", #found, found_, expected_);                                                         \
    } while (0)
#define assert_asked(fixture, query, expected) assert_near(ask(fixture, query), expected, 1e-9 * (1 + fabs((double)(expected))))

/* What is stored of the spans is what they come to. */
static inline void fixture_same_span_totals(struct fixture *fixture)
{
#define SPANS_TOTALLED                                                                                                             \
    "SELECT trial, node, kind, payload_bytes, count(*), sum(duration_ns), max(duration_ns), sum(moved_bytes) FROM spans WHERE "    \
    "warmup = 0 GROUP BY 1, 2, 3, 4"
#define STORED_TOTALS "SELECT trial, node, kind, payload_bytes, span_count, duration_ns, longest_ns, moved_bytes FROM span_totals"
    assert_asked(fixture, "SELECT count(*) FROM (" SPANS_TOTALLED " EXCEPT " STORED_TOTALS ")", 0);
    assert_asked(fixture, "SELECT count(*) FROM (" STORED_TOTALS " EXCEPT " SPANS_TOTALLED ")", 0);
    assert_asked(fixture, "SELECT count(*) > 0 FROM span_totals", 1);
}

#endif
