/* fuzz.h: what every fuzz target shares: keyed mutations of valid inputs, checks that name the input, and the two drivers that one
 * source is built with. A target is one function:
 *
 *     static void fuzz_one(struct fuzz *fuzz)
 *     {
 *         size_t length = make a valid input with fuzz_below(), fuzz_u32() ... in a buffer;
 *         length = fuzz_mutate(fuzz, buffer, length, sizeof(buffer));
 *         FUZZ_CHECK(fuzz, an invariant);
 *         fuzz->accepted += the parser took it;
 *     }
 *
 *     FUZZ_MAIN("frame")
 *
 * Two drivers. Built as usual a target is a plain program (fuzz_alone.h): each iteration draws from a stream of its own, so that
 * what (seed, iteration) finds is found again by `--seed S --iteration I` alone. With FUZZ_BY_LIBFUZZER (`make fuzz`) it is a
 * target of LLVM's libFuzzer (fuzz_guided.h), which looks for inputs that reach code that none before has reached. Its inputs:
 *
 *     byte 0, lowest bit    1: what follows takes the place of what fuzz_mutate() is given    0: what follows are the draws
 *     bytes 1 to 4          an iteration, little-endian: from its stream come all other draws, as if with `--seed 1`
 *     from byte 5 on        the bytes, or the draws
 *
 * So `01 07 00 00 00` and the bytes of a file are a valid seed for any target, and `--corpus FOLDER` writes what is generated. */
#ifndef LAGGARD_TESTS_FUZZ_H
#define LAGGARD_TESTS_FUZZ_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"

enum { FUZZ_HEAD_BYTES = 5 };

struct fuzz {
    const char *name;
    uint64_t state; /* of this iteration's stream */
    uint64_t seed, iteration, first, runs, done, accepted;
    int64_t start_ns, deadline_ns;
    bool guided;
    const char *corpus; /* the folder for what is generated; NULL: it is not kept */
    /* From libFuzzer and not used yet: draws, or the bytes for fuzz_mutate(). */
    const uint8_t *draws, *bytes;
    size_t draws_left, bytes_left;
};

static inline void fuzz_failed(const struct fuzz *fuzz, const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: not true: %s", file, line, condition);
    if (!fuzz->guided)
        fprintf(stderr, " (again with: --seed %" PRIu64 " --iteration %" PRIu64 ")", fuzz->seed, fuzz->iteration);
    fprintf(stderr, "\n");
    abort();
}

