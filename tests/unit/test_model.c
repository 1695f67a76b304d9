/* test_model.c: gradients against central differences of a reference written in double, and training on data that can be learnt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <math.h>
#include <string.h>

#include "agents/dataset.h"
#include "agents/model.h"
#include "agents/model_internal.h"
#include "base/arena.h"
#include "base/err.h"

enum { SAMPLES = 300, INPUTS = 784, CLASSES = 10, BATCH = 7 };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct workload_settings workloads[] = {
    {.model = MODEL_SOFTMAX},
    {.model = MODEL_MLP, .layers = {12}, .layer_count = 1},
    {.model = MODEL_MLP, .layers = {9, 6}, .layer_count = 2},
};

/* Ten classes, each bright in its own 78 pixels, over noise: separable by one layer. */
static struct dataset make_data(struct arena *arena)
{
    uint8_t *pixels = arena_calloc(arena, SAMPLES, INPUTS), *labels = arena_alloc(arena, SAMPLES);
    struct rng rng = rng_stream(3, 0, 0, RNG_BATCH);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        labels[i] = (uint8_t)rng_below(&rng, CLASSES);
        for (uint32_t j = 0; j < INPUTS; j++)
            pixels[i * INPUTS + j] = (uint8_t)(rng_below(&rng, 100) + (j / 78 == labels[i] ? 120 : 0));
    }
    return (struct dataset){.sample_count = SAMPLES, .inputs = INPUTS, .classes = CLASSES, .pixels = pixels, .labels = labels};
}

struct fixture {
    struct arena *arena;
    const struct dataset *data;
    struct model *model;
    size_t count;
    float *parameters, *gradient;
    uint32_t batch[BATCH];
};

static struct fixture set_up(const struct workload_settings *workload)
{
    struct fixture fixture = {.arena = arena_new()};
    struct err err;
    struct dataset data = make_data(fixture.arena);
    fixture.data = arena_copy(fixture.arena, &data, sizeof(data));
    fixture.model = model_new(workload, fixture.data, BATCH, fixture.arena, &err);
    assert_non_null(fixture.model);
    fixture.count = fixture.model->parameter_count;
    fixture.parameters = arena_new_array(fixture.arena, float, fixture.count);
    fixture.gradient = arena_new_array(fixture.arena, float, fixture.count);
    struct rng rng = rng_stream(5, 0, 0, RNG_MODEL);
    model_initialise(fixture.model, &rng, fixture.parameters);
    for (uint32_t i = 0; i < BATCH; i++)
        fixture.batch[i] = 41 * i % SAMPLES;
    return fixture;
}

/* The same model once more, in double and without matrices. *kink receives the smallest distance of a hidden unit from its kink. */
static double reference_loss(const struct workload_settings *workload, const struct dataset *data, const double *parameters,
                             const uint32_t *indexes, uint32_t count, double *kink, uint32_t *right)
{
    double loss = 0, value[INPUTS], next[INPUTS];
    for (uint32_t s = 0; s < count; s++) {
        const double *layer = parameters;
        int inputs = INPUTS, hidden = workload->model == MODEL_MLP ? workload->layer_count : 0;
        for (int j = 0; j < INPUTS; j++)
            value[j] = data->pixels[(size_t)indexes[s] * INPUTS + (size_t)j] / 255.0;
        for (int l = 0; l <= hidden; l++) {
            int outputs = l < hidden ? workload->layers[l] : CLASSES;
            for (int o = 0; o < outputs; o++) {
                double sum = layer[inputs * outputs + o];
                for (int j = 0; j < inputs; j++)
                    sum += layer[o * inputs + j] * value[j];
                if (l < hidden) {
                    *kink = fmin(*kink, fabs(sum));
                    sum = fmax(sum, 0);
                }
                next[o] = sum;
            }
            layer += (inputs + 1) * outputs;
            memcpy(value, next, (size_t)outputs * sizeof(double));
            inputs = outputs;
        }
        int label = data->labels[indexes[s]], best = 0;
        double sum = 0;
        for (int j = 0; j < CLASSES; j++) {
            sum += exp(value[j]);
            best = value[j] > value[best] ? j : best;
        }
        *right += best == label;
        loss += log(sum) - value[label];
    }
    return loss / count;
}

