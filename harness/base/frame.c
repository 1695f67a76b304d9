/* frame.c: framed messages over a stream: a pure reader, and the blocking calls around it. Memory grows with the bytes that came,
 * never with the length that a header claims. */
#include "base/frame.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"

enum { READ_MAX = 256 << 10 };

void frame_reader_free(struct frame_reader *reader)
{
    free(reader->bytes);
    *reader = (struct frame_reader){0};
}

/* Makes room for `more` bytes behind what is there; drops what was consumed. */
static int reserve(struct frame_reader *reader, size_t more, struct err *err)
{
    if (reader->consumed > 0) {
        reader->length -= reader->consumed;
        if (reader->length > 0)
            memmove(reader->bytes, reader->bytes + reader->consumed, reader->length);
        reader->consumed = 0;
    }
    if (more <= reader->capacity - reader->length)
        return 0;
    size_t needed, capacity = reader->capacity + reader->capacity / 2;
    if (__builtin_add_overflow(reader->length, more, &needed))
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot keep %zu bytes of a message", more);
    if (capacity < needed)
        capacity = needed;
    uint8_t *bytes = realloc(reader->bytes, capacity);
    if (!bytes)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot keep %zu bytes of a message", capacity);
    reader->bytes = bytes;
    reader->capacity = capacity;
    return 0;
}

int frame_reader_feed(struct frame_reader *reader, const void *bytes, size_t length, struct err *err)
{
    int status = reserve(reader, length, err);
    if (status < 0 || length == 0)
        return status;
    memcpy(reader->bytes + reader->length, bytes, length);
    reader->length += length;
    return 0;
}

static uint16_t get_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)get_u16(p) | (uint32_t)get_u16(p + 2) << 16;
}

int frame_reader_next(struct frame_reader *reader, struct frame *frame, struct err *err)
{
    size_t left = reader->length - reader->consumed;
    if (left < FRAME_HEADER_BYTES)
        return 0;
    const uint8_t *header = reader->bytes + reader->consumed;
    uint32_t length = get_u32(header), most = reader->body_most ? reader->body_most : FRAME_BODY_MAX;
    if (length > most) /* told before the body comes: a stream that is not ours would otherwise be waited for */
        return err_set(err, ERR_TRIAL, "a message claims %u bytes (operation %u, version %u), allowed are %u", length,
                       get_u16(header + 4), get_u16(header + 6), most);
    if (left - FRAME_HEADER_BYTES < length)
        return 0;
    *frame = (struct frame){
        .operation = get_u16(header + 4), .version = get_u16(header + 6), .length = length, .body = header + FRAME_HEADER_BYTES};
    reader->consumed += FRAME_HEADER_BYTES + length;
    return 1;
}

int frame_reader_fill(struct frame_reader *reader, int fd, struct err *err)
{
    int status = reserve(reader, READ_MAX, err);
    if (status < 0)
        return status;
    ssize_t count;
    do {
        count = recv(fd, reader->bytes + reader->length, READ_MAX, MSG_DONTWAIT);
        if (count < 0 && errno == ENOTSOCK)
            count = read(fd, reader->bytes + reader->length, READ_MAX);
    } while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (count < 0)
        return err_set_errno(err, ERR_TRIAL, errno, "cannot read a message");
    if (count == 0 && reader->length > 0)
        return err_set(err, ERR_TRIAL, "the peer closed the connection inside a message (%zu bytes of it came)", reader->length);
    if (count == 0)
        return err_set(err, ERR_TRIAL, "the peer closed the connection");
    reader->length += (size_t)count;
    return 1;
}

/* writev() without the signal: a pipe has no MSG_NOSIGNAL, so SIGPIPE is blocked and taken back if it came. */
static ssize_t write_without_signal(int fd, const struct iovec *parts, int count)
{
    sigset_t sigpipe, before, pending;
    sigemptyset(&sigpipe);
    sigaddset(&sigpipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &sigpipe, &before);
    ssize_t written = writev(fd, parts, count);
    int write_error = errno;
    if (written < 0 && write_error == EPIPE && !sigismember(&pending, SIGPIPE)) {
        static const struct timespec at_once = {0};
        while (sigtimedwait(&sigpipe, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = write_error;
    return written;
}

void frame_header(uint8_t header[FRAME_HEADER_BYTES], uint16_t operation, uint16_t version, uint32_t length)
{
    for (int i = 0; i < 4; i++)
        header[i] = (uint8_t)(length >> (8 * i));
    for (int i = 0; i < 2; i++) {
        header[4 + i] = (uint8_t)(operation >> (8 * i));
        header[6 + i] = (uint8_t)(version >> (8 * i));
    }
}

int frame_send(int fd, uint16_t operation, uint16_t version, const void *body, size_t length, struct err *err)
{
    if (length > FRAME_BODY_MAX)
        return err_set(err, ERR_TRIAL, "a message of %zu bytes is too long, allowed are %d", length, FRAME_BODY_MAX);
    uint8_t header[FRAME_HEADER_BYTES];
    frame_header(header, operation, version, (uint32_t)length);
    for (size_t sent = 0; sent < sizeof(header) + length;) {
        struct iovec parts[2];
        int count = 0;
        size_t body_sent = sent > sizeof(header) ? sent - sizeof(header) : 0;
        if (sent < sizeof(header))
            parts[count++] = (struct iovec){.iov_base = header + sent, .iov_len = sizeof(header) - sent};
        if (length > body_sent)
            parts[count++] = (struct iovec){.iov_base = (uint8_t *)body + body_sent, .iov_len = length - body_sent};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
        ssize_t written = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (written < 0 && errno == ENOTSOCK)
            written = write_without_signal(fd, parts, count);
        if (written >= 0) {
            sent += (size_t)written;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
            if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
                return err_set_errno(err, ERR_TRIAL, errno, "cannot wait to send a message");
        } else if (errno != EINTR) {
            return err_set_errno(err, ERR_TRIAL, errno, "cannot send a message");
        }
    }
    return 0;
}
