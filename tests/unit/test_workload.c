/* test_workload.c: what tasks compute: parts, batches that any process can replay, partitions that add up, synthetic gradients and
 * the check of their sums. The real gradients are of the package's images. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#undef fail
#include "agents/dataset.h"
#include "agents/workload.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

enum { WORKERS = 3, BATCH = 8 };
static const struct workload_settings softmax = {.model = MODEL_SOFTMAX, .batch = BATCH};
static const struct workload_settings mlp = {.model = MODEL_MLP, .layers = {6, 5}, .layer_count = 2, .batch = BATCH};
static const struct workload_settings synthetic = {.model = MODEL_SYNTHETIC, .size_bytes = 40000, .batch = BATCH};

static int dataset_fd; /* unpacked once for all tests */

static struct workload *open_workload(const struct workload_settings *settings, enum node_role role, int index, struct arena *arena)
{
    struct workload_options options = {.settings = settings,
                                       .seed = 5,
                                       .workers = WORKERS,
                                       .role = role,
                                       .role_index = index,
                                       .dataset_fd = dataset_fd,
                                       .arena = arena};
    struct workload *workload = workload_new(&options, NULL);
    assert_non_null(workload);
    return workload;
}

static void run(struct workload *workload, const struct task *task, int64_t samples, struct work *work)
{
    *work = (struct work){.task = *task, .samples = samples};
    workload_run(workload, work);
}

static void parts_cover_the_gradient_from_its_end(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct workload *known = open_workload(&synthetic, ROLE_WORKER, 0, arena);
    struct workload *layered = open_workload(&mlp, ROLE_WORKER, 0, arena);
    static const int wanted[] = {0, 1, 2, 3, 7, 64, 1000};
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
            struct workload *workload = which ? layered : known;
            struct task task = {.kind = TASK_GRADIENT, .parts = wanted[i]};
            struct work_parts parts;
            workload_parts(workload, &task, &parts);
            assert_in_range(parts.count, 1, WORK_PARTS_MAX);
            if (!which)
                assert_int_equal(parts.count, wanted[i] < 1 ? 1 : wanted[i] > WORK_PARTS_MAX ? WORK_PARTS_MAX : wanted[i]);
            else
                assert_int_equal(parts.count, wanted[i] < 1 ? 1 : wanted[i] > 3 ? 3 : wanted[i]);
            size_t end = workload_parameter_count(workload);
            for (int part = 0; part < parts.count; part++) {
                assert_int_equal(parts.first[part] + parts.floats[part], end);
                end = parts.first[part];
            }
            assert_int_equal(end, 0);
        }
    }
    workload_free(known);
    workload_free(layered);
}

static void layers_done(void *context, int layer)
{
    int *next = context;
    assert_int_equal(layer, (*next)++);
}

static void a_gradient_is_repeatable_and_belongs_to_worker_and_step(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct workload *first = open_workload(&mlp, ROLE_WORKER, 1, arena), *again = open_workload(&mlp, ROLE_WORKER, 1, arena);
    struct workload *other = open_workload(&mlp, ROLE_WORKER, 2, arena);
    size_t count = workload_parameter_count(first);
    float *a = arena_new_array(arena, float, count), *b = arena_new_array(arena, float, count);
    assert_memory_equal(workload_initial_model(first), workload_initial_model(other), count * sizeof(float));
    struct task task = {.kind = TASK_GRADIENT, .step = 4, .model = workload_initial_model(first), .gradient = a, .parts = 3};
    int layers = 0;
    struct work work = {.task = task, .layer_done = layers_done, .context = &layers};
    workload_run(first, &work);
    assert_int_equal(layers, 3);
    assert_int_equal(work.samples_done, BATCH);
    assert_true(work.loss > 0 && isfinite(work.loss));
    task.gradient = b;
    run(again, &task, 0, &work);
    assert_memory_equal(a, b, count * sizeof(float));
    run(other, &task, 0, &work);
    assert_memory_not_equal(a, b, count * sizeof(float));
    task.step = 5;
    run(again, &task, 0, &work);
    assert_memory_not_equal(a, b, count * sizeof(float));
    assert_true(workload_gradient_ns(first) > 0);
    workload_free(first);
    workload_free(again);
    workload_free(other);
}

