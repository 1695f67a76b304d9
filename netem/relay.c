/* netem/relay.c: the relay's loop: reads packets, keeps each until its deadline, writes it to the other end.
 *
 * Theory of operation. One thread serves all links. It sleeps in epoll on the TAPs, the control descriptor and one timerfd. At each
 * wake-up it writes everything that is due, of every direction, oldest deadline first, then reads what has come, at most TURN
 * packets a port before it looks at deadlines again, so that a flood on one link does not make another late.
 *
 * Sleeping well matters more than anything else here. A sleep that ends with a deadline is taken in two: to STAGE_NS before it,
 * where being 100 us late does no harm, then for the short rest, which ends punctually because the processor was awake just before.
 * The lateness that remains is known by experience (relay_bias.c): the timer is set that much early, and the packet it was set for
 * leaves at that wake-up even if the thread woke a little too soon. The cost of waking up when a packet comes out of silence is
 * taken off the arrival, the cost of waking the receiver off the deadline. No packet leaves before it came, or more than
 * RELAY_BIAS_MAX_NS per estimate before arrival + delay.
 *
 * Invariants: a packet that was read or duplicated is in exactly one ring, or counted (packets, lost, ring_full, write_refused). A
 * direction is in the heap if and only if its ring holds packets and its port takes writes. Nothing here allocates, locks or logs
 * once packets flow. */
#include "netem/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/priority.h"
#include "netem/relay_internal.h"

enum {
    TURN = 32,        /* packets read from a port before deadlines are looked at again */
    EVENTS = 64,      /* events taken from epoll at once */
    DELIVERIES = 128, /* packets written before ports are looked at again */
};
#define STAGE_NS (300 * NS_PER_US) /* where the first of two sleeps ends before a deadline */
#define SLEPT_NS (3 * NS_PER_US)   /* a wait shorter than this did not sleep */
#define SHORTEST_SLEEP_NS (2 * NS_PER_US)
#define PREFAULT_BYTES ((size_t)64 << 20) /* shared by all rings */
#define NEVER INT64_MAX

enum { EVENT_TIMER = -1, EVENT_CONTROL = -2, EVENT_BIAS = -3 }; /* otherwise: the direction whose packets the port gives */

struct relay {
    struct relay_line *lines;
    int line_count;
    struct relay_heap heap;
    struct relay_bias bias;
    struct priority priority;
    int epoll, timer, control;
    int64_t armed_ns;     /* what the timer is set to; NEVER: nothing */
    int64_t target_ns;    /* the deadline that this wait stands for; 0: none, or the first of two sleeps */
    int64_t slept_ns;     /* how long it was to sleep when the timer was set */
    unsigned char *spare; /* what finds no room, and what is about to be duplicated */
};

size_t relay_shared_bytes(int link_count)
{
    return 2 * (size_t)link_count * sizeof(struct relay_counters);
}

static void close_relay(struct relay *relay)
{
    relay_bias_close(&relay->bias);
    for (int i = 0; relay->lines && i < relay->line_count; i++)
        relay_ring_close(&relay->lines[i].ring);
    free(relay->lines);
    free(relay->spare);
    relay_heap_close(&relay->heap);
    close_fd(&relay->epoll);
    close_fd(&relay->timer);
}

static int watch(struct relay *relay, int operation, int fd, uint32_t events, int event)
{
    struct epoll_event wanted = {.events = events, .data.u64 = (uint64_t)(int64_t)event};
    return epoll_ctl(relay->epoll, operation, fd, &wanted);
}