static void parameter_counts_are_known(void **state)
{
    (void)state;
    struct workload_settings workload = {.model = MODEL_MLP, .layers = {128}, .layer_count = 1};
    assert_int_equal(model_parameter_count_of(&workload), 101770);
    workload.model = MODEL_SOFTMAX;
    assert_int_equal(model_parameter_count_of(&workload), 7850);
    workload = (struct workload_settings){.model = MODEL_MLP, .layers = {300, 100}, .layer_count = 2};
    assert_int_equal(model_parameter_count_of(&workload), 266610); /* LeCun's 784-300-100-10 */
    workload = (struct workload_settings){.model = MODEL_SYNTHETIC, .size_bytes = 25 << 20};
    assert_int_equal(model_parameter_count_of(&workload), 25 << 18);
    for (size_t w = 0; w < COUNT(workloads); w++) {
        struct fixture fixture = set_up(&workloads[w]);
        assert_int_equal(fixture.count, model_parameter_count_of(&workloads[w]));
        arena_free(fixture.arena);
    }
}

static void what_cannot_be_a_model_is_refused(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct err err = {0};
    struct dataset data = make_data(arena);
    struct workload_settings workload = workloads[1];
    assert_null(model_new(&workload, NULL, BATCH, arena, &err));
    assert_string_equal(err.text, "model mlp needs a data set");
    assert_int_equal(err.kind, ERR_USAGE);
    assert_null(model_new(&workload, &data, 0, arena, &err));
    workload.layers[0] = 0;
    assert_null(model_new(&workload, &data, BATCH, arena, &err));
    assert_string_equal(err.text, "model mlp: hidden layer 0 has width 0, at least 1 is needed");
    data.inputs = 100;
    assert_null(model_new(&workloads[0], &data, BATCH, arena, &err));
    workload = (struct workload_settings){.model = MODEL_SYNTHETIC, .size_bytes = 6};
    assert_null(model_new(&workload, NULL, BATCH, arena, &err));
    assert_null(model_new(&workload, NULL, BATCH, arena, NULL));
    arena_free(arena);
}

static void the_synthetic_model_is_a_vector_in_one_part(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct workload_settings workload = {.model = MODEL_SYNTHETIC, .size_bytes = 40};
    struct model *model = model_new(&workload, NULL, 1, arena, NULL);
    float parameters[10] = {1, 2, 3};
    size_t first, count;
    double loss, accuracy;
    struct rng rng = rng_stream(1, 0, 0, RNG_MODEL);
    assert_int_equal(model_part_count(model), 1);
    model_part(model, 0, &first, &count);
    assert_true(first == 0 && count == 10);
    model_initialise(model, &rng, parameters);
    for (int i = 0; i < 10; i++)
        assert_true(parameters[i] == 0);
    model_evaluate(model, parameters, NULL, &loss, &accuracy);
    assert_true(isnan(loss) && isnan(accuracy));
    arena_free(arena);
}

static void initial_weights_are_glorot_uniform(void **state)
{
    (void)state;
    struct workload_settings workload = {.model = MODEL_MLP, .layers = {128}, .layer_count = 1};
    struct fixture fixture = set_up(&workload);
    double limit = sqrt(6.0 / (784 + 128)), squares = 0, largest = 0;
    size_t weights = 784 * 128;
    for (size_t i = 0; i < weights; i++) {
        squares += fixture.parameters[i] * fixture.parameters[i];
        largest = fmax(largest, fabs(fixture.parameters[i]));
    }
    assert_true(largest <= limit && largest > 0.999 * limit);
    assert_true(fabs(squares / (double)weights / (limit * limit / 3) - 1) < 0.02);
    for (size_t i = 0; i < 128; i++)
        assert_true(fixture.parameters[weights + i] == 0);
    arena_free(fixture.arena);
}

static void zero_weights_lose_ln_10(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(workloads); w++) {
        struct fixture fixture = set_up(&workloads[w]);
        memset(fixture.parameters, 0, fixture.count * sizeof(float));
        double loss, accuracy;
        assert_true(fabs(model_gradient(fixture.model, fixture.parameters, fixture.batch, BATCH, fixture.gradient, NULL, NULL) -
                         log(10)) < 1e-14);
        model_evaluate(fixture.model, fixture.parameters, fixture.data, &loss, &accuracy);
        assert_true(fabs(loss - log(10)) < 1e-14);
        arena_free(fixture.arena);
    }
}

