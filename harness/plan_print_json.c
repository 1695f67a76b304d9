/* plan_print_json.c: a plan as one JSON document; see plan_print.h. */
#include "harness/plan_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "harness/event_outlook.h"

static void print_prediction(const struct prediction *prediction, struct json *json)
{
    if (!prediction->available) {
        json_null(json, "predicted_round_ns");
        json_string(json, "prediction_reason", prediction->reason);
        return;
    }
    json_double(json, "predicted_round_ns", prediction->round_ns);
    json_double(json, "predicted_compute_ns", prediction->compute_ns);
    json_double(json, "predicted_latency_ns", prediction->latency_ns);
    json_double(json, "predicted_bandwidth_ns", prediction->bandwidth_ns);
    json_double(json, "predicted_reduce_ns", prediction->reduce_ns);
    if (prediction->counts_samples)
        json_double(json, "predicted_samples", prediction->samples);
    json_string(json, "prediction_method", prediction->method);
}

/* The members of one message size, or one object a size. */
static void print_predictions(const struct cell *cell, const struct cell_forecast *forecast, struct json *json)
{
    const struct size_list *sizes = &cell->settings.workload.sizes;
    if (sizes->count == 0) {
        print_prediction(forecast->predictions, json);
        return;
    }
    json_begin_array(json, "sizes");
    for (int i = 0; i < sizes->count; i++) {
        json_begin_object(json, NULL);
        json_integer(json, "payload_bytes", (int64_t)sizes->bytes[i]);
        print_prediction(&forecast->predictions[i], json);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Over 2^53, where readers of JSON numbers begin to round: a string. */
static void print_seed(uint64_t seed, struct json *json)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, seed);
    json_string(json, "seed", text);
}

static void print_events(const struct cell_forecast *forecast, struct json *json)
{
    if (forecast->events.count == 0)
        return;
    json_begin_array(json, "events");
    for (int i = 0; i < forecast->events.count; i++) {
        const struct event_request *asked = forecast->events.events[i].asked;
        cleanup(text_free) struct text text = {0};
        event_describe(&forecast->events.events[i], &forecast->topology, &text);
        json_begin_object(json, NULL);
        json_string(json, "do", event_names[asked->kind]);
        if (asked->round == EVENT_BY_TIME)
            json_integer(json, "at_ns", asked->at_ns);
        else
            json_integer(json, "round", asked->round);
        json_string(json, "text", text.bytes);
        json_end_object(json);
    }
    json_end_array(json);
}

static void print_cell(const struct cell *cell, const struct cell_forecast *forecast, struct json *json)
{
    json_begin_object(json, NULL);
    json_integer(json, "cell", cell->index);
    if (cell->arm)
        json_string(json, "arm", cell->arm->name);
    json_string(json, "label", cell->label);
    json_string(json, "scheme", cell->settings.scheme.name);
    json_integer(json, "workers", cell->settings.workers);
    json_integer(json, "nodes", forecast->topology.host_count);
    for (int s = 0; s < cell->swept_count; s++)
        if (strcmp(cell->swept[s].path, "scheme") != 0 && strcmp(cell->swept[s].path, "workers") != 0)
            json_string(json, cell->swept[s].path, cell->swept[s].text);
    print_predictions(cell, forecast, json);
    json_double(json, "estimated_trial_seconds", forecast->trial_seconds);
    print_events(forecast, json);
    json_end_object(json);
}

static void print_trial(const struct trial_plan *trial, const struct cell *cell, struct json *json)
{
    json_begin_object(json, NULL);
    json_integer(json, "order", trial->order);
    json_integer(json, "cell", cell->index);
    if (cell->arm)
        json_string(json, "arm", cell->arm->name);
    json_integer(json, "repeat", trial->repeat);
    print_seed(trial->seed, json);
    json_end_object(json);
}

void plan_print_json(const struct planned *planned, struct text *out)
{
    const struct plan *plan = planned->plan;
    struct json json = {.out = out};
    json_begin_object(&json, NULL);
    json_string(&json, "campaign", plan->name);
    print_seed(plan->seed, &json);
    json_double(&json, "estimated_seconds", planned->duration.seconds);
    json_double(&json, "estimated_virtual_seconds", planned->duration.virtual_seconds);
    json_double(&json, "assumed_message_ns", planned->messages_cost ? FORECAST_MESSAGE_NS : 0);
    json_begin_array(&json, "cells");
    for (int c = 0; c < plan->cell_count; c++)
        print_cell(&plan->cells[c], &planned->forecasts[c], &json);
    json_end_array(&json);
    json_begin_array(&json, "trials");
    for (int t = 0; t < plan->trial_count; t++)
        print_trial(&plan->trials[t], &plan->cells[plan->trials[t].cell], &json);
    json_end_array(&json);
    json_end_object(&json);
    text_add(out, "\n");
}
