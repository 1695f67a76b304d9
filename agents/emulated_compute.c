/* emulated_compute.c: compute tasks on real time.
 *
 * Theory of operation. A task that starts at time t with the drawn time X delivers its parts at t + X (cumulated share of its
 * floats), or when the real work has done them, if that is later. Without real work (synthetic gradients, no values) there is only
 * the timer; without a drawn time (`measured`) only the work.
 *
 * Real work runs on a second thread, one job at a time. The loop's thread writes `job` and posts `wake`; the compute thread
 * publishes layers as they become final in `layers_done`, the end in `ended`, and wakes the loop through an eventfd. `job` belongs
 * to the compute thread from sem_post() until `ended` is seen. Cancelling gives a job up: its thread looks at `give_up` between
 * batches, its results are dropped, and the next task's job waits until the thread is free. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agents/compute_time.h"
#include "agents/emulated_internal.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

/* Draws of heavy tails may be infinite; a trial's deadline comes long before. */
static const double COMPUTE_FOR_EVER_NS = 1e18;

struct compute {
    struct emulated *emulated;
    struct timer *timer;
    uint32_t generation; /* of the newest task */
    /* The task in progress. */
    bool active, real;
    struct task task;
    uint32_t round;
    int64_t begin_ns, end_ns; /* end_ns: t + X */
    struct work_parts parts;
    int64_t due_ns[WORK_PARTS_MAX];
    int delivered;
    int64_t samples;
    double loss;
    int64_t work_end_ns;
    /* The loop's view of the second thread. */
    bool has_thread, busy, waiting; /* waiting: the active task's job is not posted yet */
    uint32_t job_generation;
    double total_work_ns;
    uint64_t works;
    /* Shared with it. */
    pthread_t thread;
    sem_t wake, running;
    int event_fd;
    struct work job;
    int64_t job_begin_ns, job_end_ns;
    atomic_bool give_up, quit, ended;
    atomic_int layers_done;
};

/* ---- the second thread ---- */

static void wake_loop(struct compute *compute)
{
    uint64_t one = 1;
    ssize_t written = write(compute->event_fd, &one, sizeof(one)); /* a counter that is far from full: always succeeds */
    (void)written;
}

static void on_layer(void *context, int layer)
{
    struct compute *compute = context;
    atomic_store_explicit(&compute->layers_done, layer + 1, memory_order_release);
    wake_loop(compute);
}

static void *thread_main(void *context)
{
    struct compute *compute = context;
    const struct emulated_options *options = &compute->emulated->options;
    if (options->events->thread_begins)
        options->events->thread_begins(options->context);
    sem_post(&compute->running);
    for (;;) {
        while (sem_wait(&compute->wake) < 0 && errno == EINTR) {
        }
        if (atomic_load(&compute->quit))
            return NULL;
        compute->job_begin_ns = clock_now_ns();
        workload_run(compute->emulated->options.workload, &compute->job);
        compute->job_end_ns = clock_now_ns();
        atomic_store_explicit(&compute->ended, true, memory_order_release);
        wake_loop(compute);
    }
}

/* A slow worker whose times are not drawn: the real work's own time is stretched, and known only when the work is done. */
static bool stretched(const struct compute *compute)
{
    return compute->real && compute->emulated->options.compute_time->kind == DISTRIBUTION_MEASURED &&
           compute->emulated->options.slow_factor > 1;
}

/* The work of a slow worker is stretched afterwards, and shall end with the window then. */
static int64_t stop_at_ns(const struct compute *compute)
{
    const struct emulated *emulated = compute->emulated;
    const int64_t deadline_ns = emulated->start_ns + compute->task.deadline_ns;
    if (compute->task.deadline_ns == 0)
        return INT64_MAX;
    return stretched(compute)
               ? compute->begin_ns + (int64_t)((double)(deadline_ns - compute->begin_ns) / emulated->options.slow_factor)
               : deadline_ns;
}

static void post_job(struct compute *compute)
{
    const struct task *task = &compute->task;
    bool drawn = compute->emulated->options.compute_time->kind != DISTRIBUTION_MEASURED;
    compute->job = (struct work){
        .task = *task,
        .samples = task->kind == TASK_SAMPLES && !drawn ? -1 : compute->samples,
        .stop_at_ns = stop_at_ns(compute),
        .stop = &compute->give_up,
        .layer_done = compute->parts.count > 1 ? on_layer : NULL,
        .context = compute,
    };
    compute->job_generation = compute->generation;
    compute->waiting = false;
    compute->busy = true;
    atomic_store_explicit(&compute->give_up, false, memory_order_relaxed);
    atomic_store_explicit(&compute->ended, false, memory_order_relaxed);
    atomic_store_explicit(&compute->layers_done, 0, memory_order_relaxed);
    sem_post(&compute->wake);
}

