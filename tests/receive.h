/* receive.h: waits for one frame, for tests: laggard itself waits for several peers at a time, on a loop. */
#ifndef LAGGARD_TESTS_RECEIVE_H
#define LAGGARD_TESTS_RECEIVE_H

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"

/* Blocks until one frame is there; -ERR_TRIAL when `deadline_ns` (INT64_MAX: never) has passed, the peer closed or the stream is
 * bad. */
static inline int receive_frame(struct frame_reader *reader, int fd, int64_t deadline_ns, struct frame *frame, struct err *err)
{
    for (;;) {
        int status = frame_reader_next(reader, frame, err);
        if (status != 0)
            return status < 0 ? status : 0;
        int64_t left_ns = deadline_ns - clock_now_ns();
        if (left_ns < 0)
            left_ns = 0; /* what has come is still read */
        struct timespec timeout = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        int ready = ppoll(&poll_fd, 1, deadline_ns == INT64_MAX ? NULL : &timeout, NULL);
        if (ready < 0 && errno != EINTR)
            return err_set_errno(err, ERR_TRIAL, errno, "cannot wait for a message");
        if (ready > 0) {
            status = frame_reader_fill(reader, fd, err);
            if (status < 0)
                return status;
        } else if (clock_now_ns() >= deadline_ns)
            return err_set(err, ERR_TRIAL, "no answer in time");
    }
}

#endif
