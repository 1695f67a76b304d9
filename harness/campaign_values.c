/* campaign_values.c: single values of a campaign file: how each type is read, spelled, described and put into a JSON schema. */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "base/units.h"
#include "campaign_internal.h"
#include "yaml_document.h"

/* ---- one row a type ---- */
struct value_operations {
    const char *noun; /* for `fields` */
    int (*parse)(const struct value_rule *rule, const char *text, double *value, struct err *err);
    void (*spell)(double value, char *text, size_t size);
    const char *pattern; /* JSON schema: what a string must look like; NULL: numbers are allowed as such */
};

static int parse_integer(const struct value_rule *rule, const char *text, double *value, struct err *err)
{
    int64_t integer;
    int status = units_parse_integer(text, (int64_t)rule->minimum, (int64_t)rule->maximum, &integer, err);
    if (status == 0)
        *value = (double)integer;
    return status;
}

static int parse_number(const struct value_rule *rule, const char *text, double *value, struct err *err)
{
    return units_parse_number(text, rule->minimum, rule->maximum, value, err);
}

static int parse_share(const struct value_rule *rule, const char *text, double *value, struct err *err)
{
    return units_parse_share(text, rule->minimum, rule->maximum, value, err);
}

static int parse_time(const struct value_rule *rule, const char *text, double *value, struct err *err)
{
    int64_t ns;
    int status = units_parse_time(text, (int64_t)rule->minimum, (int64_t)rule->maximum, &ns, err);
    if (status == 0)
        *value = (double)ns;
    return status;
}

static int parse_rate(const struct value_rule *rule, const char *text, double *value, struct err *err)
{
    uint64_t rate;
    int status = units_parse_rate(text, (uint64_t)rule->minimum, (uint64_t)rule->maximum, &rate, err);
    if (status == 0)
        *value = (double)rate;
    return status;
}

static int parse_size(const struct value_rule *rule, const char *text, double *value, struct err *err)
{
    uint64_t bytes;
    int status = units_parse_size(text, (uint64_t)rule->minimum, (uint64_t)rule->maximum, &bytes, err);
    if (status == 0)
        *value = (double)bytes;
    return status;
}

static int allowed_choices(const struct value_rule *rule)
{
    int count = rule->choice_count;
    if (count == 0)
        while (rule->choices[count])
            count++;
    return count;
}

static int parse_choice(const struct value_rule *rule, const char *text, double *value, struct err *err)
{
    int count = allowed_choices(rule);
    bool known = false;
    for (int i = 0; rule->choices[i]; i++) {
        if (strcmp(rule->choices[i], text) != 0)
            continue;
        known = true;
        if (i < count) {
            *value = i;
            return 0;
        }
    }
    cleanup(text_free) struct text list = {0};
    for (int i = 0; i < count; i++)
        text_printf(&list, "%s%s", i ? ", " : "", rule->choices[i]);
    const char *verb = count == 1 ? "is" : "are";
    if (known && rule->refused)
        return err_set(err, ERR_USAGE, "found '%s': %s. Allowed %s %s", text, rule->refused, verb, list.bytes);
    const char *near = options_nearest(text, rule->choices, (size_t)count);
    if (near)
        return err_set(err, ERR_USAGE, "found '%s', did you mean '%s'? Allowed %s %s", yaml_document_printable(text).text, near,
                       verb, list.bytes);
    return err_set(err, ERR_USAGE, "found '%s', allowed %s %s", yaml_document_printable(text).text, verb, list.bytes);
}

/* YAML 1.1 has all of these; 1.2 has two. */
static const struct {
    const char *word;
    bool value;
} bool_words[] = {{"true", true}, {"false", false}, {"yes", true}, {"no", false}, {"on", true}, {"off", false}};

