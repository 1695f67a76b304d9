/* harness/control_channel.h: the controller's end of one agent's control socket: operations out without ever blocking, operations
 * in, decoded and checked against the table of control.h.
 *
 * An agent that is stopped or hangs does not read. What its socket does not take waits here and goes out when the loop says that
 * there is room; how long that may last is for the caller's deadline to decide. */
#ifndef LAGGARD_HARNESS_CONTROL_CHANNEL_H
#define LAGGARD_HARNESS_CONTROL_CHANNEL_H

#include <stdbool.h>

#include "base/frame.h"
#include "base/loop.h"
#include "base/text.h"
#include "schemas/control.h"

struct arena;
struct err;

struct control_channel {
    int fd;              /* owned; -1: closed */
    struct watch *watch; /* NULL: no longer listened to */
    struct frame_reader reader;
    struct text unsent;
    size_t unsent_begin;
};
struct control_operation_in {
    enum control_operation operation;
    const void *body; /* the operation's struct, in the arena; NULL where the table has no body */
};

/* Takes the descriptor over, also on failure. */
int control_channel_open(struct control_channel *channel, int fd, struct loop *loop, loop_fd_callback *callback, void *context,
                         struct err *err);
void control_channel_close(struct control_channel *channel);
void control_channel_ignore(struct control_channel *channel); /* watches no more; the descriptor stays open */

/* 0: sent or waiting to be; -ERR_USAGE: too long for a frame; -ERR_TRIAL: the other end is gone. */
int control_channel_send(struct control_channel *channel, enum control_operation operation, const void *body, struct err *err);
int control_channel_flush(struct control_channel *channel, struct err *err); /* on EPOLLOUT */

/* One read: 1: bytes came; 0: none for now; negative: the other end is gone. */
int control_channel_fill(struct control_channel *channel, struct err *err);
/* 1: an operation; 0: more bytes are needed; negative: what came is not the protocol. */
int control_channel_next(struct control_channel *channel, struct arena *arena, struct control_operation_in *in, struct err *err);

/* The pure part: a frame to an operation. `from_agent`: who is to have sent it. */
int control_channel_decode(const struct frame *frame, bool from_agent, struct arena *arena, struct control_operation_in *in,
                           struct err *err);

#endif
