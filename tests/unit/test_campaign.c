/* test_campaign.c: campaign files are read whole or refused with a sentence at its place; what is dumped reads back; the committed
 * schema and the manual's table are those of the field table.
 *
 * tests/golden/bad-*.yaml each have one fault and the whole message in a file beside it; good-*.yaml have none. After a wanted
 * change, `test_campaign --update` writes messages, schema and table anew: read the difference before you commit it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "harness/campaign.h"
#include "harness/campaign_internal.h"
#include "netem/impairment.h"
#include "schemas/events.h"

static const char schema_path[] = "schemas/campaign.schema.json", manual_path[] = "docs/campaign-file.md";
static const char table_begin[] = "<!-- fields: begin -->\n", table_end[] = "<!-- fields: end -->\n";

static void read_file(const char *path, struct text *out)
{
    cleanup(close_file) FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s", path);
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof(buffer), file)) > 0;)
        text_add_bytes(out, buffer, got);
}

static void write_file(const char *path, const struct text *text)
{
    cleanup(close_file) FILE *file = fopen(path, "w");
    if (!file || fwrite(text->bytes, 1, text->length, file) != text->length)
        fail_msg("cannot write %s", path);
}

static int parse(const char *text, struct arena *arena, struct plan *plan, struct err *err)
{
    return campaign_parse("t.yaml", text, strlen(text), arena, plan, err);
}

static void parse_good(const char *text, struct arena *arena, struct plan *plan)
{
    struct err err;
    if (parse(text, arena, plan, &err) < 0)
        fail_msg("%s", err.text);
}

static void refuse(const char *text, size_t length, const char *expected)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan = {.cell_count = -7};
    struct err err = {0};
    assert_int_equal(campaign_parse("t.yaml", text, length, arena, &plan, &err), -ERR_USAGE);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(err.text, expected);
    assert_int_equal(plan.cell_count, -7);
    assert_int_equal(campaign_parse("t.yaml", text, length, arena, &plan, NULL), -ERR_USAGE);
}

#define REFUSE(text, expected) refuse(text, sizeof(text) - 1, expected)
#define HEAD "name: t\nworkers: 4\nscheme: ring\nworkload: {model: mlp, rounds: 10}\n"

/* ---- golden files ---- */
static void expected_path(const char *yaml, char *path, size_t size)
{
    snprintf(path, size, "%.*s.expected", (int)(strlen(yaml) - strlen(".yaml")), yaml);
}

static void refusal_of(const char *path, struct text *message)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0};
    struct plan plan = {0};
    struct err err = {0};
    read_file(path, &text);
    if (campaign_parse(strrchr(path, '/') + 1, text.bytes, text.length, arena, &plan, &err) != -ERR_USAGE)
        fail_msg("%s is accepted", path);
    text_printf(message, "%s\n", err.text);
}

static void bad_files_are_refused_with_the_expected_sentence(void **state)
{
    (void)state;
    cleanup(globfree) glob_t files = {0};
    assert_int_equal(glob("tests/golden/bad-*.yaml", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 90);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        cleanup(text_free) struct text found = {0}, expected = {0};
        char path[256];
        refusal_of(files.gl_pathv[i], &found);
        expected_path(files.gl_pathv[i], path, sizeof(path));
        read_file(path, &expected);
        assert_string_equal(found.bytes, expected.bytes);
    }
}

static void assert_links_equal(const struct link_settings *a, const struct link_settings *b)
{
    assert_true(a->rate_bps == b->rate_bps && a->delay_ns == b->delay_ns && a->queue_bytes == b->queue_bytes);
    assert_true(a->queue_packets == b->queue_packets && a->framing == b->framing);
    assert_true(impairment_same(&a->impairments, &b->impairments)); /* the table's entries, wherever they lie */
    assert_int_equal(!a->jitter_table_path, !b->jitter_table_path);
    if (a->jitter_table_path)
        assert_string_equal(a->jitter_table_path, b->jitter_table_path);
}

static void assert_patches_equal(const struct link_patch *a, const struct link_patch *b)
{
    assert_memory_equal(a->replaces, b->replaces, sizeof(a->replaces));
    assert_links_equal(&a->values, &b->values);
}