static int open_lines(struct relay *relay, const struct relay_link *links, struct relay_counters *counters, struct err *err)
{
    size_t prefault = PREFAULT_BYTES / (size_t)relay->line_count, total = 0;
    for (int i = 0; i < relay->line_count; i++)
        total += relay_ring_capacity(&links[i / 2].direction[i % 2]);
    size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    if (total > memory / 2)
        return err_set(err, ERR_HOST,
                       "relay: the packets in flight on %d links could need %zu MiB, more than half of this host's memory; "
                       "lower a rate or a delay, or use fewer links",
                       relay->line_count / 2, total >> 20);
    for (int i = 0; i < relay->line_count; i++) {
        const struct relay_link *link = &links[i / 2];
        struct relay_line *line = &relay->lines[i];
        line->in = link->port[i % 2];
        line->out = link->port[1 - i % 2];
        line->asked = link->direction[i % 2];
        line->pace = relay_pace_for(&link->direction[i % 2]);
        impairment_begin(&line->impairment, &link->direction[i % 2].impairments, link->seed, link->number, (uint32_t)i % 2);
        line->counters = &counters[i];
        if (line->asked.changes)
            impairment_prepare_tables(); /* for what may be asked later */
        int failed = relay_ring_open(&line->ring, relay_ring_capacity(&link->direction[i % 2]), prefault, err);
        if (failed)
            return failed;
        if (watch(relay, EPOLL_CTL_ADD, line->in, EPOLLIN, i) < 0)
            return err_set_errno(err, ERR_HOST, errno, "relay: watching port %d of link %d", i % 2, i / 2);
    }
    return 0;
}

static int open_relay(struct relay *relay, const struct relay_link *links, int link_count, struct relay_counters *counters,
                      struct err *err)
{
    relay->line_count = 2 * link_count;
    relay->lines = calloc((size_t)relay->line_count + 1, sizeof(*relay->lines));
    relay->spare = malloc(RELAY_PACKET_MAX);
    if (!relay->lines || !relay->spare)
        return err_set_errno(err, ERR_HOST, ENOMEM, "relay: memory for %d links", link_count);
    relay->epoll = epoll_create1(EPOLL_CLOEXEC);
    relay->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (relay->epoll < 0 || relay->timer < 0)
        return err_set_errno(err, ERR_HOST, errno, "relay: an event queue and a timer");
    if (watch(relay, EPOLL_CTL_ADD, relay->timer, EPOLLIN, EVENT_TIMER) < 0 ||
        watch(relay, EPOLL_CTL_ADD, relay->control, EPOLLIN | EPOLLRDHUP, EVENT_CONTROL) < 0)
        return err_set_errno(err, ERR_HOST, errno, "relay: watching the timer and the control descriptor");
    int failed = relay_heap_open(&relay->heap, relay->line_count + 1, err);
    return failed ? failed : open_lines(relay, links, counters, err);
}

/* --- the packet path ---------------------------------------------------------------------------------------------------------- */

static void schedule(struct relay *relay, int index)
{
    const struct relay_line *line = &relay->lines[index];
    const struct relay_packet *oldest = relay_ring_oldest(&line->ring);
    if (oldest && !line->blocked)
        relay_heap_set(&relay->heap, index, oldest->deadline_ns);
    else
        relay_heap_remove(&relay->heap, index);
}

/* The port in question is `line->out`, which is also where the opposite line reads: one registration serves both. */
static bool set_blocked(struct relay *relay, int index, bool blocked)
{
    struct relay_line *line = &relay->lines[index];
    if (watch(relay, EPOLL_CTL_MOD, line->out, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, index ^ 1) < 0)
        return false;
    line->blocked = blocked;
    return true;
}

/* Writes the oldest packet. One that the port does not take now stays; one that it never will is counted and let go. */
static void deliver(struct relay *relay, int index, int64_t now_ns)
{
    struct relay_line *line = &relay->lines[index];
    const struct relay_packet *packet = relay_ring_oldest(&line->ring);
    ssize_t written;
    do
        written = write(line->out, packet->data, packet->length);
    while (written < 0 && errno == EINTR);
    if (written >= 0)
        relay_line_count(line, packet->length, now_ns - packet->deadline_ns);
    else if (errno != EAGAIN || !set_blocked(relay, index, true))
        line->counters->write_refused++;
    if (!line->blocked)
        relay_ring_release(&line->ring);
    schedule(relay, index);
}

