/* gate_threshold.c: reads METRIC <= baseline * FACTOR, METRIC <= baseline + VALUE and METRIC <= VALUE, and the same with >= for
 * metrics of which more is better; see gate_threshold.h. */
#include "harness/gate_threshold.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"
#include "base/units.h"
#include "harness/yaml_document.h"

enum { METRICS_MAX = 64, TEXT_MAX = 200 };
static const double FACTOR_MAX = 10;

static const char form[] = "METRIC <= baseline * FACTOR, METRIC <= baseline + VALUE or METRIC <= VALUE (>= where more is better)";

static char *trimmed(struct arena *arena, const char *text, size_t length)
{
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    return arena_strndup(arena, text, length);
}

const struct metric_row *gate_threshold_metric(const char *name, const struct metric_row *metrics, int count, struct err *err)
{
    const char *names[METRICS_MAX];
    int listed = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
        if (listed < METRICS_MAX)
            names[listed++] = metrics[i].name;
    }
    const struct yaml_printable shown = yaml_document_printable(name);
    const char *near = options_nearest(name, names, (size_t)listed);
    if (near)
        err_set(err, ERR_USAGE, "there is no metric '%s', did you mean '%s'?", shown.text, near);
    else
        err_set(err, ERR_USAGE,
                "there is no metric '%s'; `laggard sql DB \"SELECT name, unit, text FROM metric\"` lists them, such as %s",
                shown.text, listed > 0 ? names[0] : "none");
    return NULL;
}

int gate_threshold_value(const char *text, const struct metric_row *metric, double *value, struct err *err)
{
    if (strcmp(metric->unit, "ns") == 0) {
        int64_t ns;
        int status = units_parse_time(text, 0, INT64_MAX, &ns, err);
        if (status == 0)
            *value = (double)ns;
        return status;
    }
    if (strcmp(metric->unit, "ratio") == 0)
        return units_parse_share(text, 0, 1, value, err);
    return units_parse_number(text, -1e300, 1e300, value, err);
}

/* What follows `baseline`. */
static int parse_relative(const char *rest, const struct metric_row *metric, struct gate_threshold *threshold, struct err *err)
{
    const char sign = *rest, *const found = rest;
    rest += sign ? 1 + strspn(rest + 1, " \t") : 0;
    threshold->form = GATE_RATIO;
    threshold->number = 1;
    if (!sign)
        return 0;
    if (sign == '*') {
        int status =
            units_parse_number(rest, metric->lower ? 1 : 1 / FACTOR_MAX, metric->lower ? FACTOR_MAX : 1, &threshold->number, err);
        return status < 0 ? err_wrap(err, "the factor (%s)",
                                     metric->lower ? "of a metric of which less is better: 1 to 10"
                                                   : "of a metric of which more is better: 0.1 to 1")
                          : 0;
    }
    char slack = metric->lower ? '+' : '-';
    if (sign != slack)
        return err_set(err, ERR_USAGE, "found 'baseline %s', allowed are `baseline * FACTOR` and `baseline %c VALUE`",
                       yaml_document_printable(found).text, slack);
    threshold->form = GATE_DIFFERENCE;
    int status = gate_threshold_value(rest, metric, &threshold->number, err);
    if (status == 0 && threshold->number < 0)
        return err_set(err, ERR_USAGE, "found '%.40s' behind 'baseline %c', a value from 0 on is needed", rest, slack);
    return status < 0 ? err_wrap(err, "what is behind 'baseline %c'", slack) : 0;
}

int gate_threshold_parse(const char *text, const struct metric_row *metrics, int metric_count, struct arena *arena,
                         struct gate_threshold *out, struct err *err)
{
    if (strlen(text) > TEXT_MAX)
        return err_set(err, ERR_USAGE, "found a text of %zu characters, %s is needed", strlen(text), form);
    const char *less = strstr(text, "<="), *more = strstr(text, ">=");
    const char *sign = less && (!more || less < more) ? less : more;
    if (!sign)
        return err_set(err, ERR_USAGE, "found '%s', %s is needed", yaml_document_printable(text).text, form);
    struct gate_threshold threshold = *out;
    const char *name = trimmed(arena, text, (size_t)(sign - text)), *right = trimmed(arena, sign + 2, strlen(sign + 2));
    const struct metric_row *metric = gate_threshold_metric(name, metrics, metric_count, err);
    if (!metric)
        return -ERR_USAGE;
    if ((sign == less) != metric->lower)
        return err_set(err, ERR_USAGE, "of %s %s is better: write %s", metric->name, metric->lower ? "less" : "more",
                       metric->lower ? "<=" : ">=");
    static const char word[] = "baseline";
    size_t length = sizeof(word) - 1;
    bool relative = strncmp(right, word, length) == 0 && (right[length] == 0 || strchr(" \t*+-", right[length]));
    threshold.text = trimmed(arena, text, strlen(text));
    threshold.metric = metric->name;
    threshold.lower = metric->lower;
    threshold.form = GATE_ABSOLUTE;
    int status;
    if (relative)
        status = parse_relative(right + length + strspn(right + length, " \t"), metric, &threshold, err);
    else
        status = gate_threshold_value(right, metric, &threshold.number, err);
    if (status < 0)
        return -ERR_USAGE;
    *out = threshold;
    return 0;
}