static void a_partition_is_what_its_worker_would_compute(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct workload *workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        workers[i] = open_workload(&softmax, ROLE_WORKER, i, arena);
    size_t count = workload_parameter_count(workers[0]);
    float *sum = arena_new_array(arena, float, count), *gradient = arena_new_array(arena, float, count);
    float *expected = arena_new_array(arena, float, count);
    struct work work;
    struct task task = {.kind = TASK_GRADIENT, .step = 2, .model = workload_initial_model(workers[0]), .gradient = gradient};
    for (int i = 0; i < WORKERS; i += 2) {
        run(workers[i], &task, 0, &work);
        for (size_t k = 0; k < count; k++)
            expected[k] += gradient[k];
    }
    static const int partitions[] = {0, 2};
    task.kind = TASK_GRADIENT_PARTITIONS;
    task.gradient = sum;
    task.partitions = partitions;
    task.partition_count = 2;
    assert_true(workload_cost(workers[1], &task) == 2);
    run(workers[1], &task, 0, &work);
    assert_int_equal(work.samples_done, 2 * BATCH);
    assert_memory_equal(sum, expected, count * sizeof(float));
    /* with weights: 1, as of a partition that is not computed; then others, one of them of the first */
    static const float no_second[] = {1, 0}, mixed[] = {-2, 0.5f};
    const struct task first = {.kind = TASK_GRADIENT, .step = 2, .model = task.model, .gradient = gradient};
    run(workers[0], &first, 0, &work);
    task.weights = no_second;
    run(workers[1], &task, 0, &work);
    for (size_t k = 0; k < count; k++)
        assert_true(sum[k] == gradient[k]);
    task.weights = mixed;
    run(workers[1], &task, 0, &work);
    for (size_t k = 0; k < count; k++)
        assert_true(fabsf(sum[k] - (0.5f * (expected[k] - gradient[k]) - 2 * gradient[k])) <= 1e-5f * (1 + fabsf(gradient[k])));
    for (int i = 0; i < WORKERS; i++)
        workload_free(workers[i]);
}

static void samples_are_as_many_as_asked(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct workload *workload = open_workload(&softmax, ROLE_WORKER, 0, arena);
    size_t count = workload_parameter_count(workload);
    float *gradient = arena_new_array(arena, float, count);
    struct task task = {.kind = TASK_SAMPLES, .model = workload_initial_model(workload), .gradient = gradient, .sample_cap = 1000};
    struct work work;
    static const int64_t wanted[] = {0, 1, BATCH - 1, BATCH, 3 * BATCH + 2};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        gradient[0] = gradient[count - 1] = NAN;
        run(workload, &task, wanted[i], &work);
        assert_int_equal(work.samples_done, wanted[i]);
        assert_true(isfinite(gradient[0]) && isfinite(gradient[count - 1]));
        assert_true(wanted[i] == 0 ? work.loss == 0 : work.loss > 0);
    }
    work = (struct work){.task = task, .samples = -1, .stop_at_ns = 1}; /* a deadline long ago */
    workload_run(workload, &work);
    assert_int_equal(work.samples_done, 0);
    atomic_bool stop = true;
    work = (struct work){.task = task, .samples = 500, .stop = &stop};
    workload_run(workload, &work);
    assert_int_equal(work.samples_done, 0);
    workload_free(workload);
}

static void servers_validate_and_evaluate_but_have_no_training_data(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct workload *server = open_workload(&softmax, ROLE_SERVER, 0, arena);
    size_t count = workload_parameter_count(server);
    float *gradient = arena_new_array(arena, float, count), *model = arena_new_array(arena, float, count);
    memcpy(model, workload_initial_model(server), count * sizeof(float));
    struct task task = {.kind = TASK_GRADIENT, .model = model, .gradient = gradient};
    assert_non_null(workload_refuses(server, &task));
    task.kind = TASK_VALIDATION;
    assert_null(workload_refuses(server, &task));
    struct work work;
    double before, after, accuracy;
    uint64_t samples;
    workload_evaluate(server, model, &before, &accuracy, &samples);
    assert_int_equal(samples, 10000);
    assert_true(accuracy >= 0 && accuracy <= 1);
    for (int step = 0; step < 10; step++) {
        run(server, &task, 0, &work);
        for (size_t i = 0; i < count; i++)
            model[i] -= 0.1f * gradient[i];
    }
    workload_evaluate(server, model, &after, &accuracy, &samples);
    assert_true(after < before); /* the gradient points downhill on the data that is evaluated */
    workload_free(server);
}

