/* agents/schemes/gradient_coding.c: `gradient-coding`: every worker computes s + 1 partitions' gradients and sends one combination
 * of them, from which the server has the sum of all partitions whichever s workers are late. The protocol: server_rounds.c; the
 * combinations: server_coding.c and gradient_code.c.
 *
 * Source: R. Tandon, Q. Lei, A. Dimakis, N. Karampatziakis, "Gradient coding: avoiding stragglers in distributed learning", ICML
 * 2017. */
#include "agents/schemes/gradient_coding.h"

#include "agents/schemes/schemes.h"
#include "agents/schemes/server_coding.h"
#include "agents/schemes/server_rounds.h"

static bool cancels(const struct scheme_setup *setup)
{
    return setup->values[GRADIENT_CODING_CANCEL] != 0;
}

static const struct server_policy policy = {
    .quota = QUOTA_CODED, .current_only = true, .distinct = true, .interrupts = cancels, .coded = true};

static const char *const codes[] = {[GRADIENT_CODING_CYCLIC] = "cyclic", [GRADIENT_CODING_FRACTIONAL] = "fractional", NULL};
static const struct param params[] = {
    [GRADIENT_CODING_STRAGGLERS] = {.name = "stragglers",
                                    .unit = PARAM_COUNT,
                                    .minimum = 0,
                                    .maximum = 999,
                                    .standard = 1,
                                    .help =
                                        "workers that need not be waited for; every worker computes one partition more than that"},
    [GRADIENT_CODING_CODE] = {.name = "code",
                              .unit = PARAM_CHOICE,
                              .maximum = 1,
                              .standard = GRADIENT_CODING_CYCLIC,
                              .choices = codes,
                              .help = "combinations of neighbouring partitions, or equal sums in groups of stragglers + 1 workers"},
    [GRADIENT_CODING_CANCEL] = {.name = "cancel",
                                .unit = PARAM_BOOL,
                                .minimum = 0,
                                .maximum = 1,
                                .standard = 0,
                                .help = "whether late workers give up and take the new model"},
};

const struct scheme scheme_gradient_coding = {
    .name = "gradient-coding",
    .summary = "workers send combinations of s + 1 partitions' gradients: the whole gradient is there without any s of them",
    .source = "Tandon, Lei, Dimakis and Karampatziakis, Gradient coding: avoiding stragglers in distributed learning, ICML 2017",
    .formula =
        "2 alpha + communication + (s+1) E[X_{P-s:P}], fractional (s+1) E[the largest of P/(s+1) least of s+1], with cancel; "
        "without, a seeded simulation",
    .flags = SERVER_ROUNDS_FLAGS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .family = FAMILY_CODED,
    .check = server_coding_check,
    .prepare = server_coding_prepare_cell,
    .amplification = server_coding_amplification,
    SERVER_ROUNDS_PROTOCOL(policy),
};
