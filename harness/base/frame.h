/* frame.h: framed messages over a stream socket (the control plane). Byte layout, all little-endian:
 *
 *     0  u32  length of the body in bytes, at most FRAME_BODY_MAX
 *     4  u16  operation
 *     6  u16  version of the protocol
 *     8  ...  body
 *
 * The reader is a pure state machine: bytes in, frames out; it is what tests/fuzz/ feeds. */
#ifndef LAGGARD_BASE_FRAME_H
#define LAGGARD_BASE_FRAME_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct text;

enum { FRAME_HEADER_BYTES = 8, FRAME_BODY_MAX = 64 << 20 };

struct frame {
    uint16_t operation, version;
    uint32_t length;
    const uint8_t *body; /* valid until the reader is used again */
};

struct frame_reader {
    uint8_t *bytes;
    size_t length, capacity, consumed;
    uint32_t body_most; /* more is refused once a header claims it; 0: FRAME_BODY_MAX */
};
void frame_reader_free(struct frame_reader *reader); /* also for cleanup() */
int frame_reader_feed(struct frame_reader *reader, const void *bytes, size_t length, struct err *err);
/* 1: a frame; 0: more bytes are needed; negative: the stream is not ours (body too long). */
int frame_reader_next(struct frame_reader *reader, struct frame *frame, struct err *err);
/* Reads what is there (one read of at most 256 KiB). 1: bytes came; 0: would block; -ERR_TRIAL: peer closed or failed. */
int frame_reader_fill(struct frame_reader *reader, int fd, struct err *err);
/* The header alone, for callers that may not block and write the frame themselves. */
void frame_header(uint8_t header[FRAME_HEADER_BYTES], uint16_t operation, uint16_t version, uint32_t length);
/* Blocks until written, also on a non-blocking descriptor (polls); never raises SIGPIPE. */
int frame_send(int fd, uint16_t operation, uint16_t version, const void *body, size_t length, struct err *err);

#endif
