/* fuzz.h: what every fuzz target shares: the command line, keyed mutations of valid inputs, checks that name the iteration, and the
 * closing line. A target is a plain program:
 *
 *     struct fuzz fuzz = fuzz_begin("frame", argc, argv);
 *     while (fuzz_next(&fuzz)) {
 *         size_t length = make a valid input with fuzz.rng in a buffer;
 *         length = fuzz_mutate(&fuzz, buffer, length, sizeof(buffer));
 *         FUZZ_CHECK(&fuzz, an invariant);
 *         fuzz.accepted += the parser took it;
 *     }
 *     return fuzz_end(&fuzz);
 *
 * Each iteration draws from a stream of its own: what (seed, iteration) finds is found again by `--seed S --iteration I` alone. */
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
#include "base/rng.h"
#include "base/units.h"

struct fuzz {
    const char *name;
    struct rng rng; /* of this iteration */
    uint64_t seed, iteration, only_iteration, done, accepted;
    int64_t start_ns, deadline_ns;
    bool only_one;
};

/* Ends the program with what is needed to see the failure again. */
#define FUZZ_CHECK(fuzz, condition)                                                                                                \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            fprintf(stderr, "%s:%d: not true: %s (again with: --seed %" PRIu64 " --iteration %" PRIu64 ")\n", __FILE__, __LINE__,  \
                    #condition, (fuzz)->seed, (fuzz)->iteration);                                                                  \
            abort();                                                                                                               \
        }                                                                                                                          \
    } while (0)

static inline struct fuzz fuzz_begin(const char *name, int argc, char **argv)
{
    struct fuzz fuzz = {.name = name, .seed = 1, .start_ns = clock_now_ns()};
    uint64_t seconds = 2;
    for (int i = 1; i < argc; i += 2) {
        uint64_t value;
        struct err err;
        if (i + 1 == argc || units_parse_unsigned(argv[i + 1], 0, UINT64_MAX / 2, &value, &err) != 0) {
            fprintf(stderr, "usage: %s [--seconds N] [--seed S] [--iteration I]\n", argv[0]);
            exit(2);
        }
        if (strcmp(argv[i], "--seconds") == 0 && value < 1000000000) {
            seconds = value;
        } else if (strcmp(argv[i], "--seed") == 0) {
            fuzz.seed = value;
        } else if (strcmp(argv[i], "--iteration") == 0) {
            fuzz.only_iteration = value;
            fuzz.only_one = true;
        } else {
            fprintf(stderr, "%s: found '%s', allowed are --seconds, --seed and --iteration\n", argv[0], argv[i]);
            exit(2);
        }
    }
    fuzz.deadline_ns = fuzz.start_ns + (int64_t)seconds * NS_PER_S;
    return fuzz;
}

/* Starts the next iteration; false when the time is over. The first thousand always run, so that a slow host tests something
 * too. */
static inline bool fuzz_next(struct fuzz *fuzz)
{
    if (fuzz->only_one ? fuzz->done == 1 : fuzz->done >= 1000 && fuzz->done % 16 == 0 && clock_now_ns() >= fuzz->deadline_ns)
        return false;
    fuzz->iteration = fuzz->only_one ? fuzz->only_iteration : fuzz->done;
    fuzz->rng = rng_stream(fuzz->seed, (uint32_t)fuzz->iteration, (uint32_t)(fuzz->iteration >> 32), RNG_ORDER);
    fuzz->done++;
    return true;
}

static inline int fuzz_end(const struct fuzz *fuzz)
{
    printf("fuzz %s: seed %" PRIu64 ", %" PRIu64 " inputs, %" PRIu64 " accepted, no failure\n", fuzz->name, fuzz->seed, fuzz->done,
           fuzz->accepted);
    return 0;
}

static inline size_t fuzz_below(struct fuzz *fuzz, size_t bound)
{
    return bound ? rng_below(&fuzz->rng, (uint32_t)bound) : 0;
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
            bytes[at] = (uint8_t)(fuzz_below(fuzz, 2) ? value : rng_u32(&fuzz->rng));
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
            bytes[at + i] = (uint8_t)rng_u32(&fuzz->rng);
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

/* Mutates a valid input up to eight times; one input in eight stays as it is. Returns the new length, at most `capacity`. */
static inline size_t fuzz_mutate(struct fuzz *fuzz, uint8_t *bytes, size_t length, size_t capacity)
{
    static const uint8_t times[8] = {0, 1, 1, 1, 2, 2, 4, 8};
    for (unsigned i = times[fuzz_below(fuzz, 8)]; i > 0; i--)
        length = fuzz_mutate_once(fuzz, bytes, length, capacity);
    return length;
}

#endif
