/* model_dense.c: stacks of dense layers with ReLU between them and softmax cross-entropy at the end. Without hidden layers this is
 * softmax regression, with them a multi-layer perceptron: two rows of the model table.
 *
 * Layer l maps activation[l] (batch x width[l]) to activation[l+1] = ReLU(activation[l] W^T + b); the last layer has no ReLU.
 * Backward, with delta = d loss / d (the layer's output before ReLU):
 *     last layer   delta = (softmax - one-hot) / batch
 *     each layer   dW = delta^T activation[l],  db = column sums of delta          -> this part of the gradient is final
 *     going down   delta = (delta W) where activation[l] > 0, else 0
 * What is no matrix product is dense_rows.h's. So with the naive kernel the results are the same bits on every machine. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "agents/dataset.h"
#include "agents/dense_rows.h"
#include "agents/model_internal.h"
#include "base/arena.h"
#include "base/err.h"

enum { WIDTHS_MAX = LAYERS_MAX + 2, EVALUATION_BATCH = 128 };

struct dense {
    struct model model;
    const struct dataset *dataset;
    int layer_count;               /* hidden layers + 1 */
    int width[WIDTHS_MAX];         /* inputs, hidden layers, classes */
    size_t offset[WIDTHS_MAX];     /* first parameter of layer l; the last entry is the parameter count */
    int capacity;                  /* rows of the work space */
    float *activation[WIDTHS_MAX]; /* capacity x width[l] */
    float *delta[2];               /* capacity x the widest layer, without the inputs */
};

/* The layers' widths with inputs and classes; hidden_count is 0 for softmax regression. */
static int plan_layers(const struct workload_settings *workload, int hidden_count, int width[WIDTHS_MAX], size_t offset[WIDTHS_MAX])
{
    uint32_t inputs, classes;
    dataset_dimensions(workload->dataset, &inputs, &classes);
    assert(hidden_count >= 0 && hidden_count <= LAYERS_MAX);
    width[0] = (int)inputs;
    for (int i = 0; i < hidden_count; i++)
        width[i + 1] = workload->layers[i];
    width[hidden_count + 1] = (int)classes;
    offset[0] = 0;
    for (int l = 0; l <= hidden_count; l++)
        offset[l + 1] = offset[l] + ((size_t)width[l] + 1) * (size_t)width[l + 1];
    return hidden_count + 1;
}

static size_t count_parameters(const struct workload_settings *workload, int hidden_count)
{
    int width[WIDTHS_MAX];
    size_t offset[WIDTHS_MAX];
    const int layers = plan_layers(workload, hidden_count, width, offset);
    return offset[layers];
}

static int matrices_of(const struct workload_settings *workload, int hidden_count, struct model_matrix *matrices)
{
    int width[WIDTHS_MAX];
    size_t offset[WIDTHS_MAX];
    const int layers = plan_layers(workload, hidden_count, width, offset);
    for (int l = 0; l < layers; l++)
        matrices[l] = (struct model_matrix){.first = offset[l], .rows = (size_t)width[l + 1], .columns = (size_t)width[l]};
    return layers;
}