/* ---- delivering ---- */

static void compute_span(struct compute *compute, int64_t end_ns, uint32_t flags)
{
    struct emulated *emulated = compute->emulated;
    struct span_record span = {.round = compute->round,
                               .kind = SPAN_COMPUTE,
                               .peer = NO_PEER,
                               .flags = flags,
                               .begin_ns = emulated_relative(emulated, compute->begin_ns),
                               .end_ns = emulated_relative(emulated, end_ns)};
    recorder_span(emulated->options.recorder, &span);
}

static bool part_is_ready(const struct compute *compute)
{
    if (!compute->real)
        return true;
    if (compute->waiting || compute->job_generation != compute->generation)
        return false;
    if (!compute->busy)
        return true; /* the end was seen */
    if (stretched(compute))
        return false;
    return compute->delivered < compute->parts.count - 1 &&
           atomic_load_explicit(&compute->layers_done, memory_order_acquire) > compute->parts.layer[compute->delivered];
}

static void deliver_part(struct compute *compute)
{
    struct emulated *emulated = compute->emulated;
    int part = compute->delivered++;
    bool last = compute->delivered == compute->parts.count;
    struct task_result result = {.generation = compute->generation,
                                 .step = compute->task.step,
                                 .kind = compute->task.kind,
                                 .part = part,
                                 .parts = compute->parts.count,
                                 .first = compute->parts.first[part],
                                 .count = compute->parts.floats[part],
                                 .samples = compute->samples,
                                 .loss = compute->loss};
    if (last) {
        bool drawn = emulated->options.compute_time->kind != DISTRIBUTION_MEASURED;
        bool overrun = compute->real && drawn && compute->work_end_ns > compute->end_ns;
        emulated->counters.overruns += overrun;
        compute->active = false;
        compute_span(compute, clock_now_ns(), overrun ? SPAN_OVERRUN : 0);
    }
    emulated_enter(emulated);
    if (emulated->scheme->on_task && !emulated->stopped && !emulated->failed)
        emulated->scheme->on_task(&emulated->node, &result);
    emulated_leave(emulated);
}

/* Delivers what is due and ready, then arms the timer for what is ready and not due; what is not ready comes by the eventfd. */
static void advance(struct compute *compute)
{
    uint32_t generation = compute->generation;
    while (compute->active && compute->generation == generation && part_is_ready(compute)) {
        int64_t due_ns = compute->due_ns[compute->delivered];
        if (clock_now_ns() < due_ns) {
            loop_arm(compute->timer, due_ns);
            return;
        }
        deliver_part(compute); /* may cancel this task and start another, which arms the timer itself */
    }
}

static void on_timer(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    advance(context);
}

/* The task takes whole_ns from its begin; its parts come at their share of the floats. */
static void set_due_times(struct compute *compute, double whole_ns)
{
    whole_ns = fmin(whole_ns, COMPUTE_FOR_EVER_NS);
    compute->end_ns = compute->begin_ns + (int64_t)whole_ns;
    size_t total = 0, done = 0;
    for (int i = 0; i < compute->parts.count; i++)
        total += compute->parts.floats[i];
    for (int i = 0; i < compute->parts.count; i++) {
        done += compute->parts.floats[i];
        double share = total > 0 ? (double)done / (double)total : 1;
        compute->due_ns[i] = compute->begin_ns + (int64_t)(whole_ns * share);
    }
}

static void on_event(void *context, uint32_t events)
{
    (void)events;
    struct compute *compute = context;
    uint64_t count;
    ssize_t got = read(compute->event_fd, &count, sizeof(count));
    (void)got;
    if (compute->busy && atomic_load_explicit(&compute->ended, memory_order_acquire)) {
        compute->busy = false;
        compute->total_work_ns += (double)(compute->job_end_ns - compute->job_begin_ns);
        compute->works++;
        if (compute->active && compute->job_generation == compute->generation) {
            compute->loss = compute->job.loss;
            compute->samples = compute->job.samples_done;
            compute->work_end_ns = compute->job_end_ns;
            if (stretched(compute))
                set_due_times(compute, (double)(compute->job_end_ns - compute->begin_ns) * compute->emulated->options.slow_factor);
        }
        if (compute->active && compute->waiting)
            post_job(compute);
    }
    advance(compute);
}

/* ---- starting and cancelling ---- */

/* Servers are no stragglers: their draws are those of their own node index, unslowed. */
static double draw_ns(const struct emulated *emulated, const struct task *task)
{
    const struct node *node = &emulated->node;
    double drawn = compute_time_draw(emulated->options.compute_time, node->setup->seed, (uint32_t)node->index, task->step);
    return drawn * emulated->options.slow_factor;
}

