/* fuzz_campaign.c: damaged campaign files. Each is refused with a printable sentence at a place, or gives a plan whose cells dump
 * to text that reads back the same. */
#include "harness/campaign.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "harness/yaml_document.h"
#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 4096, CELLS_READ_BACK_MAX = 8 };

static const char *const valid[] = {
    "name: ring-vs-ps\nseed: 1\ntopology: {shape: star, link: {rate: 1gbit, delay: 250us}}\n"
    "workload: {model: mlp, dataset: fashion-mnist, batch: 64, learning_rate: 0.1, rounds: 100, evaluate_every: 10}\n"
    "compute: {time: {distribution: lognormal, mu: 3, sigma: 0.1, unit: ms}, slow: [{workers: [1], factor: 4}]}\n"
    "matrix: {scheme: [ps-sync, ring], workers: [2, 4, 8]}\nrepeats: 6\n",
    "name: parts\nscheme: {name: ring, segment: 64KiB}\nworkload: {model: synthetic, rounds: 5, size: 1MiB}\nqueue: auto\n"
    "compute:\n  time: exponential\n  slow:\n  - {workers: [0]}\n  - {workers: [1], factor: 0.5}\n"
    "matrix:\n  workers: [2, 3]\n  compute.time.mean: [5ms, 1.5s]\n  compute.slow.0.factor: [1, 4]\n",
    "name: \"2026\"\nworld: emulated\nengine: relay\ntopology.link.rate: unlimited\nworkers: '3'\nscheme: ring\n"
    "workload:\n  model: mlp\n  layers: [32, 16]\n  rounds: 1\n  dataset_path: \"/srv/\\x41 \\\"b\\\" \\\\ 1\"\nrecord_spans: "
    "no\nrto_min: 5ms\n"
    "trial_deadline: 1.5h\ncongestion_control: reno\n",
    "name: d\nworkers: 2\nscheme: ps-sync\nworkload: {model: softmax, rounds: 5}\nmatrix:\n  compute.time:\n  - measured\n"
    "  - {distribution: constant, value: 20ms}\n  - {distribution: shifted-exponential, shift: 5ms, mean: 10ms}\n"
    "  - {distribution: pareto, scale: 5ms, shape: 2}\n  workload.model: [softmax, mlp]\n",
    "name: e\nworkers: 4\nscheme: ps-sync\nworkload: {model: synthetic, size: 4KB, rounds: 9}\n"
    "topology: {link: {rate: 1gbit, delay: 1ms}}\nevents:\n"
    "- {at: 2s, do: set, link: w0-router, to: {rate: 10mbit, loss: 1%, queue: 200KB, back: {jitter: 100us}}}\n"
    "- {at: 1s, do: down, link: 1, direction: forward}\n- {round: 7, do: up, link: w1-router}\n"
    "- {at: 1s, do: flap, link: w1-router, down: 50ms, up: 0.2s, times: 5}\n- {at: 1s, do: partition, nodes: [w0, 1]}\n"
    "- {at: 1.5s, do: heal}\n- {round: 5, do: pause, node: w2, for: 200ms}\n- {round: 8, do: crash, node: s0}\n"
    "- {at: 0s, do: trace, link: 3, file: tests/golden/link.csv, format: csv, repeat: no}\n",
    "name: p\nworkers: 2\nscheme: ring\nworkload: {model: synthetic, size: 4KB, rounds: 9}\n"
    "topology.link.rate: 1gbit\nevents: [{do: set, link: 0, to: {loss: 1%}}, {at: 1s, do: crash, node: w1}]\n"
    "matrix: {events.0.at: [1s, 2s], events.0.to.rate: [10mbit, 20mbit]}\n",
    "name: x\nworkload:\n  exec: [sh, -c, \"a\\tb\\nc\", '', null, 7]\n  model: synthetic\n  size: 4KB\n  rounds: 3\n"
    "workers: 3\nmatrix: {scheme: [ring, exec, {name: ps-sync}]}\n",
    "name: z\nworkers: 2\nwarmup_rounds: 1\nworkload: {model: synthetic, sizes: [4KiB, 64KiB, 1MiB], rounds: 9}\n"
    "events: [{round: 20, do: pause, node: w1, for: 1ms}]\nmatrix: {scheme: [ring, allreduce-auto, ps-sync]}\n",
    "name: y\nmatrix: {workload.exec: [[./a, 4], [./a, 8], [/bin/true]], workers: [2, 3]}\nwarmup_rounds: 1\n",
};

static void check_sentence(struct fuzz *fuzz, const struct err *err)
{
    FUZZ_CHECK(fuzz, err->kind == ERR_USAGE);
    FUZZ_CHECK(fuzz, strncmp(err->text, "fuzz.yaml:", 10) == 0);
    int line = 0, column = 0;
    FUZZ_CHECK(fuzz, sscanf(err->text, "fuzz.yaml:%d:%d: ", &line, &column) == 2 && line >= 1 && column >= 1);
    for (const char *c = err->text; *c; c++)
        FUZZ_CHECK(fuzz, yaml_document_unprintable(c) == 0);
}

static void check_plan(struct fuzz *fuzz, const struct plan *plan, struct arena *arena)
{
    FUZZ_CHECK(fuzz, plan->cell_count >= 1 && plan->trial_count == plan->cell_count * plan->cells[0].settings.repeats);
    for (int c = 0; c < plan->cell_count && c < CELLS_READ_BACK_MAX; c++) {
        cleanup(text_free) struct text dump = {0}, again = {0};
        struct plan read_back = {0};
        struct err err = {0};
        campaign_dump(&plan->cells[c].settings, &dump);
        if (campaign_parse("dump", dump.bytes, dump.length, arena, &read_back, &err) < 0)
            fprintf(stderr, "%s\n%s", err.text, dump.bytes);
        FUZZ_CHECK(fuzz, read_back.cell_count == 1);
        campaign_dump(&read_back.cells[0].settings, &again);
        if (strcmp(dump.bytes, again.bytes) != 0)
            fprintf(stderr, "%s\nbecomes\n%s", dump.bytes, again.bytes);
        FUZZ_CHECK(fuzz, strcmp(dump.bytes, again.bytes) == 0);
    }
}

static void fuzz_one(struct fuzz *fuzz)
{
    static char input[INPUT_MAX];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const char *text = valid[fuzz_below(fuzz, sizeof(valid) / sizeof(valid[0]))];
    size_t length = strlen(text);
    memcpy(input, text, length);
    length = fuzz_mutate(fuzz, (uint8_t *)input, length, sizeof(input));
    struct plan plan = {.cell_count = -7};
    struct err err = {0};
    if (campaign_parse("fuzz.yaml", input, length, arena, &plan, &err) < 0) {
        check_sentence(fuzz, &err);
        FUZZ_CHECK(fuzz, plan.cell_count == -7);
        return;
    }
    check_plan(fuzz, &plan, arena);
    fuzz->accepted++;
}

FUZZ_MAIN("campaign")
