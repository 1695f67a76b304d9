/* results/gnuplot.c: runs gnuplot; see gnuplot.h. Its three streams are pipes that one loop serves, so that neither side waits for
 * the other; what it says on the third is the reason when it fails. It is started with -d, so that nobody's settings change a
 * picture. */
#include "results/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "base/text.h"

enum { SCRIPT, PICTURE, COMPLAINT, STREAM_COUNT };
static const int64_t LONGEST_NS = 60 * INT64_C(1000000000);

struct streams {
    int ours[STREAM_COUNT], theirs[STREAM_COUNT]; /* -1: closed */
};

static void streams_close(struct streams *streams)
{
    for (int s = 0; s < STREAM_COUNT; s++) {
        close_fd(&streams->ours[s]);
        close_fd(&streams->theirs[s]);
    }
}

static int streams_open(struct streams *streams, struct err *err)
{
    for (int s = 0; s < STREAM_COUNT; s++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return err_set_errno(err, ERR_HOST, errno, "cannot start gnuplot: no pipe");
        streams->ours[s] = ends[s == SCRIPT ? 1 : 0];
        streams->theirs[s] = ends[s == SCRIPT ? 0 : 1];
        if (fcntl(streams->ours[s], F_SETFL, O_NONBLOCK) < 0)
            return err_set_errno(err, ERR_HOST, errno, "cannot start gnuplot: its pipe does not take O_NONBLOCK");
    }
    return 0;
}

static void feed(int *fd, const struct text *script, size_t *sent)
{
    ssize_t count = write(*fd, script->bytes + *sent, script->length - *sent);
    if (count > 0)
        *sent += (size_t)count;
    bool again = count < 0 && (errno == EAGAIN || errno == EINTR);
    if (*sent == script->length || (count < 0 && !again))
        close_fd(fd); /* done, or it has ended: its exit status tells */
}

static void take(int *fd, struct text *text)
{
    char bytes[16384];
    ssize_t count = read(*fd, bytes, sizeof(bytes));
    if (count > 0)
        text_add_bytes(text, bytes, (size_t)count);
    else if (count == 0 || (errno != EAGAIN && errno != EINTR))
        close_fd(fd);
}

/* Until both of its outputs have ended. */
static int serve(struct streams *streams, const struct text *script, struct text *picture, struct text *complaint, struct err *err)
{
    size_t sent = 0;
    int64_t until = clock_now_ns() + LONGEST_NS;
    while (streams->ours[PICTURE] >= 0 || streams->ours[COMPLAINT] >= 0) {
        struct pollfd polled[STREAM_COUNT];
        for (int s = 0; s < STREAM_COUNT; s++)
            polled[s] = (struct pollfd){.fd = streams->ours[s], .events = s == SCRIPT ? POLLOUT : POLLIN};
        int64_t left = (until - clock_now_ns()) / 1000000;
        int count = left > 0 ? poll(polled, STREAM_COUNT, (int)left) : 0;
        if (count == 0)
            return err_set(err, ERR_HOST, "gnuplot did not finish a picture within a minute, and was ended");
        if (count < 0 && errno != EINTR)
            return err_set_errno(err, ERR_HOST, errno, "cannot wait for gnuplot");
        if (count < 0)
            continue;
        if (polled[SCRIPT].fd >= 0 && polled[SCRIPT].revents)
            feed(&streams->ours[SCRIPT], script, &sent);
        if (polled[PICTURE].fd >= 0 && polled[PICTURE].revents)
            take(&streams->ours[PICTURE], picture);
        if (polled[COMPLAINT].fd >= 0 && polled[COMPLAINT].revents)
            take(&streams->ours[COMPLAINT], complaint);
    }
    return 0;
}

/* The line that says what is wrong is the last that is not empty. */
static void last_line(struct text *complaint, struct text *line)
{
    char *bytes = complaint->bytes ? complaint->bytes : (char *)"";
    size_t end = strlen(bytes);
    while (end > 0 && strchr(" \n\r\t", bytes[end - 1]))
        end--;
    size_t start = end;
    while (start > 0 && bytes[start - 1] != '\n')
        start--;
    while (start < end && bytes[start] == ' ')
        start++;
    if (end > 0)
        bytes[end] = 0;
    text_add_utf8(line, bytes + start, end - start);
}

int gnuplot_find(char *found, size_t size, struct err *err)
{
    if (process_find("gnuplot", NULL, NULL, found, size, NULL) == 0)
        return 0;
    return err_set(err, ERR_HOST,
                   "plots are drawn by gnuplot, and no folder of PATH has it: install Debian's package gnuplot-nox, or that of "
                   "your system");
}

int gnuplot_run(const struct text *script, struct text *output, struct err *err)
{
    char path[PATH_MAX];
    char *const arguments[] = {(char *)"gnuplot", (char *)"-d", NULL};
    cleanup(streams_close) struct streams streams = {{-1, -1, -1}, {-1, -1, -1}};
    cleanup(process_end) struct process process = PROCESS_NONE;
    cleanup(text_free) struct text picture = {0}, complaint = {0}, line = {0};
    int report_fd;
    int result = gnuplot_find(path, sizeof(path), err);
    if (result == 0)
        result = streams_open(&streams, err);
    if (result < 0)
        return result;
    const struct process_spec spec = {.path = path, .arguments = arguments, .streams = streams.theirs};
    result = process_begin(&spec, &process, &report_fd, err);
    if (result == 0)
        result = process_confirm(path, &process, &report_fd, err);
    if (result < 0)
        return result;
    for (int s = 0; s < STREAM_COUNT; s++)
        close_fd(&streams.theirs[s]);
    result = serve(&streams, script, &picture, &complaint, err);
    if (result < 0)
        return result;
    int status = 0;
    while (waitpid(process.pid, &status, 0) < 0 && errno == EINTR)
        ;
    process.pid = 0; /* reaped */
    struct process_exit how = {.exited = WIFEXITED(status), .status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)};
    char described[64];
    last_line(&complaint, &line);
    if (!how.exited || how.status != 0 || picture.length == 0)
        return err_set(err, ERR_HOST, "gnuplot drew no picture (%s)%s%.200s", process_describe(described, sizeof(described), &how),
                       line.length ? ": " : "", line.length ? line.bytes : "");
    text_add_bytes(output, picture.bytes, picture.length);
    return 0;
}
