/* tests/unit/test_byzantine.c: falsified gradients: what each attack makes of one, where it is applied, and that it touches nobody
 * else; who withstands how many. The gradients are of the package's images. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "agents/byzantine.h"
#include "agents/dataset.h"
#include "agents/workload.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "harness/byzantine_outlook.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { WORKERS = 3, BATCH = 8, FLOATS = 20000 };
static const int second_worker[] = {1};

static int dataset_fd; /* unpacked once for all tests */

static void test_values(void **state)
{
    (void)state;
    static float noise[FLOATS], again[FLOATS];
    const struct byzantine_layer which = {.seed = 7, .step = 3, .worker = 1};
    float flipped[] = {0.5f, -1, 0}, scaled[] = {0.5f, -1, 0}, kept[] = {0.5f, -1, 0};
    byzantine_falsify(&(struct byzantine_workers){.attack = ATTACK_SIGN_FLIP, .factor = 10}, &which, flipped, 3);
    byzantine_falsify(&(struct byzantine_workers){.attack = ATTACK_SCALE, .factor = 4}, &which, scaled, 3);
    byzantine_falsify(&(struct byzantine_workers){.attack = ATTACK_LABEL_FLIP, .factor = 1}, &which, kept, 3);
    assert_true(flipped[0] == -5 && flipped[1] == 10 && flipped[2] == 0);
    assert_true(scaled[0] == 2 && scaled[1] == -4 && scaled[2] == 0);
    assert_true(kept[0] == 0.5f && kept[1] == -1 && kept[2] == 0);
    const struct byzantine_workers random = {.attack = ATTACK_RANDOM, .factor = 10};
    for (size_t i = 0; i < FLOATS; i++)
        noise[i] = again[i] = i % 2 ? 0.25f : -0.25f;
    byzantine_falsify(&random, &which, noise, FLOATS);
    byzantine_falsify(&random, &which, again, FLOATS);
    assert_memory_equal(noise, again, sizeof(noise));
    double sum = 0, squares = 0;
    for (size_t i = 0; i < FLOATS; i++) {
        sum += (double)noise[i];
        squares += (double)noise[i] * (double)noise[i];
    }
    assert_true(fabs(sum / FLOATS) < 4 * 2.5 / sqrt(FLOATS)); /* mean 0, deviation 2.5 */
    assert_true(fabs(squares / FLOATS / 6.25 - 1) < 4 * sqrt(2.0 / FLOATS));
    const struct byzantine_layer others[] = {{.seed = 8, .step = 3, .worker = 1},
                                             {.seed = 7, .step = 4, .worker = 1},
                                             {.seed = 7, .step = 3, .worker = 2},
                                             {.seed = 7, .step = 3, .worker = 1, .layer = 1}};
    for (size_t o = 0; o < sizeof(others) / sizeof(others[0]); o++) {
        for (size_t i = 0; i < FLOATS; i++)
            again[i] = 0.25f;
        byzantine_falsify(&random, &others[o], again, FLOATS);
        assert_true(memcmp(noise, again, sizeof(noise)) != 0);
    }
}

static struct workload *open_workload(const struct workload_settings *settings, enum node_role role, int index, struct arena *arena)
{
    struct workload_options options = {.settings = settings,
                                       .seed = 5,
                                       .workers = WORKERS,
                                       .role = role,
                                       .role_index = index,
                                       .dataset_fd = dataset_fd,
                                       .unmeasured = true,
                                       .arena = arena};
    struct workload *workload = workload_new(&options, NULL);
    assert_non_null(workload);
    return workload;
}

static struct workload_settings mlp_with(enum attack_kind attack, double factor)
{
    return (struct workload_settings){
        .model = MODEL_MLP,
        .layers = {6, 5},
        .layer_count = 2,
        .batch = BATCH,
        .byzantine = {.workers = second_worker, .worker_count = factor > 0, .attack = attack, .factor = factor}};
}

/* A task's gradient on one node; with layer_done, all of it when its last layer is told. */
struct layers {
    int told;
    size_t count;
    const float *gradient;
    float seen[8192];
};

static void layer_done(void *context, int layer)
{
    struct layers *layers = context;
    assert_int_equal(layer, layers->told++);
    memcpy(layers->seen, layers->gradient, layers->count * sizeof(float)); /* what is final now stays in place */
}

static const float *gradient_of(const struct workload_settings *settings, enum node_role role, int index, struct task task,
                                struct arena *arena)
{
    struct workload *workload = open_workload(settings, role, index, arena);
    const size_t count = workload_parameter_count(workload);
    struct layers layers = {.count = count};
    assert_true(count <= sizeof(layers.seen) / sizeof(float));
    task.step = 4;
    task.model = workload_initial_model(workload);
    task.gradient = arena_new_array(arena, float, count);
    layers.gradient = task.gradient;
    struct work work = {.task = task, .samples = task.kind == TASK_SAMPLES ? 11 : 0, .layer_done = layer_done, .context = &layers};
    workload_run(workload, &work);
    if (task.kind == TASK_GRADIENT) {
        assert_int_equal(layers.told, 3);
        assert_memory_equal(layers.seen, task.gradient, count * sizeof(float));
    }
    workload_free(workload);
    return task.gradient;
}

