/* polydot_plan.c: `polydot`'s parameters, what they allow, and how long a step takes.
 *
 * Prediction. The products of a step follow each other, so their times add up. Of one, with N workers, jobs of J bytes, results of
 * R bytes, the master's link of B bytes a second, e to encode a job and hand it over, d to decode:
 *
 *     job i is there at        N J / B + e where e <= J / B (they take turns on the link and end together), else (i + 1) e + J / B
 *     result i is ready        a one-way delay and X_i later
 *     results share the link   equally, so they end in the order in which they began; the K-th, a delay and d later, ends it
 *     but not before           the master has handed over the last job, N e: it does one thing at a time
 *
 * The mean is E[X_{K:N}], by integration, plus the mean of what the rest adds, by simulation with a fixed seed. Parts are
 * differences of nested models: compute alone; with bytes; with delays; with arithmetic. Results that come too late for their
 * product, and share the link with the next one's, are left out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/compute_time.h"
#include "agents/predict.h"
#include "agents/schemes/polydot_internal.h"
#include "base/clock.h"
#include "base/err.h"

enum { SIMULATION_SEED = 2020, SIMULATED_DRAWS = 40000, SIMULATED_PRODUCTS_MIN = 50, SIMULATED_PRODUCTS_MAX = 2000 };
/* Of float32's seven digits two are left in the worst case. */
static const double AMPLIFICATION_MAX = 1e5;
static const size_t MESSAGE_BYTES_MAX = (size_t)64 << 20; /* what every world takes */
enum { INNER_BLOCKS_MAX = (POLYDOT_THRESHOLD_MAX + 1) / 2 };

const struct param polydot_params[POLYDOT_PARAMS] = {
    [POLYDOT_M] = {.name = "m",
                   .unit = PARAM_COUNT,
                   .minimum = 1,
                   .maximum = POLYDOT_THRESHOLD_MAX,
                   .standard = 2,
                   .help = "blocks that the rows of the left factor are cut into"},
    [POLYDOT_N] = {.name = "n",
                   .unit = PARAM_COUNT,
                   .minimum = 1,
                   .maximum = POLYDOT_THRESHOLD_MAX,
                   .standard = 1,
                   .help = "blocks that the columns of the right factor are cut into"},
    [POLYDOT_P] = {.name = "p",
                   .unit = PARAM_COUNT,
                   .minimum = 1,
                   .maximum = INNER_BLOCKS_MAX,
                   .standard = 1,
                   .help = "blocks that both factors' inner dimension is cut into"},
};

struct polydot_code polydot_code_of(const struct scheme_setup *setup)
{
    return (struct polydot_code){
        .m = (int)setup->values[POLYDOT_M], .n = (int)setup->values[POLYDOT_N], .p = (int)setup->values[POLYDOT_P]};
}

/* How many workers keep the code's errors in bounds. */
static int most_workers(struct polydot_code code)
{
    int workers = polydot_threshold(code);
    while (polydot_amplification(code, workers + 1) <= AMPLIFICATION_MAX)
        workers++;
    return workers;
}

static int check_code(const struct scheme_setup *setup, struct polydot_code code, struct err *err)
{
    const int threshold = polydot_threshold(code), workers = setup->workers;
    if (threshold > POLYDOT_THRESHOLD_MAX)
        return err_set(
            err, ERR_USAGE,
            "polydot with m %d, n %d and p %d decodes a product from mnp + p - 1 = %d blocks, allowed are 1 to %d: beyond that "
            "decoding loses too many digits",
            code.m, code.n, code.p, threshold, POLYDOT_THRESHOLD_MAX);
    if (threshold > workers)
        return err_set(
            err, ERR_USAGE,
            "polydot with m %d, n %d and p %d decodes a product from mnp + p - 1 = %d workers' blocks, there %s %d; allowed are "
            "1 to %d blocks",
            code.m, code.n, code.p, threshold, workers == 1 ? "is" : "are", workers, workers);
    if (setup->values_carried && polydot_amplification(code, workers) > AMPLIFICATION_MAX)
        return err_set(
            err, ERR_USAGE,
            "polydot with m %d, n %d and p %d among %d workers: from some %d of them decoding would lose more than %.0f of "
            "float32's 7 digits; allowed are %d to %d workers, or, in world virtual, gradients: none",
            code.m, code.n, code.p, workers, threshold, log10(AMPLIFICATION_MAX), threshold, most_workers(code));
    return 0;
}