static int parse_bool(const struct value_rule *rule, const char *text, double *value, struct err *err)
{
    (void)rule;
    for (size_t i = 0; i < sizeof(bool_words) / sizeof(bool_words[0]); i++) {
        if (strcasecmp(text, bool_words[i].word) == 0) {
            *value = bool_words[i].value;
            return 0;
        }
    }
    return err_set(err, ERR_USAGE, "found '%s', allowed is true, false, yes, no, on or off", yaml_document_printable(text).text);
}

static int parse_unit(const struct value_rule *rule, const char *text, double *value, struct err *err)
{
    (void)rule;
    char one[16];
    int64_t ns;
    snprintf(one, sizeof(one), "1%s", text);
    if (strlen(text) > 2 || !isalpha((unsigned char)text[0]) || units_parse_time(one, 1, INT64_MAX, &ns, NULL) < 0)
        return err_set(err, ERR_USAGE, "found '%s', a unit of time is needed: ns us ms s m h", yaml_document_printable(text).text);
    *value = (double)ns;
    return 0;
}

static void spell_integer(double value, char *text, size_t size)
{
    snprintf(text, size, "%.0f", value);
}

/* The shortest decimal that reads back the same. */
static void spell_number(double value, char *text, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static void spell_time(double value, char *text, size_t size)
{
    units_spell_time(text, size, (int64_t)value);
}

static void spell_rate(double value, char *text, size_t size)
{
    units_spell_rate(text, size, (uint64_t)value);
}

static void spell_size(double value, char *text, size_t size)
{
    units_spell_size(text, size, (uint64_t)value);
}

static void spell_bool(double value, char *text, size_t size)
{
    snprintf(text, size, "%s", value != 0 ? "true" : "false");
}

static void spell_unit(double value, char *text, size_t size)
{
    char one[UNITS_TEXT_BYTES];
    units_spell_time(one, sizeof(one), (int64_t)value);
    snprintf(text, size, "%s", one + strspn(one, "0123456789"));
}

static const struct value_operations operations[] = {
    [VALUE_INTEGER] = {"whole number", parse_integer, spell_integer, NULL},
    [VALUE_NUMBER] = {"number", parse_number, spell_number, NULL},
    [VALUE_SHARE] = {"share", parse_share, spell_number, NULL},
    [VALUE_TIME] = {"time", parse_time, spell_time, "^(0|[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))$"},
    [VALUE_RATE] = {"rate", parse_rate, spell_rate, "^[0-9]+(\\.[0-9]+)?(bit|kbit|mbit|gbit)$"},
    [VALUE_SIZE] = {"size", parse_size, spell_size, "^[0-9]+(\\.[0-9]+)?(B|KB|MB|GB|KiB|MiB|GiB)$"},
    [VALUE_CHOICE] = {"choice", parse_choice, spell_integer, NULL},
    [VALUE_BOOL] = {"yes or no", parse_bool, spell_bool, NULL},
    [VALUE_UNIT] = {"unit of time", parse_unit, spell_unit, "^(ns|us|ms|s|m|h)$"},
};
static_assert(sizeof(operations) / sizeof(operations[0]) == VALUE_TYPE_COUNT, "one row a type");

int campaign_read_value(const struct reader *reader, const struct yaml_value *value, const char *key, const struct value_rule *rule,
                        double *out)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    if (rule->zero && strcmp(value->text, rule->zero) == 0) {
        *out = 0;
        return 0;
    }
    struct err err;
    double parsed;
    status = operations[rule->type].parse(rule, value->text, &parsed, &err);
    if (status < 0)
        return campaign_fail(reader, value, key, "%s%s%s%s%s", err.text, rule->zero ? ", or " : "", rule->zero ? rule->zero : "",
                             rule->example ? ", for example " : "", rule->example ? rule->example : "");
    if (rule->multiple > 0 && fmod(parsed, rule->multiple) != 0)
        return campaign_fail(reader, value, key, "found '%s', a multiple of %g bytes is needed", value->text, rule->multiple);
    *out = parsed;
    return 0;
}

static void spell_plain(const struct value_rule *rule, double value, struct text *out)
{
    char text[400];
    operations[rule->type].spell(value, text, sizeof(text));
    text_add(out, text);
}

