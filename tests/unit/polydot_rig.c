/* tests/unit/polydot_rig.c: see polydot_rig.h. */
#include "tests/unit/polydot_rig.h"

#include <math.h>

#include "tests/unit/scheme_rig.h"

const struct workload_settings polydot_rig_model = {
    .model = MODEL_MLP, .layers = {7, 5}, .layer_count = 2, .batch = BATCH, .learning_rate = 0.125, .rounds = ROUNDS};
const int polydot_rig_codes[CODES][POLYDOT_PARAMS] = {{1, 1, 1}, {2, 1, 1}, {1, 1, 2}, {1, 3, 1}, {2, 2, 1},
                                                      {2, 1, 2}, {1, 1, 4}, {3, 3, 1}, {1, 2, 3}};

struct scheme_setup polydot_rig_setup(const int code[POLYDOT_PARAMS], int workers, int rounds)
{
    struct scheme_setup setup = scheme_setup_of("polydot", workers, model_parameter_count_of(&polydot_rig_model), code[0]);
    setup.values[POLYDOT_N] = code[1];
    setup.values[POLYDOT_P] = code[2];
    setup.matrix_count = model_matrices_of(&polydot_rig_model, setup.matrices);
    setup.batch = BATCH;
    setup.rounds = rounds;
    setup.trained = true;
    return setup;
}

int polydot_rig_threshold(const int code[POLYDOT_PARAMS])
{
    return polydot_threshold((struct polydot_code){.m = code[0], .n = code[1], .p = code[2]});
}

double polydot_rig_distance(const float *a, const float *b, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    return largest;
}
