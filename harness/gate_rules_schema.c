/* gate_rules_schema.c: `gate` in the JSON schema of campaign files. */
#include "base/text.h"
#include "harness/gate_rules.h"

static void schema_share(struct json *json, const char *key, const char *text)
{
    json_begin_object(json, key);
    json_string(json, "description", text);
    json_begin_array(json, "type");
    json_string(json, NULL, "string");
    json_string(json, NULL, "number");
    json_end_array(json);
    json_end_object(json);
}

static void schema_words(struct json *json, const char *key, const char *text)
{
    json_begin_object(json, key);
    json_string(json, "description", text);
    json_string(json, "type", "string");
    json_end_object(json);
}

static void schema_closed(struct json *json, const char *const *required)
{
    json_end_object(json);
    json_begin_array(json, "required");
    for (int i = 0; required[i]; i++)
        json_string(json, NULL, required[i]);
    json_end_array(json);
    json_bool(json, "additionalProperties", false);
}

static void schema_threshold(struct json *json)
{
    static const char *const required[] = {"threshold", NULL};
    json_begin_object(json, "items");
    json_begin_array(json, "anyOf");
    json_begin_object(json, NULL);
    json_string(json, "type", "string");
    json_end_object(json);
    json_begin_object(json, NULL);
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    schema_words(json, "threshold",
                 "METRIC <= baseline * FACTOR, METRIC <= baseline + VALUE, METRIC <= VALUE; >= where more is better");
    schema_words(json, "cells", "pattern of labels with * and ?; without it all cells");
    schema_share(json, "min_effect", "a smaller share of the baseline, or of the limit, is no effect");
    schema_share(json, "alpha", "of the test");
    schema_closed(json, required);
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
}

static void schema_waiver(struct json *json)
{
    static const char *const required[] = {"metric", "owner", "expires", NULL};
    json_begin_object(json, "items");
    json_string(json, "type", "object");
    json_begin_object(json, "properties");
    schema_words(json, "metric", "the metric");
    schema_words(json, "cells", "pattern of labels; without it all cells");
    json_begin_object(json, "verdict");
    json_begin_array(json, "enum");
    json_string(json, NULL, "missing");
    json_string(json, NULL, "regressed");
    json_end_array(json);
    json_end_object(json);
    schema_words(json, "owner", "who answers for it");
    schema_words(json, "expires", "the last day, 2027-01-31");
    schema_words(json, "reason", "why");
    schema_closed(json, required);
    json_end_object(json);
}

void gate_rules_schema(struct json *json)
{
    static const char *const required[] = {"thresholds", NULL};
    json_string(json, "type", "object");
    json_string(json, "description", "what `laggard gate` demands of the campaign");
    json_begin_object(json, "properties");
    json_begin_object(json, "thresholds");
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    json_integer(json, "maxItems", GATE_THRESHOLDS_MAX);
    schema_threshold(json);
    json_end_object(json);
    schema_words(json, "baseline", "the arm that others are compared with; without it the first");
    schema_share(json, "alpha", "of every test that sets no other; 0.05");
    schema_share(json, "min_effect", "of every threshold that sets no other; 0");
    json_begin_object(json, "waivers");
    json_string(json, "type", "array");
    schema_waiver(json);
    json_end_object(json);
    schema_closed(json, required);
}
