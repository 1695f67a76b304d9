/* agents/predict.c: what the predictions of several schemes share.
 *
 * Server. With u = S/B_s and v = max(u, message), workers' gradients ready at X_1 .. X_P after the model has reached them:
 *
 *     broadcast = (P-1) v + u
 *     uploads, in the order in which they become ready: begin_k = max(X_k, begin_{k-1} + v), end_k = begin_k + u
 *
 * the last of which ends at max_k(X_{k:P} + (P-k+1) u) where u >= message: when the last upload ends does not depend on how the
 * uploads share the link.
 *
 * Copies of the model share the link, too, but do not quite end together. The server hands them to its connections one after the
 * other, and each connection puts q into the device's queue before the next one's: TCP allows it what its pacing sends
 * in a while (turn_ns of the setup), and at least two packets of two segments. From then on they
 * take turns, so that the i-th of them ends (P-1-i) q before the last, where q is at most u; its worker begins so much earlier, and
 * uploads it while others' copies are still coming down.
 * What is left to add then does: TCP shares it about equally, so uploads that begin together end
 * together, and the server adds in the order of workers, each as soon as it and all before it have come. The mean over X is
 * taken by simulation with a fixed seed; since the mean of max X is known by integration, only the difference to max X is
 * simulated (a control variate): it is bounded by P u however wild X is. */
#include "agents/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/collectives/schedule.h"
#include "agents/compute_time.h"
#include "base/cleanup.h"
#include "base/clock.h"

enum { SIMULATION_SEED = 2009, SIMULATED_DRAWS = 160000, SIMULATED_ROUNDS_MAX = 20000, SIMULATED_ROUNDS_MIN = 100 };
/* Rounds that are followed, and all their messages. */
enum { STAGGERED_WARM = 4, STAGGERED_ROUNDS_CONSTANT = 4, STAGGERED_ROUNDS_MIN = 8, STAGGERED_ROUNDS_MAX = 4000 };
enum { STAGGERED_MESSAGES = 20000, STAGGERED_MESSAGES_MAX = 170000, STAGGERED_DRAWS_MAX = 4000000 };

bool predict_begin(const struct scheme_setup *setup, struct prediction *prediction)
{
    *prediction = (struct prediction){0};
    if (!isfinite(compute_time_mean(setup->compute_time))) {
        snprintf(prediction->reason, sizeof(prediction->reason), "the compute time has no mean (pareto needs shape > 1)");
        return false;
    }
    return true;
}

/* A nested model may take less time than the one inside it: servers that do not wait take gradients in another order once they add,
 * and the simulated mean falls. What is beyond the whole then is nobody's: parts end where the whole does. */
static void keep_parts_positive(struct prediction *prediction)
{
    double *const parts[] = {&prediction->compute_ns, &prediction->bandwidth_ns, &prediction->latency_ns, &prediction->reduce_ns};
    enum { PARTS = sizeof(parts) / sizeof(parts[0]) };
    double upto_ns[PARTS + 1] = {0};
    bool negative = false;
    for (int i = 0; i < PARTS; i++) {
        upto_ns[i + 1] = upto_ns[i] + *parts[i];
        negative = negative || *parts[i] < 0;
    }
    for (int i = PARTS; negative && i > 0; i--) {
        upto_ns[i - 1] = fmin(upto_ns[i - 1], upto_ns[i]);
        *parts[i - 1] = upto_ns[i] - upto_ns[i - 1];
    }
}

void predict_end(struct prediction *prediction)
{
    keep_parts_positive(prediction);
    prediction->round_ns = prediction->compute_ns + prediction->latency_ns + prediction->bandwidth_ns + prediction->reduce_ns;
    prediction->available = true;
}

static double transmission_ns(double bytes, double bytes_per_second)
{
    return isinf(bytes_per_second) ? 0 : bytes / bytes_per_second * (double)NS_PER_S;
}

/* In time on the server's link: what one connection has in the queue before others' turn. */
static double head_start_ns(const struct scheme_setup *setup, double whole_ns, double bytes_per_second)
{
    static const double LEAST_BYTES = 2 * 2 * 1448;
    return setup->turn_ns > 0 ? fmin(whole_ns, fmax(setup->turn_ns, transmission_ns(LEAST_BYTES, bytes_per_second))) : 0;
}

static double slow_factor(const struct scheme_setup *setup, int worker)
{
    return setup->slow_factors ? setup->slow_factors[worker] : 1;
}

/* What a worker's drawn time makes of the real work c: never less than c; where nothing is drawn, c itself, stretched for slow
 * workers. */