static void assert_changes_equal(const struct link_change *a, const struct link_change *b)
{
    assert_int_equal(!a, !b);
    if (a)
        assert_patches_equal(&a->both, &b->both), assert_patches_equal(&a->back, &b->back);
}

static void assert_names_equal(const char *a, const char *b)
{
    assert_int_equal(!a, !b);
    if (a)
        assert_string_equal(a, b);
}

static void assert_other_links_equal(const struct settings *a, const struct settings *b)
{
    assert_int_equal(!a->back, !b->back);
    if (a->back)
        assert_patches_equal(a->back, b->back);
    assert_changes_equal(a->bottleneck, b->bottleneck);
    assert_changes_equal(a->uplink, b->uplink);
    assert_true(a->racks == b->racks && a->oversubscription == b->oversubscription);
    assert_true(a->hosts.count == b->hosts.count && a->routers.count == b->routers.count && a->links.count == b->links.count);
    for (int i = 0; i < a->links.count; i++) {
        assert_string_equal(a->links.links[i].from, b->links.links[i].from);
        assert_string_equal(a->links.links[i].to, b->links.links[i].to);
        assert_names_equal(a->links.links[i].name, b->links.links[i].name);
        assert_changes_equal(&a->links.links[i].change, &b->links.links[i].change);
    }
    assert_true(a->sites.count == b->sites.count && a->latency.size == b->latency.size && a->rate.size == b->rate.size);
    for (int i = 0; i < a->latency.size * a->latency.size; i++)
        assert_true(a->latency.cells[i] == b->latency.cells[i] && (a->rate.size == 0 || a->rate.cells[i] == b->rate.cells[i]));
    assert_int_equal(a->override_count, b->override_count);
    for (int i = 0; i < a->override_count; i++) {
        assert_names_equal(a->overrides[i].link, b->overrides[i].link);
        assert_names_equal(a->overrides[i].node, b->overrides[i].node);
        assert_changes_equal(&a->overrides[i].change, &b->overrides[i].change);
    }
}

static void assert_events_equal(const struct settings *a, const struct settings *b)
{
    assert_int_equal(a->event_count, b->event_count);
    for (int i = 0; i < a->event_count; i++) {
        const struct event_request *x = &a->events[i], *y = &b->events[i];
        assert_true(x->kind == y->kind && x->at_ns == y->at_ns && x->round == y->round && x->direction == y->direction);
        assert_true(x->down_ns == y->down_ns && x->up_ns == y->up_ns && x->times == y->times && x->pause_ns == y->pause_ns);
        assert_true(x->trace_format == y->trace_format && x->repeat == y->repeat && x->nodes.count == y->nodes.count);
        assert_names_equal(x->link, y->link);
        for (int n = 0; n < x->nodes.count; n++)
            assert_names_equal(x->nodes.names[n], y->nodes.names[n]);
        assert_changes_equal(&x->change, &y->change);
        assert_names_equal(x->trace_path, y->trace_path);
        assert_int_equal(!x->trace, !y->trace);
        if (x->trace) {
            assert_true(x->trace->count == y->trace->count && x->trace->period_ns == y->trace->period_ns);
            assert_memory_equal(x->trace->steps, y->trace->steps, sizeof(*x->trace->steps) * (size_t)x->trace->count);
        }
    }
}

static void assert_flows_equal(const struct traffic_list *a, const struct traffic_list *b)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        const struct traffic_setting *x = &a->flows[i], *y = &b->flows[i];
        assert_string_equal(x->from, y->from);
        assert_string_equal(x->to, y->to);
        assert_true(x->rate_bps == y->rate_bps && x->transport == y->transport && x->packet_bytes == y->packet_bytes);
        assert_true(x->on_ns == y->on_ns && x->off_ns == y->off_ns && x->spread == y->spread);
        assert_true(x->start_ns == y->start_ns && x->stop_ns == y->stop_ns);
    }
}

static void assert_limits_equal(const struct cpu_limit_list *a, const struct cpu_limit_list *b)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        const struct cpu_limit_setting *x = &a->limits[i], *y = &b->limits[i];
        assert_true(x->who == y->who && x->node_count == y->node_count);
        for (int n = 0; n < x->node_count; n++)
            assert_string_equal(x->nodes[n], y->nodes[n]);
        assert_true(x->limit.processors == y->limit.processors && x->limit.period_ns == y->limit.period_ns);
    }
}

