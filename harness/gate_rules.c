/* gate_rules.c: `gate`: thresholds and waivers, each a row of YAML with its place; see gate_rules.h. */
#include "harness/gate_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/nearest_file.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/campaign_internal.h"
#include "harness/gate_threshold.h"
#include "harness/yaml_document.h"

enum { WORDS_MAX = 400 };
static const double ALPHA = 0.05;

struct rules_reading {
    const struct reader *reader;
    const struct plan *plan; /* NULL: not known */
    const struct metric_row *metrics;
    int metric_count;
};

static const char *place_of(const struct reader *reader, const struct yaml_value *value)
{
    return arena_printf(reader->arena, "%s:%d:%d", reader->file, value->line, value->column);
}

static int read_share(const struct reader *reader, const struct yaml_value *value, const char *key, double least, double most,
                      double *out)
{
    struct err err;
    int status = campaign_need_scalar(reader, value, key);
    if (status == 0 && units_parse_share(value->text, least, most, out, &err) < 0)
        return campaign_fail(reader, value, key, "%s", err.text);
    return status;
}

static int read_words(const struct reader *reader, const struct yaml_value *value, const char *key, const char **out)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status == 0 && (!*value->text || strlen(value->text) > WORDS_MAX))
        return campaign_fail(reader, value, key, "1 to %d characters are needed", WORDS_MAX);
    if (status == 0)
        *out = arena_strdup(reader->arena, value->text);
    return status;
}

/* A pattern of labels must match a cell, where the cells are known: one that matches none would never fail. */
static int read_cells(const struct rules_reading *reading, const struct yaml_value *value, const char *key, const char **out)
{
    int status = read_words(reading->reader, value, key, out);
    const struct plan *plan = reading->plan;
    if (status < 0 || !plan)
        return status;
    for (int c = 0; c < plan->cell_count; c++)
        if (fnmatch(*out, plan->cells[c].label, 0) == 0)
            return 0;
    return campaign_fail(reading->reader, value, key, "'%s' matches no cell; `laggard plan` lists their labels, such as '%s'",
                         yaml_document_printable(*out).text, plan->cells[0].label);
}

static int known_keys(const struct reader *reader, const struct yaml_value *mapping, const char *key, const char *const *keys)
{
    size_t count = 0;
    while (keys[count])
        count++;
    for (const struct yaml_value *child = mapping->first; child; child = child->next) {
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known = known || strcmp(keys[i], child->key) == 0;
        if (!known)
            return campaign_unknown_key(reader, child, key, keys, count);
    }
    return 0;
}

static int read_threshold(const struct rules_reading *reading, const struct yaml_value *entry, const char *key,
                          struct gate_threshold *threshold)
{
    static const char *const keys[] = {"threshold", "cells", "min_effect", "alpha", NULL};
    const struct reader *reader = reading->reader;
    const struct yaml_value *written = entry;
    int status = 0;
    if (entry->shape == YAML_SHAPE_MAPPING) {
        status = known_keys(reader, entry, key, keys);
        written = yaml_document_child(entry, "threshold");
        if (status == 0 && !written)
            return campaign_fail(reader, entry, key, "the key 'threshold' is missing: {threshold: \"%s\"}",
                                 "round_time_ns.p50 <= baseline * 1.05");
        const struct yaml_value *cells = yaml_document_child(entry, "cells"), *least = yaml_document_child(entry, "min_effect"),
                                *alpha = yaml_document_child(entry, "alpha");
        if (status == 0 && cells)
            status = read_cells(reading, cells, arena_printf(reader->arena, "%s.cells", key), &threshold->cells);
        if (status == 0 && least)
            status = read_share(reader, least, arena_printf(reader->arena, "%s.min_effect", key), 0, 1, &threshold->min_effect);
        if (status == 0 && alpha)
            status = read_share(reader, alpha, arena_printf(reader->arena, "%s.alpha", key), 1e-6, 0.2, &threshold->alpha);
    }
    if (status == 0)
        status = campaign_need_scalar(reader, written, key);
    if (status < 0)
        return status;
    threshold->place = place_of(reader, written);
    struct err err;
    if (gate_threshold_parse(written->text, reading->metrics, reading->metric_count, reader->arena, threshold, &err) < 0)
        return campaign_fail(reader, written, key, "%s", err.text);
    return 0;
}

