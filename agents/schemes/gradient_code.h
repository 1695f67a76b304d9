/* agents/schemes/gradient_code.h: the cyclic code of `gradient-coding`: which combination of partitions' gradients each worker
 * sends, and which combination of what came is the sum of all. */
#ifndef LAGGARD_AGENTS_SCHEMES_GRADIENT_CODE_H
#define LAGGARD_AGENTS_SCHEMES_GRADIENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GRADIENT_CODE_STRAGGLERS_MAX = 16 };

struct gradient_code {
    int workers, stragglers;
    /* Worker i sends the sum over j of weights[i (stragglers + 1) + j] times the gradient of partition (i + j) mod workers. */
    const double *weights;
    const double *whole, *nothing; /* workers numbers; a row of as many for each straggler: see gradient_code.c */
    double amplification;          /* the largest found over sets of stragglers */
};

/* The best of many seeded codes: 1 <= stragglers <= GRADIENT_CODE_STRAGGLERS_MAX, stragglers < workers. `numbers` has room for
 * gradient_code_numbers(), scratch memory is taken from the heap. false: there is no memory, or no code that can be decoded. */
bool gradient_code_choose(int workers, int stragglers, double *numbers);
size_t gradient_code_numbers(int workers, int stragglers);
/* The code that is written in `numbers`, which must live as long. */
struct gradient_code gradient_code_of(int workers, int stragglers, const double *numbers);

/* Coefficients, one a worker, 0 for who is not present, of the sum of all partitions; exactly `stragglers` workers are not present.
 * Returns the amplification for this set; INFINITY: it cannot be decoded. */
double gradient_code_decode(const struct gradient_code *code, const bool *present, double *coefficients);

#endif
