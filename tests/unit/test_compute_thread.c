/* test_compute_thread.c: real gradients on the emulated world's second thread: the same bits as computed directly, overruns, and
 * tasks that are cancelled while the thread works on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#undef fail
#include "agents/dataset.h"
#include "agents/emulated_internal.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"

enum { RESULTS_MAX = 512 };
static struct task_result results[RESULTS_MAX];
static int result_count;
static char failure[256];

static void on_task(struct node *node, const struct task_result *result)
{
    (void)node;
    results[result_count++] = *result;
}

static void start(struct node *node)
{
    (void)node;
}

static void note_failure(void *context, const char *sentence)
{
    (void)context;
    strncpy(failure, sentence, sizeof(failure) - 1);
}

static const struct scheme scheme = {.name = "scripted", .start = start, .on_task = on_task};
static const struct emulated_events events = {.failed = note_failure};
static const struct workload_settings settings = {.model = MODEL_MLP, .layers = {32, 16}, .layer_count = 2, .batch = 16};

struct rig {
    struct arena *arena;
    struct loop *loop;
    struct workload *workload;
    struct recorder recorder;
    struct distribution time;
    struct scheme_setup setup;
    struct emulated *emulated;
    float *gradient, *expected;
    struct task task;
};

static int dataset_fd;

static void open_slow_rig(struct rig *rig, struct distribution time, double slow_factor)
{
    memset(rig, 0, sizeof(*rig));
    result_count = 0;
    failure[0] = '\0';
    rig->arena = arena_new();
    rig->loop = loop_new(NULL);
    rig->time = time;
    const struct workload_options workload = {
        .settings = &settings, .seed = 3, .workers = 1, .role = ROLE_WORKER, .dataset_fd = dataset_fd, .arena = rig->arena};
    rig->workload = workload_new(&workload, NULL);
    assert_non_null(rig->workload);
    size_t count = workload_parameter_count(rig->workload);
    rig->setup = (struct scheme_setup){.scheme = &scheme,
                                       .workers = 1,
                                       .nodes = 1,
                                       .parameter_count = count,
                                       .batch = settings.batch,
                                       .rounds = 1,
                                       .values_carried = true};
    const struct recorder_options recorder = {.arena = rig->arena, .rounds = 1, .spans_wanted = 1000};
    assert_int_equal(recorder_init(&rig->recorder, &recorder, NULL), 0);
    struct emulated_options options = {.loop = rig->loop,
                                       .arena = rig->arena,
                                       .setup = &rig->setup,
                                       .optimiser = {.learning_rate = 0.125},
                                       .compute_time = &rig->time,
                                       .slow_factor = slow_factor,
                                       .workload = rig->workload,
                                       .recorder = &rig->recorder,
                                       .transport = {.node_count = 1},
                                       .events = &events};
    rig->emulated = emulated_new(&options, NULL);
    assert_non_null(rig->emulated);
    assert_int_equal(emulated_start_thread(rig->emulated, NULL), 0);
    emulated_start(rig->emulated, clock_now_ns());
    assert_int_equal(loop_turn(rig->loop, 0, NULL), 0);
    rig->gradient = arena_new_array(rig->arena, float, count);
    rig->expected = arena_new_array(rig->arena, float, count);
    rig->task =
        (struct task){.kind = TASK_GRADIENT, .model = workload_initial_model(rig->workload), .gradient = rig->gradient, .parts = 1};
}

static void open_rig(struct rig *rig, struct distribution time)
{
    open_slow_rig(rig, time, 1);
}

static void close_rig(struct rig *rig)
{
    assert_string_equal(failure, "");
    emulated_stop(rig->emulated);
    emulated_free(rig->emulated);
    workload_free(rig->workload);
    loop_free(rig->loop);
    arena_free(rig->arena);
}

static void await_results(struct rig *rig, int count)
{
    while (result_count < count)
        assert_int_equal(loop_turn(rig->loop, clock_now_ns() + NS_PER_MS, NULL), 0);
}

static void compare_with_direct_work(struct rig *rig)
{
    struct work work = {.task = rig->task};
    work.task.gradient = rig->expected;
    workload_run(rig->workload, &work);
    assert_memory_equal(rig->gradient, rig->expected, rig->setup.parameter_count * sizeof(float));
    assert_true(results[result_count - 1].loss == work.loss);
}

static void parts_come_as_layers_are_done(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, (struct distribution){.kind = DISTRIBUTION_MEASURED});
    rig.task.parts = 3;
    uint32_t generation = node_compute(emulated_node(rig.emulated), &rig.task);
    await_results(&rig, 3);
    size_t end = rig.setup.parameter_count;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(results[i].generation, generation);
        assert_int_equal(results[i].part, i);
        assert_int_equal(results[i].first + results[i].count, end);
        end = results[i].first;
    }
    assert_int_equal(end, 0);
    assert_int_equal(results[2].samples, settings.batch);
    compare_with_direct_work(&rig);
    assert_int_equal(rig.recorder.spans[0].flags, 0); /* nothing was drawn: nothing is overrun */
    close_rig(&rig);
}

