/* agents/schemes/polydot_code.h: a polynomial code for matrix products: both factors are cut into blocks, each worker multiplies
 * one encoded block of either, and any K of their products give the whole product.
 *
 * Source: S. Dutta, M. Fahim, F. Haddadpour, H. Jeong, V. Cadambe, P. Grover, "On the optimal recovery threshold of coded matrix
 * multiplication", IEEE Transactions on Information Theory 2020 (PolyDot); S. Dutta, Z. Bai, H. Jeong, T. M. Low, P. Grover, "A
 * unified coded deep neural network training strategy based on generalized PolyDot codes", ISIT 2018. The exponents below are
 * derived here; that they can be decoded from K products, any K, is what tests/unit/test_polydot_code.c shows.
 *
 * A is cut into m x p blocks A_ik, B into p x n blocks B_kj; C_ij = sum over k of A_ik B_kj. At worker w's point x:
 *
 *     A(x) = sum A_ik x^(p i + k)        B(x) = sum B_kj x^(p - 1 - k + p m j)
 *
 * In A(x) B(x) the pair (A_ik, B_k'j) has exponent p i + p m j + p - 1 + (k - k'). For k = k' that is e_ij = p i + p m j + p - 1,
 * whose coefficient thus holds C_ij, and nothing else: k - k' is less than p either way, and the e_ij are p apart. The degree is p
 * m n + p - 2, so
 *
 *     K = p m n + p - 1
 *
 * values give all coefficients, by Lagrange's polynomials. Example, m = n = 1, p = 2: A(x) = A_0 + A_1 x, B(x) = B_0 x + B_1,
 * product A_0 B_1 + (A_0 B_0 + A_1 B_1) x + A_1 B_0 x^2: K = 3, and the middle coefficient is C.
 *
 * Matrices that the cuts do not divide are filled up with zeros. Points are Chebyshev's, cos((2 w + 1) pi / (2 N)). Encoding and
 * decoding sum in double and round to float32 once; a worker's rounding comes back from decoding up to polydot_amplification()
 * times larger. */
#ifndef LAGGARD_AGENTS_SCHEMES_POLYDOT_CODE_H
#define LAGGARD_AGENTS_SCHEMES_POLYDOT_CODE_H

#include <stdbool.h>
#include <stddef.h>

enum { POLYDOT_THRESHOLD_MAX = 11 };
struct polydot_code {
    int m, n, p;
};
int polydot_threshold(struct polydot_code code);
double polydot_point(int workers, int worker); /* never 0 twice: all differ */

/* A matrix, or its transpose, where it lies. */
struct polydot_view {
    const float *values;
    int rows, columns;
    size_t row_stride, column_stride; /* floats */
};
struct polydot_view polydot_view_of(const float *values, int rows, int columns); /* row-major, contiguous */
struct polydot_view polydot_transposed(struct polydot_view view);

/* Rows or columns of one of `cuts` blocks. */
int polydot_share(int whole, int cuts);
void polydot_encode_left(struct polydot_code code, struct polydot_view left, double point, float *out);
void polydot_encode_right(struct polydot_code code, struct polydot_view right, double point, float *out);

/* weights[i + m j][w]: what the product that was computed at points[w] counts for in C_ij. */
struct polydot_decoder {
    double weights[POLYDOT_THRESHOLD_MAX][POLYDOT_THRESHOLD_MAX];
};
void polydot_decoder_init(struct polydot_decoder *decoder, struct polydot_code code, const double *points);
/* out (rows x columns, contiguous) from K products, in the order of the points. */
void polydot_decode(const struct polydot_decoder *decoder, struct polydot_code code, const float *const *products, int rows,
                    int columns, float *out);

/* How much larger the workers' rounding errors may become at most, over all runs of K neighbouring points among `workers`: the
 * worst sum of |weights|. */
double polydot_amplification(struct polydot_code code, int workers);

#endif