/* Writes what is due, plus what `target_ns` stands for. Returns the time after the last write. */
static int64_t deliver_due(struct relay *relay, int64_t now_ns, int64_t target_ns)
{
    for (int done = 0; done < DELIVERIES; done++) {
        int index = relay_heap_first(&relay->heap);
        if (index < 0)
            break;
        int64_t deadline_ns = relay->heap.deadline_ns[index];
        if (deadline_ns > now_ns && deadline_ns > target_ns)
            break;
        deliver(relay, index, now_ns);
        now_ns = clock_now_ns();
    }
    return now_ns;
}

/* Reads what has come to a port, a turn's worth. The first packet is what woke us, `early_ns` ago; the others are taken as arriving
 * when they are read. Returns the time of the last read. */
static int64_t read_port(struct relay *relay, int index, int64_t now_ns, int64_t early_ns)
{
    struct relay_line *line = &relay->lines[index];
    for (int done = 0; done < TURN; done++) {
        struct relay_packet *packet = relay_ring_reserve(&line->ring);
        ssize_t length = read(line->in, packet ? packet->data : relay->spare, RELAY_PACKET_MAX);
        if (length < 0) {
            if (errno == EINTR)
                continue;
            if (errno != EAGAIN) {
                line->counters->read_failed++;
                if (errno == EBADFD) /* the device is gone */
                    (void)epoll_ctl(relay->epoll, EPOLL_CTL_DEL, line->in, NULL);
            }
            break;
        }
        if (!packet) {
            (*(line->down ? &line->counters->lost : &line->counters->ring_full))++;
            continue;
        }
        if (length <= RELAY_VNET_HEADER) { /* cannot be a frame */
            line->counters->read_failed++;
            continue;
        }
        struct relay_arrival arrival = {.now_ns = now_ns,
                                        .early_ns = early_ns,
                                        .receiver_ns = relay_bias_arrival_ns(&relay->bias, now_ns - line->last_read_ns),
                                        .length = (uint32_t)length};
        line->last_read_ns = now_ns;
        bool first = line->ring.count == 0;
        relay_line_take(line, packet, &arrival, relay->spare);
        if (first && line->ring.count > 0)
            schedule(relay, index);
        now_ns = clock_now_ns();
        early_ns = 0;
    }
    return now_ns;
}

