/* dense_rows.c: the row-by-row arithmetic of dense layers; see dense_rows.h. */
#include "agents/dense_rows.h"

#include <string.h>

#include "base/detmath.h"

void dense_rows_scale_pixels(const uint8_t *pixels, size_t count, float *out)
{
    static const float scale = 1.0f / 255.0f;
    size_t i = 0;
    for (; i + 16 <= count; i += 16) /* a constant inner count is what lets -O2 use vectors */
        for (size_t j = 0; j < 16; j++)
            out[i + j] = scale * (float)pixels[i + j];
    for (; i < count; i++)
        out[i] = scale * (float)pixels[i];
}

void dense_rows_add_biases(float *out, const float *biases, int rows, int outputs)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < outputs; j++)
            out[(size_t)i * (size_t)outputs + (size_t)j] += biases[j];
}

void dense_rows_rectify(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = values[i] > 0.0f ? values[i] : 0.0f;
}

void dense_rows_mask(float *delta, const float *activation, size_t count)
{
    for (size_t i = 0; i < count; i++)
        delta[i] = activation[i] > 0.0f ? delta[i] : 0.0f;
}

void dense_rows_sum(const float *delta, int rows, int outputs, float *biases)
{
    memset(biases, 0, (size_t)outputs * sizeof(float));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < outputs; j++)
            biases[j] += delta[(size_t)i * (size_t)outputs + (size_t)j];
}

/* log(sum exp(score - top)) - (score[label] - top); exponentials (NULL: not wanted) receives the terms. */
static double cross_entropy(const float *scores, int classes, int label, double *exponentials, double *sum)
{
    float top = scores[0];
    for (int j = 1; j < classes; j++)
        top = scores[j] > top ? scores[j] : top;
    *sum = 0.0;
    for (int j = 0; j < classes; j++) {
        double difference = (double)scores[j] - (double)top;
        double exponential = difference < -700.0 ? 0.0 : detmath_exp(difference);
        if (exponentials)
            exponentials[j] = exponential;
        *sum += exponential;
    }
    return detmath_log(*sum) - ((double)scores[label] - (double)top);
}

double dense_rows_loss(const float *scores, int classes, int label)
{
    double sum;
    return cross_entropy(scores, classes, label, NULL, &sum);
}

double dense_rows_loss_delta(const float *scores, int classes, int label, int rows, float *delta)
{
    double exponentials[DENSE_CLASSES_MAX], sum;
    const double loss = cross_entropy(scores, classes, label, exponentials, &sum);
    for (int j = 0; j < classes; j++)
        delta[j] = (float)((exponentials[j] / sum - (j == label ? 1.0 : 0.0)) / (double)rows);
    return loss;
}
