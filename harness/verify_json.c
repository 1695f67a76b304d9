/* verify_json.c: a verification as one JSON document: the same figures as in the table, each a member. What does not apply or was
 * not measured is null. */
#include <math.h>

#include "harness/verify_internal.h"
#include "netem/impairment.h"

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

static double or_nothing(double value, bool known)
{
    return known ? value : NAN;
}

static void add_count(struct json *json, const char *key, uint64_t count, bool known)
{
    if (known)
        json_integer(json, key, (int64_t)count);
    else
        json_null(json, key);
}

static void add_asked(const struct verify_direction *d, struct json *json)
{
    const struct impairments *asked = &d->asked->impairments;
    json_begin_object(json, "asked");
    add_count(json, "rate_bps", d->asked->rate_bps, d->asked->rate_bps > 0);
    json_double(json, "payload_bps", or_nothing(d->payload_bps, d->asked->rate_bps > 0));
    add_count(json, "queue_bytes", d->asked->queue_bytes, d->asked->queue_bytes > 0);
    json_integer(json, "delay_ns", d->asked->delay_ns);
    json_double(json, "jitter_sd_ns", d->delays.delay_sd_ns);
    json_string(json, "jitter_distribution", asked->jitter_ns > 0 ? jitter_names[asked->jitter_distribution] : NULL);
    json_double(json, "loss_ratio", d->fates.lost);
    json_double(json, "loss_run", or_nothing(d->fates.loss_run, d->fates.lost > 0));
    json_double(json, "duplicate_ratio", asked->duplicate);
    json_double(json, "corrupt_ratio", asked->corrupt);
    json_double(json, "reorder_ratio", asked->reorder);
    json_end_object(json);
}

static void add_read_back(const struct verify_direction *d, struct json *json)
{
    json_begin_object(json, "read_back");
    json_string(json, "engine", engine_names[d->engine]);
    add_count(json, "rate_bps", d->set->rate_bps, d->set->rate_bps > 0);
    add_count(json, "burst_bytes", d->set->burst_bytes, d->set->rate_bps > 0);
    add_count(json, "limit_bytes", d->set->limit_bytes, d->set->rate_bps > 0);
    json_integer(json, "gso_max_bytes", d->set->gso_max_bytes);
    json_integer(json, "delay_ns", d->set->delay_ns);
    json_end_object(json);
}

static void add_packets(const struct verify_direction *d, struct json *json)
{
    const struct packet_fates *fates = &d->check->fates;
    bool known = fates->sent > 0;
    double low = NAN, high = NAN;
    if (known)
        measure_interval(fates->lost, fates->sent, d->fates.loss_variance, &low, &high);
    json_integer(json, "packets_sent", (int64_t)fates->sent);
    json_integer(json, "packets_needed", (int64_t)verify_packets_needed(d));
    add_count(json, "packets_lost", fates->lost, known);
    json_double(json, "loss_ratio", or_nothing((double)fates->lost / (double)fates->sent, known));
    json_double(json, "loss_ratio_low", low);
    json_double(json, "loss_ratio_high", high);
    json_double(json, "loss_run", or_nothing((double)fates->lost / (double)fates->loss_runs, fates->loss_runs > 0));
    add_count(json, "packets_duplicated", fates->duplicated, known);
    add_count(json, "packets_corrupted", fates->corrupted, known);
    add_count(json, "packets_reordered", fates->reordered, known);
}

static void add_measured(const struct verify_direction *d, struct json *json)
{
    static const char *const quantile_names[CHECK_QUANTILES] = {"delay_p10_ns", "delay_p50_ns", "delay_p90_ns", "delay_p99_ns"};
    const struct direction_check *check = d->check;
    bool delays = check->probes_received > 0, message = check->message_bps > 0;
    json_begin_object(json, "measured");
    json_double(json, "goodput_bps", or_nothing(check->goodput_bps, check->goodput_bps > 0));
    add_count(json, "message_bytes", check->message_bytes, message);
    json_double(json, "message_bps", or_nothing(check->message_bps, message));
    json_integer(json, "probes_sent", check->probes_sent);
    json_integer(json, "probes_received", check->probes_received);
    json_double(json, "delay_mean_ns", or_nothing(check->delay_mean_ns, delays));
    json_double(json, "delay_minimum_ns", or_nothing(check->delay_min_ns, delays));
    json_double(json, "delay_maximum_ns", or_nothing(check->delay_max_ns, delays));
    json_double(json, "delay_sd_ns", or_nothing(check->delay_sd_ns, delays));
    for (int q = 0; q < CHECK_QUANTILES; q++)
        json_double(json, quantile_names[q], or_nothing(check->delay_quantiles_ns[q], delays));
    json_double(json, "drift_ns", or_nothing(check->drift_ns, check->drift_probes > 0));
    json_integer(json, "drift_probes", check->drift_probes);
    add_packets(d, json);
    json_end_object(json);
}

static void add_direction(const struct verify_direction *d, struct json *json)
{
    bool forward = d->index == DIRECTION_FORWARD;
    json_begin_object(json, NULL);
    json_string(json, "link", d->link->name);
    json_string(json, "direction", direction_names[d->index]);
    json_string(json, "from", d->topology->places[forward ? d->link->from : d->link->to].name);
    json_string(json, "to", d->topology->places[forward ? d->link->to : d->link->from].name);
    add_asked(d, json);
    add_read_back(d, json);
    add_measured(d, json);
    json_bool(json, "within_tolerance", d->check->within_tolerance);
    json_string(json, "reason", d->check->within_tolerance ? NULL : d->check->reason);
    json_end_object(json);
}

static void add_network(const struct verify_result *result, int index, struct json *json)
{
    const struct survey_entry *entry = &result->survey->entries[index];
    json_begin_object(json, NULL);
    json_begin_array(json, "cells");
    for (int c = 0, before = -1; c < result->plan->cell_count; c++) {
        int number = c / plan_variants(result->plan); /* once, where its arms have the same network */
        if (result->survey->entry_of_cell[c] == index && number != before)
            json_integer(json, NULL, before = number);
    }
    json_end_array(json);
    json_string(json, "shape", shape_names[entry->topology.shape]);
    json_integer(json, "hosts", entry->topology.host_count);
    json_integer(json, "links", entry->topology.link_count);
    json_string(json, "engine", engine_names[entry->engine]);
    json_double(json, "stolen_ratio", entry->load.stolen_share);
    json_double(json, "pressure_some_ratio", entry->load.pressure_some_share);
    json_begin_array(json, "directions");
    for (int link = 0; link < entry->topology.link_count; link++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct verify_direction direction = verify_direction_of(entry, link, d);
            if (direction.check->measured)
                add_direction(&direction, json);
        }
    json_end_array(json);
    json_end_object(json);
}

void verify_print_json(const struct verify_result *result, struct text *out)
{
    struct json json = {.out = out};
    struct verify_counts counts = verify_count(result);
    json_begin_object(&json, NULL);
    json_string(&json, "campaign", result->plan->name);
    json_integer(&json, "time_ns", result->effort.time_ns);
    json_integer(&json, "directions_measured", counts.directions);
    json_integer(&json, "directions_out_of_tolerance", counts.out_of_tolerance);
    json_begin_array(&json, "networks");
    for (int e = 0; e < result->survey->count; e++)
        if (result->survey->entries[e].checks)
            add_network(result, e, &json);
    json_end_array(&json);
    json_end_object(&json);
    text_add(out, "\n");
}