static void impossible_tasks_are_refused(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct workload *workload = open_workload(&synthetic, ROLE_WORKER, 0, arena);
    static const int beyond[] = {0, WORKERS};
    struct task task = {.kind = TASK_GRADIENT_PARTITIONS, .partitions = beyond, .partition_count = 1};
    assert_null(workload_refuses(workload, &task));
    task.partition_count = 2;
    assert_non_null(workload_refuses(workload, &task));
    task.kind = TASK_SAMPLES;
    assert_non_null(workload_refuses(workload, &task));
    task.sample_cap = 1;
    assert_null(workload_refuses(workload, &task));
    workload_free(workload);
}

static void a_synthetic_gradient_is_filled_once_and_then_refreshed(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct workload *workload = open_workload(&synthetic, ROLE_WORKER, 2, arena);
    float *gradient = arena_new_array(arena, float, 10000);
    struct task task = {.kind = TASK_GRADIENT, .gradient = gradient};
    workload_fill(workload, &task);
    for (size_t i = 0; i < 10000; i++)
        assert_true(gradient[i] == synthetic_value(WORKERS, 2, 0, i));
    gradient[5] = 1e6f; /* not rewritten */
    task.step = 9;
    workload_fill(workload, &task);
    assert_true(gradient[5] == 1e6f);
    assert_true(gradient[1024] == synthetic_value(WORKERS, 2, 9, 1024));
    workload_free(workload);
}

static void sums_are_checked_in_pieces_and_at_the_end_as_a_whole(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct workload *workload = open_workload(&synthetic, ROLE_WORKER, 0, arena);
    float *sum = arena_new_array(arena, float, 10000);
    for (int worker = 0; worker < WORKERS; worker++)
        for (size_t i = 0; i < 10000; i++)
            sum[i] += synthetic_value(WORKERS, worker, 7, i);
    struct synthetic_check check = {.workers = WORKERS, .contributors = WORKERS, .step = 7, .all_once = true, .same_step = true};
    char sentence[512];
    uint64_t checks, failures;
    static const size_t pieces[][2] = {{2000, 1000}, {0, 500}, {7000, 3000}, {500, 1500}, {3000, 4000}};
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        assert_null(workload_last_sum(workload));
        assert_true(workload_check(workload, &check, sum, pieces[i][0], pieces[i][1], sentence, sizeof(sentence)));
    }
    assert_ptr_equal(workload_last_sum(workload), sum);
    workload_checks(workload, &checks, &failures);
    assert_true(checks >= 10 && failures == 0);
    sum[4321] += 3; /* not in the sample */
    assert_true(workload_check(workload, &check, sum, 3000, 4000, sentence, sizeof(sentence)));
    assert_false(workload_check_last(workload, sentence, sizeof(sentence)));
    assert_non_null(strstr(sentence, "round 7"));
    assert_non_null(strstr(sentence, "element 4321"));
    assert_non_null(strstr(sentence, "3 contributors"));
    workload_checks(workload, &checks, &failures);
    assert_int_equal(failures, 1);
    workload_free(workload);
}

static void without_values_there_is_nothing_to_load_or_check(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct workload_settings none = mlp;
    none.gradients = GRADIENTS_NONE;
    none.dataset_path = "/nonexistent";
    struct workload_options options = {.settings = &none, .workers = 1, .arena = arena};
    struct workload *workload = workload_new(&options, NULL);
    assert_non_null(workload);
    assert_int_equal(workload_parameter_count(workload), 784 * 6 + 6 + 6 * 5 + 5 + 5 * 10 + 10);
    assert_null(workload_initial_model(workload));
    assert_false(workload_real(workload));
    workload_free(workload);
}

static int unpack(void **state)
{
    (void)state;
    return dataset_export(DATASET_FASHION_MNIST, NULL, &dataset_fd, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_cover_the_gradient_from_its_end),
        cmocka_unit_test(a_gradient_is_repeatable_and_belongs_to_worker_and_step),
        cmocka_unit_test(a_partition_is_what_its_worker_would_compute),
        cmocka_unit_test(samples_are_as_many_as_asked),
        cmocka_unit_test(servers_validate_and_evaluate_but_have_no_training_data),
        cmocka_unit_test(impossible_tasks_are_refused),
        cmocka_unit_test(a_synthetic_gradient_is_filled_once_and_then_refreshed),
        cmocka_unit_test(sums_are_checked_in_pieces_and_at_the_end_as_a_whole),
        cmocka_unit_test(without_values_there_is_nothing_to_load_or_check),
    };
    return cmocka_run_group_tests(tests, unpack, NULL);
}
