/* polydot_code.c: see polydot_code.h. */
#include "agents/schemes/polydot_code.h"

#include <math.h>

#include "base/detmath.h"

enum { CHUNK = 256 }; /* columns that are summed up at a time */

int polydot_threshold(struct polydot_code code)
{
    return code.p * code.m * code.n + code.p - 1;
}

double polydot_point(int workers, int worker)
{
    return detmath_cos_turns((2.0 * worker + 1.0) / (4.0 * workers));
}

struct polydot_view polydot_view_of(const float *values, int rows, int columns)
{
    return (struct polydot_view){
        .values = values, .rows = rows, .columns = columns, .row_stride = (size_t)columns, .column_stride = 1};
}

struct polydot_view polydot_transposed(struct polydot_view view)
{
    return (struct polydot_view){.values = view.values,
                                 .rows = view.columns,
                                 .columns = view.rows,
                                 .row_stride = view.column_stride,
                                 .column_stride = view.row_stride};
}

int polydot_share(int whole, int cuts)
{
    return (whole + cuts - 1) / cuts;
}

static double power(double base, int exponent)
{
    double result = 1;
    for (int i = 0; i < exponent; i++)
        result *= base;
    return result;
}

/* How one factor is cut: block (a, b) has the exponent first + down a + across b. */
struct cut {
    int rows, columns; /* blocks */
    int first, down, across;
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void encode(struct polydot_view view, struct cut cut, double point, float *out)
{
    const int rows = polydot_share(view.rows, cut.rows), columns = polydot_share(view.columns, cut.columns);
    double coefficients[POLYDOT_THRESHOLD_MAX][POLYDOT_THRESHOLD_MAX], sums[CHUNK];
    for (int a = 0; a < cut.rows; a++)
        for (int b = 0; b < cut.columns; b++)
            coefficients[a][b] = power(point, cut.first + cut.down * a + cut.across * b);
    for (int row = 0; row < rows; row++)
        for (int begin = 0; begin < columns; begin += CHUNK) {
            const int width = smaller(CHUNK, columns - begin);
            for (int i = 0; i < width; i++)
                sums[i] = 0;
            for (int a = 0; a < cut.rows && a * rows + row < view.rows; a++)
                for (int b = 0; b < cut.columns; b++) {
                    const int column = b * columns + begin, there = smaller(width, view.columns - column);
                    const float *from =
                        view.values + (size_t)(a * rows + row) * view.row_stride + (size_t)column * view.column_stride;
                    for (int i = 0; i < there; i++)
                        sums[i] += coefficients[a][b] * (double)from[(size_t)i * view.column_stride];
                }
            for (int i = 0; i < width; i++)
                out[(size_t)row * (size_t)columns + (size_t)(begin + i)] = (float)sums[i];
        }
}

void polydot_encode_left(struct polydot_code code, struct polydot_view left, double point, float *out)
{
    encode(left, (struct cut){.rows = code.m, .columns = code.p, .down = code.p, .across = 1}, point, out);
}

void polydot_encode_right(struct polydot_code code, struct polydot_view right, double point, float *out)
{
    const struct cut cut = {.rows = code.p, .columns = code.n, .first = code.p - 1, .down = -1, .across = code.p * code.m};
    encode(right, cut, point, out);
}

/* The coefficients of the polynomial of degree K - 1 that is 1 at points[which] and 0 at the others. */
static void lagrange(const double *points, int count, int which, double *coefficients)
{
    int degree = 0;
    coefficients[0] = 1;
    for (int other = 0; other < count; other++) {
        if (other == which)
            continue;
        const double distance = points[which] - points[other];
        coefficients[degree + 1] = 0;
        for (int i = ++degree; i > 0; i--)
            coefficients[i] = (coefficients[i - 1] - points[other] * coefficients[i]) / distance;
        coefficients[0] = -points[other] * coefficients[0] / distance;
    }
}

void polydot_decoder_init(struct polydot_decoder *decoder, struct polydot_code code, const double *points)
{
    const int count = polydot_threshold(code);
    for (int w = 0; w < count; w++) {
        double coefficients[POLYDOT_THRESHOLD_MAX];
        lagrange(points, count, w, coefficients);
        for (int block = 0; block < code.m * code.n; block++)
            decoder->weights[block][w] = coefficients[code.p * block + code.p - 1];
    }
}

void polydot_decode(const struct polydot_decoder *decoder, struct polydot_code code, const float *const *products, int rows,
                    int columns, float *out)
{
    const int count = polydot_threshold(code), block_rows = polydot_share(rows, code.m);
    const int block_columns = polydot_share(columns, code.n);
    double sums[CHUNK];
    for (int row = 0; row < rows; row++)
        for (int begin = 0, width; begin < columns; begin += width) {
            const int j = begin / block_columns, within = begin - j * block_columns;
            const double *weights = decoder->weights[row / block_rows + code.m * j];
            const size_t place = (size_t)(row % block_rows) * (size_t)block_columns + (size_t)within;
            width = smaller(smaller(CHUNK, columns - begin), block_columns - within);
            for (int i = 0; i < width; i++)
                sums[i] = 0;
            for (int w = 0; w < count; w++)
                for (int i = 0; i < width; i++)
                    sums[i] += weights[w] * (double)products[w][place + (size_t)i];
            for (int i = 0; i < width; i++)
                out[(size_t)row * (size_t)columns + (size_t)(begin + i)] = (float)sums[i];
        }
}

double polydot_amplification(struct polydot_code code, int workers)
{
    const int count = polydot_threshold(code);
    double worst = 0, points[POLYDOT_THRESHOLD_MAX];
    struct polydot_decoder decoder;
    for (int first = 0; first + count <= workers; first++) {
        for (int w = 0; w < count; w++)
            points[w] = polydot_point(workers, first + w);
        polydot_decoder_init(&decoder, code, points);
        for (int block = 0; block < code.m * code.n; block++) {
            double sum = 0;
            for (int w = 0; w < count; w++)
                sum += fabs(decoder.weights[block][w]);
            worst = fmax(worst, sum);
        }
    }
    return worst;
}
