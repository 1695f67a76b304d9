/* agents/predict.c: what the predictions of several schemes share.
 *
 * Ring. Rank r may send the segment at (hop h, segment k) once it has received it at hop h-1 and, in the scatter-reduce, added
 * to it:
 *
 *     begin(r,h,k)   = max(ready(r,h,k), begin(r, previous) + max(previous bytes/B_r, message))     ready(r,0,k) = 0
 *     arrive         = begin(r,h,k) + bytes/B_r + alpha_r
 *     ready(r+1,h+1,k) = max(arrive, ready(r+1, previous)) + (bytes x gamma while h < N-1)
 *
 * and the all-reduce ends with the last of these at any rank. Maxima and sums only, hence exact for given alpha, B, gamma. For
 * one segment a chunk it is 2(N-1)(alpha + s) + (N-1) s' with s = S/(N B), s' = S gamma/N; for m segments and no gamma, 2(N-1)s
 * + alpha as long as s >= alpha + s/m.
 *
 * Server. With u = S/B_s and v = max(u, message), workers' gradients ready at X_1 .. X_P after the model has reached them:
 *
 *     broadcast = (P-1) v + u
 *     uploads, in the order in which they become ready: begin_k = max(X_k, begin_{k-1} + v), end_k = begin_k + u
 *
 * the last of which ends at max_k(X_{k:P} + (P-k+1) u) where u >= message: when the last upload ends does not depend on how the
 * uploads share the link. What is left to add then does: TCP shares it about equally, so uploads that begin together end
 * together, and the server adds in the order of workers, each as soon as it and all before it have come. The mean over X is
 * taken by simulation with a fixed seed; since the mean of max X is known by integration, only the difference to max X is
 * simulated (a control variate): it is bounded by P u however wild X is. */
#include "agents/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/collectives/ring_allreduce.h"
#include "agents/compute_time.h"
#include "base/cleanup.h"
#include "base/clock.h"

enum { SIMULATION_SEED = 2009, SIMULATED_DRAWS = 160000, SIMULATED_ROUNDS_MAX = 20000, SIMULATED_ROUNDS_MIN = 100 };

bool predict_begin(const struct scheme_setup *setup, struct prediction *prediction)
{
    *prediction = (struct prediction){0};
    if (!isfinite(compute_time_mean(setup->compute_time))) {
        snprintf(prediction->reason, sizeof(prediction->reason), "the compute time has no mean (pareto needs shape > 1)");
        return false;
    }
    return true;
}

void predict_end(struct prediction *prediction)
{
    prediction->round_ns = prediction->compute_ns + prediction->latency_ns + prediction->bandwidth_ns + prediction->reduce_ns;
    prediction->available = true;
}

static double slow_factor(const struct scheme_setup *setup, int worker)
{
    return setup->slow_factors ? setup->slow_factors[worker] : 1;
}

/* What a worker's drawn time makes of the real work c: never less than c; where nothing is drawn, c itself, stretched for slow
 * workers. */
static double ready_ns(const struct scheme_setup *setup, int worker, double drawn_ns)
{
    double factor = slow_factor(setup, worker);
    if (setup->compute_time->kind == DISTRIBUTION_MEASURED)
        return setup->gradient_ns * fmax(factor, 1);
    return fmax(drawn_ns * factor, setup->gradient_ns);
}

double predict_slowest_ns(const struct scheme_setup *setup)
{
    if (setup->compute_time->kind == DISTRIBUTION_MEASURED) {
        double slowest = 0;
        for (int worker = 0; worker < setup->workers; worker++)
            slowest = fmax(slowest, ready_ns(setup, worker, 0));
        return slowest;
    }
    return compute_time_order_mean(setup->compute_time, setup->workers, setup->workers, setup->slow_factors, setup->gradient_ns);
}

static double transmission_ns(double bytes, double bytes_per_second)
{
    return isinf(bytes_per_second) ? 0 : bytes / bytes_per_second * (double)NS_PER_S;
}

/* ---- ring ---- */

/* Ranks that all see the same are one: identical links and chunks. */
static bool ring_is_symmetric(const struct predict_ring_spec *spec)
{
    if (spec->count % (size_t)spec->size != 0)
        return false;
    for (int rank = 1; rank < spec->size; rank++)
        if (spec->links[rank].latency_ns != spec->links[0].latency_ns ||
            spec->links[rank].bytes_per_second != spec->links[0].bytes_per_second)
            return false;
    return true;
}