static void work_longer_than_the_drawn_time_is_an_overrun(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 1});
    node_compute(emulated_node(rig.emulated), &rig.task);
    await_results(&rig, 1);
    compare_with_direct_work(&rig);
    assert_int_equal(rig.recorder.spans[0].flags, SPAN_OVERRUN);
    struct node_counters counters;
    emulated_counters(rig.emulated, &counters);
    assert_int_equal(counters.overruns, 1);
    assert_int_equal(counters.compute_tasks, 1);
    assert_true(counters.gradient_mean_ns > 0);
    close_rig(&rig);
}

static void work_shorter_than_the_drawn_time_waits_for_it(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 300e6});
    int64_t begin_ns = clock_now_ns();
    node_compute(emulated_node(rig.emulated), &rig.task);
    await_results(&rig, 1);
    assert_true(clock_now_ns() - begin_ns >= 300 * NS_PER_MS);
    compare_with_direct_work(&rig);
    close_rig(&rig);
}

/* Nothing is drawn: the real work's own time is stretched, whole or in parts, and is no overrun. */
static void a_slow_worker_stretches_measured_work(void **state)
{
    (void)state;
    struct rig rig;
    enum { FACTOR = 50 };
    open_slow_rig(&rig, (struct distribution){.kind = DISTRIBUTION_MEASURED}, FACTOR);
    rig.task.parts = 3;
    node_compute(emulated_node(rig.emulated), &rig.task);
    await_results(&rig, 3);
    struct node_counters counters = {0};
    emulated_counters(rig.emulated, &counters);
    assert_int_equal(rig.recorder.span_count, 1);
    const struct span_record *span = &rig.recorder.spans[0];
    assert_int_equal(span->flags, 0);
    assert_true((double)(span->end_ns - span->begin_ns) >= FACTOR * counters.gradient_mean_ns);
    compare_with_direct_work(&rig);
    close_rig(&rig);
}

static void cancelled_work_never_shows(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, (struct distribution){.kind = DISTRIBUTION_MEASURED});
    struct node *node = emulated_node(rig.emulated);
    enum { TIMES = 100 };
    for (int i = 0; i < TIMES; i++) { /* cancelled before, during and after the work, and between parts */
        rig.task.step = 1000 + (uint64_t)i;
        rig.task.parts = 1 + i % 3;
        int before = result_count;
        uint32_t generation = node_compute(node, &rig.task);
        for (int turns = 0; turns < i % 5 && result_count == before; turns++)
            assert_int_equal(loop_turn(rig.loop, clock_now_ns() + turns * 20 * NS_PER_US, NULL), 0);
        node_cancel(node, generation);
    }
    int before = result_count;
    rig.task.step = 7;
    rig.task.parts = 1;
    uint32_t last = node_compute(node, &rig.task);
    await_results(&rig, before + 1);
    assert_int_equal(results[before].generation, last);
    compare_with_direct_work(&rig);
    close_rig(&rig);
}

static void closing_does_not_wait_for_a_result(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 3600e9});
    rig.task.kind = TASK_SAMPLES;
    rig.task.sample_cap = INT64_C(1) << 40; /* for days: given up between batches */
    node_compute(emulated_node(rig.emulated), &rig.task);
    close_rig(&rig);
}

static int unpack(void **state)
{
    (void)state;
    return dataset_export(DATASET_FASHION_MNIST, NULL, &dataset_fd, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_come_as_layers_are_done),
        cmocka_unit_test(work_longer_than_the_drawn_time_is_an_overrun),
        cmocka_unit_test(work_shorter_than_the_drawn_time_waits_for_it),
        cmocka_unit_test(a_slow_worker_stretches_measured_work),
        cmocka_unit_test(cancelled_work_never_shows),
        cmocka_unit_test(closing_does_not_wait_for_a_result),
    };
    return cmocka_run_group_tests(tests, unpack, NULL);
}