int polydot_check(const struct scheme_setup *setup, struct err *err)
{
    const struct polydot_code code = polydot_code_of(setup);
    const int products = polydot_step_products(setup), result = check_code(setup, code, err);
    if (result < 0)
        return result;
    if (products == 0)
        return err_set(
            err, ERR_USAGE,
            "polydot multiplies the matrices of a model's layers, and a synthetic workload has none: allowed are the models "
            "softmax and mlp (world virtual and gradients: none for times alone)");
    for (int product = 0; product < products; product++) {
        const struct polydot_shape shape = polydot_step_shape(setup, code, product);
        const size_t job = polydot_shape_job_bytes(&shape), block = polydot_shape_result_bytes(&shape);
        const size_t most = job > block ? job : block;
        if (most > MESSAGE_BYTES_MAX)
            return err_set(
                err, ERR_USAGE,
                "polydot with m %d, n %d and p %d: a message of product %d has %zu bytes, allowed are up to %zu; more blocks or "
                "a smaller batch make it smaller",
                code.m, code.n, code.p, product, most, MESSAGE_BYTES_MAX);
    }
    return 0;
}

/* A job is received, computed, sent and waited for. The master sends and receives one a worker and product, encodes for all at once
 * or, where a worker's link was busy, for one, waits and decodes; results of the round before may still come, and STOP. */
uint64_t polydot_spans(const struct scheme_setup *setup, int node)
{
    const uint64_t products = (uint64_t)polydot_step_products(setup), workers = (uint64_t)setup->workers;
    return node < setup->workers ? 4 * products + 4 : workers * (3 * products + 4) + 3 * products + 1;
}

uint64_t polydot_gradients(const struct scheme_setup *setup, int node)
{
    const uint64_t products = (uint64_t)polydot_step_products(setup);
    return node < setup->workers ? products + 1 : (uint64_t)setup->workers * products;
}

/* ---- prediction ---- */