static void assert_settings_equal(const struct settings *a, const struct settings *b)
{
    assert_string_equal(a->name, b->name);
    assert_true(a->seed == b->seed && a->world == b->world && a->engine == b->engine && a->shape == b->shape);
    assert_links_equal(&a->link, &b->link);
    assert_other_links_equal(a, b);
    assert_events_equal(a, b);
    assert_int_equal(a->workers, b->workers);
    assert_string_equal(a->scheme.name, b->scheme.name);
    assert_memory_equal(a->scheme.values, b->scheme.values, sizeof(a->scheme.values));
    assert_true(a->scheme.outside == b->scheme.outside && a->workload.exec.count == b->workload.exec.count);
    for (int i = 0; i < a->workload.exec.count; i++)
        assert_string_equal(a->workload.exec.words[i], b->workload.exec.words[i]);
    assert_true(a->workload.model == b->workload.model && a->workload.dataset == b->workload.dataset);
    assert_int_equal(!a->workload.dataset_path, !b->workload.dataset_path);
    if (a->workload.dataset_path)
        assert_string_equal(a->workload.dataset_path, b->workload.dataset_path);
    assert_memory_equal(a->workload.layers, b->workload.layers, sizeof(a->workload.layers));
    assert_int_equal(a->workload.layer_count, b->workload.layer_count);
    assert_true(a->workload.batch == b->workload.batch && a->workload.learning_rate == b->workload.learning_rate);
    assert_true(a->workload.rounds == b->workload.rounds && a->workload.evaluate_every == b->workload.evaluate_every);
    assert_true(a->workload.size_bytes == b->workload.size_bytes && a->workload.gradients == b->workload.gradients);
    assert_memory_equal(&a->compute_time, &b->compute_time, sizeof(a->compute_time));
    assert_int_equal(a->slow_count, b->slow_count);
    for (int i = 0; i < a->slow_count; i++) {
        assert_int_equal(a->slow[i].worker_count, b->slow[i].worker_count);
        assert_memory_equal(a->slow[i].workers, b->slow[i].workers, sizeof(int) * (size_t)a->slow[i].worker_count);
        assert_true(a->slow[i].factor == b->slow[i].factor);
    }
    assert_flows_equal(&a->traffic, &b->traffic);
    assert_limits_equal(&a->cpu_limits, &b->cpu_limits);
    assert_true(a->repeats == b->repeats && a->warmup_rounds == b->warmup_rounds && a->mtu == b->mtu);
    assert_string_equal(a->congestion_control, b->congestion_control);
    assert_true(a->rto_min_ns == b->rto_min_ns && a->slow_start_after_idle == b->slow_start_after_idle);
    assert_true(a->trial_deadline_ns == b->trial_deadline_ns && a->record_spans == b->record_spans);
    assert_true(a->record_nodes == b->record_nodes);
}

static void what_is_dumped_reads_back(void **state)
{
    (void)state;
    cleanup(globfree) glob_t files = {0};
    assert_int_equal(glob("tests/golden/good-*.yaml", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 6);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        struct plan plan, again;
        struct err err;
        if (campaign_load(files.gl_pathv[i], NULL, arena, &plan, &err) < 0)
            fail_msg("%s", err.text);
        for (int c = 0; c < plan.cell_count; c++) {
            cleanup(text_free) struct text dump = {0};
            campaign_dump(&plan.cells[c].settings, &dump);
            parse_good(dump.bytes, arena, &again);
            assert_int_equal(again.cell_count, 1);
            assert_settings_equal(&plan.cells[c].settings, &again.cells[0].settings);
            for (int d = 0; d < c; d++)
                assert_string_not_equal(cell_title(&plan.cells[c]), cell_title(&plan.cells[d]));
        }
    }
}

