/* node_output.c: lines of many nodes; see node_output.h. */
#include "harness/node_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/text.h"
#include "harness/write_all.h"

enum { READ_BYTES = 1 << 16 };

struct stream {
    struct node_output *output;
    const char *prefix;
    int fd, to;
    struct watch *watch;
    struct text line; /* what has come of a line that has not ended yet */
};

struct node_output {
    struct stream *streams;
    int count;
    void (*failed)(void *context, int error);
    void *context;
    bool broken; /* nobody reads what we write */
};

struct node_output *node_output_new(int most, struct arena *arena)
{
    struct node_output *output = arena_calloc(arena, 1, sizeof(*output));
    output->streams = arena_new_array(arena, struct stream, (size_t)most);
    return output;
}

int node_output_add(struct node_output *output, const char *prefix, int to, int *write_end, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, ERR_HOST, errno, "making a pipe for a node's output (raise the hard limit with `ulimit -Hn`)");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    output->streams[output->count++] = (struct stream){.output = output, .prefix = prefix, .fd = ends[0], .to = to};
    *write_end = ends[1];
    return 0;
}

static void emit(struct stream *stream, const char *bytes, size_t length)
{
    struct node_output *output = stream->output;
    int error = output->broken ? 0 : write_all(stream->to, bytes, length);
    if (error == 0)
        return;
    output->broken = true;
    if (output->failed)
        output->failed(output->context, error);
}

/* All whole lines of these bytes at once. */
static void take(struct stream *stream, const char *bytes, size_t length)
{
    cleanup(text_free) struct text whole = {0};
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) : length;
        if (stream->line.length == 0)
            text_add(&stream->line, stream->prefix);
        text_add_bytes(&stream->line, bytes, part);
        if (end || stream->line.length >= NODE_OUTPUT_LINE_BYTES) {
            text_add_bytes(&whole, stream->line.bytes ? stream->line.bytes : "", stream->line.length);
            text_add(&whole, "\n");
            stream->line.length = 0;
        }
        part += end != NULL;
        bytes += part;
        length -= part;
    }
    if (whole.length > 0)
        emit(stream, whole.bytes, whole.length);
}

/* False: nothing more for now, or ever. */
static bool carry(struct stream *stream)
{
    static char bytes[READ_BYTES];
    ssize_t count = read(stream->fd, bytes, sizeof(bytes));
    if (count > 0)
        take(stream, bytes, (size_t)count);
    else if (count == 0 && stream->watch) {
        loop_unwatch(stream->watch);
        stream->watch = NULL;
    }
    return count > 0 || (count < 0 && errno == EINTR);
}

static void on_bytes(void *context, uint32_t events)
{
    (void)events;
    carry(context);
}

int node_output_start(struct node_output *output, struct loop *loop, void (*failed)(void *context, int error), void *context,
                      struct err *err)
{
    output->failed = failed;
    output->context = context;
    for (int i = 0; i < output->count; i++) {
        output->streams[i].watch = loop_watch(loop, output->streams[i].fd, EPOLLIN, on_bytes, &output->streams[i], err);
        if (!output->streams[i].watch)
            return -ERR_HOST;
    }
    return 0;
}

void node_output_finish(struct node_output *output)
{
    for (int i = 0; i < output->count; i++) {
        struct stream *stream = &output->streams[i];
        while (carry(stream))
            ;
        if (stream->line.length > 0)
            take(stream, "\n", 1);
    }
}

void node_output_close(struct node_output *output)
{
    for (int i = 0; output && i < output->count; i++) {
        if (output->streams[i].watch)
            loop_unwatch(output->streams[i].watch);
        output->streams[i].watch = NULL;
        close_fd(&output->streams[i].fd);
        text_free(&output->streams[i].line);
    }
}
