/* agents/collectives/schedule_rank_plan.c: what one rank does, as schedule_predict.c follows it. */
#include <stdlib.h>
#include <string.h>

#include "agents/collectives/schedule_predict_internal.h"

/* sends: [size], zeros, and zeros again afterwards. */
static void number_messages(struct rank_plan *plan, int size, uint32_t *sends)
{
    for (size_t i = 0; i < plan->schedule.length; i++) {
        const struct schedule_operation *operation = &plan->schedule.operations[i];
        if (schedule_receives(operation->action))
            plan->receives_begin[operation->peer + 1]++;
        else if (!schedule_comes(operation->action))
            plan->number[i] = sends[operation->peer]++;
    }
    for (int peer = 0; peer < size; peer++) {
        plan->receives_begin[peer + 1] += plan->receives_begin[peer];
        sends[peer] = 0;
    }
    for (size_t i = 0; i < plan->schedule.length; i++) {
        const int peer = plan->schedule.operations[i].peer;
        if (schedule_receives(plan->schedule.operations[i].action))
            plan->receives[plan->receives_begin[peer] + sends[peer]++] = (uint32_t)i;
    }
    uint32_t flows = 0;
    for (size_t i = 0; i < plan->schedule.length; i++) {
        const struct schedule_operation *operation = &plan->schedule.operations[i];
        if (schedule_comes(operation->action))
            continue;
        if (plan->number[i] == 0)
            sends[operation->peer] = flows++;
        plan->flow[i] = sends[operation->peer];
    }
    memset(sends, 0, (size_t)size * sizeof(*sends));
}

bool schedule_rank_plan_make(const struct allreduce_algorithm *algorithm, const struct allreduce_shape *shape, int rank,
                             uint32_t *sends, struct rank_plan *plan)
{
    algorithm->plan(shape, rank, &plan->schedule);
    const size_t length = plan->schedule.length + 1;
    struct schedule_order *order = &plan->order;
    plan->schedule.operations = calloc(length, sizeof(*plan->schedule.operations));
    order->waits = calloc(length, sizeof(*order->waits));
    order->begin = calloc(length, sizeof(*order->begin));
    order->fresh = calloc(length, 1);
    order->last = calloc(length, 1);
    plan->waits = calloc(length, sizeof(*plan->waits));
    plan->number = calloc(length, sizeof(*plan->number));
    plan->flow = calloc(length, sizeof(*plan->flow));
    plan->parts_left = calloc(length, sizeof(*plan->parts_left));
    plan->behind = calloc(length, sizeof(*plan->behind));
    plan->flows = calloc(length, sizeof(*plan->flows));
    plan->receives = calloc(length, sizeof(*plan->receives));
    plan->receives_begin = calloc((size_t)shape->size + 1, sizeof(*plan->receives_begin));
    plan->came_ns[0] = calloc(length, sizeof(*plan->came_ns[0]));
    plan->came_ns[1] = calloc(length, sizeof(*plan->came_ns[1]));
    if (!plan->schedule.operations || !order->waits || !order->begin || !order->fresh || !order->last || !plan->waits ||
        !plan->number || !plan->flow || !plan->parts_left || !plan->behind || !plan->flows || !plan->receives ||
        !plan->receives_begin || !plan->came_ns[0] || !plan->came_ns[1])
        return false;
    plan->schedule.length = 0;
    algorithm->plan(shape, rank, &plan->schedule);
    order->follower = calloc(schedule_order(&plan->schedule, order) + 1, sizeof(*order->follower));
    if (!order->follower)
        return false;
    schedule_order(&plan->schedule, order);
    number_messages(plan, shape->size, sends);
    return true;
}

void schedule_rank_plan_free(struct rank_plan *plan)
{
    free(plan->schedule.operations);
    free(plan->order.waits);
    free(plan->order.begin);
    free(plan->order.follower);
    free(plan->order.fresh);
    free(plan->order.last);
    free(plan->waits);
    free(plan->number);
    free(plan->flow);
    free(plan->parts_left);
    free(plan->behind);
    free(plan->flows);
    free(plan->receives);
    free(plan->receives_begin);
    free(plan->came_ns[0]);
    free(plan->came_ns[1]);
}
