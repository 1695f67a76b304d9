/* agents/schemes/zeno.c: `zeno++`: as `async`, but the server compares each gradient with one of its own, of validation data, and
 * drops what leads elsewhere. The protocol: server_rounds.c; the judgement: server_zeno.c. */
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"
#include "agents/schemes/server_zeno.h"

static const struct server_policy policy = {.quota = QUOTA_ONE, .distinct = true, .zeno_parameter = 1};

static const struct param params[] = {
    [ZENO_RHO] = {.name = "rho",
                  .unit = PARAM_NUMBER,
                  .minimum = 0,
                  .maximum = 1000,
                  .standard = 0.0001,
                  .help = "price of a gradient's squared length in its score"},
    [ZENO_EPSILON] = {.name = "epsilon",
                      .unit = PARAM_NUMBER,
                      .minimum = 0,
                      .maximum = 1e6,
                      .standard = 0,
                      .help = "what a gradient may lead astray, as a squared length; 0: it has to lead down"},
    [ZENO_REFRESH] = {.name = "refresh",
                      .unit = PARAM_COUNT,
                      .minimum = 1,
                      .maximum = 1000000,
                      .standard = 10,
                      .help = "gradients after which the server computes its validation gradient anew"},
    [ZENO_PATIENCE] = {.name = "patience",
                       .unit = PARAM_COUNT,
                       .minimum = 1,
                       .maximum = 1000000,
                       .standard = 10000,
                       .help = "rejected gradients one after the other after which the trial fails"},
};

const struct scheme scheme_zeno = {
    .name = "zeno++",
    .summary = "as async, but a gradient that leads elsewhere than the server's own, of validation data, is dropped",
    .source = "Xie, Koyejo and Gupta, Zeno++: robust fully asynchronous SGD, ICML 2020",
    .formula = "as async, with the server's arithmetic, while nothing is dropped",
    .flags = SERVER_ROUNDS_FLAGS | SCHEME_ASYNCHRONOUS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    SERVER_ROUNDS(policy),
};