void campaign_spell_value(const struct value_rule *rule, double value, struct text *out)
{
    if (rule->zero && value == 0)
        text_add(out, rule->zero);
    else if (rule->type == VALUE_CHOICE)
        text_add(out, rule->choices[(int)value]);
    else
        spell_plain(rule, value, out);
}

void campaign_allowed_value(const struct value_rule *rule, struct text *out)
{
    if (rule->type == VALUE_CHOICE) {
        int count = allowed_choices(rule);
        for (int i = 0; i < count; i++)
            text_printf(out, "%s%s", i ? ", " : "", rule->choices[i]);
    } else if (rule->type == VALUE_BOOL) {
        text_add(out, "true, false");
    } else if (rule->type == VALUE_UNIT) {
        text_add(out, "ns, us, ms, s, m, h");
    } else {
        text_printf(out, "%s ", operations[rule->type].noun);
        spell_plain(rule, rule->minimum, out);
        text_add(out, " to ");
        spell_plain(rule, rule->maximum, out);
        if (rule->multiple > 0)
            text_printf(out, ", a multiple of %g B", rule->multiple);
        if (rule->zero)
            text_printf(out, ", or %s", rule->zero);
    }
}

static void schema_alternatives(const struct value_rule *rule, struct json *json)
{
    const char *pattern = operations[rule->type].pattern;
    json_begin_array(json, "anyOf");
    if (!pattern) {
        json_begin_object(json, NULL);
        json_string(json, "type", rule->type == VALUE_INTEGER ? "integer" : "number");
        json_double(json, "minimum", rule->minimum);
        json_double(json, "maximum", rule->maximum);
        json_end_object(json);
        pattern = rule->type == VALUE_INTEGER ? "^-?[0-9]+$"
                  : rule->type == VALUE_SHARE ? "^[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?%?$"
                                              : "^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?$";
    } else if (strncmp(pattern, "^(0|", 4) == 0) { /* a bare 0 needs no unit */
        json_begin_object(json, NULL);
        json_integer(json, "const", 0);
        json_end_object(json);
    }
    json_begin_object(json, NULL);
    json_string(json, "type", "string");
    json_string(json, "pattern", pattern);
    json_end_object(json);
    if (rule->zero) {
        json_begin_object(json, NULL);
        json_string(json, "const", rule->zero);
        json_end_object(json);
    }
    json_end_array(json);
}

void campaign_schema_value(const struct value_rule *rule, struct json *json)
{
    if (rule->type == VALUE_CHOICE) {
        json_begin_array(json, "enum");
        int count = allowed_choices(rule);
        for (int i = 0; i < count; i++)
            json_string(json, NULL, rule->choices[i]);
        json_end_array(json);
    } else if (rule->type == VALUE_BOOL) {
        json_begin_array(json, "enum");
        json_bool(json, NULL, true);
        json_bool(json, NULL, false);
        for (size_t i = 0; i < sizeof(bool_words) / sizeof(bool_words[0]); i++)
            json_string(json, NULL, bool_words[i].word);
        json_end_array(json);
    } else {
        schema_alternatives(rule, json);
    }
}

void campaign_spell_string(const char *string, struct text *out)
{
    bool plain = isalnum((unsigned char)string[0]) || string[0] == '/';
    for (const char *c = string; *c && plain; c++)
        plain = isalnum((unsigned char)*c) || strchr("._/-", *c);
    const struct yaml_value value = {.shape = YAML_SHAPE_SCALAR, .text = string};
    if (plain && !yaml_document_is_null(&value)) {
        text_add(out, string);
        return;
    }
    text_add(out, "\"");
    for (const char *c = string; *c; c++) {
        if (*c == '"' || *c == '\\')
            text_printf(out, "\\%c", *c);
        else if (*c == '\n' || *c == '\t')
            text_add(out, *c == '\n' ? "\\n" : "\\t");
        else
            text_add_bytes(out, c, 1);
    }
    text_add(out, "\"");
}
