/* test_ring_simulation.c: the ring's prediction, a recurrence, against a brute-force simulation of events. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "agents/collectives/ring_allreduce.h"
#include "base/rng.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

#include "tests/unit/near.h"

/* Brute force: every segment is an object that waits in queues; the clock goes from event to event. */
struct segment_at {
    double at; /* when it reaches the next station */
    int rank, hop, segment;
    enum { TO_LINK, TO_PROCESSOR } station;
    bool alive;
};

struct ring_links {
    struct allreduce_path out[8]; /* from rank i to rank i + 1 */
};

static struct allreduce_path link_of(const void *context, int from, int to)
{
    (void)to;
    return ((const struct ring_links *)context)->out[from];
}

static double simulate_ring(const struct allreduce_network *network)
{
    const struct allreduce_shape *spec = &network->shape;
    enum { OBJECTS_MAX = 8 * 8 };
    struct ring_allreduce_layout layout = ring_allreduce_layout(spec->size, spec->count, spec->segment_bytes);
    struct segment_at objects[OBJECTS_MAX];
    int count = 0, alive;
    double link_free[8] = {0}, processor_free[8] = {0}, end = 0;
    assert_true((uint32_t)spec->size * layout.segments <= OBJECTS_MAX);
    for (int rank = 0; rank < spec->size; rank++)
        for (uint32_t segment = 0; segment < layout.segments; segment++)
            objects[count++] = (struct segment_at){
                .rank = rank,
                .segment = (int)segment,
                .alive = ring_allreduce_segment(&layout, rank, segment).count > 0, /* chunk `rank` starts at its own rank */
            };
    alive = 0;
    for (int i = 0; i < count; i++)
        alive += objects[i].alive;
    while (alive > 0) {
        struct segment_at *first = NULL; /* the earliest; among equals the one of the earlier hop, then segment */
        for (int i = 0; i < count; i++) {
            struct segment_at *object = &objects[i];
            if (object->alive && (!first || object->at < first->at ||
                                  (object->at == first->at &&
                                   (object->hop < first->hop || (object->hop == first->hop && object->segment < first->segment)))))
                first = object;
        }
        int chunk = (first->rank - first->hop + 2 * spec->size) % spec->size;
        if (first->station == TO_PROCESSOR)
            chunk = (chunk + spec->size - 1) % spec->size; /* it was sent at this hop by the left neighbour */
        double bytes = 4.0 * (double)ring_allreduce_segment(&layout, chunk, (uint32_t)first->segment).count;
        if (first->station == TO_LINK) {
            const struct allreduce_path link = link_of(network->context, first->rank, 0);
            double sending = isinf(link.bytes_per_second) ? 0 : bytes / link.bytes_per_second * 1e9;
            double begin = fmax(first->at, link_free[first->rank]);
            link_free[first->rank] = begin + fmax(sending, network->message_ns);
            first->at = begin + sending + link.latency_ns;
            first->rank = (first->rank + 1) % spec->size;
            first->station = TO_PROCESSOR;
            continue;
        }
        double adding = first->hop < spec->size - 1 ? bytes * network->reduce_ns_per_byte : 0;
        first->at = processor_free[first->rank] = fmax(first->at, processor_free[first->rank]) + adding;
        end = fmax(end, first->at);
        first->station = TO_LINK;
        if (++first->hop == 2 * (spec->size - 1)) {
            first->alive = false;
            alive--;
        }
    }
    return end;
}

static void test_ring_recurrence_equals_simulation(void **state)
{
    (void)state;
    struct rng rng = rng_stream(7, 0, 0, RNG_LINK);
    for (int trial = 0; trial < 2000; trial++) {
        struct ring_links ring;
        struct allreduce_path *links = ring.out;
        struct allreduce_network network = {.path = link_of, .context = &ring};
        struct allreduce_shape *spec = &network.shape;
        spec->size = 2 + (int)rng_below(&rng, 7);
        spec->count = 1 + rng_below(&rng, 4000);
        uint32_t segments = 1 + rng_below(&rng, 7);
        spec->segment_bytes = 4 * (spec->count / (size_t)spec->size / segments + 1);
        bool equal = rng_below(&rng, 4) == 0, unlimited = rng_below(&rng, 8) == 0;
        for (int rank = 0; rank < spec->size; rank++) {
            links[rank].latency_ns = 20000 * rng_uniform(&rng);
            links[rank].bytes_per_second = unlimited ? INFINITY : 5e7 + 2e8 * rng_uniform(&rng);
            if (equal)
                links[rank] = links[0];
        }
        if (rng_below(&rng, 2))
            network.reduce_ns_per_byte = 10 * rng_uniform(&rng);
        if (rng_below(&rng, 2))
            network.message_ns = 3000 * rng_uniform(&rng);
        if (rng_below(&rng, 4) == 0)
            spec->count = spec->count / (size_t)spec->size * (size_t)spec->size + (size_t)spec->size; /* equal chunks */
        double predicted_ns;
        ring_allreduce_predict_ns(&allreduce_ring, &network, 1, &predicted_ns);
        assert_near(predicted_ns, simulate_ring(&network), 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_recurrence_equals_simulation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