static void gradients_agree_with_central_differences(void **state)
{
    (void)state;
    const double step = 1e-5;
    for (size_t w = 0; w < COUNT(workloads); w++)
        for (int samples = 1; samples <= BATCH; samples += 3) {
            struct fixture fixture = set_up(&workloads[w]);
            double *parameters = arena_new_array(fixture.arena, double, fixture.count), kink = INFINITY;
            uint32_t right = 0;
            size_t stride = fixture.count / 400 + 1;
            for (size_t i = 0; i < fixture.count; i++)
                parameters[i] = (double)fixture.parameters[i];
            double loss = model_gradient(fixture.model, fixture.parameters, fixture.batch, samples, fixture.gradient, NULL, NULL);
            double expected =
                reference_loss(&workloads[w], fixture.data, parameters, fixture.batch, (uint32_t)samples, &kink, &right);
            assert_true(fabs(loss - expected) < 1e-6);
            assert_true(kink > 10 * step); /* no hidden unit changes sides between the two looks */
            for (size_t n = 0; n < fixture.count; n += n + 150 < fixture.count ? stride : 1) { /* and all of the last layers */
                double here = parameters[n];
                parameters[n] = here + step;
                double above =
                    reference_loss(&workloads[w], fixture.data, parameters, fixture.batch, (uint32_t)samples, &kink, &right);
                parameters[n] = here - step;
                double below =
                    reference_loss(&workloads[w], fixture.data, parameters, fixture.batch, (uint32_t)samples, &kink, &right);
                parameters[n] = here;
                double slope = (above - below) / (2 * step);
                if (!(fabs((double)fixture.gradient[n] - slope) < 2e-6 + 1e-4 * fabs(slope)))
                    fail_msg("model %zu, parameter %zu: gradient %g, central difference %g", w, n, (double)fixture.gradient[n],
                             slope);
            }
            arena_free(fixture.arena);
        }
}

static void evaluation_agrees_with_the_reference(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(workloads); w++) {
        struct fixture fixture = set_up(&workloads[w]);
        double *parameters = arena_new_array(fixture.arena, double, fixture.count), kink = INFINITY, loss, accuracy;
        uint32_t indexes[SAMPLES], right = 0;
        for (size_t i = 0; i < fixture.count; i++)
            parameters[i] = (double)fixture.parameters[i];
        for (uint32_t i = 0; i < SAMPLES; i++)
            indexes[i] = i;
        double expected = reference_loss(&workloads[w], fixture.data, parameters, indexes, SAMPLES, &kink, &right);
        model_evaluate(fixture.model, fixture.parameters, fixture.data, &loss, &accuracy);
        assert_true(fabs(loss - expected) < 1e-6);
        assert_true(fabs(accuracy - right / (double)SAMPLES) < 1e-12);
        arena_free(fixture.arena);
    }
}

struct announcements {
    const struct fixture *fixture;
    float *copy; /* of each part when it was announced */
    int count;
};

static void note_part(void *context, int part)
{
    struct announcements *seen = context;
    size_t first, count;
    assert_int_equal(part, seen->count++);
    model_part(seen->fixture->model, part, &first, &count);
    memcpy(seen->copy + first, seen->fixture->gradient + first, count * sizeof(float));
}

static void parts_cover_everything_once_and_are_final(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(workloads); w++) {
        struct fixture fixture = set_up(&workloads[w]);
        struct announcements seen = {.fixture = &fixture, .copy = arena_new_array(fixture.arena, float, fixture.count)};
        size_t end = fixture.count;
        int parts = model_part_count(fixture.model);
        assert_int_equal(parts, workloads[w].layer_count + 1);
        for (int part = 0; part < parts; part++) { /* from the back, without gap or overlap */
            size_t first, count;
            model_part(fixture.model, part, &first, &count);
            assert_int_equal(first + count, end);
            end = first;
        }
        assert_int_equal(end, 0);
        for (size_t i = 0; i < fixture.count; i++)
            seen.copy[i] = fixture.gradient[i] = NAN; /* the old content must not matter */
        model_gradient(fixture.model, fixture.parameters, fixture.batch, BATCH, fixture.gradient, note_part, &seen);
        assert_int_equal(seen.count, parts);
        assert_memory_equal(seen.copy, fixture.gradient, fixture.count * sizeof(float));
        for (size_t i = 0; i < fixture.count; i++)
            assert_true(isfinite(fixture.gradient[i]));
        arena_free(fixture.arena);
    }
}

