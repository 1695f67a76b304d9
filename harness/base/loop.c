/* loop.c: one thread's event loop.
 *
 * Theory of operation. Timers live in a binary heap ordered by (deadline, order of arming); a timer knows its place in it, so that
 * arming and disarming cost O(log n) and no search. A turn moves every timer that is due to a list, and fires from the list: a
 * callback that arms a timer in the past waits for the next turn and cannot starve the descriptors. One timerfd wakes epoll for the
 * earliest deadline; it is set only when that deadline changed, and watched edge-triggered, so that it is never read.
 *
 * A watch that is removed while its event waits in the current batch is only marked; its memory is used again after the batch. */
#include "base/loop.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

enum { BATCH = 64 };

struct watch {
    struct loop *loop;
    int fd;
    bool active;
    loop_fd_callback *callback;
    void *context;
    struct watch *next; /* in the list of removed or of free watches */
};

enum timer_state { IDLE, IN_HEAP, DUE };

struct timer {
    struct loop *loop;
    loop_timer_callback *callback;
    void *context;
    int64_t deadline_ns, armed_ns;
    uint64_t order;
    size_t place; /* in the heap */
    enum timer_state state;
    bool lateness_ignored;
    struct timer *next, *previous; /* in the list of due timers */
};

struct loop {
    struct arena *arena;
    int epoll_fd, timer_fd;
    int64_t timer_fd_ns; /* what the timerfd is set to; INT64_MAX: it will not fire */
    int64_t busy_wait_ns;
    bool stop;
    unsigned depth; /* turns inside callbacks of turns */
    struct timer **heap;
    size_t heap_length, heap_capacity, timer_count;
    uint64_t next_order;
    struct timer due; /* head of the circular list */
    struct watch *removed, *free;
    struct loop_lateness lateness;
};

struct loop *loop_new(struct err *err)
{
    cleanup(close_fd) int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0) {
        err_set_errno(err, ERR_HOST, errno, "cannot create an epoll descriptor");
        return NULL;
    }
    cleanup(close_fd) int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer_fd < 0) {
        err_set_errno(err, ERR_HOST, errno, "cannot create a timer descriptor");
        return NULL;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL}; /* NULL: the timerfd */
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event) < 0) {
        err_set_errno(err, ERR_HOST, errno, "cannot watch a timer descriptor");
        return NULL;
    }
    struct arena *arena = arena_new();
    struct loop *loop = arena_new_object(arena, struct loop);
    loop->arena = arena;
    loop->epoll_fd = steal_fd(&epoll_fd);
    loop->timer_fd = steal_fd(&timer_fd);
    loop->timer_fd_ns = INT64_MAX;
    loop->due.next = loop->due.previous = &loop->due;
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    close(loop->epoll_fd);
    close(loop->timer_fd);
    arena_free(loop->arena);
}

struct watch *loop_watch(struct loop *loop, int fd, uint32_t epoll_events, loop_fd_callback *callback, void *context,
                         struct err *err)
{
    struct watch *watch = loop->free;
    if (watch)
        loop->free = watch->next;
    else
        watch = arena_new_object(loop->arena, struct watch);
    *watch = (struct watch){.loop = loop, .fd = fd, .active = true, .callback = callback, .context = context};
    struct epoll_event event = {.events = epoll_events, .data.ptr = watch};
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        err_set_errno(err, ERR_HOST, errno, "cannot watch descriptor %d", fd);
        watch->next = loop->free;
        loop->free = watch;
        return NULL;
    }
    return watch;
}

int loop_change(struct watch *watch, uint32_t epoll_events)
{
    struct epoll_event event = {.events = epoll_events, .data.ptr = watch};
    return epoll_ctl(watch->loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event) < 0 ? -ERR_HOST : 0;
}

void loop_unwatch(struct watch *watch)
{
    struct loop *loop = watch->loop;
    if (!watch->active)
        return;
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->active = false;
    struct watch **list = loop->depth ? &loop->removed : &loop->free;
    watch->next = *list;
    *list = watch;
}

