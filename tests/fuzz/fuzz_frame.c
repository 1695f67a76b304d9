/* fuzz_frame.c: streams of frames, damaged and cut into pieces of any size, against a reader of a few lines that sees the whole
 * stream. */
#include "base/frame.h"

#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

enum { STREAM_MAX = 8192, FRAMES_MAX = STREAM_MAX / FRAME_HEADER_BYTES + 1 };

static size_t make_stream(struct fuzz *fuzz, uint8_t stream[STREAM_MAX], size_t *frame_count)
{
    size_t length = 0;
    *frame_count = fuzz_below(fuzz, 6);
    for (size_t i = 0; i < *frame_count; i++) {
        size_t body = fuzz_below(fuzz, 4) ? fuzz_below(fuzz, 40) : fuzz_below(fuzz, 1000);
        uint32_t name = fuzz_u32(fuzz);
        const uint8_t header[FRAME_HEADER_BYTES] = {
            (uint8_t)body,         (uint8_t)(body >> 8), 0, 0, (uint8_t)name, (uint8_t)(name >> 8),
            (uint8_t)(name >> 16), (uint8_t)(name >> 24)};
        memcpy(stream + length, header, sizeof(header));
        length += sizeof(header);
        for (size_t j = 0; j < body; j++)
            stream[length++] = (uint8_t)fuzz_u32(fuzz);
    }
    return length;
}

/* Where the frames of the whole stream begin. Returns how many there are; *refused tells whether a header behind them claims too
 * much. */
static size_t expect(const uint8_t *stream, size_t length, size_t starts[FRAMES_MAX], bool *refused)
{
    size_t count = 0, at = 0;
    *refused = false;
    while (length - at >= FRAME_HEADER_BYTES) {
        const uint8_t *header = stream + at;
        uint32_t body = header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 | (uint32_t)header[3] << 24;
        *refused = body > FRAME_BODY_MAX;
        if (*refused || body > length - at - FRAME_HEADER_BYTES)
            break;
        starts[count++] = at;
        at += FRAME_HEADER_BYTES + body;
    }
    return count;
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t stream[STREAM_MAX];
    static size_t starts[FRAMES_MAX];
    size_t made, length = make_stream(fuzz, stream, &made), whole_length = length;
    length = fuzz_mutate(fuzz, stream, length, sizeof(stream));
    bool refused;
    size_t expected = expect(stream, length, starts, &refused);
    cleanup(frame_reader_free) struct frame_reader reader = {0};
    size_t found = 0, fed = 0;
    int status = 0;
    while (fed < length && status >= 0) {
        size_t piece = 1 + fuzz_below(fuzz, fuzz_below(fuzz, 2) ? 12 : 2000);
        if (piece > length - fed)
            piece = length - fed;
        /* a copy of exactly this size: reading past its end would be seen by an address sanitizer */
        cleanup(free_pointer) uint8_t *exact = malloc(piece);
        FUZZ_CHECK(fuzz, exact);
        memcpy(exact, stream + fed, piece);
        FUZZ_CHECK(fuzz, frame_reader_feed(&reader, exact, piece, NULL) == 0);
        fed += piece;
        struct frame frame;
        struct err err = {0};
        while ((status = frame_reader_next(&reader, &frame, &err)) == 1) {
            FUZZ_CHECK(fuzz, found < expected);
            const uint8_t *header = stream + starts[found++];
            FUZZ_CHECK(fuzz, frame.operation == (header[4] | header[5] << 8));
            FUZZ_CHECK(fuzz, frame.version == (header[6] | header[7] << 8));
            FUZZ_CHECK(fuzz, header + FRAME_HEADER_BYTES + frame.length <= stream + fed);
            FUZZ_CHECK(fuzz, frame.length == 0 || memcmp(frame.body, header + FRAME_HEADER_BYTES, frame.length) == 0);
        }
        FUZZ_CHECK(fuzz, status == 0 || (status == -ERR_TRIAL && err.text[0]));
    }
    FUZZ_CHECK(fuzz, found == expected);
    FUZZ_CHECK(fuzz, (status < 0) == refused);
    FUZZ_CHECK(fuzz, reader.capacity <= 2 * (size_t)STREAM_MAX); /* bytes that came, not bytes that were claimed */
    fuzz->accepted += length == whole_length && found == made;
}

FUZZ_MAIN("frame")