static int arm(struct relay *relay, int64_t at_ns)
{
    if (at_ns == relay->armed_ns)
        return 0;
    struct itimerspec when = {0};
    if (at_ns != NEVER)
        when.it_value = (struct timespec){.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S};
    if (timerfd_settime(relay->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
        return errno;
    relay->armed_ns = at_ns;
    return 0;
}

/* Sets the timer for the next deadline. Returns whether there is time to sleep at all; if not, `target_ns` is due. */
static bool prepare_sleep(struct relay *relay, int64_t now_ns)
{
    int index = relay_heap_first(&relay->heap);
    relay->target_ns = 0;
    if (index < 0)
        return arm(relay, NEVER) == 0;
    int64_t deadline_ns = relay->heap.deadline_ns[index], left_ns = deadline_ns - now_ns;
    if (left_ns > 2 * STAGE_NS) {
        relay->slept_ns = left_ns - STAGE_NS;
        return arm(relay, deadline_ns - STAGE_NS) == 0;
    }
    /* With less left than waking up takes, the nearer of two errors: now and a little too soon, or the shortest sleep and a little
     * too late. Waiting in a loop would be exact and take a processor from the agents. */
    relay->target_ns = deadline_ns;
    int64_t wake_ns = relay->bias.timer_ns[relay_idle_class(left_ns)], sleep_ns = left_ns - wake_ns;
    if (left_ns <= wake_ns / 2)
        return false;
    if (sleep_ns < SHORTEST_SLEEP_NS)
        sleep_ns = SHORTEST_SLEEP_NS;
    relay->slept_ns = sleep_ns;
    return arm(relay, now_ns + sleep_ns) == 0;
}

/* The timer has fired: what it stood for may go now. */
static int64_t on_timer(struct relay *relay, int64_t now_ns)
{
    if (relay->armed_ns == NEVER || now_ns < relay->armed_ns)
        return 0;
    relay_bias_learn_timer(&relay->bias, relay->slept_ns, now_ns - relay->armed_ns);
    (void)arm(relay, NEVER); /* also takes back its readiness */
    return relay->target_ns;
}

/* Serves one event; `early_ns` is what a packet that woke us lost by our waking up. Returns the time. */
static int64_t serve_port(struct relay *relay, int index, uint32_t events, int64_t now_ns, int64_t early_ns)
{
    if (events & EPOLLOUT) {
        set_blocked(relay, index ^ 1, false);
        schedule(relay, index ^ 1);
    }
    if (events & EPOLLIN)
        now_ns = read_port(relay, index, now_ns, early_ns);
    else if (events & (EPOLLERR | EPOLLHUP)) { /* the device is gone */
        relay->lines[index].counters->read_failed++;
        (void)epoll_ctl(relay->epoll, EPOLL_CTL_DEL, relay->lines[index].in, NULL);
    }
    return deliver_due(relay, now_ns, 0);
}

/* False: the other end of the control descriptor is closed. */
static bool obey(struct relay *relay)
{
    int changed = relay_control_serve(relay->control, relay->lines, relay->line_count);
    if (changed >= 0)
        schedule(relay, changed);
    return changed != RELAY_CONTROL_CLOSED;
}

static int loop(struct relay *relay, struct err *err)
{
    struct epoll_event events[EVENTS];
    int64_t now_ns = clock_now_ns();
    for (;;) {
        bool sleep = prepare_sleep(relay, now_ns);
        int64_t before_ns = now_ns;
        int count = epoll_wait(relay->epoll, events, EVENTS, sleep ? -1 : 0);
        if (count < 0 && errno != EINTR)
            return err_set_errno(err, ERR_HOST, errno, "relay: waiting for packets");
        now_ns = clock_now_ns();
        int64_t waited_ns = now_ns - before_ns, early_ns = 0;
        bool slept = sleep && waited_ns > SLEPT_NS;
        priority_note(&relay->priority, now_ns, slept ? waited_ns : 0);
        if (slept) {
            early_ns = relay_bias_arrival_ns(&relay->bias, waited_ns);
            if (early_ns > waited_ns)
                early_ns = waited_ns;
        }
        int64_t target_ns = sleep ? 0 : relay->target_ns;
        for (int i = 0; i < count; i++) {
            int event = (int)(int64_t)events[i].data.u64;
            if (event == EVENT_TIMER)
                target_ns = on_timer(relay, now_ns);
            else if (event == EVENT_BIAS)
                relay_bias_learn_arrival(&relay->bias, early_ns > 0 && count == 1 ? waited_ns : 0, now_ns);
            else if (event == EVENT_CONTROL && !obey(relay))
                return 0;
        }
        now_ns = deliver_due(relay, now_ns, target_ns);
        for (int i = 0; i < count; i++) {
            int event = (int)(int64_t)events[i].data.u64;
            if (event >= 0) {
                now_ns = serve_port(relay, event, events[i].events, now_ns, early_ns);
                early_ns = 0;
            }
        }
    }
}

static int run(struct relay *relay, const struct relay_link *links, int link_count, struct relay_counters *counters,
               struct err *err)
{
    int failed = open_relay(relay, links, link_count, counters, err);
    if (failed)
        return failed;
    priority_take(&relay->priority, clock_now_ns());
    failed = relay_bias_open(&relay->bias, err);
    if (failed)
        return failed;
    if (watch(relay, EPOLL_CTL_ADD, relay->bias.ours, EPOLLIN, EVENT_BIAS) < 0)
        return err_set_errno(err, ERR_HOST, errno, "relay: watching wake-ups");
    if (write(relay->control, "", 1) != 1)
        return err_set_errno(err, ERR_HOST, errno, "relay: telling that packets flow");
    return loop(relay, err);
}

int relay_run(const struct relay_link *links, int link_count, struct relay_counters *counters, int control_fd, struct err *err)
{
    struct relay relay = {.epoll = -1,
                          .timer = -1,
                          .control = control_fd,
                          .armed_ns = NEVER,
                          .bias = {.ours = -1, .theirs = -1},
                          .priority = {.rank = PRIORITY_RELAY}};
    int code = run(&relay, links, link_count, counters, err);
    close_relay(&relay);
    return code;
}