static bool earlier(const struct timer *a, const struct timer *b)
{
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->order < b->order;
}

static void put(struct loop *loop, size_t place, struct timer *timer)
{
    loop->heap[place] = timer;
    timer->place = place;
}

static void move_up(struct loop *loop, struct timer *timer)
{
    size_t place = timer->place;
    for (; place > 0 && earlier(timer, loop->heap[(place - 1) / 2]); place = (place - 1) / 2)
        put(loop, place, loop->heap[(place - 1) / 2]);
    put(loop, place, timer);
}

static void move_down(struct loop *loop, struct timer *timer)
{
    size_t place = timer->place;
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= loop->heap_length)
            break;
        if (child + 1 < loop->heap_length && earlier(loop->heap[child + 1], loop->heap[child]))
            child++;
        if (!earlier(loop->heap[child], timer))
            break;
        put(loop, place, loop->heap[child]);
        place = child;
    }
    put(loop, place, timer);
}

static void remove_from_heap(struct loop *loop, struct timer *timer)
{
    struct timer *last = loop->heap[--loop->heap_length];
    if (last != timer) {
        put(loop, timer->place, last);
        move_up(loop, last);
        move_down(loop, last);
    }
}

struct timer *loop_timer(struct loop *loop, loop_timer_callback *callback, void *context)
{
    if (loop->timer_count == loop->heap_capacity) { /* room for every timer, so that arming never allocates */
        size_t capacity = loop->heap_capacity ? 2 * loop->heap_capacity : 16;
        struct timer **heap = arena_new_array(loop->arena, struct timer *, capacity);
        for (size_t i = 0; i < loop->heap_length; i++)
            heap[i] = loop->heap[i];
        loop->heap = heap;
        loop->heap_capacity = capacity;
    }
    loop->timer_count++;
    struct timer *timer = arena_new_object(loop->arena, struct timer);
    timer->loop = loop;
    timer->callback = callback;
    timer->context = context;
    return timer;
}

void loop_disarm(struct timer *timer)
{
    if (timer->state == IN_HEAP) {
        remove_from_heap(timer->loop, timer);
    } else if (timer->state == DUE) {
        timer->previous->next = timer->next;
        timer->next->previous = timer->previous;
    }
    timer->state = IDLE;
}

void loop_arm(struct timer *timer, int64_t deadline_ns)
{
    struct loop *loop = timer->loop;
    loop_disarm(timer);
    timer->deadline_ns = deadline_ns;
    timer->armed_ns = clock_now_ns();
    timer->order = loop->next_order++;
    timer->state = IN_HEAP;
    put(loop, loop->heap_length++, timer);
    move_up(loop, timer);
}

static void count_lateness(struct loop *loop, int64_t late_ns)
{
    loop->lateness.count++;
    loop->lateness.total_ns += late_ns;
    if (late_ns > loop->lateness.maximum_ns)
        loop->lateness.maximum_ns = late_ns;
    loop->lateness.over_1ms_count += late_ns > NS_PER_MS;
}

static bool fire_due_timers(struct loop *loop)
{
    if (loop->heap_length == 0)
        return false;
    int64_t now = clock_now_ns();
    while (loop->heap_length > 0 && loop->heap[0]->deadline_ns <= now) {
        struct timer *timer = loop->heap[0];
        remove_from_heap(loop, timer);
        timer->state = DUE;
        timer->next = &loop->due;
        timer->previous = loop->due.previous;
        timer->previous->next = timer->next->previous = timer;
    }
    bool fired = false;
    while (loop->due.next != &loop->due) {
        struct timer *timer = loop->due.next;
        loop_disarm(timer);
        /* A timer armed for a moment that had already passed is not late by the past that it was armed with. */
        int64_t expected = timer->deadline_ns > timer->armed_ns ? timer->deadline_ns : timer->armed_ns;
        if (!timer->lateness_ignored)
            count_lateness(loop, clock_now_ns() - expected);
        timer->callback(timer->context, timer->deadline_ns);
        fired = true;
    }
    return fired;
}