/* YYYY-MM-DD; the day counts to its end. */
static int read_date(const struct reader *reader, const struct yaml_value *value, const char *key, struct gate_waiver *waiver)
{
    int year, month, day;
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    struct tm date = {0}, again;
    bool digits = strlen(value->text) == 10; /* sscanf() would take spaces and signs, too */
    for (int i = 0; digits && i < 10; i++)
        digits = i == 4 || i == 7 ? value->text[i] == '-' : value->text[i] >= '0' && value->text[i] <= '9';
    if (digits && sscanf(value->text, "%4d-%2d-%2d", &year, &month, &day) == 3) {
        date = (struct tm){.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
        again = date;
        time_t seconds = timegm(&again);
        if (year >= 1970 && again.tm_mon == date.tm_mon && again.tm_mday == date.tm_mday) {
            waiver->expires = arena_strdup(reader->arena, value->text);
            bool beyond = seconds > INT64_MAX / NS_PER_S - 24 * 3600; /* after the year 2262 */
            waiver->expires_unix_ns = beyond ? INT64_MAX : ((int64_t)seconds + 24 * 3600) * NS_PER_S;
            return 0;
        }
    }
    return campaign_fail(reader, value, key, "found '%s', a date is needed: 2027-01-31", yaml_document_printable(value->text).text);
}

static int read_waiver(const struct rules_reading *reading, const struct yaml_value *entry, const char *key,
                       struct gate_waiver *waiver)
{
    static const char *const keys[] = {"metric", "cells", "verdict", "owner", "expires", "reason", NULL};
    static const char *const needed[] = {"metric", "owner", "expires", NULL};
    static const char *const waivable[] = {"missing", "regressed"};
    const struct reader *reader = reading->reader;
    struct arena *arena = reader->arena;
    if (entry->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, entry, key, "a mapping is needed: {metric: accuracy, owner: anna, expires: 2027-01-31}");
    int status = known_keys(reader, entry, key, keys);
    for (int i = 0; needed[i] && status == 0; i++)
        if (!yaml_document_child(entry, needed[i]))
            status = campaign_fail(reader, entry, key,
                                   "the key '%s' is missing: a waiver names a metric, an owner and its last day", needed[i]);
    if (status < 0)
        return status;
    const struct yaml_value *metric = yaml_document_child(entry, "metric"), *cells = yaml_document_child(entry, "cells"),
                            *verdict = yaml_document_child(entry, "verdict"), *reason = yaml_document_child(entry, "reason");
    waiver->place = place_of(reader, entry);
    waiver->verdict = GATE_MISSING;
    status = read_words(reader, metric, arena_printf(arena, "%s.metric", key), &waiver->metric);
    struct err unknown = {0};
    if (status == 0 && !gate_threshold_metric(waiver->metric, reading->metrics, reading->metric_count, &unknown))
        return campaign_fail(reader, metric, arena_printf(arena, "%s.metric", key), "%s", unknown.text);
    if (status == 0 && cells)
        status = read_cells(reading, cells, arena_printf(arena, "%s.cells", key), &waiver->cells);
    if (status == 0 && verdict) {
        status = campaign_need_scalar(reader, verdict, key);
        bool regressed = status == 0 && strcmp(verdict->text, "regressed") == 0;
        if (status == 0 && !regressed && strcmp(verdict->text, waivable[0]) != 0)
            return campaign_fail(reader, verdict, arena_printf(arena, "%s.verdict", key),
                                 "found '%s'%s What can be waived is: missing, regressed",
                                 yaml_document_printable(verdict->text).text, campaign_suggest(arena, verdict->text, waivable, 2));
        waiver->verdict = regressed ? GATE_REGRESSED : GATE_MISSING;
    }
    if (status == 0)
        status = read_words(reader, yaml_document_child(entry, "owner"), arena_printf(arena, "%s.owner", key), &waiver->owner);
    if (status == 0 && reason)
        status = read_words(reader, reason, arena_printf(arena, "%s.reason", key), &waiver->reason);
    return status == 0 ? read_date(reader, yaml_document_child(entry, "expires"), arena_printf(arena, "%s.expires", key), waiver)
                       : status;
}

static int read_list(const struct reader *reader, const struct yaml_value *list, const char *key, bool needed, int *count)
{
    *count = list ? list->count : 0;
    if (!list && !needed)
        return 0;
    if (list->shape != YAML_SHAPE_LIST || list->count > GATE_THRESHOLDS_MAX || (needed && list->count == 0))
        return campaign_fail(reader, list, key, "a list of %d to %d entries is needed", needed ? 1 : 0, GATE_THRESHOLDS_MAX);
    return 0;
}

static int read_baseline_arm(const struct rules_reading *reading, const struct yaml_value *value, struct gate_rules *rules)
{
    const struct plan *plan = reading->plan;
    int status = read_words(reading->reader, value, "gate.baseline", &rules->baseline_arm);
    if (status < 0 || !plan)
        return status;
    struct arena *arena = reading->reader->arena;
    const char **names = arena_new_array(arena, const char *, (size_t)plan->arm_count + 1);
    for (int a = 0; a < plan->arm_count; a++) {
        names[a] = plan->arms[a].name;
        if (strcmp(names[a], rules->baseline_arm) == 0)
            return 0;
    }
    return campaign_fail(reading->reader, value, "gate.baseline", "there is no arm '%s'%s The list `arms` has %s%s",
                         yaml_document_printable(rules->baseline_arm).text,
                         campaign_suggest(arena, rules->baseline_arm, names, (size_t)plan->arm_count),
                         plan->arm_count > 0 ? names[0] : "none", plan->arm_count > 1 ? " and others" : "");
}

int gate_rules_read(const struct reader *reader, const struct yaml_value *mapping, const struct plan *plan,
                    const struct gate_rules **out, struct err *err)
{
    static const char *const keys[] = {"thresholds", "baseline", "alpha", "min_effect", "waivers", NULL};
    if (mapping->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, mapping, "gate", "a mapping is needed: {thresholds: [round_time_ns.p50 <= baseline * 1.05]}");
    struct rules_reading reading = {.reader = reader, .plan = plan};
    int status = known_keys(reader, mapping, "gate", keys);
    if (status == 0)
        status = metric_list_read(&reading.metrics, &reading.metric_count, err);
    const struct yaml_value *list = yaml_document_child(mapping, "thresholds"), *waivers = yaml_document_child(mapping, "waivers"),
                            *baseline = yaml_document_child(mapping, "baseline"), *alpha = yaml_document_child(mapping, "alpha"),
                            *least = yaml_document_child(mapping, "min_effect");
    struct gate_rules *rules = arena_new_object(reader->arena, struct gate_rules);
    struct gate_threshold standard = {.alpha = ALPHA};
    if (status == 0 && !list)
        return campaign_fail(reader, mapping, "gate", "the key 'thresholds' is missing: [round_time_ns.p50 <= baseline * 1.05]");
    if (status == 0 && alpha)
        status = read_share(reader, alpha, "gate.alpha", 1e-6, 0.2, &standard.alpha);
    if (status == 0 && least)
        status = read_share(reader, least, "gate.min_effect", 0, 1, &standard.min_effect);
    if (status == 0 && baseline)
        status = read_baseline_arm(&reading, baseline, rules);
    if (status == 0)
        status = read_list(reader, list, "gate.thresholds", true, &rules->threshold_count);
    if (status == 0)
        status = read_list(reader, waivers, "gate.waivers", false, &rules->waiver_count);
    if (status < 0)
        return status;
    struct gate_threshold *thresholds = arena_new_array(reader->arena, struct gate_threshold, (size_t)rules->threshold_count + 1);
    struct gate_waiver *waived = arena_new_array(reader->arena, struct gate_waiver, (size_t)rules->waiver_count + 1);
    int index = 0;
    for (const struct yaml_value *entry = list->first; entry && status == 0; entry = entry->next, index++) {
        thresholds[index] = standard;
        status = read_threshold(&reading, entry, arena_printf(reader->arena, "gate.thresholds.%d", index), &thresholds[index]);
    }
    index = 0;
    for (const struct yaml_value *entry = waivers ? waivers->first : NULL; entry && status == 0; entry = entry->next, index++)
        status = read_waiver(&reading, entry, arena_printf(reader->arena, "gate.waivers.%d", index), &waived[index]);
    if (status < 0)
        return status;
    rules->thresholds = thresholds;
    rules->waivers = waived;
    *out = rules;
    return 0;
}

static int read_file(const char *path, struct text *out, struct err *err)
{
    cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, ERR_USAGE, errno, "cannot open the threshold file '%s'%s", path,
                             errno == ENOENT ? nearest_file(path, ".yaml").text : "");
    char buffer[16384];
    ssize_t got;
    while (out->length <= YAML_DOCUMENT_BYTES_MAX && (got = read(fd, buffer, sizeof(buffer))) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, ERR_USAGE, errno, "cannot read the threshold file '%s'", path);
        text_add_bytes(out, buffer, (size_t)got);
    }
    return 0;
}

