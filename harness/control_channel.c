/* control_channel.c: one agent's control socket; see control_channel.h. */
#include "harness/control_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

int control_channel_open(struct control_channel *channel, int fd, struct loop *loop, loop_fd_callback *callback, void *context,
                         struct err *err)
{
    *channel = (struct control_channel){.fd = fd};
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        err_set_errno(err, ERR_HOST, errno, "cannot make a control socket non-blocking");
        control_channel_close(channel);
        return -ERR_HOST;
    }
    channel->watch = loop_watch(loop, fd, EPOLLIN, callback, context, err);
    if (!channel->watch) {
        control_channel_close(channel);
        return -ERR_HOST;
    }
    return 0;
}

void control_channel_ignore(struct control_channel *channel)
{
    if (channel->watch)
        loop_unwatch(channel->watch);
    channel->watch = NULL;
}

void control_channel_close(struct control_channel *channel)
{
    control_channel_ignore(channel);
    close_fd(&channel->fd);
    frame_reader_free(&channel->reader);
    text_free(&channel->unsent);
    channel->unsent_begin = 0;
}

int control_channel_flush(struct control_channel *channel, struct err *err)
{
    while (channel->unsent_begin < channel->unsent.length) {
        ssize_t sent = send(channel->fd, channel->unsent.bytes + channel->unsent_begin,
                            channel->unsent.length - channel->unsent_begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            channel->unsent_begin += (size_t)sent;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            break;
        else if (errno != EINTR)
            return err_set_errno(err, ERR_TRIAL, errno, "cannot send to the agent");
    }
    bool waiting = channel->unsent_begin < channel->unsent.length;
    if (!waiting) {
        channel->unsent.length = 0;
        channel->unsent_begin = 0;
    }
    if (channel->watch)
        loop_change(channel->watch, waiting ? EPOLLIN | EPOLLOUT : EPOLLIN);
    return 0;
}

int control_channel_send(struct control_channel *channel, enum control_operation operation, const void *body, struct err *err)
{
    cleanup(text_free) struct text bytes = {0};
    const struct control_row *row = &control_operations[operation];
    if (row->body)
        wire_encode(row->body, body, &bytes);
    if (bytes.length > FRAME_BODY_MAX)
        return err_set(
            err, ERR_USAGE,
            "the operation %s would take %zu bytes, allowed are %d: this cell has too many nodes or too large a preparation",
            row->name, bytes.length, FRAME_BODY_MAX);
    uint8_t header[FRAME_HEADER_BYTES];
    frame_header(header, (uint16_t)operation, CONTROL_VERSION, (uint32_t)bytes.length);
    text_add_bytes(&channel->unsent, (const char *)header, sizeof(header));
    text_add_bytes(&channel->unsent, bytes.bytes, bytes.length);
    return control_channel_flush(channel, err);
}

int control_channel_fill(struct control_channel *channel, struct err *err)
{
    return frame_reader_fill(&channel->reader, channel->fd, err);
}

int control_channel_next(struct control_channel *channel, struct arena *arena, struct control_operation_in *in, struct err *err)
{
    struct frame frame;
    int got = frame_reader_next(&channel->reader, &frame, err);
    if (got != 1)
        return got;
    got = control_channel_decode(&frame, true, arena, in, err);
    return got < 0 ? got : 1;
}

int control_channel_decode(const struct frame *frame, bool from_agent, struct arena *arena, struct control_operation_in *in,
                           struct err *err)
{
    if (frame->version != CONTROL_VERSION)
        return err_set(
            err, ERR_TRIAL,
            "it speaks version %u of the control protocol, this program version %d: install both programs from one build",
            frame->version, CONTROL_VERSION);
    const struct control_row *row = frame->operation < CONTROL_OPERATION_END ? &control_operations[frame->operation] : NULL;
    if (!row || !row->name || (row->from_agent != 0) != from_agent)
        return err_set(err, ERR_TRIAL, "it sent operation %u, which %s", frame->operation,
                       from_agent ? "no agent sends" : "the controller never sends");
    if (!row->body && frame->length > 0)
        return err_set(err, ERR_TRIAL, "it sent operation %s with %u bytes, where none belong", row->name, frame->length);
    void *body = row->body ? arena_alloc(arena, row->body->struct_bytes) : NULL;
    if (row->body && wire_decode(row->body, frame->body, frame->length, arena, body, err) < 0) {
        err_wrap(err, "it sent an operation %s that cannot be read", row->name);
        return -ERR_TRIAL;
    }
    *in = (struct control_operation_in){.operation = frame->operation, .body = body};
    return 1;
}
