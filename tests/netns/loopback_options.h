/* loopback_options.h: the command line of agents_loopback. */
#ifndef LAGGARD_TESTS_LOOPBACK_OPTIONS_H
#define LAGGARD_TESTS_LOOPBACK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agents/scheme.h"
#include "base/err.h"
#include "base/options.h"
#include "base/units.h"
#include "schemas/control.h"
#include "schemas/names.h"

enum { NODES_MAX = 128 };

struct loopback_options {
    const char *scheme, *size, *agent, *dataset;
    int model, gradients;
    int64_t workers, rounds, batch, hidden, evaluate_every, port, compute_ns;
    uint64_t seed;
    bool no_spans, print_rounds, list;
};
static const struct option_row rows[] = {
    {.name = "scheme",
     .letter = 's',
     .type = OPTION_STRING,
     .offset = offsetof(struct loopback_options, scheme),
     .value_name = "NAME",
     .help = "a row of the scheme table (ring)"},
    {.name = "workers",
     .letter = 'w',
     .type = OPTION_INTEGER,
     .offset = offsetof(struct loopback_options, workers),
     .value_name = "N",
     .help = "workers (4)",
     .minimum = 1,
     .maximum = NODES_MAX - 1},
    {.name = "model",
     .letter = 'm',
     .type = OPTION_CHOICE,
     .offset = offsetof(struct loopback_options, model),
     .value_name = "MODEL",
     .help = "softmax, mlp or synthetic",
     .choices = model_names},
    {.name = "gradients",
     .letter = 'g',
     .type = OPTION_CHOICE,
     .offset = offsetof(struct loopback_options, gradients),
     .value_name = "KIND",
     .help = "real or none",
     .choices = gradient_names},
    {.name = "size",
     .letter = 'S',
     .type = OPTION_STRING,
     .offset = offsetof(struct loopback_options, size),
     .value_name = "SIZE",
     .help = "synthetic gradient (1MiB)"},
    {.name = "dataset",
     .letter = 'd',
     .type = OPTION_STRING,
     .offset = offsetof(struct loopback_options, dataset),
     .value_name = "FOLDER",
     .help = "the four files of the data set (those of the package)"},
    {.name = "rounds",
     .letter = 'r',
     .type = OPTION_INTEGER,
     .offset = offsetof(struct loopback_options, rounds),
     .value_name = "N",
     .help = "rounds (10)",
     .minimum = 1,
     .maximum = 1 << 20},
    {.name = "batch",
     .letter = 'b',
     .type = OPTION_INTEGER,
     .offset = offsetof(struct loopback_options, batch),
     .value_name = "N",
     .help = "samples a worker and round (32)",
     .minimum = 1,
     .maximum = 1 << 16},
    {.name = "hidden",
     .letter = 'H',
     .type = OPTION_INTEGER,
     .offset = offsetof(struct loopback_options, hidden),
     .value_name = "N",
     .help = "mlp: units of the hidden layer (64)",
     .minimum = 1,
     .maximum = 1 << 16},
    {.name = "evaluate-every",
     .letter = 'e',
     .type = OPTION_INTEGER,
     .offset = offsetof(struct loopback_options, evaluate_every),
     .value_name = "N",
     .help = "rounds (0: at the end)",
     .maximum = 1 << 20},
    {.name = "time",
     .letter = 't',
     .type = OPTION_TIME,
     .offset = offsetof(struct loopback_options, compute_ns),
     .value_name = "TIME",
     .help = "constant compute time (none: measured)"},
    {.name = "port",
     .letter = 'p',
     .type = OPTION_INTEGER,
     .offset = offsetof(struct loopback_options, port),
     .value_name = "N",
     .help = "TCP port (7700)",
     .minimum = 1,
     .maximum = 65535},
    {.name = "seed",
     .type = OPTION_UNSIGNED,
     .offset = offsetof(struct loopback_options, seed),
     .value_name = "N",
     .help = "trial seed (1)"},
    {.name = "agent",
     .letter = 'a',
     .type = OPTION_STRING,
     .offset = offsetof(struct loopback_options, agent),
     .value_name = "FILE",
     .help = "agent program (of this build)"},
    {.name = "no-spans", .type = OPTION_FLAG, .offset = offsetof(struct loopback_options, no_spans), .help = "record no spans"},
    {.name = "print-rounds",
     .type = OPTION_FLAG,
     .offset = offsetof(struct loopback_options, print_rounds),
     .help = "print every round's time"},
    {.name = "list",
     .type = OPTION_FLAG,
     .offset = offsetof(struct loopback_options, list),
     .help = "print the names of all schemes"},
    {0},
};
static const struct option_table options_table = {.command = "agents_loopback",
                                                  .usage = "[options] [PARAMETER=VALUE ...]",
                                                  .summary = "one trial of real agents on loopback, checked",
                                                  .rows = rows,
                                                  .positional_maximum = -1};

/* The values of the scheme's parameters: standard ones, but for PARAMETER=VALUE words. */
static inline int loopback_parameters(const struct scheme *scheme, char **words, int count, struct control_value *values,
                                      struct err *err)
{
    for (int i = 0; i < scheme->param_count; i++) /* few rounds are to have averages in them, and to end with one */
        values[i].value = strcmp(scheme->params[i].name, "period") == 0 ? 2 : scheme->params[i].standard;
    for (int w = 0; w < count; w++) {
        char *equals = strchr(words[w], '=');
        int i = 0;
        while (equals && i < scheme->param_count &&
               (strncmp(scheme->params[i].name, words[w], (size_t)(equals - words[w])) != 0 ||
                scheme->params[i].name[equals - words[w]] != '\0'))
            i++;
        if (!equals || i == scheme->param_count)
            return err_set(err, ERR_USAGE, "'%s' is not PARAMETER=VALUE of scheme '%s'", words[w], scheme->name);
        const struct param *param = &scheme->params[i];
        int choice = 0;
        while (param->choices && param->choices[choice] && strcmp(param->choices[choice], equals + 1) != 0)
            choice++;
        if (param->choices && param->choices[choice]) {
            values[i].value = choice;
            continue;
        }
        if (units_parse_number(equals + 1, param->minimum, param->maximum, &values[i].value, err) < 0)
            return err_wrap(err, "parameter %s", param->name);
    }
    return 0;
}

#endif
