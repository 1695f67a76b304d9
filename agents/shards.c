/* shards.c: deals the training samples out to workers; see shards.h.
 *
 * Theory of operation. The trial's seed permutes all samples. Sizes are fixed first: equal, they differ by at most one; unequal,
 * each worker has `least` and the rest is divided by a draw from a symmetric Dirichlet distribution with concentration size_alpha.
 * Then workers take one sample each in turn until each has its number.
 *
 * iid: the next one of the permutation, whatever its label is.
 * dirichlet: worker w draws a distribution q_w over the c labels once, Dirichlet(alpha, ..., alpha), and at each turn a label from
 * it among those that are left; it takes the next sample of that label. So sizes are kept whatever alpha is, and no shard is empty.
 * A label that has run out leaves the others in proportion: the last turns are a little more alike than the first.
 *
 * Source of the skew: T.-M. H. Hsu, H. Qi, M. Brown, "Measuring the effects of non-identical data distribution for federated visual
 * classification", 2019. There the concentration is alpha times the labels' shares, here alpha for each label: theirs is c times
 * ours.
 *
 * A Dirichlet draw is c gamma draws over their sum. With small alpha these are below what a double holds (half of the draws with
 * alpha 0.001 are below 1e-301): logarithms are kept, and the largest is taken as 1. Then the smallest alpha gives each worker one
 * label, until that has run out.
 *
 * Example, 6 samples with labels 0 0 0 1 1 1, two workers, alpha near 0, q_0 = (1, 0), q_1 = (0, 1): 000 and 111. With q_1 = (1,
 * 0), too, both take zeros in turn, 0 0 and 0, until there are none; then the rest. */
#include "agents/shards.h"

#include <assert.h>

#include "agents/dataset.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/detmath.h"
#include "base/rng.h"

enum { LABELS_MAX = UINT8_MAX + 1 };
/* What the seed is asked for, in the place of the cell in a stream's key. */
enum { STREAM_ORDER, STREAM_SIZES, STREAM_SKEW, STREAM_LABELS };

uint32_t shards_standard_samples(enum dataset_kind kind)
{
    static const uint32_t samples[DATASET_COUNT] = {[DATASET_FASHION_MNIST] = 60000};
    return samples[kind];
}

/* ---- Dirichlet ---- */

/* Logarithms of what a Dirichlet draw's parts are proportional to. */
static void draw_logarithms(struct rng *rng, double alpha, int count, double *logarithms)
{
    for (int i = 0; i < count; i++)
        logarithms[i] = rng_log_gamma(rng, alpha);
}

/* Weights whose largest is 1; those that `left` has none of are 0 (NULL: none has run out). Returns their sum. */
static double weigh(const double *logarithms, const uint32_t *left, int count, double *weights)
{
    double largest = 0, sum = 0;
    bool any = false;
    for (int i = 0; i < count; i++)
        if ((!left || left[i] > 0) && (!any || logarithms[i] > largest)) {
            largest = logarithms[i];
            any = true;
        }
    for (int i = 0; i < count; i++) {
        double below = logarithms[i] - largest;
        weights[i] = (left && left[i] == 0) || below < -700 ? 0 : detmath_exp(below);
        sum += weights[i];
    }
    return sum;
}

/* ---- sizes ---- */

void shards_sizes(const struct shard_rule *rule, uint32_t sample_count, uint32_t *sizes)
{
    const uint32_t workers = (uint32_t)rule->workers, share = sample_count / workers;
    assert(share > 0);
    if (rule->settings->size_alpha == 0) {
        for (uint32_t w = 0; w < workers; w++)
            sizes[w] = share + (w < sample_count % workers);
        return;
    }
    cleanup(arena_cleanup) struct arena *scratch = arena_new();
    double *logarithms = arena_new_array(scratch, double, workers), *weights = arena_new_array(scratch, double, workers);
    struct rng rng = rng_stream(rule->seed, STREAM_SIZES, RNG_ALL_NODES, RNG_SHARD);
    draw_logarithms(&rng, rule->settings->size_alpha, rule->workers, logarithms);
    const double sum = weigh(logarithms, NULL, rule->workers, weights);
    const uint32_t least = rule->least < 1 ? 1 : rule->least < share ? rule->least : share, rest = sample_count - least * workers;
    double so_far = 0;
    uint32_t given = 0;
    for (uint32_t w = 0; w < workers; w++) { /* rounded where they add up, so that nothing is left over */
        so_far += weights[w];
        double end = w == workers - 1 ? rest : (double)rest * (so_far / sum);
        uint32_t until = end < rest ? (uint32_t)end : rest;
        sizes[w] = least + until - given;
        given = until;
    }
}