/* The keys stand at the top, or below `gate` as in a campaign file. */
int gate_rules_load(const char *path, struct arena *arena, const struct gate_rules **rules, struct err *err)
{
    cleanup(text_free) struct text text = {0};
    const struct yaml_value *root;
    int status = read_file(path, &text, err);
    if (status == 0)
        status = yaml_document_parse(path, text.bytes ? text.bytes : "", text.length, arena, &root, err);
    if (status != 0)
        return status;
    const struct yaml_value *gate = root->shape == YAML_SHAPE_MAPPING ? yaml_document_child(root, "gate") : NULL;
    const struct reader reader = {.file = arena_strdup(arena, path), .arena = arena, .err = err};
    return gate_rules_read(&reader, gate ? gate : root, NULL, rules, err);
}

int gate_rules_of_campaign(const char *path, const char *text, struct arena *arena, const struct gate_rules **rules,
                           struct err *err)
{
    const struct yaml_value *root;
    int status = yaml_document_parse(path, text, strlen(text), arena, &root, err);
    if (status < 0)
        return status;
    const struct yaml_value *gate = root->shape == YAML_SHAPE_MAPPING ? yaml_document_child(root, "gate") : NULL;
    const struct reader reader = {.file = arena_strdup(arena, path), .arena = arena, .err = err};
    *rules = NULL;
    return gate ? gate_rules_read(&reader, gate, NULL, rules, err) : 0;
}
