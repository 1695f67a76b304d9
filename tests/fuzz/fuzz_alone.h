/* fuzz_alone.h: the driver of a target by itself: the command line, iterations until the time is over, and the closing line.
 * fuzz.h includes it. */
#ifndef LAGGARD_TESTS_FUZZ_ALONE_H
#define LAGGARD_TESTS_FUZZ_ALONE_H

#include "tests/fuzz/fuzz.h"

#ifndef FUZZ_LEAST
#define FUZZ_LEAST 1000
#endif
#define FUZZ_CORPUS 64

/* The options with a number, and where it goes. */
struct fuzz_option {
    const char *name;
    uint64_t *value;
};

static inline struct fuzz fuzz_begin(const char *name, int argc, char **argv)
{
    struct fuzz fuzz = {.name = name, .seed = 1, .start_ns = clock_now_ns()};
    uint64_t seconds = 2, only = UINT64_MAX;
    const struct fuzz_option options[] = {
        {"--seconds", &seconds}, {"--seed", &fuzz.seed}, {"--iteration", &only}, {"--first", &fuzz.first}, {"--runs", &fuzz.runs}};
    for (int i = 1; i < argc; i += 2) {
        uint64_t *value = NULL;
        for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++)
            if (strcmp(argv[i], options[o].name) == 0)
                value = options[o].value;
        const bool folder = strcmp(argv[i], "--corpus") == 0;
        struct err err;
        if ((!value && !folder) || i + 1 == argc || (value && units_parse_unsigned(argv[i + 1], 0, INT64_MAX, value, &err) != 0)) {
            fprintf(stderr, "usage: %s [--seconds N] [--seed S] [--iteration I] [--first I] [--runs N] [--corpus FOLDER]\n",
                    argv[0]);
            exit(2);
        }
        if (folder)
            fuzz.corpus = argv[i + 1];
    }
    if (only != UINT64_MAX) {
        fuzz.first = only;
        fuzz.runs = 1;
    }
    fuzz.deadline_ns = fuzz.start_ns + (int64_t)(seconds < 1000000000 ? seconds : 1000000000) * NS_PER_S;
    return fuzz;
}

/* Starts the next iteration; false when the time is over or all --runs are done. The first thousand (of a target that is slow:
 * FUZZ_LEAST) always run, so that a slow host tests something too. A corpus is of FUZZ_CORPUS iterations. */
static inline bool fuzz_next(struct fuzz *fuzz)
{
    if ((fuzz->corpus && fuzz->done == FUZZ_CORPUS) || (fuzz->runs && fuzz->done == fuzz->runs))
        return false;
    if (fuzz->done >= FUZZ_LEAST && fuzz->done % 16 == 0 && clock_now_ns() >= fuzz->deadline_ns)
        return false;
    fuzz->iteration = fuzz->first + fuzz->done++;
    fuzz->state = fuzz_stream_of(fuzz->seed, fuzz->iteration);
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