static int create(const struct workload_settings *workload, int hidden_count, const struct dataset *dataset, int maximum_batch,
                  struct arena *arena, struct model **model, struct err *err)
{
    if (!dataset)
        return err_set(err, ERR_USAGE, "model %s needs a data set", model_names[workload->model]);
    if (maximum_batch < 1)
        return err_set(err, ERR_USAGE, "model %s: a batch has at least one sample, found %d", model_names[workload->model],
                       maximum_batch);
    for (int i = 0; i < hidden_count; i++)
        if (workload->layers[i] < 1)
            return err_set(err, ERR_USAGE, "model %s: hidden layer %d has width %d, at least 1 is needed",
                           model_names[workload->model], i, workload->layers[i]);
    struct dense *dense = arena_new_object(arena, struct dense);
    dense->dataset = dataset;
    dense->layer_count = plan_layers(workload, hidden_count, dense->width, dense->offset);
    if ((int)dataset->inputs != dense->width[0] || (int)dataset->classes != dense->width[dense->layer_count])
        return err_set(err, ERR_USAGE, "model %s needs %d inputs and %d classes, the data set has %u and %u",
                       model_names[workload->model], dense->width[0], dense->width[dense->layer_count], dataset->inputs,
                       dataset->classes);
    dense->capacity = maximum_batch > EVALUATION_BATCH ? maximum_batch : EVALUATION_BATCH;
    int widest = 0;
    for (int l = 0; l <= dense->layer_count; l++) {
        dense->activation[l] = arena_new_array(arena, float, (size_t)dense->capacity *(size_t)dense->width[l]);
        if (l > 0 && dense->width[l] > widest)
            widest = dense->width[l];
    }
    for (int i = 0; i < 2; i++)
        dense->delta[i] = arena_new_array(arena, float, (size_t)dense->capacity *(size_t)widest);
    dense->model.parameter_count = dense->offset[dense->layer_count];
    dense->model.part_count = dense->layer_count;
    *model = &dense->model;
    return 0;
}

static void part(const struct model *model, int part_index, size_t *first, size_t *count)
{
    const struct dense *dense = (const struct dense *)model;
    int layer = dense->layer_count - 1 - part_index;
    *first = dense->offset[layer];
    *count = dense->offset[layer + 1] - *first;
}

/* Uniform on +- sqrt(6 / (inputs + outputs)): Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
 * networks", AISTATS 2010, equation 16. */
static void initialise(const struct model *model, struct rng *rng, float *parameters)
{
    const struct dense *dense = (const struct dense *)model;
    for (int l = 0; l < dense->layer_count; l++) {
        size_t inputs = (size_t)dense->width[l], outputs = (size_t)dense->width[l + 1];
        double limit = sqrt(6.0 / (double)(inputs + outputs));
        float *weights = parameters + dense->offset[l];
        for (size_t i = 0; i < inputs * outputs; i++)
            weights[i] = (float)(limit * (2.0 * rng_uniform(rng) - 1.0));
        memset(weights + inputs * outputs, 0, outputs * sizeof(float));
    }
}

static void forward(struct dense *dense, const float *parameters, int count)
{
    for (int l = 0; l < dense->layer_count; l++) {
        int inputs = dense->width[l], outputs = dense->width[l + 1];
        const float *weights = parameters + dense->offset[l], *biases = weights + (size_t)inputs * (size_t)outputs;
        float *out = dense->activation[l + 1];
        for (int i = 0; i < count; i++)
            memcpy(out + (size_t)i * (size_t)outputs, biases, (size_t)outputs * sizeof(float));
        blas_sgemm(false, true, count, outputs, inputs, 1.0f, dense->activation[l], inputs, weights, inputs, 1.0f, out, outputs);
        if (l < dense->layer_count - 1)
            dense_rows_rectify(out, (size_t)count * (size_t)outputs);
    }
}

static void gather(struct dense *dense, const uint8_t *pixels, size_t row)
{
    const size_t inputs = (size_t)dense->width[0];
    dense_rows_scale_pixels(pixels, inputs, dense->activation[0] + row * inputs);
}

static void backward(struct dense *dense, const float *parameters, int count, float *gradient, void (*part_done)(void *, int),
                     void *context)
{
    float *delta = dense->delta[0], *below = dense->delta[1];
    for (int l = dense->layer_count - 1; l >= 0; l--) {
        int inputs = dense->width[l], outputs = dense->width[l + 1];
        float *weights = gradient + dense->offset[l], *biases = weights + (size_t)inputs * (size_t)outputs;
        blas_sgemm(true, false, outputs, inputs, count, 1.0f, delta, outputs, dense->activation[l], inputs, 0.0f, weights, inputs);
        dense_rows_sum(delta, count, outputs, biases);
        if (part_done)
            part_done(context, dense->layer_count - 1 - l);
        if (l == 0)
            break;
        blas_sgemm(false, false, count, inputs, outputs, 1.0f, delta, outputs, parameters + dense->offset[l], inputs, 0.0f, below,
                   inputs);
        dense_rows_mask(below, dense->activation[l], (size_t)count * (size_t)inputs);
        float *swap = delta;
        delta = below;
        below = swap;
    }
}