double predict_ring_ns(const struct predict_ring_spec *spec)
{
    if (spec->size == 1)
        return 0;
    const struct ring_allreduce_layout layout = ring_allreduce_layout(spec->size, spec->count, spec->segment_bytes);
    const int ranks = ring_is_symmetric(spec) ? 1 : spec->size;
    const size_t segments = layout.segments;
    /* [ranks x segments], of the hop at hand and the next; then, a rank: when its link and its processor are free */
    cleanup(free_pointer) double *memory = calloc(2 * (size_t)ranks * (segments + 1), sizeof(*memory));
    if (!memory)
        return NAN;
    double *ready = memory, *next = ready + (size_t)ranks * segments;
    double *link_free = next + (size_t)ranks * segments, *processor_free = link_free + ranks;
    double end = 0;
    for (int hop = 0; hop < 2 * (spec->size - 1); hop++) {
        for (int rank = 0; rank < ranks; rank++) {
            const struct predict_link *link = &spec->links[rank];
            const int right = (rank + 1) % ranks, chunk = (rank - hop + 2 * spec->size) % spec->size;
            for (size_t segment = 0; segment < segments; segment++) {
                double bytes = (double)ring_allreduce_segment(&layout, chunk, (uint32_t)segment).count * sizeof(float);
                if (bytes == 0)
                    continue;
                double sending = transmission_ns(bytes, link->bytes_per_second);
                double begin = fmax(ready[(size_t)rank * segments + segment], link_free[rank]);
                link_free[rank] = begin + fmax(sending, spec->message_ns);
                double adding = hop < spec->size - 1 ? bytes * spec->reduce_ns_per_byte : 0;
                double done = fmax(begin + sending + link->latency_ns, processor_free[right]) + adding;
                processor_free[right] = next[(size_t)right * segments + segment] = done;
                end = fmax(end, done);
            }
        }
        double *swap = ready;
        ready = next;
        next = swap;
    }
    return end;
}

void predict_ring(const struct scheme_setup *setup, size_t segment_bytes, struct prediction *prediction)
{
    const int size = setup->workers;
    prediction->compute_ns = predict_slowest_ns(setup);
    cleanup(free_pointer) struct predict_link *links = calloc((size_t)size * 2, sizeof(*links));
    if (size == 1 || !links)
        return;
    struct predict_link *no_latency = links + size;
    for (int rank = 0; rank < size; rank++) {
        struct path path = setup->path(setup->path_context, rank, (rank + 1) % size);
        no_latency[rank].bytes_per_second = links[rank].bytes_per_second = path.bytes_per_second;
        links[rank].latency_ns = path.latency_ns + setup->message_ns;
    }
    struct predict_ring_spec spec = {
        .size = size, .count = setup->parameter_count, .segment_bytes = segment_bytes, .links = no_latency};
    prediction->bandwidth_ns = predict_ring_ns(&spec);
    spec.links = links;
    spec.message_ns = setup->message_ns;
    double communication_ns = predict_ring_ns(&spec);
    prediction->latency_ns = communication_ns - prediction->bandwidth_ns;
    spec.reduce_ns_per_byte = setup->reduce_ns_per_byte;
    prediction->reduce_ns = predict_ring_ns(&spec) - communication_ns;
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
    double link_free = 0, last = 0;
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

void predict_server_round(const struct scheme_setup *setup, struct prediction *prediction)
{
    const int workers = setup->workers, server = workers;
    const double bytes = (double)setup->parameter_count * sizeof(float);
    const double add_ns = bytes * setup->reduce_ns_per_byte;
    prediction->compute_ns = predict_slowest_ns(setup);
    cleanup(free_pointer) struct upload *uploads = calloc((size_t)workers, sizeof(*uploads));
    cleanup(free_pointer) double *arrivals = calloc((size_t)workers * 3, sizeof(*arrivals));
    if (!uploads || !arrivals)
        return;
    double *own_ns = arrivals + workers; /* a gradient's time on the worker's path */
    double *work_at_end = own_ns + workers;
    double down_latency = 0, up_latency = 0, down_ns = INFINITY, up_ns = INFINITY, slowest_down_ns = 0;
    for (int worker = 0; worker < workers; worker++) {
        struct path down = setup->path(setup->path_context, server, worker), up = setup->path(setup->path_context, worker, server);
        double sending = transmission_ns(bytes, down.bytes_per_second);
        own_ns[worker] = transmission_ns(bytes, up.bytes_per_second);
        down_latency = fmax(down_latency, down.latency_ns + setup->message_ns);
        up_latency = fmax(up_latency, up.latency_ns + setup->message_ns);
        down_ns = fmin(down_ns, sending); /* the fastest path shows the server's own link */
        up_ns = fmin(up_ns, own_ns[worker]);
        slowest_down_ns = fmax(slowest_down_ns, sending);
    }
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
            double ready = ready_ns(setup, worker, compute_time_sample(setup->compute_time, &rng));
            uploads[worker] = (struct upload){.ready_ns = ready, .link_ns = own_ns[worker], .worker = worker};
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