static int set_timer_fd(struct loop *loop, int64_t deadline_ns, struct err *err)
{
    if (deadline_ns == loop->timer_fd_ns)
        return 0;
    int64_t at = deadline_ns == INT64_MAX ? 0 : deadline_ns > 0 ? deadline_ns : 1; /* 0 switches the timerfd off */
    struct itimerspec setting = {.it_value = {.tv_sec = at / NS_PER_S, .tv_nsec = at % NS_PER_S}};
    if (timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &setting, NULL) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot set a timer descriptor");
    loop->timer_fd_ns = deadline_ns;
    return 0;
}

void loop_busy_wait(struct loop *loop, int64_t for_ns)
{
    loop->busy_wait_ns = for_ns;
}

/* Without sleeping. The timerfd is set, so that a look sees what is due. */
static int look_out(struct loop *loop, struct epoll_event *events)
{
    const int64_t until_ns = clock_now_ns() + loop->busy_wait_ns;
    int count;
    while ((count = epoll_wait(loop->epoll_fd, events, BATCH, 0)) == 0 && clock_now_ns() < until_ns)
        sched_yield();
    return count;
}

/* Waits once, and delivers. 1: something was delivered or a signal came; 0: nothing. */
static int wait_and_deliver(struct loop *loop, int64_t deadline_ns, bool may_wait, struct err *err)
{
    if (may_wait) {
        int64_t wake_ns =
            loop->heap_length > 0 && loop->heap[0]->deadline_ns < deadline_ns ? loop->heap[0]->deadline_ns : deadline_ns;
        int status = set_timer_fd(loop, wake_ns, err);
        if (status < 0)
            return status;
    }
    struct epoll_event events[BATCH];
    int count = may_wait && loop->busy_wait_ns > 0 ? look_out(loop, events) : 0;
    if (count == 0)
        count = epoll_wait(loop->epoll_fd, events, BATCH, may_wait ? -1 : 0);
    if (count < 0 && errno != EINTR)
        return err_set_errno(err, ERR_HOST, errno, "cannot wait for events");
    bool delivered = count < 0;
    for (int i = 0; i < count; i++)
        if (!events[i].data.ptr)
            loop->timer_fd_ns = INT64_MAX; /* it went off */
    if (may_wait && fire_due_timers(loop))
        delivered = true;
    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;
        if (watch && watch->active) {
            watch->callback(watch->context, events[i].events);
            delivered = true;
        }
    }
    return delivered;
}

int loop_turn(struct loop *loop, int64_t deadline_ns, struct err *err)
{
    loop->depth++;
    bool fired = fire_due_timers(loop);
    int status;
    do {
        bool may_wait = !fired && !loop->stop && deadline_ns > 0 && (deadline_ns == INT64_MAX || clock_now_ns() < deadline_ns);
        status = wait_and_deliver(loop, deadline_ns, may_wait, err);
        if (!may_wait)
            break;
    } while (status == 0);
    if (--loop->depth == 0) {
        while (loop->removed) {
            struct watch *watch = loop->removed;
            loop->removed = watch->next;
            watch->next = loop->free;
            loop->free = watch;
        }
    }
    return status < 0 ? status : 0;
}

int loop_run(struct loop *loop, struct err *err)
{
    int status = 0;
    while (!loop->stop && status == 0)
        status = loop_turn(loop, INT64_MAX, err);
    loop->stop = false;
    return status;
}

void loop_stop(struct loop *loop)
{
    loop->stop = true;
}

void loop_ignore_lateness(struct timer *timer)
{
    timer->lateness_ignored = true;
}

struct loop_lateness loop_lateness(const struct loop *loop)
{
    return loop->lateness;
}
