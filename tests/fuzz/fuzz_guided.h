/* fuzz_guided.h: the driver of a target that libFuzzer guides: its input, as fuzz.h says, to one iteration. fuzz.h includes it. */
#ifndef LAGGARD_TESTS_FUZZ_GUIDED_H
#define LAGGARD_TESTS_FUZZ_GUIDED_H

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length); /* libFuzzer's main() calls it */

static inline struct fuzz fuzz_guided(const char *name, const uint8_t *input, size_t length)
{
    uint8_t head[FUZZ_HEAD_BYTES] = {0};
    const size_t heading = length < sizeof(head) ? length : sizeof(head);
    struct fuzz fuzz = {.name = name, .seed = 1, .guided = true};
    if (heading > 0)
        memcpy(head, input, heading);
    fuzz.iteration = head[1] | (uint32_t)head[2] << 8 | (uint32_t)head[3] << 16 | (uint32_t)head[4] << 24;
    fuzz.state = fuzz_stream_of(fuzz.seed, fuzz.iteration);
    if (head[0] & 1) {
        fuzz.bytes = input + heading;
        fuzz.bytes_left = length - heading;
    } else if (length > heading) {
        fuzz.draws = input + heading;
        fuzz.draws_left = length - heading;
    }
    return fuzz;
}

#define FUZZ_MAIN(name_)                                                                                                           \
    int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)                                                                \
    {                                                                                                                              \
        struct fuzz fuzz = fuzz_guided(name_, input, length);                                                                      \
        fuzz_one(&fuzz);                                                                                                           \
        return 0;                                                                                                                  \
    }

#endif