/* ---- values ---- */
static void the_design_example_has_these_settings(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-design.yaml", NULL, arena, &plan, &err), 0);
    assert_string_equal(plan.name, "ring-vs-ps");
    assert_int_equal(plan.cell_count, 6);
    assert_int_equal(plan.trial_count, 36);
    const struct settings *settings = &plan.cells[4].settings;
    assert_string_equal(plan.cells[4].label, "scheme=ring workers=4");
    assert_string_equal(settings->scheme.name, "ring");
    assert_int_equal(settings->workers, 4);
    assert_true(settings->link.rate_bps == 1000000000 && settings->link.delay_ns == 250 * NS_PER_US &&
                settings->link.queue_bytes == 0);
    assert_true(settings->workload.model == MODEL_MLP && settings->workload.layer_count == 1 &&
                settings->workload.layers[0] == 128);
    assert_true(settings->workload.batch == 64 && settings->workload.learning_rate == 0.1);
    assert_true(settings->workload.rounds == 100 && settings->workload.evaluate_every == 10);
    assert_int_equal(settings->compute_time.kind, DISTRIBUTION_LOGNORMAL);
    assert_true(settings->compute_time.mu == 3 && settings->compute_time.sigma == 0.1 &&
                settings->compute_time.unit_ns == NS_PER_MS);
    assert_true(settings->slow_count == 1 && settings->slow[0].worker_count == 1);
    assert_true(settings->slow[0].workers[0] == 1 && settings->slow[0].factor == 4);
    assert_int_equal(settings->repeats, 6);
    assert_string_equal(plan.cells[4].swept[0].path, "scheme");
    assert_string_equal(plan.cells[4].swept[1].text, "4");
}

static void defaults_are_these(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    parse_good(HEAD, arena, &plan);
    const struct settings *settings = &plan.cells[0].settings;
    assert_true(plan.cell_count == 1 && plan.trial_count == 1 && plan.seed == 1 && settings->seed == 1);
    assert_true(settings->world == WORLD_EMULATED && settings->engine == ENGINE_AUTO && settings->shape == SHAPE_STAR);
    assert_true(settings->link.rate_bps == 0 && settings->link.delay_ns == 0 && settings->link.queue_bytes == 0);
    assert_int_equal(settings->compute_time.kind, DISTRIBUTION_MEASURED);
    assert_true(settings->mtu == 1500 && settings->warmup_rounds == 0 && settings->repeats == 1);
    assert_string_equal(settings->congestion_control, "cubic");
    assert_true(settings->rto_min_ns == 0 && settings->trial_deadline_ns == 0 && settings->busy_wait_ns == 0);
    assert_true(!settings->slow_start_after_idle && settings->record_spans && settings->record_nodes);
    assert_null(settings->workload.dataset_path);
    assert_string_equal(plan.cells[0].label, "scheme=ring workers=4");
    assert_int_equal(plan.cells[0].swept_count, 0);
}

static void impairments_and_their_table(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-impairments.yaml", NULL, arena, &plan, &err), 0);
    assert_int_equal(plan.cell_count, 2);
    const struct link_settings *link = &plan.cells[1].settings.link;
    const struct impairments *asked = &link->impairments;
    assert_true(link->queue_packets == 100 && link->queue_bytes == 0 && link->framing == FRAMING_L1);
    assert_true(asked->jitter_ns == 1500000 && asked->jitter_distribution == JITTER_TABLE && asked->jitter_correlation == 0.25);
    static const int16_t entries[] = {-16384, -8192, 0, 8192, 16384};
    assert_int_equal(asked->jitter_table_size, 5);
    assert_memory_equal(asked->jitter_table, entries, sizeof(entries));
    assert_true(asked->gilbert_elliott.p == 0.01 && asked->gilbert_elliott.r == 0.1);
    assert_true(asked->gilbert_elliott.loss_bad == 0.7 && asked->gilbert_elliott.loss_good == 1e-4);
    assert_true(asked->duplicate == 0.005 && asked->corrupt == 0.001 && asked->reorder == 0.02);
    assert_true(plan.cells[0].settings.link.impairments.reorder == 0);
}

static void a_byte_order_mark_is_no_part_of_a_file(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    if (campaign_load("tests/golden/good-bom.yaml", NULL, arena, &plan, &err) < 0)
        fail_msg("%s", err.text);
    const struct settings *settings = &plan.cells[0].settings;
    assert_string_equal(plan.name, "bom");
    assert_int_equal(settings->link.impairments.jitter_table_size, 5);
    assert_int_equal(settings->events[0].trace->steps[1].rate_bps, 2000000);
    assert_int_equal(settings->events[1].trace->period_ns, 199000000);
}

