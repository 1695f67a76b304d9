/* cmd_schemes.c: `laggard schemes`: the scheme table for people. */
#include <stddef.h>
#include <stdio.h>

#include "agents/scheme.h"
#include "agents/scheme_object.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/commands.h"
#include "harness/scheme_guard.h"

struct schemes_options {
    const char *with;
};
static const struct option_row schemes_rows[] = {
    {.name = "with",
     .type = OPTION_STRING,
     .offset = offsetof(struct schemes_options, with),
     .value_name = "FILE",
     .help = "the schemes of this shared object, too"},
    {0},
};
const struct option_table cmd_schemes_table = {
    .command = "schemes",
    .usage = "[NAME] [--with FILE]",
    .summary = "Lists the schemes, or one of them, with parameters, formula and source.",
    .rows = schemes_rows,
    .positional_minimum = 0,
    .positional_maximum = 1,
};

static void print_value(struct text *out, const struct param *param, double value)
{
    char text[UNITS_TEXT_BYTES];
    switch (param->unit) {
    case PARAM_BYTES:
        text_add(out, units_spell_size(text, sizeof(text), (uint64_t)value));
        break;
    case PARAM_TIME:
        text_add(out, units_spell_time(text, sizeof(text), (int64_t)value));
        break;
    case PARAM_CHOICE:
        text_add(out, param->choices[(int)value]);
        break;
    case PARAM_BOOL:
        text_add(out, value != 0 ? "true" : "false");
        break;
    case PARAM_COUNT:
        text_printf(out, "%.0f", value);
        break;
    case PARAM_NUMBER:
        text_printf(out, "%g", value);
        break;
    }
}

static void print_param(struct text *out, const struct param *param)
{
    text_printf(out, "    %s: %s (", param->name, param->help);
    if (param->choices) {
        for (int i = 0; param->choices[i]; i++)
            text_printf(out, "%s%s", i ? " | " : "", param->choices[i]);
    } else if (param->unit == PARAM_BOOL) {
        text_add(out, "true | false");
    } else {
        print_value(out, param, param->minimum);
        text_add(out, " to ");
        print_value(out, param, param->maximum);
    }
    text_add(out, "; default ");
    print_value(out, param, param->standard);
    text_add(out, ")\n");
}

int cmd_schemes(int argc, char **argv, struct err *err)
{
    struct schemes_options options = {0};
    struct scheme_object object;
    int names;
    int result = options_parse(&cmd_schemes_table, argc, argv, &options, &names, err);
    if (result != 0)
        return result < 0 ? result : 0;
    if (options.with)
        scheme_guard_watch(options.with);
    if (options.with && (result = scheme_object_load(options.with, NULL, &object, err)) < 0)
        return result;
    if (names == 1 && !scheme_find(argv[0])) {
        const char *known[64];
        size_t count = 0;
        for (int i = 0; i < scheme_count() && count < 64; i++)
            known[count++] = scheme_at(i)->name;
        const char *near = options_nearest(argv[0], known, count);
        if (near)
            return err_set(err, ERR_USAGE, "unknown scheme '%s', did you mean '%s'?", argv[0], near);
        return err_set(err, ERR_USAGE, "unknown scheme '%s'; `laggard schemes` lists them", argv[0]);
    }
    cleanup(text_free) struct text out = {0};
    for (int i = 0; i < scheme_count(); i++) {
        const struct scheme *scheme = scheme_at(i);
        if (names == 1 && scheme != scheme_find(argv[0]))
            continue;
        text_printf(&out, "%s: %s\n", scheme->name, scheme->summary);
        for (int p = 0; p < scheme->param_count; p++)
            print_param(&out, &scheme->params[p]);
        text_printf(&out, "    round time: %s\n    source: %s\n", scheme->formula, scheme->source);
    }
    fputs(out.bytes, stdout);
    return 0;
}