/* Ends the program with what is needed to see the failure again. */
#define FUZZ_CHECK(fuzz, condition)                                                                                                \
    do {                                                                                                                           \
        if (!(condition))                                                                                                          \
            fuzz_failed(fuzz, __FILE__, __LINE__, #condition);                                                                     \
    } while (0)

/* SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). base/rng.h's
 * streams would take most of the time of a target that is fast. */
static inline uint64_t fuzz_mix(uint64_t word)
{
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static inline uint64_t fuzz_stream_of(uint64_t seed, uint64_t iteration)
{
    return fuzz_mix(fuzz_mix(seed) + iteration);
}

static inline uint64_t fuzz_next_word(struct fuzz *fuzz)
{
    return fuzz_mix(fuzz->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* ---- draws ---- */

static inline uint32_t fuzz_draw(struct fuzz *fuzz, size_t bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < bytes && fuzz->draws_left > 0; i++, fuzz->draws_left--)
        value |= (uint32_t)*fuzz->draws++ << (8 * i);
    return value;
}

static inline uint32_t fuzz_u32(struct fuzz *fuzz)
{
    return fuzz->draws_left ? fuzz_draw(fuzz, 4) : (uint32_t)(fuzz_next_word(fuzz) >> 32);
}

static inline uint64_t fuzz_u64(struct fuzz *fuzz)
{
    if (!fuzz->draws_left)
        return fuzz_next_word(fuzz);
    uint64_t low = fuzz_draw(fuzz, 4);
    return low | (uint64_t)fuzz_draw(fuzz, 4) << 32;
}

/* Below the bound; 0 where the bound is 0. Of libFuzzer's draws as few bytes as will do: then its mutations mean something. */
static inline size_t fuzz_below(struct fuzz *fuzz, size_t bound)
{
    if (bound && fuzz->draws_left)
        return fuzz_draw(fuzz, bound <= 256 ? 1 : bound <= 65536 ? 2 : 4) % bound;
    return bound ? (size_t)((fuzz_next_word(fuzz) >> 32) * bound >> 32) : 0; /* off even by less than bound / 2^32 */
}

/* How many parts an input gets, below `most`: few in three of four, which is fast and gives a mutation more of them to hit. */
static inline size_t fuzz_few(struct fuzz *fuzz, size_t most)
{
    return fuzz_below(fuzz, fuzz_below(fuzz, 4) && most > 8 ? 8 : most);
}

/* Values at which parsers go wrong, as a byte, a little-endian word or a digit. */
static inline uint32_t fuzz_interesting(struct fuzz *fuzz, size_t length)
{
    const uint32_t values[] = {0,
                               1,
                               2,
                               0x7f,
                               0x80,
                               0xff,
                               0x7fff,
                               0x8000,
                               0xffff,
                               0x10000,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               0xfffffffe,
                               0x04000000,
                               0x04000001,
                               '0',
                               '9',
                               '-',
                               '.',
                               (uint32_t)length,
                               (uint32_t)length + 1,
                               (uint32_t)length - 1,
                               '\n'};
    return values[fuzz_below(fuzz, sizeof(values) / sizeof(values[0]))];
}

static inline size_t fuzz_mutate_once(struct fuzz *fuzz, uint8_t *bytes, size_t length, size_t capacity)
{
    size_t at = fuzz_below(fuzz, length), count = 1 + fuzz_below(fuzz, fuzz_below(fuzz, 4) ? 8 : 64);
    size_t here = length - at < count ? length - at : count; /* bytes from `at` on that exist */
    uint32_t value = fuzz_interesting(fuzz, length);
    switch (fuzz_below(fuzz, 8)) {
    case 0: /* flip a bit */
        if (length)
            bytes[at] ^= (uint8_t)(1u << fuzz_below(fuzz, 8));
        return length;
    case 1: /* another byte */
        if (length)
            bytes[at] = (uint8_t)(fuzz_below(fuzz, 2) ? value : fuzz_u32(fuzz));
        return length;
    case 2: /* another word */
        for (size_t i = 0; i < 4 && at + i < length; i++)
            bytes[at + i] = (uint8_t)(value >> (8 * i));
        return length;
    case 3: /* cut off the end */
        return at;
    case 4: /* leave out a range */
        memmove(bytes + at, bytes + at + here, length - at - here);
        return length - here;
    case 5: /* say a range twice */
        if (here > capacity - length)
            here = capacity - length;
        memmove(bytes + at + here, bytes + at, length - at);
        return length + here;
    case 6: /* put noise in between */
        if (count > capacity - length)
            count = capacity - length;
        memmove(bytes + at + count, bytes + at, length - at);
        for (size_t i = 0; i < count; i++)
            bytes[at + i] = (uint8_t)fuzz_u32(fuzz);
        return length + count;
    default: { /* copy a range over another */
        size_t from = fuzz_below(fuzz, length);
        if (here > length - from)
            here = length - from;
        memmove(bytes + at, bytes + from, here);
        return length;
    }
    }
}

/* Writes a seed for libFuzzer: the first valid input of this iteration. */
static inline void fuzz_keep(struct fuzz *fuzz, const uint8_t *bytes, size_t length)
{
    const uint8_t head[FUZZ_HEAD_BYTES] = {1, (uint8_t)fuzz->iteration, (uint8_t)(fuzz->iteration >> 8),
                                           (uint8_t)(fuzz->iteration >> 16), (uint8_t)(fuzz->iteration >> 24)};
    char path[512];
    snprintf(path, sizeof(path), "%s/made-%" PRIu64, fuzz->corpus, fuzz->iteration);
    FILE *file = fopen(path, "wx"); /* of several inputs the first */
    if (!file)
        return;
    fwrite(head, 1, sizeof(head), file);
    fwrite(bytes, 1, length, file);
    fclose(file);
}

/* Mutates a valid input up to eight times; one input in eight stays as it is. Or puts libFuzzer's bytes in its place. Returns the
 * new length, at most `capacity`. */
static inline size_t fuzz_mutate(struct fuzz *fuzz, uint8_t *bytes, size_t length, size_t capacity)
{
    static const uint8_t times[8] = {0, 1, 1, 1, 2, 2, 4, 8};
    if (fuzz->corpus)
        fuzz_keep(fuzz, bytes, length);
    if (fuzz->bytes) {
        const size_t taken = fuzz->bytes_left < capacity ? fuzz->bytes_left : capacity;
        memcpy(bytes, fuzz->bytes, taken);
        fuzz->bytes_left -= taken;
        fuzz->bytes = fuzz->bytes_left ? fuzz->bytes + taken : NULL;
        return taken;
    }
    for (unsigned i = times[fuzz_below(fuzz, 8)]; i > 0; i--)
        length = fuzz_mutate_once(fuzz, bytes, length, capacity);
    return length;
}

#ifdef FUZZ_BY_LIBFUZZER
#include "tests/fuzz/fuzz_guided.h"
#else
#include "tests/fuzz/fuzz_alone.h"
#endif

#endif
