/* netem/relay_control.c: settings that change while packets flow: one order, one answer, over a pair of packet sockets.
 *
 * Both ends are the same program after a fork, so that an order is a struct as it lies in memory, pointers to tables included. The
 * relay looks at it between two packets, in the thread that carries them: nothing is locked and nothing allocated. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/impairment.h"
#include "netem/relay_internal.h"

enum { ANSWER_PATIENCE_MS = 5000 };

int relay_control_serve(int control_fd, struct relay_line *lines, int line_count)
{
    struct relay_control_message message;
    ssize_t length = recv(control_fd, &message, sizeof(message), MSG_DONTWAIT);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR ? RELAY_CONTROL_NOTHING : RELAY_CONTROL_CLOSED;
    if (length != (ssize_t)sizeof(message) || message.line < 0 || message.line >= line_count)
        return length > 0 ? RELAY_CONTROL_NOTHING : RELAY_CONTROL_CLOSED;
    struct relay_line *line = &lines[message.line];
    relay_line_change(line, &message.direction, message.down, clock_now_ns());
    const struct relay_control_message answer = {.line = message.line, .down = line->down, .direction = line->asked};
    (void)send(control_fd, &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
    return message.line;
}

/* Whatever decides how packets fare. */
static bool same(const struct relay_control_message *asked, const struct relay_control_message *set)
{
    const struct relay_direction *a = &asked->direction, *b = &set->direction;
    return asked->line == set->line && asked->down == set->down && a->delay_ns == b->delay_ns && a->rate_bps == b->rate_bps &&
           a->queue_bytes == b->queue_bytes && a->overhead_bytes == b->overhead_bytes &&
           impairment_same(&a->impairments, &b->impairments);
}

int relay_change(int control_fd, int link, int direction, const struct relay_direction *to, bool down, struct err *err)
{
    const struct relay_control_message asked = {.line = 2 * link + direction, .down = down, .direction = *to};
    struct relay_control_message answer;
    if (send(control_fd, &asked, sizeof(asked), MSG_NOSIGNAL) != (ssize_t)sizeof(asked))
        return err_set_errno(err, ERR_TRIAL, errno, "the relay takes no changes: has it ended?");
    struct pollfd wait = {.fd = control_fd, .events = POLLIN};
    int ready;
    do
        ready = poll(&wait, 1, ANSWER_PATIENCE_MS);
    while (ready < 0 && errno == EINTR);
    if (ready != 1)
        return err_set(err, ERR_TRIAL, "the relay has not answered a change within %d s: was it stopped?",
                       ANSWER_PATIENCE_MS / 1000);
    if (recv(control_fd, &answer, sizeof(answer), 0) != (ssize_t)sizeof(answer))
        return err_set(err, ERR_TRIAL, "the relay has ended instead of answering a change");
    if (!same(&asked, &answer))
        return err_set(err, ERR_HOST,
                       "the relay was asked for a delay of %" PRId64 " ns, but has %" PRId64
                       " ns, or differs in its rate, its queue or its impairments",
                       asked.direction.delay_ns, answer.direction.delay_ns);
    return 0;
}