static void plan_times(struct compute *compute)
{
    struct emulated *emulated = compute->emulated;
    const struct task *task = &compute->task;
    double mini_batch_ns = draw_ns(emulated, task);
    bool drawn = emulated->options.compute_time->kind != DISTRIBUTION_MEASURED;
    double whole_ns = mini_batch_ns * workload_cost(emulated->options.workload, task);
    compute->samples = emulated->node.setup->batch;
    if (task->kind == TASK_SAMPLES) {
        const double window_ns = (double)(emulated->start_ns + task->deadline_ns - compute->begin_ns);
        const struct work_samples done = workload_samples_in_time(task, compute->samples, window_ns, mini_batch_ns);
        compute->samples = done.count;
        whole_ns = drawn || !compute->real ? done.whole_ns : 0; /* real work that is not drawn ends by the clock */
    }
    set_due_times(compute, whole_ns);
}

uint32_t emulated_compute_start(struct node *node, const struct task *task)
{
    struct emulated *emulated = emulated_of(node);
    struct compute *compute = emulated->compute;
    const char *refusal = compute->active ? "the scheme started a task while another one was running"
                                          : workload_refuses(emulated->options.workload, task);
    if (refusal) {
        emulated_fail(emulated, "%s", refusal);
        return 1;
    }
    compute->generation += compute->generation == UINT32_MAX ? 2 : 1; /* never 0 */
    compute->active = true;
    compute->task = *task;
    compute->round = emulated_round(emulated);
    compute->begin_ns = clock_now_ns();
    compute->delivered = 0;
    compute->loss = 0;
    compute->real = compute->has_thread && (task->model || task->kind == TASK_MATRIX_BLOCK);
    emulated->counters.compute_tasks++;
    workload_parts(emulated->options.workload, task, &compute->parts);
    plan_times(compute);
    if (!compute->real) {
        workload_fill(emulated->options.workload, task);
        loop_arm(compute->timer, compute->due_ns[0]);
        return compute->generation;
    }
    loop_disarm(compute->timer);
    compute->waiting = compute->busy;
    if (!compute->busy)
        post_job(compute);
    return compute->generation;
}

void emulated_compute_cancel(struct node *node, uint32_t generation)
{
    struct emulated *emulated = emulated_of(node);
    struct compute *compute = emulated->compute;
    if (!compute->active || compute->generation != generation)
        return;
    compute->active = compute->waiting = false;
    loop_disarm(compute->timer);
    if (compute->busy)
        atomic_store_explicit(&compute->give_up, true, memory_order_relaxed);
    compute_span(compute, clock_now_ns(), SPAN_CANCELLED);
}

bool emulated_compute_forget(struct compute *compute)
{
    compute->active = compute->waiting = false;
    loop_disarm(compute->timer);
    return !compute->busy;
}

double emulated_compute_mean_ns(const struct compute *compute)
{
    return compute->works > 0 ? compute->total_work_ns / (double)compute->works : 0;
}

/* ---- life ---- */

struct compute *emulated_compute_new(struct emulated *emulated, struct err *err)
{
    struct compute *compute = arena_new_object(emulated->options.arena, struct compute);
    compute->emulated = emulated;
    compute->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (compute->event_fd < 0) {
        err_set_errno(err, ERR_HOST, errno, "cannot create an event descriptor");
        return NULL;
    }
    if (!loop_watch(emulated->options.loop, compute->event_fd, EPOLLIN, on_event, compute, err)) {
        close_fd(&compute->event_fd);
        return NULL;
    }
    compute->timer = loop_timer(emulated->options.loop, on_timer, compute);
    sem_init(&compute->wake, 0, 0);
    sem_init(&compute->running, 0, 0);
    return compute;
}

int emulated_compute_thread(struct compute *compute, struct err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
    int error = pthread_create(&compute->thread, NULL, thread_main, compute);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return err_set_errno(err, ERR_HOST, error, "cannot start the compute thread");
    compute->has_thread = true;
    while (sem_wait(&compute->running) < 0 && errno == EINTR) { /* its first system calls come before the sandbox closes */
    }
    return 0;
}

void emulated_compute_free(struct compute *compute)
{
    if (!compute)
        return;
    if (compute->has_thread) {
        atomic_store(&compute->give_up, true);
        atomic_store(&compute->quit, true);
        sem_post(&compute->wake);
        pthread_join(compute->thread, NULL);
    }
    sem_destroy(&compute->wake);
    sem_destroy(&compute->running);
    close_fd(&compute->event_fd);
}
