/* agents/schemes/gradient_coding.h: the parameters of `gradient-coding`, for its row and for server_coding.c. */
#ifndef LAGGARD_AGENTS_SCHEMES_GRADIENT_CODING_H
#define LAGGARD_AGENTS_SCHEMES_GRADIENT_CODING_H

enum gradient_coding_parameter { GRADIENT_CODING_STRAGGLERS, GRADIENT_CODING_CODE, GRADIENT_CODING_CANCEL };
enum gradient_coding_code { GRADIENT_CODING_CYCLIC, GRADIENT_CODING_FRACTIONAL };
/* Of rounding errors, for a cyclic code: a gradient has two or three digits left then. */
enum { GRADIENT_CODING_AMPLIFICATION_MAX = 10000 };

#endif