/* ---- dealing ---- */

static uint32_t *permutation(uint64_t seed, uint32_t count, struct arena *arena)
{
    uint32_t *order = arena_new_array(arena, uint32_t, count);
    struct rng rng = rng_stream(seed, STREAM_ORDER, RNG_ALL_NODES, RNG_SHARD);
    for (uint32_t i = 0; i < count; i++) { /* Fisher-Yates, inside out */
        uint32_t j = rng_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

/* The permutation, label by label, and what each worker wants of it. iid: one label that all have. */
struct pile {
    int labels;
    uint32_t *samples[LABELS_MAX], left[LABELS_MAX]; /* the next ones of each label */
    double *logarithms, *weights;                    /* workers x labels */
    double *sums;                                    /* of a worker's weights */
    struct rng rng;
};

static void weigh_all(struct pile *pile, int workers)
{
    for (int w = 0; w < workers; w++)
        pile->sums[w] = weigh(pile->logarithms + w * pile->labels, pile->left, pile->labels, pile->weights + w * pile->labels);
}

static void pile_up(struct pile *pile, const struct shard_rule *rule, const struct dataset *dataset, struct arena *arena)
{
    const uint32_t count = dataset->sample_count;
    uint32_t *order = permutation(rule->seed, count, arena);
    pile->labels = 1;
    pile->samples[0] = order;
    pile->left[0] = count;
    if (rule->settings->split == SHARDS_IID)
        return;
    pile->labels = (int)dataset->classes;
    for (int label = 0; label < pile->labels; label++) {
        pile->samples[label] = arena_new_array(arena, uint32_t, count);
        pile->left[label] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        int label = dataset->labels[order[i]];
        pile->samples[label][pile->left[label]++] = order[i];
    }
    const size_t entries = (size_t)rule->workers * (size_t)pile->labels;
    pile->logarithms = arena_new_array(arena, double, entries);
    pile->weights = arena_new_array(arena, double, entries);
    pile->sums = arena_new_array(arena, double, (size_t)rule->workers);
    for (int w = 0; w < rule->workers; w++) {
        struct rng rng = rng_stream(rule->seed, STREAM_SKEW, (uint32_t)w, RNG_SHARD);
        draw_logarithms(&rng, rule->settings->alpha, pile->labels, pile->logarithms + w * pile->labels);
    }
    weigh_all(pile, rule->workers);
    pile->rng = rng_stream(rule->seed, STREAM_LABELS, RNG_ALL_NODES, RNG_SHARD);
}

static int draw_label(struct pile *pile, int worker)
{
    if (pile->labels == 1)
        return 0;
    const double *weights = pile->weights + worker * pile->labels;
    double place = rng_uniform(&pile->rng) * pile->sums[worker];
    int last = -1;
    for (int label = 0; label < pile->labels; label++) {
        if (weights[label] == 0)
            continue;
        last = label;
        if (place < weights[label])
            return label;
        place -= weights[label];
    }
    return last; /* rounding went beyond the last one */
}

static uint32_t take(struct pile *pile, const struct shard_rule *rule, int worker)
{
    int label = draw_label(pile, worker);
    uint32_t sample = *pile->samples[label]++;
    if (--pile->left[label] == 0 && pile->labels > 1)
        weigh_all(pile, rule->workers);
    return sample;
}

void shards_deal(const struct shard_rule *rule, const struct dataset *dataset, uint32_t *sizes, uint32_t *indexes)
{
    cleanup(arena_cleanup) struct arena *scratch = arena_new();
    struct pile *pile = arena_new_object(scratch, struct pile);
    uint32_t **next = arena_new_array(scratch, uint32_t *, (size_t)rule->workers);
    uint32_t **end = arena_new_array(scratch, uint32_t *, (size_t)rule->workers);
    int *open = arena_new_array(scratch, int, (size_t)rule->workers), open_count = rule->workers; /* in order */
    shards_sizes(rule, dataset->sample_count, sizes);
    pile_up(pile, rule, dataset, scratch);
    for (int w = 0; w < rule->workers; w++) {
        next[w] = indexes;
        end[w] = indexes += sizes[w];
        open[w] = w;
    }
    while (open_count > 0) {
        int kept = 0;
        for (int i = 0; i < open_count; i++) {
            int w = open[i];
            *next[w]++ = take(pile, rule, w);
            if (next[w] < end[w])
                open[kept++] = w;
        }
        open_count = kept;
    }
}
