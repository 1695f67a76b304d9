/* test_shards.c: who owns which training samples: every sample once, sizes as asked for, labels the more skewed the smaller alpha.
 *  */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agents/dataset.h"
#include "agents/shards.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { SAMPLES = 6000, LABELS = 10, WORKERS_MAX = 100, SEED = 42 };

static uint8_t labels[SAMPLES];
static const struct dataset balanced = {.sample_count = SAMPLES, .inputs = 1, .classes = LABELS, .labels = labels};

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++)
        labels[i] = (uint8_t)(i % LABELS);
    return 0;
}

static struct shard_rule rule_of(const struct shard_settings *settings, int workers)
{
    return (struct shard_rule){.settings = settings, .seed = SEED, .workers = workers, .least = 8};
}

struct dealt {
    uint32_t sizes[WORKERS_MAX], indexes[SAMPLES];
    uint32_t histogram[WORKERS_MAX][LABELS];
};

static struct dealt *deal(const struct shard_settings *settings, int workers)
{
    static struct dealt dealt;
    const struct shard_rule rule = rule_of(settings, workers);
    dealt = (struct dealt){.sizes = {0}};
    shards_deal(&rule, &balanced, dealt.sizes, dealt.indexes);
    uint32_t next = 0;
    for (int w = 0; w < workers; w++)
        for (uint32_t i = 0; i < dealt.sizes[w]; i++)
            dealt.histogram[w][labels[dealt.indexes[next++]]]++;
    assert_int_equal(next, SAMPLES);
    return &dealt;
}

/* The mean over workers of how far their labels are from all labels' shares: half the sum of differences, 0 (alike) to 0.9. */
static double skew(const struct dealt *dealt, int workers)
{
    double sum = 0;
    for (int w = 0; w < workers; w++)
        for (int label = 0; label < LABELS; label++)
            sum += fabs((double)dealt->histogram[w][label] / dealt->sizes[w] - 1.0 / LABELS) / 2;
    return sum / workers;
}

static void every_sample_has_one_owner(void **state)
{
    (void)state;
    static const double alphas[] = {0.001, 0.1, 1, 1e6}, size_alphas[] = {0, 0.001, 0.5, 1e6};
    static const int worker_counts[] = {1, 2, 3, 7, WORKERS_MAX};
    for (size_t c = 0; c < COUNT(worker_counts); c++)
        for (size_t a = 0; a <= COUNT(alphas); a++)
            for (size_t s = 0; s < COUNT(size_alphas); s++) {
                const struct shard_settings settings = {.split = a < COUNT(alphas) ? SHARDS_DIRICHLET : SHARDS_IID,
                                                        .alpha = a < COUNT(alphas) ? alphas[a] : 0.5,
                                                        .size_alpha = size_alphas[s]};
                const int workers = worker_counts[c];
                const struct dealt *dealt = deal(&settings, workers);
                int owners[SAMPLES] = {0};
                for (int i = 0; i < SAMPLES; i++)
                    owners[dealt->indexes[i]]++;
                for (int i = 0; i < SAMPLES; i++)
                    assert_int_equal(owners[i], 1);
                for (int w = 0; w < workers; w++)
                    if (settings.size_alpha == 0)
                        assert_in_range(dealt->sizes[w], SAMPLES / workers, SAMPLES / workers + 1);
                    else
                        assert_in_range(dealt->sizes[w], 8, SAMPLES);
            }
}

/* Sizes do not depend on the labels' split, and what schemes are told is what is dealt. */
static void sizes_are_known_without_labels(void **state)
{
    (void)state;
    const struct shard_settings settings = {.split = SHARDS_DIRICHLET, .alpha = 0.01, .size_alpha = 0.7};
    const struct shard_rule rule = rule_of(&settings, 13);
    uint32_t sizes[13];
    shards_sizes(&rule, SAMPLES, sizes);
    assert_memory_equal(sizes, deal(&settings, 13)->sizes, sizeof(sizes));
}

