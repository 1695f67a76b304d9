/* agents/schemes/anytime.c: `anytime`, mini-batches that are as large as a fixed time allows, with a parameter server.
 *
 * Sources: N. Ferdinand, H. Al-Lawati, S. Draper, M. Nokleby, "Anytime minibatch: exploiting stragglers in online distributed
 * optimization", ICLR 2019 (fixed time, gradients of one model weighted by their samples); N. Ferdinand, S. Draper, "Anytime
 * stochastic gradient descent: a time to hear from all the workers", Allerton 2018 (the server's form; there workers go on from
 * their own models within the window, here every sample's gradient is taken at the round's model).
 *
 * Theory of operation. As ps-sync (ps_rounds.c), but a worker's task is not one mini-batch: it takes sample after sample until
 * `window` has passed since the model came, and the gradient is the mean over the b_i samples that were done by then:
 *
 *     w <- w - eta / (sum_i b_i) sum_i b_i g_i
 *
 * A slow worker contributes what it has instead of making all others wait. A sample that is not done at the window's end is lost.
 * A worker with b_i = 0 says so in a header without payload; if nobody did a sample the round ends with the model as it was.
 *
 * Example, P = 2, batches of 8, window 10 ms, mini-batches of 10 and 16 ms: b = (8, 5), w <- w - eta (8 g_0 + 5 g_1) / 13. Equal
 * speeds, and a window of just a mini-batch: the bits of ps-sync.
 *
 * Bytes: as ps-sync; b_i is the header's argument. A worker that reaches `cap` samples sends its gradient before the window's end.
 * */
#include "agents/schemes/ps_rounds.h"
#include "agents/schemes/schemes.h"
#include "agents/schemes/window.h"

enum { WINDOW = PS_PARAM_COUNT, CAP };

static void bound_task(struct node *node, struct task *task)
{
    window_bound_task(node, WINDOW, CAP, task);
}

static void predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    struct window_forecast window;
    window_foresee(setup, WINDOW, CAP, &window);
    ps_rounds_predict(&window.setup, prediction);
    window_count_samples(&window, prediction);
}

static const struct ps_policy policy = {.bound_task = bound_task, .weighted = true};
static const struct param params[] = {PS_PARAMS, [WINDOW] = WINDOW_PARAM, [CAP] = WINDOW_PARAM_CAP};

const struct scheme scheme_anytime = {
    .name = "anytime",
    .summary = "workers compute for a fixed time; a parameter server weights each gradient by the samples that it is the mean of",
    .source =
        "Ferdinand et al., Anytime minibatch, ICLR 2019; Ferdinand and Draper, Anytime stochastic gradient descent, Allerton 2018",
    .formula = "as ps-sync with X = window for all: 2 alpha + P S/B_s + window + P S/B_s + the rest of the sum; "
               "samples: sum_i E[floor(window batch / X_i)]",
    PS_ROUNDS(policy),
    .flags = SCHEME_WEIGHTS_SAMPLES,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .predict = predict,
};
