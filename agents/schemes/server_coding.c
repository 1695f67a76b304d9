/* agents/schemes/server_coding.c: gradient coding on a worker and on the server; see server_coding.h for its place, gradient_code.c
 * for the cyclic code.
 *
 * Theory of operation. The data have as many partitions as there are workers, partition p being worker p's share of ps-sync. With s
 * stragglers each worker computes s + 1 partitions' gradients and sends one vector:
 *
 *     cyclic       worker i: sum over j = 0 .. s of B[i, i+j] g_(i+j mod n)
 *     fractional   worker i of group i / (s+1): the plain sum over the s + 1 partitions of its group, the same in the whole group
 *
 * The server needs n - s workers of a cyclic code, of a fractional one a worker of each of the n/(s+1) groups. Either way it has
 * the sum of all n partitions' gradients, whoever was late: the step is that of ps-sync.
 *
 * Worker. One task has all its partitions and their weights; it takes s + 1 times the time that is drawn for the update. All
 * workers have the same mini-batch of a partition. With s = 0 or s = n - 1 a cyclic code is a fractional one: all weights are 1.
 *
 * Server. What came is held in its pool buffers. Sums of a fractional code are added in the order of the groups as soon as all
 * before have come, as ps-sync does: the bits of the sum do not depend on who was fast. A cyclic code's coefficients are known when
 * the last one has come; the combination is summed in doubles, in the order of workers, in a fixed order for each set of
 * stragglers.
 *
 * Example, n = 4, s = 1, fractional: workers 0 and 1 both send g0 + g1, workers 2 and 3 g2 + g3. Arrivals 3, 2, 0: 3 is held, 2 is
 * dropped, 0 completes the update. Bytes: S a worker and update, as in ps-sync, whatever s is. */
#include "agents/schemes/server_coding.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/schemes/gradient_code.h"
#include "agents/schemes/gradient_coding.h"
#include "base/err.h"

enum { BLOCK = 1024 }; /* doubles that are summed before they become floats */

struct server_coding {
    int load, group; /* group 1 and load > 1: a cyclic code */
    /* worker */
    int *partitions;
    float *weights; /* one a partition; NULL: all 1, or nobody looks */
    /* server */
    bool coded; /* there are weights */
    struct gradient_code code;
    struct buffer **held; /* one a worker or group */
    int slots, next;      /* a fractional code: the first slot that is not in the sum */
    bool *present, *lost; /* a slot; a worker */
    double *coefficients, *block;
};

/* ---- of the cell ---- */

static int stragglers(const struct scheme_setup *setup)
{
    return (int)setup->values[GRADIENT_CODING_STRAGGLERS];
}

static bool all_weights_are_1(const struct scheme_setup *setup)
{
    const int s = stragglers(setup);
    return setup->values[GRADIENT_CODING_CODE] == GRADIENT_CODING_FRACTIONAL || s == 0 || s == setup->workers - 1;
}

int server_coding_load(const struct scheme_setup *setup)
{
    return stragglers(setup) + 1;
}

int server_coding_group(const struct scheme_setup *setup)
{
    return all_weights_are_1(setup) ? stragglers(setup) + 1 : 1;
}

int server_coding_quota(const struct scheme_setup *setup)
{
    return all_weights_are_1(setup) ? setup->workers / (stragglers(setup) + 1) : setup->workers - stragglers(setup);
}

static bool needs_weights(const struct scheme_setup *setup)
{
    return setup->values_carried && !all_weights_are_1(setup);
}

/* NULL with an error: there is no such code, or no memory for it. */
static double *choose(const struct scheme_setup *setup, int s, double *amplification)
{
    const int n = setup->workers;
    double *numbers = malloc(gradient_code_numbers(n, s) * sizeof(*numbers));
    *amplification = INFINITY;
    if (numbers && gradient_code_choose(n, s, numbers))
        *amplification = gradient_code_of(n, s, numbers).amplification;
    return numbers;
}

static bool precise_enough(const struct scheme_setup *setup, int s)
{
    double amplification;
    free(choose(setup, s, &amplification));
    return amplification <= GRADIENT_CODING_AMPLIFICATION_MAX;
}

/* Adds a number to the list; one that is full says that there are more. */
static void allow(char *list, size_t bytes, int number)
{
    static const char more[] = " ...";
    char one[16];
    const size_t used = strlen(list), length = (size_t)snprintf(one, sizeof(one), ", %d", number);
    if (used + length + sizeof(more) <= bytes)
        memcpy(list + used, one, length + 1);
    else if (list[used - 1] != '.')
        memcpy(list + used, more, sizeof(more));
}

static int refuse_fractional(const struct scheme_setup *setup, struct err *err)
{
    char allowed[200] = "0";
    for (int s = 1; s < setup->workers; s++)
        if (setup->workers % (s + 1) == 0)
            allow(allowed, sizeof(allowed), s);
    return err_set(
        err, ERR_USAGE,
        "scheme 'gradient-coding' with %d workers: found stragglers %d with code: fractional, whose groups of stragglers + 1 must "
        "divide the workers; allowed are %s",
        setup->workers, stragglers(setup), allowed);
}

