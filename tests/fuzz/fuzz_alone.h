/* fuzz_alone.h: the driver of a target by itself: the command line, iterations until the time is over, and the closing line.
 * fuzz.h includes it. */
#ifndef LAGGARD_TESTS_FUZZ_ALONE_H
#define LAGGARD_TESTS_FUZZ_ALONE_H

#include "tests/fuzz/fuzz.h"

#ifndef FUZZ_LEAST
#define FUZZ_LEAST 1000
#endif
#define FUZZ_CORPUS 64

static inline struct fuzz fuzz_begin(const char *name, int argc, char **argv)
{
    struct fuzz fuzz = {.name = name, .seed = 1, .start_ns = clock_now_ns()};
    uint64_t seconds = 2;
    for (int i = 1; i < argc; i += 2) {
        uint64_t value = 0;
        struct err err;
        const bool folder = strcmp(argv[i], "--corpus") == 0;
        if (i + 1 == argc || (!folder && units_parse_unsigned(argv[i + 1], 0, UINT64_MAX / 2, &value, &err) != 0)) {
            fprintf(stderr, "usage: %s [--seconds N] [--seed S] [--iteration I] [--corpus FOLDER]\n", argv[0]);
            exit(2);
        }
        if (strcmp(argv[i], "--seconds") == 0 && value < 1000000000) {
            seconds = value;
        } else if (strcmp(argv[i], "--seed") == 0) {
            fuzz.seed = value;
        } else if (strcmp(argv[i], "--iteration") == 0) {
            fuzz.only_iteration = value;
            fuzz.only_one = true;
        } else if (folder) {
            fuzz.corpus = argv[i + 1];
        } else {
            fprintf(stderr, "%s: found '%s', allowed are --seconds, --seed, --iteration and --corpus\n", argv[0], argv[i]);
            exit(2);
        }
    }
    fuzz.deadline_ns = fuzz.start_ns + (int64_t)seconds * NS_PER_S;
    return fuzz;
}

/* Starts the next iteration; false when the time is over. The first thousand (of a target that is slow: FUZZ_LEAST) always run, so
 * that a slow host tests something too. A corpus is of FUZZ_CORPUS iterations. */
static inline bool fuzz_next(struct fuzz *fuzz)
{
    if (fuzz->corpus && fuzz->done == FUZZ_CORPUS)
        return false;
    if (fuzz->only_one ? fuzz->done == 1 : fuzz->done >= FUZZ_LEAST && fuzz->done % 16 == 0 && clock_now_ns() >= fuzz->deadline_ns)
        return false;
    fuzz->iteration = fuzz->only_one ? fuzz->only_iteration : fuzz->done;
    fuzz->rng = fuzz_stream_of(fuzz->seed, fuzz->iteration);
    fuzz->done++;
    return true;
}

static inline int fuzz_end(const struct fuzz *fuzz)
{
    printf("fuzz %s: seed %" PRIu64 ", %" PRIu64 " inputs, %" PRIu64 " accepted, no failure\n", fuzz->name, fuzz->seed, fuzz->done,
           fuzz->accepted);
    return 0;
}

#define FUZZ_MAIN(name)                                                                                                            \
    int main(int argc, char **argv)                                                                                                \
    {                                                                                                                              \
        struct fuzz fuzz = fuzz_begin(name, argc, argv);                                                                           \
        while (fuzz_next(&fuzz))                                                                                                   \
            fuzz_one(&fuzz);                                                                                                       \
        return fuzz_end(&fuzz);                                                                                                    \
    }

#endif