struct timing {               /* of one product; what a nested model leaves out is 0 */
    double job_ns, result_ns; /* on the link */
    double delay_ns, turn_ns;
    double hand_over_ns, decode_ns;
};
struct simulation {
    const struct scheme_setup *setup;
    int threshold;
    double *ready_ns; /* room for one a worker */
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* When job `worker` has come to its end of the link; that many ends together, but for what the connections queue up ahead. */
static double job_end_ns(const struct timing *timing, int workers, int worker)
{
    if (timing->hand_over_ns > timing->job_ns)
        return (worker + 1) * timing->hand_over_ns + timing->job_ns;
    const double turn_ns = fmin(timing->turn_ns, timing->job_ns);
    return timing->hand_over_ns + workers * timing->job_ns - (workers - 1 - worker) * turn_ns;
}

/* ready[0 .. count), sorted, each then takes whole_ns of a link that is shared equally: when the k-th ends. */
static double shared_end_ns(const double *ready, int count, double whole_ns, int k)
{
    double now = ready[0], service = 0; /* what each that is there has had since the first began */
    double *due = NULL;
    int begun = 0, ended = 0;
    if (whole_ns <= 0)
        return ready[k - 1];
    due = calloc((size_t)count, sizeof(*due));
    if (!due)
        abort();
    while (ended < k) {
        const double end_ns = begun > ended ? now + (due[ended] - service) * (begun - ended) : INFINITY;
        if (begun < count && ready[begun] <= end_ns) {
            if (begun > ended)
                service += (ready[begun] - now) / (begun - ended);
            now = ready[begun];
            due[begun++] = service + whole_ns;
        } else {
            service = due[ended++];
            now = end_ns;
        }
    }
    free(due);
    return now;
}

/* What the product takes, less the K-th smallest of the same draws. */
static double beyond_compute_ns(struct simulation *simulation, const struct timing *timing, struct rng *rng)
{
    const struct scheme_setup *setup = simulation->setup;
    const int workers = setup->workers, k = simulation->threshold;
    double *ready = simulation->ready_ns, *drawn = ready + workers;
    for (int worker = 0; worker < workers; worker++) {
        drawn[worker] = compute_time_sample(setup->compute_time, rng) * (setup->slow_factors ? setup->slow_factors[worker] : 1);
        ready[worker] = job_end_ns(timing, workers, worker) + timing->delay_ns + drawn[worker];
    }
    qsort(drawn, (size_t)workers, sizeof(*drawn), compare);
    qsort(ready, (size_t)workers, sizeof(*ready), compare);
    const double come_ns = shared_end_ns(ready, workers, timing->result_ns, k) + timing->delay_ns;
    return fmax(come_ns, workers * timing->hand_over_ns) + timing->decode_ns - drawn[k - 1];
}

static double mean_beyond_ns(struct simulation *simulation, const struct timing *timing)
{
    struct rng rng = rng_stream(SIMULATION_SEED, 0, RNG_ALL_NODES, RNG_PREDICT);
    int draws = SIMULATED_DRAWS / simulation->setup->workers;
    draws = draws < SIMULATED_PRODUCTS_MIN ? SIMULATED_PRODUCTS_MIN : draws;
    draws = draws > SIMULATED_PRODUCTS_MAX ? SIMULATED_PRODUCTS_MAX : draws;
    draws = simulation->setup->compute_time->kind == DISTRIBUTION_CONSTANT ? 1 : draws;
    double sum = 0;
    for (int i = 0; i < draws; i++)
        sum += beyond_compute_ns(simulation, timing, &rng);
    return sum / draws;
}

static double on_link_ns(size_t bytes, double bytes_per_second)
{
    return isinf(bytes_per_second) ? 0 : (double)bytes / bytes_per_second * (double)NS_PER_S;
}

static void add_product(struct simulation *simulation, int product, struct prediction *prediction)
{
    const struct scheme_setup *setup = simulation->setup;
    const struct polydot_code code = polydot_code_of(setup);
    const struct polydot_shape shape = polydot_step_shape(setup, code, product);
    const struct path path = setup->path(setup->path_context, setup->workers, 0);
    const double float_ns = setup->reduce_ns_per_byte * sizeof(float);
    struct timing timing = {.job_ns = on_link_ns(polydot_shape_job_bytes(&shape), path.bytes_per_second),
                            .result_ns = on_link_ns(polydot_shape_result_bytes(&shape), path.bytes_per_second),
                            .turn_ns = setup->turn_ns};
    const double crossing_ns = mean_beyond_ns(simulation, &timing);
    timing.delay_ns = path.latency_ns + setup->message_ns;
    const double delayed_ns = mean_beyond_ns(simulation, &timing);
    timing.hand_over_ns = float_ns * polydot_shape_encode_floats(&shape);
    timing.decode_ns = float_ns * (polydot_shape_decode_floats(&shape, code) + (double)shape.rows * shape.columns);
    prediction->compute_ns +=
        compute_time_order_mean(setup->compute_time, simulation->threshold, setup->workers, setup->slow_factors, 0);
    prediction->bandwidth_ns += crossing_ns;
    prediction->latency_ns += delayed_ns - crossing_ns;
    prediction->reduce_ns += mean_beyond_ns(simulation, &timing) - delayed_ns;
}

void polydot_predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    struct simulation simulation = {.setup = setup, .threshold = polydot_threshold(polydot_code_of(setup))};
    if (!predict_begin(setup, prediction))
        return;
    if (setup->compute_time->kind == DISTRIBUTION_MEASURED) {
        snprintf(prediction->reason, sizeof(prediction->reason),
                 "how long a block's product takes is known where compute.time is drawn only");
        return;
    }
    simulation.ready_ns = malloc(2 * (size_t)setup->workers * sizeof(double));
    if (!simulation.ready_ns) {
        snprintf(prediction->reason, sizeof(prediction->reason), "there is no memory for the simulation");
        return;
    }
    for (int product = 0; product < polydot_step_products(setup); product++)
        add_product(&simulation, product, prediction);
    free(simulation.ready_ns);
    prediction->reduce_ns += setup->reduce_ns_per_byte * sizeof(float) *
                             ((double)setup->parameter_count + (double)setup->batch * (double)setup->matrices[0].columns);
    prediction->method = "seeded simulation";
    predict_end(prediction);
}