static void events_and_their_defaults(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-events.yaml", NULL, arena, &plan, &err), 0);
    const struct settings *settings = &plan.cells[0].settings;
    assert_int_equal(settings->event_count, 11);
    for (int i = 0; i < settings->event_count; i++) /* one of the two */
        assert_true((settings->events[i].round == EVENT_BY_TIME) != (settings->events[i].at_ns == 0 && i != 9 && i != 10));
    assert_true(settings->events[2].direction == EVENT_FORWARD && settings->events[4].direction == EVENT_BOTH);
    assert_true(settings->events[4].down_ns == 50 * NS_PER_MS && settings->events[4].up_ns == 200 * NS_PER_MS);
    const struct event_request *trace = &settings->events[9];
    assert_string_equal(trace->trace_path, "tests/golden/cellular.trace"); /* from where the campaign file is */
    assert_true(!trace->repeat && settings->events[10].repeat && trace->trace->has_rate);
    assert_true(settings->events[10].trace->count == 4 && settings->events[10].trace->steps[1].rate_bps == 12500000);

    assert_int_equal(campaign_load("tests/golden/good-events-swept.yaml", NULL, arena, &plan, &err), 0);
    assert_true(plan.cell_count == 3 && plan.cells[0].settings.event_count == 0 && plan.cells[2].settings.event_count == 2);
    assert_int_equal(campaign_load("tests/golden/good-events-parts.yaml", NULL, arena, &plan, &err), 0);
    assert_int_equal(plan.cell_count, 8);
    assert_ptr_equal(plan.cells[0].settings.events[1].trace, plan.cells[7].settings.events[1].trace); /* read once */
    const struct event_request *last = &plan.cells[7].settings.events[0];
    assert_true(last->at_ns == 2 * NS_PER_S && last->change.both.values.rate_bps == 20000000);
    assert_true(last->change.both.values.impairments.loss == 0.01);
}

static void parts_of_values_are_swept(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-parts.yaml", NULL, arena, &plan, &err), 0);
    assert_int_equal(plan.cell_count, 16);
    const struct settings *settings = &plan.cells[15].settings; /* the first axis varies slowest */
    assert_string_equal(plan.cells[15].label, "workers=3 scheme.segment=8KiB compute.time.sigma=1 compute.slow.0.factor=4");
    assert_true(settings->workers == 3 && settings->scheme.values[0] == 8192 && settings->compute_time.sigma == 1);
    assert_true(settings->compute_time.mu == 3 && settings->slow[0].factor == 4 && settings->slow[1].factor == 0.5);
    assert_true(plan.cells[1].settings.slow[0].factor == 4 && plan.cells[2].settings.compute_time.sigma == 1);
}

static void fields_of_another_model_are_left_out(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-models.yaml", NULL, arena, &plan, &err), 0);
    assert_true(plan.cells[0].settings.workload.size_bytes == 0 && plan.cells[0].settings.workload.layer_count == 0);
    assert_true(plan.cells[2].settings.workload.size_bytes == 0 && plan.cells[2].settings.workload.layer_count == 2);
    assert_true(plan.cells[4].settings.workload.size_bytes == 25 << 20 && plan.cells[4].settings.workload.layer_count == 0);
    assert_string_equal(plan.cells[4].label, "workload.model=synthetic topology.link.queue=64KiB");
}

