/* polydot_worker.c: a worker of `polydot`, who multiplies the blocks that it is sent; see polydot.c. */
#include "agents/schemes/polydot_internal.h"

void polydot_worker_begin(struct node *node)
{
    struct polydot_state *state = node_state(node);
    if (state->held == NOTHING || state->generation || state->stopped)
        return;
    state->target = state->leaving[0];
    if (state->leaving[state->target])
        return;
    const struct polydot_shape shape = polydot_shape_of(node, state->job_product);
    const float *left = state->jobs[state->held];
    state->generation = node_compute(node, &(struct task){.kind = TASK_MATRIX_BLOCK,
                                                          .step = polydot_job_number(state, state->step, state->job_product) - 1,
                                                          .gradient = state->blocks[state->target],
                                                          .parts = 1,
                                                          .left = left,
                                                          .right = left + (size_t)shape.block_rows * (size_t)shape.block_inner,
                                                          .rows = shape.block_rows,
                                                          .columns = shape.block_columns,
                                                          .inner = shape.block_inner});
}

static void worker_give_up(struct node *node)
{
    struct polydot_state *state = node_state(node);
    if (state->generation)
        node_cancel(node, state->generation);
    if (state->held != NOTHING)
        polydot_tell(node, state->step, state->job_product, node->index, 0, GRADIENT_CANCELLED);
    state->generation = 0;
    state->held = NOTHING;
}

static void worker_reach(struct node *node, uint64_t step)
{
    struct polydot_state *state = node_state(node);
    if (step > state->step)
        node_round_finished(node, step - 1);
    state->step = step;
}

void polydot_worker_take(struct node *node, const struct message *message)
{
    struct polydot_state *state = node_state(node);
    polydot_end_wait(node, message->source);
    worker_give_up(node);
    worker_reach(node, message->header.step);
    state->held = state->landing;
    state->job_product = (int)message->header.index;
    polydot_worker_begin(node);
}

void polydot_worker_stop(struct node *node, const struct message *message)
{
    struct polydot_state *state = node_state(node);
    polydot_end_wait(node, message->source);
    worker_give_up(node);
    worker_reach(node, message->header.step);
    state->stopped = true;
    node_finished(node);
}

void polydot_on_task(struct node *node, const struct task_result *result)
{
    struct polydot_state *state = node_state(node);
    if (result->generation != state->generation || result->part != result->parts - 1)
        return;
    const struct polydot_shape shape = polydot_shape_of(node, state->job_product);
    const size_t bytes = polydot_shape_result_bytes(&shape);
    const struct message_header header = {.kind = KIND_RESULT, .index = (uint32_t)state->job_product, .step = state->step};
    state->generation = 0;
    state->held = NOTHING;
    state->leaving[state->target] = true;
    node_send(node, node->setup->workers, &header, node_wrap(node, state->blocks[state->target], bytes, state->target), 0, bytes);
    state->wait_begin_ns = node_now(node);
}
