/* test_campaign_dump.c: what is dumped of a campaign reads back as the same settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "harness/campaign.h"
#include "netem/impairment.h"
#include "schemas/events.h"
#include "tests/unit/campaign_rig.h"

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
            /* Beside the file, since paths are as that has them. */
            if (campaign_parse(files.gl_pathv[i], dump.bytes, dump.length, arena, &again, &err) < 0)
                fail_msg("%s", err.text);
            assert_int_equal(again.cell_count, 1);
            assert_settings_equal(&plan.cells[c].settings, &again.cells[0].settings);
            for (int d = 0; d < c; d++)
                assert_string_not_equal(cell_title(&plan.cells[c]), cell_title(&plan.cells[d]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_dumped_reads_back),
    };
    return cmocka_run_group_tests_name("campaign dump", tests, NULL, NULL);
}