static int refuse_cyclic(const struct scheme_setup *setup, struct err *err)
{
    const int n = setup->workers;
    char allowed[200] = "0";
    for (int s = 1; s <= GRADIENT_CODE_STRAGGLERS_MAX && s < n - 1; s++)
        if (precise_enough(setup, s))
            allow(allowed, sizeof(allowed), s);
    return err_set(
        err, ERR_USAGE,
        "scheme 'gradient-coding' with %d workers: found stragglers %d with code: cyclic, which would make float32's rounding "
        "errors grow more than %d-fold; allowed are %s, %d; or code: fractional, or gradients: none",
        n, stragglers(setup), GRADIENT_CODING_AMPLIFICATION_MAX, allowed, n - 1);
}

int server_coding_check(const struct scheme_setup *setup, struct err *err)
{
    const int n = setup->workers, s = stragglers(setup);
    if (s >= n)
        return err_set(err, ERR_USAGE, "scheme 'gradient-coding' with %d worker%s: found stragglers %d, allowed are 0 to %d", n,
                       n == 1 ? "" : "s", s, n - 1);
    if (setup->values[GRADIENT_CODING_CODE] == GRADIENT_CODING_FRACTIONAL)
        return n % (s + 1) == 0 ? 0 : refuse_fractional(setup, err);
    if (!needs_weights(setup) || (s <= GRADIENT_CODE_STRAGGLERS_MAX && precise_enough(setup, s)))
        return 0;
    return refuse_cyclic(setup, err);
}

int server_coding_prepare_cell(const struct scheme_setup *setup, struct blob *blob, struct err *err)
{
    const int s = stragglers(setup);
    double amplification = 1;
    const bool weights = needs_weights(setup);
    double *numbers = weights ? choose(setup, s, &amplification) : calloc(1, sizeof(*numbers));
    if (!numbers || !isfinite(amplification)) {
        free(numbers);
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot choose a code for %d workers and %d stragglers", setup->workers, s);
    }
    blob->bytes = (uint8_t *)numbers;
    blob->length = (weights ? gradient_code_numbers(setup->workers, s) : 1) * sizeof(*numbers); /* never empty */
    return 0;
}

/* Of what was prepared, which need not stand where a double may: 0: this cell has no weights. */
static size_t prepared_numbers(const struct scheme_setup *setup)
{
    const size_t numbers = needs_weights(setup) ? gradient_code_numbers(setup->workers, stragglers(setup)) : 0;
    return setup->prepared_bytes == numbers * sizeof(double) ? numbers : 0;
}

static void copy_prepared(const struct scheme_setup *setup, double *to, size_t first, size_t count)
{
    memcpy(to, setup->prepared + first * sizeof(*to), count * sizeof(*to));
}

double server_coding_amplification(const struct scheme_setup *setup)
{
    const size_t numbers = prepared_numbers(setup);
    double amplification = 1;
    if (numbers > 0)
        copy_prepared(setup, &amplification, numbers - 1, 1);
    return amplification;
}

/* ---- on a node ---- */

static size_t vector_bytes(const struct node *node)
{
    return node->setup->parameter_count * sizeof(float);
}

static void prepare_worker(struct node *node, struct server_coding *coding)
{
    const int n = node->setup->workers, first = coding->group > 1 ? node->index / coding->group * coding->group : node->index;
    coding->partitions = node_alloc(node, (size_t)coding->load * sizeof(*coding->partitions));
    for (int i = 0; i < coding->load; i++)
        coding->partitions[i] = (first + i) % n;
    if (prepared_numbers(node->setup) == 0)
        return;
    double weight;
    coding->weights = node_alloc(node, (size_t)coding->load * sizeof(*coding->weights));
    for (int i = 0; i < coding->load; i++) {
        copy_prepared(node->setup, &weight, (size_t)node->index * (size_t)coding->load + (size_t)i, 1);
        coding->weights[i] = (float)weight;
    }
}

static void prepare_server(struct node *node, struct server_coding *coding)
{
    const struct scheme_setup *setup = node->setup;
    const size_t numbers = prepared_numbers(setup);
    coding->slots = setup->workers / coding->group;
    coding->held = node_alloc(node, (size_t)coding->slots * sizeof(struct buffer *));
    coding->present = node_alloc(node, (size_t)coding->slots);
    coding->lost = node_alloc(node, (size_t)setup->workers);
    coding->coefficients = node_alloc(node, (size_t)setup->workers * sizeof(double));
    coding->block = node_alloc(node, BLOCK * sizeof(double));
    coding->coded = numbers > 0;
    if (coding->coded) {
        double *copy = node_alloc(node, numbers * sizeof(*copy));
        copy_prepared(setup, copy, 0, numbers);
        coding->code = gradient_code_of(setup->workers, stragglers(setup), copy);
    }
}