static double gradient_of(struct model *model, const float *parameters, const uint32_t *indexes, int count, float *gradient,
                          void (*part_done)(void *, int), void *context)
{
    struct dense *dense = (struct dense *)model;
    const struct dataset *dataset = dense->dataset;
    int classes = dense->width[dense->layer_count];
    double loss = 0.0;
    assert(count >= 1 && count <= dense->capacity);
    for (int i = 0; i < count; i++)
        gather(dense, dataset->pixels + (size_t)indexes[i] * dataset->inputs, (size_t)i);
    forward(dense, parameters, count);
    for (int i = 0; i < count; i++) {
        const float *scores = dense->activation[dense->layer_count] + (size_t)i * (size_t)classes;
        float *delta = dense->delta[0] + (size_t)i * (size_t)classes;
        const int label = dataset->labels[indexes[i]];
        loss += dense_rows_loss_delta(scores, classes, model->turned_labels ? classes - 1 - label : label, count, delta);
    }
    backward(dense, parameters, count, gradient, part_done, context);
    return loss / (double)count;
}

static void evaluate(struct model *model, const float *parameters, const struct dataset *dataset, double *loss, double *accuracy)
{
    struct dense *dense = (struct dense *)model;
    int classes = dense->width[dense->layer_count];
    double total = 0.0;
    uint32_t right = 0;
    for (uint32_t done = 0; done < dataset->sample_count;) {
        uint32_t left = dataset->sample_count - done;
        int count = left < EVALUATION_BATCH ? (int)left : EVALUATION_BATCH;
        for (int i = 0; i < count; i++)
            gather(dense, dataset->pixels + ((size_t)done + (size_t)i) * dataset->inputs, (size_t)i);
        forward(dense, parameters, count);
        for (int i = 0; i < count; i++) {
            const float *scores = dense->activation[dense->layer_count] + (size_t)i * (size_t)classes;
            int label = dataset->labels[done + (uint32_t)i], best = 0;
            for (int j = 1; j < classes; j++)
                best = scores[j] > scores[best] ? j : best;
            right += best == label;
            total += dense_rows_loss(scores, classes, label);
        }
        done += (uint32_t)count;
    }
    *loss = total / (double)dataset->sample_count;
    *accuracy = (double)right / (double)dataset->sample_count;
}

static size_t softmax_count(const struct workload_settings *workload)
{
    return count_parameters(workload, 0);
}

static int softmax_matrices(const struct workload_settings *workload, struct model_matrix *matrices)
{
    return matrices_of(workload, 0, matrices);
}

static int softmax_create(const struct workload_settings *workload, const struct dataset *dataset, int maximum_batch,
                          struct arena *arena, struct model **model, struct err *err)
{
    return create(workload, 0, dataset, maximum_batch, arena, model, err);
}

static size_t mlp_count(const struct workload_settings *workload)
{
    return count_parameters(workload, workload->layer_count);
}

static int mlp_matrices(const struct workload_settings *workload, struct model_matrix *matrices)
{
    return matrices_of(workload, workload->layer_count, matrices);
}

static int mlp_create(const struct workload_settings *workload, const struct dataset *dataset, int maximum_batch,
                      struct arena *arena, struct model **model, struct err *err)
{
    return create(workload, workload->layer_count, dataset, maximum_batch, arena, model, err);
}

const struct model_ops model_softmax_ops = {.parameter_count = softmax_count,
                                            .matrices = softmax_matrices,
                                            .create = softmax_create,
                                            .part = part,
                                            .initialise = initialise,
                                            .gradient = gradient_of,
                                            .evaluate = evaluate};
const struct model_ops model_mlp_ops = {.parameter_count = mlp_count,
                                        .matrices = mlp_matrices,
                                        .create = mlp_create,
                                        .part = part,
                                        .initialise = initialise,
                                        .gradient = gradient_of,
                                        .evaluate = evaluate};