static void test_where_it_is_applied(void **state)
{
    (void)state;
    static const int partitions[] = {0, 2};
    static const struct task tasks[] = {
        {.kind = TASK_GRADIENT, .parts = 3},
        {.kind = TASK_GRADIENT_PARTITIONS, .partitions = partitions, .partition_count = 2},
        {.kind = TASK_SAMPLES, .sample_cap = 11},
        {.kind = TASK_VALIDATION},
    };
    const struct workload_settings honest = mlp_with(ATTACK_SIGN_FLIP, 0), flips = mlp_with(ATTACK_SIGN_FLIP, 10);
    const struct workload_settings random = mlp_with(ATTACK_RANDOM, 10), turns = mlp_with(ATTACK_LABEL_FLIP, 1);
    const size_t count = model_parameter_count_of(&honest), bytes = count * sizeof(float);
    for (size_t t = 0; t < sizeof(tasks) / sizeof(tasks[0]); t++)
        for (int worker = 0; worker < WORKERS; worker++) {
            cleanup(arena_cleanup) struct arena *arena = arena_new();
            const float *right = gradient_of(&honest, ROLE_WORKER, worker, tasks[t], arena);
            const float *flipped = gradient_of(&flips, ROLE_WORKER, worker, tasks[t], arena);
            const float *noise = gradient_of(&random, ROLE_WORKER, worker, tasks[t], arena);
            const float *turned = gradient_of(&turns, ROLE_WORKER, worker, tasks[t], arena);
            if (worker != second_worker[0] || tasks[t].kind == TASK_VALIDATION) { /* nobody else, and nothing else */
                assert_memory_equal(flipped, right, bytes);
                assert_memory_equal(noise, right, bytes);
                assert_memory_equal(turned, right, bytes);
                continue;
            }
            for (size_t i = 0; i < count; i++)
                assert_true(flipped[i] == -10 * right[i]);
            assert_true(memcmp(noise, right, bytes) != 0 && memcmp(turned, right, bytes) != 0);
            /* Of the last layer's biases a label has a share of -1/batch: turned around they are those of class 9 - l. */
            for (int class = 0; class < 10; class ++)
                assert_true(isfinite(turned[count - 10 + (size_t) class]));
        }
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const float *server = gradient_of(&honest, ROLE_SERVER, 1, tasks[3], arena);
    assert_memory_equal(gradient_of(&turns, ROLE_SERVER, 1, tasks[3], arena), server, bytes);
}

/* All scores are equal at a model of zeros: the last layer's biases have the gradient 1/10 - share of the class's label. */
static void test_turned_labels(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct workload_settings settings[] = {
        {.model = MODEL_SOFTMAX, .batch = BATCH},
        {.model = MODEL_SOFTMAX,
         .batch = BATCH,
         .byzantine = {.workers = second_worker, .worker_count = 1, .attack = ATTACK_LABEL_FLIP, .factor = 1}}};
    const float *gradients[2];
    const size_t count = model_parameter_count_of(&settings[0]);
    float *zeros = arena_new_array(arena, float, count);
    for (int i = 0; i < 2; i++) {
        struct workload *workload = open_workload(&settings[i], ROLE_WORKER, 1, arena);
        float *gradient = arena_new_array(arena, float, count);
        struct work work = {.task = {.kind = TASK_GRADIENT, .model = zeros, .gradient = gradient, .parts = 1}};
        workload_run(workload, &work);
        gradients[i] = gradient;
        workload_free(workload);
    }
    for (size_t class = 0; class < 10; class ++)
        assert_true(fabsf(gradients[0][count - 10 + class] - gradients[1][count - 1 - class]) < 1e-6f);
}

static void test_outlook(void **state)
{
    (void)state;
    static const int three[] = {0, 2, 5};
    static const struct {
        struct scheme_choice scheme;
        int byzantine;
        const char *sentence; /* NULL: it withstands them */
    } cases[] = {
        {{.name = "ps-sync", .values = {1}}, 0, NULL},
        {{.name = "ps-sync", .values = {1}},
         1,
         "1 of 8 workers is Byzantine, and scheme 'ps-sync' with these parameters withstands none"},
        {{.name = "ring"}, 1, "withstands none"},
        {{.name = "ps-sync", .values = {1, 0, 1}}, 3, NULL}, /* median of 8 */
        {{.name = "k-async", .values = {4, 0, 0, 1}},
         3,
         "3 of 8 workers are Byzantine, and scheme 'k-async' with these parameters withstands 1: they may"},
        {{.name = "backup", .values = {1, 0, 2, 2}}, 2, NULL},
        {{.name = "backup", .values = {1, 0, 2, 2}}, 3, "withstands 2"},
        {{.name = "backup", .values = {1, 0, 2, 0}}, 1, "withstands none"},
        {{.name = "zeno++"}, 3, NULL},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        cleanup(text_free) struct text text = {0};
        struct settings settings = {.workers = 8, .scheme = cases[c].scheme};
        settings.workload.byzantine = (struct byzantine_workers){.workers = three, .worker_count = cases[c].byzantine};
        assert_int_equal(byzantine_outlook(&settings, &text), cases[c].sentence != NULL);
        if (cases[c].sentence)
            assert_non_null(strstr(text.bytes, cases[c].sentence));
    }
}

static int unpack(void **state)
{
    (void)state;
    return dataset_export(DATASET_FASHION_MNIST, NULL, &dataset_fd, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_where_it_is_applied),
        cmocka_unit_test(test_turned_labels),
        cmocka_unit_test(test_outlook),
    };
    return cmocka_run_group_tests(tests, unpack, NULL);
}