struct server_coding *server_coding_new(struct node *node)
{
    const struct scheme_setup *setup = node->setup;
    struct server_coding *coding = node_alloc(node, sizeof(*coding));
    coding->load = server_coding_load(setup);
    coding->group = server_coding_group(setup);
    if (node->role == ROLE_WORKER)
        prepare_worker(node, coding);
    else
        prepare_server(node, coding);
    return coding;
}

uint32_t server_coding_compute(struct node *node, const struct server_coding *coding, struct task *task)
{
    task->kind = TASK_GRADIENT_PARTITIONS;
    task->partitions = coding->partitions;
    task->weights = coding->weights;
    task->partition_count = coding->load;
    return node_compute(node, task);
}

/* ---- server ---- */

bool server_coding_counts(const struct server_coding *coding, int worker)
{
    return !coding->present[worker / coding->group];
}

static void give_back(struct node *node, struct server_coding *coding, int slot)
{
    node_release(node, coding->held[slot]);
    coding->held[slot] = NULL;
}

/* Adds the sums of a fractional code whose turn it is. */
static void add_in_order(struct node *node, struct server_coding *coding, uint64_t round, float *sum)
{
    const size_t count = node->setup->parameter_count;
    for (; coding->next < coding->slots && coding->held[coding->next]; coding->next++) {
        const float *one = coding->held[coding->next]->bytes;
        int64_t begin_ns = node_now(node);
        if (coding->next == 0)
            node_copy(node, sum, one, count);
        else
            node_add(node, sum, sum, one, count);
        node_span(node, SPAN_REDUCE, round, begin_ns, node_now(node), -1, vector_bytes(node));
        give_back(node, coding, coding->next);
    }
}

void server_coding_take(struct node *node, struct server_coding *coding, uint64_t round, const struct message *message, float *sum)
{
    const int slot = message->source / coding->group;
    node_hold(node, message->buffer);
    coding->held[slot] = message->buffer;
    coding->present[slot] = true;
    if (coding->group == coding->load)
        add_in_order(node, coding, round, sum);
}

/* sum = sum over slots of coefficient x held */
static void combine(const struct server_coding *coding, float *sum, size_t count)
{
    double *block = coding->block;
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t length = count - first < BLOCK ? count - first : BLOCK;
        memset(block, 0, length * sizeof(*block));
        for (int slot = 0; slot < coding->slots; slot++) {
            const double coefficient = coding->coefficients[slot];
            if (!coding->held[slot])
                continue;
            const float *one = (const float *)coding->held[slot]->bytes + first;
            for (size_t i = 0; i < length; i++)
                block[i] += coefficient * (double)one[i];
        }
        for (size_t i = 0; i < length; i++)
            sum[first + i] = (float)block[i];
    }
}

static bool decode(struct node *node, struct server_coding *coding, uint64_t round, float *sum)
{
    const size_t count = node->setup->parameter_count;
    int64_t begin_ns = node_now(node);
    /* A product and an addition each; a combination of doubles takes about twice as long as one of floats. */
    if (node_arithmetic(node, 2.0 * (double)count * server_coding_quota(node->setup)) && node->setup->values_carried) {
        if (!coding->coded || isinf(gradient_code_decode(&coding->code, coding->present, coding->coefficients))) {
            node_fail(node, "the code cannot be decoded for the workers that came");
            return false;
        }
        combine(coding, sum, count);
    }
    node_span(node, SPAN_REDUCE, round, begin_ns, node_now(node), -1, vector_bytes(node));
    for (int slot = 0; slot < coding->slots; slot++)
        if (coding->held[slot])
            give_back(node, coding, slot);
    return true;
}

bool server_coding_finish(struct node *node, struct server_coding *coding, uint64_t round, float *sum)
{
    const bool good = coding->group == coding->load || decode(node, coding, round, sum);
    coding->next = 0;
    memset(coding->present, 0, (size_t)coding->slots);
    return good;
}

bool server_coding_lose(struct node *node, struct server_coding *coding, int worker, char *sentence, size_t sentence_bytes)
{
    const int n = node->setup->workers, group = coding->group, needed = server_coding_quota(node->setup);
    const int first = worker / group * group;
    int in_group = 0, in_all = 0;
    coding->lost[worker] = true;
    for (int other = 0; other < n; other++) {
        in_all += !coding->lost[other];
        in_group += !coding->lost[other] && other / group == worker / group;
    }
    if (coding->group == coding->load ? in_group > 0 : in_all >= needed)
        return true;
    if (coding->group == coding->load && group == 1)
        snprintf(sentence, sentence_bytes, "worker %d is lost: nobody else computes its partition", worker);
    else if (coding->group == coding->load)
        snprintf(sentence, sentence_bytes, "worker %d is lost: nobody is left who computes the partitions of workers %d to %d",
                 worker, first, first + group - 1);
    else
        snprintf(sentence, sentence_bytes, "worker %d is lost: %d %s left, and an update needs %d", worker, in_all,
                 in_all == 1 ? "is" : "are", needed);
    return false;
}
