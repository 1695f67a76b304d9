/* program_streams.c: the pipes of one outside program; see program_streams.h. */
#include "harness/program_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"

/* An ended program's pipes hold no more than DRAIN_BYTES_MAX, unless somebody still writes. */
enum { READ_BYTES = 65536, DRAIN_BYTES_MAX = 1 << 20 };

static void close_stream(struct program_streams *streams, int stream)
{
    if (streams->watches[stream])
        loop_unwatch(steal_pointer(&streams->watches[stream]));
    close_fd(&streams->pipes[stream]);
}

static void take_report(struct program_streams *streams, const char *bytes, size_t length)
{
    struct err err = {0};
    uint32_t before = streams->report.round_count;
    if (program_report_feed(&streams->report, bytes, length, clock_now_ns(), &err) < 0) {
        close_stream(streams, STREAM_REPORT);
        streams->on_bad(streams->context, &err);
    } else if (streams->report.round_count > before) {
        streams->on_rounds(streams->context, streams->report.round_count);
    }
}

/* How many bytes came; 0: none for now, or none ever again. */
static size_t read_stream(struct program_streams *streams, int stream)
{
    char bytes[READ_BYTES];
    ssize_t got = read(streams->pipes[stream], bytes, sizeof(bytes));
    if (got == 0)
        close_stream(streams, stream);
    if (got <= 0)
        return 0;
    if (stream == STREAM_REPORT)
        take_report(streams, bytes, (size_t)got);
    else
        program_output_take(&streams->output[stream], bytes, (size_t)got);
    return (size_t)got;
}

void program_streams_drain(struct program_streams *streams, int count)
{
    for (int stream = 0; stream < count; stream++)
        for (size_t total = 0, got = 1; got > 0 && total < DRAIN_BYTES_MAX && streams->pipes[stream] >= 0; total += got)
            got = read_stream(streams, stream);
}

static void on_output(void *streams, uint32_t events)
{
    (void)events;
    read_stream(streams, STREAM_OUTPUT);
}

static void on_errors(void *streams, uint32_t events)
{
    (void)events;
    read_stream(streams, STREAM_ERRORS);
}

static void on_report(void *streams, uint32_t events)
{
    (void)events;
    read_stream(streams, STREAM_REPORT);
}

int program_streams_open(struct program_streams *streams, int theirs[static STREAM_COUNT], struct err *err)
{
    for (int stream = 0; stream < STREAM_COUNT; stream++)
        streams->pipes[stream] = theirs[stream] = -1;
    for (int stream = 0; stream < STREAM_COUNT; stream++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return err_set_errno(err, ERR_HOST, errno,
                                 "making the pipes of an outside program (raise the hard limit with `ulimit -Hn`)");
        streams->pipes[stream] = ends[0];
        theirs[stream] = ends[1];
        fcntl(ends[0], F_SETFL, O_NONBLOCK); /* ours alone: the other end is another open file */
    }
    return 0;
}

int program_streams_watch(struct program_streams *streams, struct loop *loop, struct err *err)
{
    static loop_fd_callback *const callbacks[STREAM_COUNT] = {on_output, on_errors, on_report};
    for (int stream = 0; stream < STREAM_COUNT; stream++) {
        streams->watches[stream] = loop_watch(loop, streams->pipes[stream], EPOLLIN, callbacks[stream], streams, err);
        if (!streams->watches[stream])
            return -ERR_HOST;
    }
    return 0;
}

void program_streams_close(struct program_streams *streams)
{
    for (int stream = 0; stream < STREAM_COUNT; stream++)
        close_stream(streams, stream);
    for (int stream = 0; stream < STREAM_REPORT; stream++)
        program_output_free(&streams->output[stream]);
    program_report_free(&streams->report);
}
