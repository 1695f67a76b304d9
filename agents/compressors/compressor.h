/* agents/compressors/compressor.h: what makes a gradient smaller before it travels. Pure functions of bytes and floats: the caller
 * brings the memory, collectives (agents/collectives/) do the sending. Two forms:
 *
 *     message   a vector becomes bytes, whose number follows from the vector's length alone. Two of them cannot be added without
 *               taking them apart, so every worker's must reach every worker whole: encoded_allgather.c.
 *     factors   a matrix becomes two small ones that are sums wherever the matrices are: two all-reduces, by any algorithm
 *               (low_rank.h, low_rank_allreduce.c).
 *
 * A compressor is one file, one const struct compressor and one row of the table in compressor.c. */
#ifndef LAGGARD_AGENTS_COMPRESSORS_COMPRESSOR_H
#define LAGGARD_AGENTS_COMPRESSORS_COMPRESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct compressor;

/* What all nodes of a cell agree on. */
struct compression {
    const struct compressor *compressor; /* NULL: gradients travel as they are */
    double share;                        /* top-k: of the entries, those that are kept */
    int levels;                          /* qsgd: above zero */
    int rank;                            /* powersgd */
};

/* One vector to encode. */
struct compressor_input {
    const float *gradient;
    size_t count;
    float *residual; /* [count], zeros at first: what earlier rounds left unsent; NULL where the row has no feedback */
    uint64_t seed;   /* of this vector's random streams, one a step */
    uint64_t step;
};

struct compressor {
    const char *name, *source;
    bool factors;  /* the form; all below is of messages alone */
    bool feedback; /* keeps what it leaves out for the next round */
    /* Exact. */
    size_t (*encoded_bytes)(const struct compression *compression, size_t count);
    /* Writes encoded_bytes() bytes. Encodes gradient + residual where there is feedback, and leaves in `residual` what was left
     * out. What is not finite makes decoded values that are not finite either. */
    void (*encode)(const struct compression *compression, const struct compressor_input *input, uint8_t *bytes);
    /* Whether these bytes are a message for a vector of so many floats: ERR_TRIAL with what is wrong. */
    int (*check)(const struct compression *compression, size_t count, const uint8_t *bytes, size_t length, struct err *err);
    /* Of checked bytes: adds the values to sum[0 .. count), or, with `first`, writes them there. */
    void (*decode)(const struct compression *compression, size_t count, const uint8_t *bytes, bool first, float *sum);
    /* How often the whole vector could be added to another in the time that one of these takes, checking included. Of factors: what
     * a round takes in any case, and what every rank adds to that. For predictions and clocks that are not real. */
    double encode_additions, decode_additions;
};
extern const struct compressor compressor_top_k, compressor_one_bit, compressor_qsgd, compressor_powersgd;

/* The table, and its names for a parameter of schemes: "none" first. */
extern const char *const compressor_choices[]; /* NULL-terminated */
enum { COMPRESSOR_NONE, COMPRESSOR_TOP_K, COMPRESSOR_ONE_BIT, COMPRESSOR_QSGD, COMPRESSOR_POWERSGD, COMPRESSOR_COUNT };
const struct compressor *compressor_at(int choice); /* NULL: none, or there is no such choice */

#endif
