/* polydot_step.c: see polydot_step.h. */
#include "agents/schemes/polydot_step.h"

#include "agents/dense_rows.h"
#include "agents/node.h"

enum stage { FORWARD, WEIGHTS, BELOW };
struct position {
    enum stage stage;
    int layer;
};

int polydot_step_products(const struct scheme_setup *setup)
{
    return setup->matrix_count > 0 ? 3 * setup->matrix_count - 1 : 0;
}

/* Products L, L+2, ... are those of the weights, L+1, L+3, ... lead down. */
static struct position position_of(const struct scheme_setup *setup, int product)
{
    const int layers = setup->matrix_count, back = product - layers;
    if (back < 0)
        return (struct position){.stage = FORWARD, .layer = product};
    return (struct position){.stage = back % 2 == 0 ? WEIGHTS : BELOW, .layer = layers - 1 - back / 2};
}

static int inputs_of(const struct scheme_setup *setup, int layer)
{
    return (int)setup->matrices[layer].columns;
}

static int outputs_of(const struct scheme_setup *setup, int layer)
{
    return (int)setup->matrices[layer].rows;
}

struct polydot_shape polydot_step_shape(const struct scheme_setup *setup, struct polydot_code code, int product)
{
    const struct position position = position_of(setup, product);
    const int inputs = inputs_of(setup, position.layer), outputs = outputs_of(setup, position.layer), batch = setup->batch;
    struct polydot_shape shape = {.rows = batch, .inner = inputs, .columns = outputs};
    if (position.stage == WEIGHTS)
        shape = (struct polydot_shape){.rows = outputs, .inner = batch, .columns = inputs};
    else if (position.stage == BELOW)
        shape = (struct polydot_shape){.rows = batch, .inner = outputs, .columns = inputs};
    shape.block_rows = polydot_share(shape.rows, code.m);
    shape.block_inner = polydot_share(shape.inner, code.p);
    shape.block_columns = polydot_share(shape.columns, code.n);
    return shape;
}

size_t polydot_shape_job_bytes(const struct polydot_shape *shape)
{
    return (size_t)shape->block_inner * ((size_t)shape->block_rows + (size_t)shape->block_columns) * sizeof(float);
}

size_t polydot_shape_result_bytes(const struct polydot_shape *shape)
{
    return (size_t)shape->block_rows * (size_t)shape->block_columns * sizeof(float);
}

/* A multiplication and an addition for each float of both factors. */
double polydot_shape_encode_floats(const struct polydot_shape *shape)
{
    return (double)shape->inner * ((double)shape->rows + (double)shape->columns);
}

double polydot_shape_decode_floats(const struct polydot_shape *shape, struct polydot_code code)
{
    return (double)polydot_threshold(code) * shape->rows * shape->columns;
}

static float *floats(struct node *node, size_t rows, size_t columns)
{
    return node_alloc(node, rows * columns * sizeof(float));
}

void polydot_step_prepare(struct polydot_step *step, struct node *node)
{
    const struct scheme_setup *setup = node->setup;
    const size_t batch = (size_t)setup->batch;
    size_t widest = 0;
    if (!setup->trained)
        return;
    step->model = floats(node, setup->parameter_count, 1);
    step->gradient = floats(node, setup->parameter_count, 1);
    node_copy(node, step->model, node_initial_model(node), setup->parameter_count);
    for (int layer = 0; layer < setup->matrix_count; layer++) {
        const size_t outputs = setup->matrices[layer].rows;
        step->activations[layer + 1] = floats(node, batch, outputs);
        widest = outputs > widest ? outputs : widest;
    }
    step->activations[0] = floats(node, batch, setup->matrices[0].columns);
    for (int i = 0; i < 2; i++)
        step->deltas[i] = floats(node, batch, widest);
    step->labels = node_alloc(node, batch);
}

void polydot_step_begin(struct polydot_step *step, struct node *node, uint64_t number)
{
    node_batch(node, number, step->activations[0], step->labels);
}

void polydot_step_factors(const struct polydot_step *step, const struct scheme_setup *setup, int product, struct polydot_view *left,
                          struct polydot_view *right)
{
    const struct position position = position_of(setup, product);
    const int inputs = inputs_of(setup, position.layer), outputs = outputs_of(setup, position.layer);
    const struct polydot_view weights = polydot_view_of(step->model + setup->matrices[position.layer].first, outputs, inputs);
    const struct polydot_view activations = polydot_view_of(step->activations[position.layer], setup->batch, inputs);
    const struct polydot_view delta = polydot_view_of(step->deltas[position.layer % 2], setup->batch, outputs);
    switch (position.stage) {
    case FORWARD:
        *left = activations;
        *right = polydot_transposed(weights);
        break;
    case WEIGHTS:
        *left = polydot_transposed(delta);
        *right = activations;
        break;
    case BELOW:
        *left = delta;
        *right = weights;
        break;
    }
}

float *polydot_step_result(struct polydot_step *step, const struct scheme_setup *setup, int product)
{
    const struct position position = position_of(setup, product);
    return position.stage == FORWARD   ? step->activations[position.layer + 1]
           : position.stage == WEIGHTS ? step->gradient + setup->matrices[position.layer].first
                                       : step->deltas[(position.layer - 1) % 2];
}

static void after_forward(struct polydot_step *step, const struct scheme_setup *setup, int layer)
{
    const int outputs = outputs_of(setup, layer), batch = setup->batch;
    const struct model_matrix *matrix = &setup->matrices[layer];
    float *out = step->activations[layer + 1];
    dense_rows_add_biases(out, step->model + matrix->first + matrix->rows * matrix->columns, batch, outputs);
    if (layer < setup->matrix_count - 1) {
        dense_rows_rectify(out, (size_t)batch * (size_t)outputs);
        return;
    }
    for (int row = 0; row < batch; row++)
        dense_rows_loss_delta(out + (size_t)row * (size_t)outputs, outputs, step->labels[row], batch,
                              step->deltas[layer % 2] + (size_t)row * (size_t)outputs);
}

void polydot_step_go_on(struct polydot_step *step, struct node *node, int product)
{
    const struct scheme_setup *setup = node->setup;
    const struct position position = position_of(setup, product);
    const int inputs = inputs_of(setup, position.layer), outputs = outputs_of(setup, position.layer);
    const struct model_matrix *matrix = &setup->matrices[position.layer];
    const int width = position.stage == BELOW ? inputs : outputs;
    if (!node_arithmetic(node, (double)setup->batch * width) || !setup->trained)
        return;
    switch (position.stage) {
    case FORWARD:
        after_forward(step, setup, position.layer);
        break;
    case WEIGHTS:
        dense_rows_sum(step->deltas[position.layer % 2], setup->batch, outputs,
                       step->gradient + matrix->first + matrix->rows * matrix->columns);
        break;
    case BELOW:
        dense_rows_mask(step->deltas[(position.layer - 1) % 2], step->activations[position.layer],
                        (size_t)setup->batch * (size_t)inputs);
        break;
    }
}