/* Too few samples for a mini-batch each: all the same, and never none. */
static void scarce_samples_are_shared_equally(void **state)
{
    (void)state;
    const struct shard_settings settings = {.size_alpha = 0.001};
    const struct shard_rule rule = rule_of(&settings, 5);
    uint32_t sizes[5], sum = 0;
    shards_sizes(&rule, 5, sizes);
    for (int w = 0; w < 5; w++)
        assert_int_equal(sizes[w], 1);
    shards_sizes(&rule, 43, sizes);
    for (int w = 0; w < 5; w++)
        sum += sizes[w];
    assert_int_equal(sum, 43);
    assert_in_range(sizes[0], 8, 11);
}

static void skew_grows_as_alpha_falls(void **state)
{
    (void)state;
    static const double alphas[] = {1e6, 100, 10, 1, 0.3, 0.1, 0.01, 0.001};
    double before = 0;
    for (size_t a = 0; a < COUNT(alphas); a++) {
        const struct shard_settings settings = {.split = SHARDS_DIRICHLET, .alpha = alphas[a]};
        double found = skew(deal(&settings, 20), 20);
        if (!(found > before))
            fail_msg("alpha %g: skew %.3f, before it %.3f", alphas[a], found, before);
        before = found;
    }
    assert_true(before > 0.6); /* one label each would be 0.9, but several want the same, and some must take what is left */
    const struct shard_settings iid = {.split = SHARDS_IID};
    assert_true(skew(deal(&iid, 20), 20) < 0.08); /* chance alone: 300 samples of 10 labels */
    const struct shard_settings alike = {.split = SHARDS_DIRICHLET, .alpha = 1e6};
    assert_true(skew(deal(&alike, 20), 20) < 0.08);
}

/* alpha near 0, as many workers as labels, no more: with one label each they keep it, since each label lasts as long as a shard. */
static void the_smallest_alpha_gives_one_label(void **state)
{
    (void)state;
    const struct shard_settings settings = {.split = SHARDS_DIRICHLET, .alpha = 0.001};
    const struct dealt *dealt = deal(&settings, 2);
    for (int w = 0; w < 2; w++) { /* a shard is five labels large: five whole labels, one after the other */
        int whole = 0;
        for (int label = 0; label < LABELS; label++)
            whole += dealt->histogram[w][label] >= SAMPLES / LABELS / 2;
        assert_in_range(whole, 4, 6);
    }
}

static void gold(const char *what, const uint32_t *found, const uint32_t *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (found[i] != expected[i])
            fail_msg("%s, place %zu: found %u, expected %u", what, i, found[i], expected[i]);
}

/* The same on every machine: what studies rest on. */
static void shards_keep_their_samples(void **state)
{
    (void)state;
    static const struct dataset large = {.sample_count = 60000, .inputs = 1, .classes = 10};
    static uint32_t sizes[8], indexes[60000];
    const struct shard_settings iid = {.split = SHARDS_IID};
    const struct shard_rule rule = rule_of(&iid, 8);
    shards_deal(&rule, &large, sizes, indexes);
    gold("iid", indexes + 5 * 7500, (const uint32_t[]){541, 50531, 30554, 56723}, 4);
    uint32_t batch[4];
    dataset_batch(42, 5, 1000, indexes + 5 * 7500, 7500, 4, batch);
    gold("batch", batch, (const uint32_t[]){53413, 18747, 9062, 49535}, 4);
    const struct shard_settings skewed = {.split = SHARDS_DIRICHLET, .alpha = 0.3, .size_alpha = 2};
    const struct dealt *dealt = deal(&skewed, 5);
    gold("sizes", dealt->sizes, (const uint32_t[]){867, 1642, 731, 971, 1789}, 5);
    gold("labels of worker 0", dealt->histogram[0], (const uint32_t[]){1, 171, 271, 87, 159, 67, 71, 1, 31, 8}, 10);
    gold("samples", dealt->indexes, (const uint32_t[]){5684, 2133, 2151, 3744}, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_has_one_owner),         cmocka_unit_test(sizes_are_known_without_labels),
        cmocka_unit_test(scarce_samples_are_shared_equally),  cmocka_unit_test(skew_grows_as_alpha_falls),
        cmocka_unit_test(the_smallest_alpha_gives_one_label), cmocka_unit_test(shards_keep_their_samples),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