/* FNV-1a, 64 bits */
static uint64_t hash(const void *bytes, size_t length)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        value = (value ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return value;
}

/* The virtual world promises the same digest on every machine: these bits must never change. */
static void naive_gradients_keep_their_bits(void **state)
{
    (void)state;
    static const uint64_t known[COUNT(workloads)] = {UINT64_C(0x40d171c65b19c73d), UINT64_C(0xe1260bc990b03084),
                                                     UINT64_C(0x52db80017109ff5a)};
    assert_string_equal(blas_description(), "naive kernel");
    for (size_t w = 0; w < COUNT(workloads); w++) {
        struct fixture fixture = set_up(&workloads[w]);
        for (int i = 0; i < 3; i++) {
            model_gradient(fixture.model, fixture.parameters, fixture.batch, BATCH, fixture.gradient, NULL, NULL);
            for (size_t j = 0; j < fixture.count; j++)
                fixture.parameters[j] -= 0.5f * fixture.gradient[j];
        }
        if (hash(fixture.parameters, fixture.count * sizeof(float)) != known[w])
            fail_msg("model %zu: found 0x%016llx", w, (unsigned long long)hash(fixture.parameters, fixture.count * sizeof(float)));
        arena_free(fixture.arena);
    }
}

static void gradients_allocate_nothing(void **state)
{
    (void)state;
    struct fixture fixture = set_up(&workloads[2]);
    size_t before = mallinfo2().uordblks;
    model_gradient(fixture.model, fixture.parameters, fixture.batch, BATCH, fixture.gradient, NULL, NULL);
    assert_int_equal(mallinfo2().uordblks, before);
    arena_free(fixture.arena);
}

static void training_learns_what_can_be_learnt(void **state)
{
    (void)state;
    for (size_t w = 0; w < 2; w++) {
        struct fixture fixture = set_up(&workloads[w]);
        struct rng rng = rng_stream(8, 0, 0, RNG_BATCH);
        double loss, accuracy;
        for (int step = 0; step < 200; step++) {
            for (int i = 0; i < BATCH; i++)
                fixture.batch[i] = rng_below(&rng, SAMPLES);
            model_gradient(fixture.model, fixture.parameters, fixture.batch, BATCH, fixture.gradient, NULL, NULL);
            for (size_t i = 0; i < fixture.count; i++)
                fixture.parameters[i] -= 0.05f * fixture.gradient[i];
        }
        model_evaluate(fixture.model, fixture.parameters, fixture.data, &loss, &accuracy);
        assert_true(accuracy > 0.95);
        assert_true(loss < 0.5);
        arena_free(fixture.arena);
    }
}

/* From here on OpenBLAS is in use: this test comes last. */
static void both_kernels_give_the_same_model(void **state)
{
    const char *description = NULL;
    struct err err = {0};
    if (blas_load(&description, &err) < 0)
        fail_msg("%s", err.text);
    gradients_agree_with_central_differences(state);
    evaluation_agrees_with_the_reference(state);
    parts_cover_everything_once_and_are_final(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameter_counts_are_known),
        cmocka_unit_test(what_cannot_be_a_model_is_refused),
        cmocka_unit_test(the_synthetic_model_is_a_vector_in_one_part),
        cmocka_unit_test(initial_weights_are_glorot_uniform),
        cmocka_unit_test(zero_weights_lose_ln_10),
        cmocka_unit_test(gradients_agree_with_central_differences),
        cmocka_unit_test(evaluation_agrees_with_the_reference),
        cmocka_unit_test(parts_cover_everything_once_and_are_final),
        cmocka_unit_test(naive_gradients_keep_their_bits),
        cmocka_unit_test(gradients_allocate_nothing),
        cmocka_unit_test(training_learns_what_can_be_learnt),
        cmocka_unit_test(both_kernels_give_the_same_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
