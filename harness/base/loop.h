/* loop.h: one thread's event loop: epoll for descriptors, one timerfd (CLOCK_MONOTONIC, absolute) behind a heap of timers.
 *
 * Callbacks run on the thread that calls loop_run(). A callback may add, change and remove watches and timers, its own included.
 * The loop allocates only when a watch or a timer is created, never when a timer is armed or an event is delivered. */
#ifndef LAGGARD_BASE_LOOP_H
#define LAGGARD_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct loop;
struct watch;
struct timer;

typedef void loop_fd_callback(void *context, uint32_t epoll_events);
typedef void loop_timer_callback(void *context, int64_t deadline_ns);

struct loop *loop_new(struct err *err);
void loop_free(struct loop *loop); /* watches and timers are freed with it; descriptors stay open; NULL allowed */

struct watch *loop_watch(struct loop *loop, int fd, uint32_t epoll_events, loop_fd_callback *callback, void *context,
                         struct err *err);
int loop_change(struct watch *watch, uint32_t epoll_events);
void loop_unwatch(struct watch *watch); /* before the descriptor is closed */

struct timer *loop_timer(struct loop *loop, loop_timer_callback *callback, void *context);
void loop_arm(struct timer *timer, int64_t deadline_ns); /* absolute; re-arming moves it; a past deadline fires at the next turn */
void loop_disarm(struct timer *timer);
void loop_ignore_lateness(struct timer *timer); /* for good: loop_lateness() does not count it */

int loop_run(struct loop *loop, struct err *err); /* until loop_stop() */
void loop_stop(struct loop *loop);
/* One turn: delivers what is due, waiting at most until `deadline_ns` (0: do not wait; INT64_MAX: for ever). */
int loop_turn(struct loop *loop, int64_t deadline_ns, struct err *err);

/* From now on the loop looks for events for so long before it sleeps, and lets others have the processor between two looks: what
 * comes meanwhile is delivered without a wake-up. 0, the default: it sleeps at once. */
void loop_busy_wait(struct loop *loop, int64_t for_ns);

/* How late timers fired since loop_new: the raw material of the fidelity verdict. */
struct loop_lateness {
    uint64_t count;
    int64_t total_ns, maximum_ns;
    uint64_t over_1ms_count;
};
struct loop_lateness loop_lateness(const struct loop *loop);

#endif
