/* agents/collectives/schedule_predict_internal.h: one rank as schedule_predict.c follows it. */
#ifndef LAGGARD_AGENTS_COLLECTIVES_SCHEDULE_PREDICT_INTERNAL_H
#define LAGGARD_AGENTS_COLLECTIVES_SCHEDULE_PREDICT_INTERNAL_H

#include "agents/collectives/schedule.h"

enum { NOTHING = -1 };
struct flow {                /* of one rank to another */
    int32_t sending, newest; /* operations; NOTHING: none waits to be sent */
    int32_t next;            /* flow that takes its turn after this one */
};

struct rank_plan {
    struct schedule schedule;
    struct schedule_order order;
    uint32_t *waits;      /* of the order, going down while operations are done */
    uint32_t *number;     /* of a send: among the messages to the same rank */
    uint32_t *flow;       /* of a send */
    uint32_t *parts_left; /* of a send */
    int32_t *behind;      /* of a send: the operation after it in its flow */
    struct flow *flows;
    int32_t turn_first, turn_last; /* flows that wait for their turn */
    bool link_busy;
    uint32_t *receives;       /* operations, rank by rank that they come from, in the order of their numbers */
    uint32_t *receives_begin; /* [size + 1]: where each rank's begin */
    double *came_ns[2];       /* of a receive, in even and odd rounds: when its message is there; NAN: not yet */
    int round;
    uint32_t operations_left;                          /* in this round */
    double message_free, receive_free, processor_free; /* message_free: the next may begin */
    double end;                                        /* of its last operation: what it sends must have left, too */
};

/* Its list, and which operation sends and receives which message. sends: [size], zeros, and zeros again afterwards. False: memory
 * is short. To be freed in either case. */
bool schedule_rank_plan_make(const struct allreduce_algorithm *algorithm, const struct allreduce_shape *shape, int rank,
                             uint32_t *sends, struct rank_plan *plan);
void schedule_rank_plan_free(struct rank_plan *plan);

#endif