double predict_ready_ns(const struct scheme_setup *setup, int worker, double drawn_ns)
{
    double factor = slow_factor(setup, worker);
    if (setup->compute_time->kind == DISTRIBUTION_MEASURED)
        return setup->gradient_ns * fmax(factor, 1);
    return fmax(drawn_ns * factor, setup->gradient_ns);
}

double predict_mean_ns(const struct scheme_setup *setup, int worker)
{
    const double factor = slow_factor(setup, worker);
    if (setup->compute_time->kind == DISTRIBUTION_MEASURED)
        return predict_ready_ns(setup, worker, 0);
    if (setup->gradient_ns <= 0)
        return factor * compute_time_mean(setup->compute_time);
    return compute_time_order_mean(setup->compute_time, 1, 1, &factor, setup->gradient_ns);
}

double predict_stretched_ns(double drawn_ns, int drawn, int steps, double mean_ns)
{
    return mean_ns * steps + (drawn_ns - mean_ns * drawn) * sqrt((double)steps / drawn);
}

double predict_steps_ns(const struct scheme_setup *setup, int worker, int steps, struct rng *rng)
{
    const int drawn = steps < PREDICT_DRAWS_MOST ? steps : PREDICT_DRAWS_MOST;
    double sum_ns = 0;
    for (int step = 0; step < drawn; step++)
        sum_ns += predict_ready_ns(setup, worker, compute_time_sample(setup->compute_time, rng));
    return drawn == steps ? sum_ns : predict_stretched_ns(sum_ns, drawn, steps, predict_mean_ns(setup, worker));
}

double predict_slowest_ns(const struct scheme_setup *setup)
{
    if (setup->compute_time->kind == DISTRIBUTION_MEASURED) {
        double slowest = 0;
        for (int worker = 0; worker < setup->workers; worker++)
            slowest = fmax(slowest, predict_ready_ns(setup, worker, 0));
        return slowest;
    }
    return compute_time_order_mean(setup->compute_time, setup->workers, setup->workers, setup->slow_factors, setup->gradient_ns);
}

/* ---- all-reduce ---- */

struct members { /* the workers, in the order of ranks, as the network of a prediction */
    const struct scheme_setup *setup;
    bool latency;
};

static struct allreduce_path path_of(const void *context, int from, int to)
{
    const struct members *members = context;
    const struct scheme_setup *setup = members->setup;
    struct path path = setup->path(setup->path_context, from, to);
    return (struct allreduce_path){.latency_ns = members->latency ? path.latency_ns + setup->message_ns : 0,
                                   .bytes_per_second = path.bytes_per_second};
}

double predict_allreduce_ns(const struct scheme_setup *setup, const struct allreduce_algorithm *algorithm,
                            const struct allreduce_shape *shape, struct prediction *parts)
{
    enum { BYTES, DELAYED, WHOLE, NETWORKS };
    const struct members near = {.setup = setup}, far = {.setup = setup, .latency = true};
    struct allreduce_network networks[NETWORKS] = {
        [BYTES] = {.shape = *shape, .path = path_of, .context = &near},
        [DELAYED] = {.shape = *shape, .path = path_of, .context = &far, .message_ns = setup->message_ns},
    };
    double times_ns[NETWORKS];
    if (shape->size == 1)
        return 0;
    networks[WHOLE] = networks[DELAYED];
    networks[WHOLE].reduce_ns_per_byte = setup->reduce_ns_per_byte;
    algorithm->predict_ns(algorithm, networks, NETWORKS, times_ns);
    /* Delays and additions can change whose messages meet, and so make all of it shorter; no part is below 0. */
    times_ns[DELAYED] = fmin(times_ns[DELAYED], times_ns[WHOLE]);
    parts->bandwidth_ns = fmin(times_ns[BYTES], times_ns[DELAYED]);
    parts->latency_ns = times_ns[DELAYED] - parts->bandwidth_ns;
    parts->reduce_ns = times_ns[WHOLE] - times_ns[DELAYED];
    return times_ns[WHOLE];
}

/* As far as following them takes time: the ring's recurrence is faster than a heap of parts of messages. */
static double messages_of(const struct allreduce_algorithm *algorithm, const struct allreduce_shape *shape)
{
    static const double RING_FASTER = 16;
    return algorithm->plan ? schedule_messages(algorithm, shape) : 2.0 * shape->size * (shape->size - 1) / RING_FASTER;
}

