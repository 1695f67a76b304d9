/* agents/collectives/schedule.h: all-reduce algorithms as lists of operations, one list a rank: what is sent to whom, what comes
 * from whom and is added or put in its place. One machine carries out every list, predicts how long all of them take together, and
 * counts their bytes; an algorithm is the function that writes the list.
 *
 *     plan(shape, rank, schedule)     calls schedule_put() in the order in which things happen to a float
 *
 * Order matters only between operations that touch the same floats: an operation waits for earlier ones of the list with which it
 * shares floats, and for nothing else; so segments of one vector flow past each other. Between two ranks messages have the order of
 * both lists, which must agree. Floats that are equal must be so on every rank: a sum is made once and copied, or made in the same
 * order, or of two terms. */
#ifndef LAGGARD_AGENTS_COLLECTIVES_SCHEDULE_H
#define LAGGARD_AGENTS_COLLECTIVES_SCHEDULE_H

#include "agents/collectives/allreduce.h"

enum schedule_action {
    SCHEDULE_SEND,     /* the floats as they are by then: own, if nothing came before */
    SCHEDULE_SEND_OWN, /* this rank's own contribution, whatever has come */
    SCHEDULE_ADD,      /* what comes is added; to the own contribution, if nothing came before */
    SCHEDULE_PLACE,    /* what comes stands for what was there */
    SCHEDULE_OWN,      /* the own contribution is added; it is copied, if nothing came before */
};
struct schedule_operation {
    enum schedule_action action;
    int peer; /* rank */
    size_t first, count;
};
struct schedule {
    struct schedule_operation *operations; /* NULL: only counted */
    size_t length;
};

/* Appends an operation, unless count is 0. */
void schedule_put(struct schedule *schedule, enum schedule_action action, int peer, size_t first, size_t count);

/* For algorithms among a power of two of ranks: who is above it gives its vector to another, and gets the sum in the end. Returns
 * the power; 0: this rank is one of those, and its list is complete. unfold() ends the others' lists. */
int schedule_fold(const struct allreduce_shape *shape, int rank, struct schedule *schedule);
void schedule_unfold(const struct allreduce_shape *shape, int rank, int power, struct schedule *schedule);

/* The members of a struct allreduce_algorithm that has a plan. */
struct allreduce *schedule_create(struct node *node, const struct allreduce_spec *spec);
void schedule_open(struct allreduce *allreduce, uint64_t round, float *output);
void schedule_contribute(struct allreduce *allreduce, const float *input);
struct landing schedule_on_header(struct allreduce *allreduce, const struct message *message);
void schedule_on_message(struct allreduce *allreduce, const struct message *message);
void schedule_on_sent(struct allreduce *allreduce, const struct buffer *buffer);
bool schedule_talks(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank, int peer);
uint64_t schedule_spans(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank);
uint64_t schedule_sent_bytes(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank);
/* About how many there are, in a whole all-reduce. */
double schedule_messages(const struct allreduce_algorithm *self, const struct allreduce_shape *shape);
void schedule_predict_ns(const struct allreduce_algorithm *self, const struct allreduce_network *networks, int count,
                         double *times_ns);

#define SCHEDULED(plan_function)                                                                                                   \
    .plan = (plan_function), .create = schedule_create, .open = schedule_open, .contribute = schedule_contribute,                  \
    .on_header = schedule_on_header, .on_message = schedule_on_message, .on_sent = schedule_on_sent, .talks = schedule_talks,      \
    .spans = schedule_spans, .sent_bytes = schedule_sent_bytes, .predict_ns = schedule_predict_ns,                                 \
    .method = "simulation of its messages"

/* Which operations of a list wait for which: shared by machine and prediction. */
struct schedule_order {
    uint32_t *waits;            /* [length]: how many earlier operations each one waits for */
    uint32_t *begin, *follower; /* follower[begin[i] .. begin[i+1]): those that wait for i */
    bool *fresh;                /* [length]: nothing has come for these floats before */
    bool *last;                 /* [length]: nothing comes for them afterwards */
};
/* Followers are counted first (follower NULL), then written. Returns their number. The arrays have length (begin: length + 1)
 * elements. */
size_t schedule_order(const struct schedule *schedule, struct schedule_order *order);

static inline bool schedule_receives(enum schedule_action action)
{
    return action == SCHEDULE_ADD || action == SCHEDULE_PLACE;
}
/* Whether it puts something new into its floats. */
static inline bool schedule_comes(enum schedule_action action)
{
    return schedule_receives(action) || action == SCHEDULE_OWN;
}

#endif