static void outside_programs_take_the_place_of_schemes(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-exec.yaml", NULL, arena, &plan, &err), 0);
    const struct settings *agents = &plan.cells[0].settings, *program = &plan.cells[2].settings;
    assert_true(!agents->scheme.outside && agents->workload.exec.count == 0 && agents->workload.size_bytes == 1 << 20);
    assert_true(program->scheme.outside && program->workload.rounds == 0 && program->workload.size_bytes == 0);
    assert_true(program->slow_count == 0 && program->compute_time.kind == DISTRIBUTION_MEASURED && program->warmup_rounds == 2);
    assert_string_equal(program->scheme.name, "exec");
    const struct outside_command *command = &program->workload.exec;
    assert_true(command->count == 6 && command->line == 9 && command->column == 7 && !command->words[6]);
    assert_string_equal(command->words[2], "echo \"rank $LAGGARD_RANK\"\nexec ./train '\t'\n");
    assert_string_equal(command->words[4], "");
    assert_int_equal(campaign_load("tests/golden/good-exec-swept.yaml", NULL, arena, &plan, &err), 0);
    assert_true(plan.cell_count == 3 && plan.cells[1].settings.scheme.outside);
    assert_string_equal(plan.cells[1].settings.workload.exec.words[1], "8");
    assert_string_equal(plan.cells[1].label, "workload.exec=[./allreduce,8]");
    for (int i = 0; i < campaign_field_count; i++) { /* whatever agents compute, a program does not take from the campaign */
        const char *path = campaign_fields[i].path;
        if (strncmp(path, "workload.", strlen("workload.")) == 0 || strncmp(path, "compute.", strlen("compute.")) == 0)
            assert_int_not_equal(campaign_fields[i].carriers, 0);
    }
}

static void a_seed_from_the_command_line_goes_everywhere(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan, other;
    struct err err;
    assert_int_equal(
        campaign_load("tests/golden/good-design.yaml", &(struct campaign_overrides){.seed = &(uint64_t){7}}, arena, &plan, &err),
        0);
    assert_int_equal(campaign_load("tests/golden/good-design.yaml", NULL, arena, &other, &err), 0);
    assert_true(plan.seed == 7 && plan.cells[5].settings.seed == 7);
    assert_true(plan.trials[0].seed != other.trials[0].seed);
}

/* ---- what no file in the tree should hold ---- */
static void broken_bytes_are_refused(void **state)
{
    (void)state;
    REFUSE("", "t.yaml:1:1: the file is empty");
    REFUSE("name: t\nmtu: \xff\n", "t.yaml:2:6: this is not text in UTF-8 (invalid leading UTF-8 octet, byte 13 of the file)");
    REFUSE("name: \"a\\0b\"\n", "t.yaml:1:7: a value must not hold a NUL character");
    REFUSE("name: t\0u\n", "t.yaml:1:8: this is not text in UTF-8 (control characters are not allowed, byte 7 of the file)");
    REFUSE(HEAD "\"a\\nb\\e[31m\": 1\n", "t.yaml:5:1: unknown key 'a?b?[31m'. `laggard fields` lists the known ones");
    REFUSE(HEAD "\"b\\x9b31m\": 1\n", "t.yaml:5:1: unknown key 'b?31m'. `laggard fields` lists the known ones");
    REFUSE("name: t\nworkers: 4\nscheme: ring\nworkload: {model: mlp, rounds: 10, dataset_path: \"/a\xe2\x80\xa8z\"}\n",
           "t.yaml:4:50: workload.dataset_path: found '/a?z', allowed are 1 to 1024 printable characters");
    REFUSE(HEAD "\xc3\xa4\xc3\xb6: 1\n", "t.yaml:5:1: unknown key '\xc3\xa4\xc3\xb6'. `laggard fields` lists the known ones");
}

static void large_texts_are_refused_soon(void **state)
{
    (void)state;
    cleanup(text_free) struct text text = {0}, keys = {0};
    while (text.length <= 1 << 20)
        text_add(&text, "# 1 MiB and more\n");
    refuse(text.bytes, text.length, "t.yaml:1:1: the file has 1048577 bytes, allowed are 1048576");
    for (int i = 0; i < 50000; i++)
        text_printf(&keys, "key%d: 1\n", i);
    refuse(keys.bytes, keys.length, "t.yaml:1001:1: this mapping has too many keys, allowed are 1000");
    struct err err;
    struct plan plan = {.cell_count = -7};
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    assert_int_equal(campaign_load("/dev/zero", NULL, arena, &plan, &err), -ERR_USAGE); /* endless */
    assert_string_equal(err.text, "/dev/zero:1:1: the file is larger than a campaign may be, allowed are 1048576 bytes");
    assert_int_equal(campaign_load("tests", NULL, arena, &plan, &err), -ERR_USAGE);
    assert_string_equal(err.text, "cannot read the campaign file 'tests': Is a directory");
    assert_int_equal(campaign_load("tests/golden/none.yaml", NULL, arena, &plan, &err), -ERR_USAGE);
    assert_string_equal(err.text, "cannot open the campaign file 'tests/golden/none.yaml': No such file or directory");
    assert_int_equal(plan.cell_count, -7);
}