double predict_staggered_ns(const struct scheme_setup *setup, const struct allreduce_algorithm *algorithm,
                            const struct allreduce_shape *shape, int steps, double together_ns)
{
    enum { WARM, WHOLE, NETWORKS };
    const int size = shape->size;
    const bool constant = setup->compute_time->kind == DISTRIBUTION_CONSTANT || setup->compute_time->kind == DISTRIBUTION_MEASURED;
    const double messages = messages_of(algorithm, shape);
    const int warm = STAGGERED_WARM, most = constant ? STAGGERED_ROUNDS_CONSTANT : STAGGERED_ROUNDS_MAX;
    if (size == 1 || messages * STAGGERED_ROUNDS_MIN > STAGGERED_MESSAGES_MAX)
        return together_ns;
    const double affordable = fmin(STAGGERED_MESSAGES / messages, STAGGERED_DRAWS_MAX / ((double)size * steps));
    const int rounds = warm + (int)fmin(fmax(affordable, STAGGERED_ROUNDS_MIN), most);
    cleanup(free_pointer) double *compute_ns = calloc((size_t)rounds * (size_t)size, sizeof(*compute_ns));
    if (!compute_ns)
        return together_ns;
    struct rng rng = rng_stream(SIMULATION_SEED, 0, RNG_ALL_NODES, RNG_PREDICT);
    double slowest_ns = 0;
    for (int round = 0; round < rounds; round++) {
        double slowest = 0;
        for (int worker = 0; worker < size; worker++) {
            double ready = predict_steps_ns(setup, worker, steps, &rng);
            compute_ns[round * size + worker] = ready;
            slowest = fmax(slowest, ready);
        }
        slowest_ns += round < warm ? 0 : slowest;
    }
    const struct members far = {.setup = setup, .latency = true};
    struct allreduce_network networks[NETWORKS] = {{.shape = *shape,
                                                    .path = path_of,
                                                    .context = &far,
                                                    .message_ns = setup->message_ns,
                                                    .reduce_ns_per_byte = setup->reduce_ns_per_byte,
                                                    .rounds = warm,
                                                    .compute_ns = compute_ns}};
    networks[WHOLE] = networks[WARM];
    networks[WHOLE].rounds = rounds;
    double ends_ns[NETWORKS];
    algorithm->predict_ns(algorithm, networks, NETWORKS, ends_ns);
    const double mean_ns = (ends_ns[WHOLE] - ends_ns[WARM] - slowest_ns) / (rounds - warm);
    return isfinite(mean_ns) ? mean_ns : together_ns;
}

/* ---- one server ---- */

struct upload {
    double ready_ns, link_ns; /* gradient computed; time on the worker's own path */
    int worker;
};

static int compare_uploads(const void *a, const void *b)
{
    const struct upload *left = a, *right = b;
    if (left->ready_ns != right->ready_ns)
        return left->ready_ns < right->ready_ns ? -1 : 1;
    return left->worker - right->worker;
}

/* When the last upload has arrived, whatever the way in which they share the server's link. Uploads are in the order of
 * readiness. */
static double last_arrival(const struct upload *uploads, int count, double server_ns, double spacing_ns)
{
    double link_free = -INFINITY, last = 0;
    for (int i = 0; i < count; i++) {
        double begin = fmax(uploads[i].ready_ns, link_free);
        link_free = begin + spacing_ns;
        last = fmax(last, fmax(begin + server_ns, uploads[i].ready_ns + uploads[i].link_ns));
    }
    return last;
}

/* arrivals[worker]: when each upload has arrived, if those under way share the link equally. `work` is the time in which one
 * upload alone would have come as far as all that are under way; the one that began first ends first. Returns the last. */
static double shared_arrivals(const struct upload *uploads, int count, double server_ns, double *work_at_end, double *arrivals)
{
    double now = 0, work = 0, last = 0;
    int begun = 0;
    for (int ended = 0; ended < count;) {
        const int under_way = begun - ended;
        double next_end = under_way > 0 ? now + (work_at_end[ended] - work) * under_way : INFINITY;
        if (begun < count && uploads[begun].ready_ns <= next_end) {
            if (under_way > 0)
                work += (uploads[begun].ready_ns - now) / under_way;
            now = uploads[begun].ready_ns;
            work_at_end[begun++] = work + server_ns;
            continue;
        }
        work = work_at_end[ended];
        now = next_end;
        double arrival = fmax(now, uploads[ended].ready_ns + uploads[ended].link_ns);
        arrivals[uploads[ended++].worker] = arrival;
        last = fmax(last, arrival);
    }
    return last;
}

/* When the sum is complete: adds in the order of workers, the first two in one pass. */
static double sum_complete(const double *arrivals, int count, double add_ns)
{
    double at = arrivals[0];
    for (int worker = 1; worker < count; worker++)
        at = fmax(at, arrivals[worker]) + add_ns;
    return at;
}