static void long_values_have_short_labels(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0};
    text_add(&text, HEAD "matrix: {workload.dataset_path: [");
    for (int i = 0; i < 2; i++)
        text_printf(&text, "/%0300d/%d, ", 0, i);
    text_add(&text, "]}\n");
    struct plan plan;
    parse_good(text.bytes, arena, &plan);
    assert_int_equal(plan.cell_count, 2);
    assert_true(strlen(plan.cells[0].label) < 150);
    assert_string_not_equal(plan.cells[0].label, plan.cells[1].label);
    assert_int_equal(strlen(plan.cells[1].settings.workload.dataset_path), 303);
}

/* ---- what is made of the field table ---- */
static void the_committed_schema_is_the_generated_one(void **state)
{
    (void)state;
    cleanup(text_free) struct text committed = {0}, generated = {0};
    read_file(schema_path, &committed);
    campaign_json_schema(&generated);
    assert_string_equal(committed.bytes, generated.bytes);
}

/* The manual's text before, in and after the table. */
static char *find_table(const struct text *manual, char **end)
{
    char *begin = strstr(manual->bytes, table_begin);
    *end = strstr(manual->bytes, table_end);
    assert_true(begin && *end);
    return begin + strlen(table_begin);
}

static void the_manual_has_the_generated_table(void **state)
{
    (void)state;
    cleanup(text_free) struct text manual = {0}, table = {0};
    char *end;
    read_file(manual_path, &manual);
    campaign_fields_markdown(&table);
    char *begin = find_table(&manual, &end);
    *end = '\0';
    assert_string_equal(begin, table.bytes);
}

static void every_field_is_listed(void **state)
{
    (void)state;
    cleanup(text_free) struct text list = {0};
    campaign_print_fields(&list);
    for (int i = 0; i < campaign_field_count; i++)
        assert_non_null(strstr(list.bytes, campaign_fields[i].path));
}

static int update(void)
{
    cleanup(globfree) glob_t files = {0};
    cleanup(text_free) struct text schema = {0}, manual = {0}, updated = {0};
    char *end;
    glob("tests/golden/bad-*.yaml", 0, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        cleanup(text_free) struct text message = {0};
        char path[256];
        refusal_of(files.gl_pathv[i], &message);
        expected_path(files.gl_pathv[i], path, sizeof(path));
        write_file(path, &message);
    }
    campaign_json_schema(&schema);
    write_file(schema_path, &schema);
    read_file(manual_path, &manual);
    text_add_bytes(&updated, manual.bytes, (size_t)(find_table(&manual, &end) - manual.bytes));
    campaign_fields_markdown(&updated);
    text_add(&updated, end);
    write_file(manual_path, &updated);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--update") == 0)
        return update();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_refused_with_the_expected_sentence),
        cmocka_unit_test(what_is_dumped_reads_back),
        cmocka_unit_test(the_design_example_has_these_settings),
        cmocka_unit_test(defaults_are_these),
        cmocka_unit_test(impairments_and_their_table),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_a_file),
        cmocka_unit_test(events_and_their_defaults),
        cmocka_unit_test(parts_of_values_are_swept),
        cmocka_unit_test(fields_of_another_model_are_left_out),
        cmocka_unit_test(outside_programs_take_the_place_of_schemes),
        cmocka_unit_test(a_seed_from_the_command_line_goes_everywhere),
        cmocka_unit_test(broken_bytes_are_refused),
        cmocka_unit_test(large_texts_are_refused_soon),
        cmocka_unit_test(long_values_have_short_labels),
        cmocka_unit_test(the_committed_schema_is_the_generated_one),
        cmocka_unit_test(the_manual_has_the_generated_table),
        cmocka_unit_test(every_field_is_listed),
    };
    return cmocka_run_group_tests_name("campaign", tests, NULL, NULL);
}