void predict_server_round(const struct scheme_setup *setup, int shards, bool colocated, struct prediction *prediction)
{
    const int workers = setup->workers;
    const double vector_bytes = (double)setup->parameter_count * sizeof(float);
    const double foreign = colocated ? (workers - 1.0) / workers : 1; /* share of the pieces that cross a link */
    const double bytes = vector_bytes / shards * foreign;             /* of a worker, at one server */
    const double own_bytes = colocated ? vector_bytes * (shards - 1) / shards : vector_bytes; /* at the worker's own end */
    const double add_ns = vector_bytes / shards * setup->reduce_ns_per_byte;
    prediction->compute_ns = predict_slowest_ns(setup);
    cleanup(free_pointer) struct upload *uploads = calloc((size_t)workers, sizeof(*uploads));
    cleanup(free_pointer) double *arrivals = calloc((size_t)workers * 3, sizeof(*arrivals));
    if (!uploads || !arrivals)
        return;
    double *own_ns = arrivals + workers; /* a gradient's time on the worker's path */
    double *work_at_end = own_ns + workers;
    double down_latency = 0, up_latency = 0, down_ns = INFINITY, up_ns = INFINITY, slowest_down_ns = 0, server_rate = 0;
    for (int worker = 0; worker < workers; worker++) {
        const int server = !colocated ? workers : worker == 0 ? workers - 1 : 0; /* one like the others */
        struct path down = setup->path(setup->path_context, server, worker), up = setup->path(setup->path_context, worker, server);
        double sending = transmission_ns(own_bytes, down.bytes_per_second);
        own_ns[worker] = transmission_ns(own_bytes, up.bytes_per_second);
        down_latency = fmax(down_latency, down.latency_ns + setup->message_ns);
        up_latency = fmax(up_latency, up.latency_ns + setup->message_ns);
        down_ns = fmin(down_ns, transmission_ns(bytes, down.bytes_per_second)); /* the fastest path shows the server's own link */
        up_ns = fmin(up_ns, transmission_ns(bytes, up.bytes_per_second));
        slowest_down_ns = fmax(slowest_down_ns, sending);
        server_rate = fmax(server_rate, down.bytes_per_second);
    }
    /* Beside workers every link is a server's and a worker's, and each server begins with another worker. */
    double head_ns = colocated || workers == 1 ? 0 : head_start_ns(setup, down_ns, server_rate);
    if (head_ns > 0) /* no copy is there before its own path has carried it */
        head_ns = fmin(head_ns, fmax(workers * down_ns - slowest_down_ns, 0) / (workers - 1));
    const bool constant = setup->compute_time->kind == DISTRIBUTION_CONSTANT || setup->compute_time->kind == DISTRIBUTION_MEASURED;
    int rounds = SIMULATED_DRAWS / workers;
    rounds = rounds > SIMULATED_ROUNDS_MAX ? SIMULATED_ROUNDS_MAX : rounds < SIMULATED_ROUNDS_MIN ? SIMULATED_ROUNDS_MIN : rounds;
    if (constant)
        rounds = 1;
    struct rng rng = rng_stream(SIMULATION_SEED, 0, RNG_ALL_NODES, RNG_PREDICT);
    double bandwidth = 0, spacing = 0, adding = 0;
    for (int round = 0; round < rounds; round++) {
        double slowest = 0;
        for (int worker = 0; worker < workers; worker++) {
            double ready = predict_ready_ns(setup, worker, compute_time_sample(setup->compute_time, &rng));
            uploads[worker] =
                (struct upload){.ready_ns = ready - (workers - 1 - worker) * head_ns, .link_ns = own_ns[worker], .worker = worker};
            slowest = fmax(slowest, ready);
        }
        qsort(uploads, (size_t)workers, sizeof(*uploads), compare_uploads);
        double limited = last_arrival(uploads, workers, up_ns, up_ns);
        bandwidth += limited - slowest;
        spacing += last_arrival(uploads, workers, up_ns, fmax(up_ns, setup->message_ns)) - limited;
        double shared = shared_arrivals(uploads, workers, up_ns, work_at_end, arrivals);
        adding += sum_complete(arrivals, workers, add_ns) - shared;
    }
    double broadcast_ns = fmax(workers * down_ns, slowest_down_ns);
    double spaced_broadcast_ns = fmax((workers - 1) * fmax(down_ns, setup->message_ns) + down_ns, slowest_down_ns);
    prediction->bandwidth_ns = broadcast_ns + bandwidth / rounds;
    prediction->latency_ns = down_latency + up_latency + spaced_broadcast_ns - broadcast_ns + spacing / rounds;
    prediction->reduce_ns = adding / rounds;
}
