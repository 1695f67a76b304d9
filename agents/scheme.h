/* agents/scheme.h: the scheme interface. A scheme is an event-driven state machine, one file in agents/schemes/, one const struct
 * scheme in the table. Parser, help, documentation, predictions and tests read the same rows. A scheme sees only struct node
 * (node.h): it does not know which world carries it. */
#ifndef LAGGARD_AGENTS_SCHEME_H
#define LAGGARD_AGENTS_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/model.h"
#include "schemas/prediction.h"
#include "schemas/settings.h"
#include "schemas/worker_graph.h"

struct err;
struct node;
struct message;
struct landing;
struct buffer;
struct task_result;

enum scheme_family {
    FAMILY_SERVER,
    FAMILY_ALLREDUCE,
    FAMILY_LOCAL,
    FAMILY_DECENTRALISED,
    FAMILY_CODED,
    FAMILY_FEDERATED,
    FAMILY_COUNT
};
enum scheme_flags {
    SCHEME_NEEDS_VALUES = 1,       /* refuses gradients: none */
    SCHEME_SURVIVES_PEER_LOSS = 2, /* a lost node is recorded and the trial goes on */
    SCHEME_ASYNCHRONOUS = 4,       /* a round is one server update */
    SCHEME_REPEATS_WORKERS = 8,    /* one worker may contribute more than once to an update: the synthetic check allows for it */
    /* A round is over when the first server has made its update: workers may finish rounds by leaps, and the server's model is the
     * one that is evaluated. */
    SCHEME_ROUNDS_AT_SERVER = 16,
    SCHEME_NEEDS_PATHS = 32, /* asks setup->path on its nodes; each node is then told its paths to all others */
    /* Gradients count as often as they have samples: an update's contributors are samples, and may be any number of each worker. */
    SCHEME_WEIGHTS_SAMPLES = 64,
    SCHEME_NEEDS_BATCHES = 128, /* its servers ask for mini-batches (node_batch): they load the training data, too */
};
enum peer_state { PEER_LOST = 1 };

enum param_unit { PARAM_COUNT, PARAM_BYTES, PARAM_TIME, PARAM_NUMBER, PARAM_CHOICE, PARAM_BOOL };
struct param {
    const char *name;
    enum param_unit unit;              /* how the campaign file writes it; values: bytes, ns, index of the choice, 0 or 1 */
    double minimum, maximum, standard; /* `standard` is the default */
    const char *const *choices;        /* PARAM_CHOICE: NULL-terminated */
    const char *help;
};

struct path { /* between two nodes; one way */
    double latency_ns;
    double bytes_per_second; /* payload rate of the narrowest link; INFINITY: not limited */
};

/* Everything a scheme may know about its cell. The same on every node; const for the life of the trial. Where that sweeps message
 * sizes there is one for each, and a scheme lives, with a state of its own and rounds from 0, for one. */
struct scheme_setup {
    const struct scheme *scheme;
    int workers, servers, nodes;      /* nodes = workers + servers; workers are 0 .. workers-1, servers follow */
    double values[SCHEME_PARAMS_MAX]; /* in the order of scheme->params */
    size_t parameter_count;           /* floats in the model; gradient bytes = 4 x this */
    /* The model's layers where it has some: matrix_count of them. */
    struct model_matrix matrices[MODEL_MATRICES_MAX];
    int matrix_count;
    double learning_rate;
    double decay_factor; /* of the learning rate, every `decay_every` steps; 0: never */
    int decay_every;
    int batch;
    int rounds;          /* warm-up included, of one message size; a synchronous scheme stops by itself after this many */
    bool values_carried; /* false: gradients: none */
    bool trained;        /* values are carried, and are of a model and data: there is an initial model, and tasks have a loss */
    /* How many training samples each worker owns, of a data set of the standard size; NULL: there is no data. */
    const uint32_t *samples;
    uint64_t seed;
    uint32_t cell;
    const struct worker_graph *graph; /* the campaign's worker_graph; NULL: none, and on nodes, which know what prepare() made */
    const uint8_t *prepared;          /* what prepare() made, or NULL */
    size_t prepared_bytes;
    /* One-way path; from and to are node indexes. In check(), prepare() and predict() always there; on a node NULL without
     * SCHEME_NEEDS_PATHS. */
    struct path (*path)(const void *context, int from, int to);
    const void *path_context;
    /* For predictions: */
    const struct distribution *compute_time;
    const double *slow_factors; /* one a worker, NULL: all 1 */
    double gradient_ns;         /* measured real work c: predictions use E[max(X, c)]; 0: unknown */
    double reduce_ns_per_byte;  /* gamma */
    double message_ns;          /* per-message cost: system call and wake-up */
    double turn_ns; /* how long one of a node's connections may have its link before the next one's turn; 0: they share it packet by
                     * packet */
    bool round_only; /* of the prediction only the round is asked: its parts may be left together, in compute */
};

struct blob {
    uint8_t *bytes; /* malloc'd by prepare(), freed by the caller */
    size_t length;
};

struct scheme {
    const char *name, *summary, *source; /* source: paper, section */
    const char *formula;                 /* of the predicted round time, for `laggard schemes` */
    enum scheme_family family;
    const void *detail; /* what schemes that share their code differ in; its type is their own affair */
    unsigned flags;
    const struct param *params;
    int param_count;
    size_t state_bytes; /* zeroed memory that node_state() returns */
    int extra_vectors;  /* of the payload's length that a worker holds beyond two: a gradient, and a sum or model */
    /* How many dedicated server nodes these parameters ask for. NULL: none. */
    int (*servers)(int workers, const double *values);
    /* Refuses what cannot work, with the allowed range. NULL: anything goes. */
    int (*check)(const struct scheme_setup *setup, struct err *err);
    /* Once a cell, in the controller: codes, matchings. NULL: nothing. */
    int (*prepare)(const struct scheme_setup *setup, struct blob *blob, struct err *err);
    /* Whether these two nodes ever exchange messages (symmetric): connections are made accordingly. NULL: all pairs. */
    bool (*talks)(const struct scheme_setup *setup, int node, int peer);
    /* How many spans a round leaves on this node at most, those of compute, send and receive included: the memory is taken before
     * the start, and spans that do not fit degrade the trial. */
    uint64_t (*spans_a_round)(const struct scheme_setup *setup, int node);

    /* How many Byzantine workers an update withstands with these parameters. NULL: none. */
    int (*tolerates)(const struct scheme_setup *setup);
    /* Whether sums are approximations with these parameters: a synthetic workload cannot check them then. NULL: never. */
    bool (*approximates)(const struct scheme_setup *setup);
    /* How many times float32's rounding errors grow in sums that are put together from multiples of gradients; a synthetic workload
     * allows for it. NULL: 1. */
    double (*amplification)(const struct scheme_setup *setup);

    /* How many gradients a round this node tells the fate of at most (node_gradient). NULL: none. */
    uint64_t (*gradients_a_round)(const struct scheme_setup *setup, int node);

    /* On one node, all on one thread, never re-entered. Any may be NULL except start. */
    void (*prepare_node)(struct node *node); /* allocate everything (node_alloc); before the clock starts */
    void (*start)(struct node *node);
    void (*on_task)(struct node *node, const struct task_result *result);
    /* A header has come: say where its payload shall land (default: a pool buffer). */
    struct landing (*on_header)(struct node *node, const struct message *message);
    void (*on_message)(struct node *node, const struct message *message);
    /* Once for every node_send() with a buffer: that send needs the buffer's bytes no longer (they are taken, or the peer is
     * lost). */
    void (*on_sent)(struct node *node, struct buffer *buffer, int destination);
    void (*on_timer)(struct node *node, int timer);
    void (*on_peer)(struct node *node, int peer, enum peer_state state);
    void (*stop)(struct node *node);
    /* The model as this node would hand it out now (own, the server's, an average); NULL result: this node has none. */
    const float *(*model_to_evaluate)(struct node *node);
    void (*predict)(const struct scheme_setup *setup, struct prediction *prediction);
};

/* ---- schemes in shared objects ----
 * An object defines one variable, with SCHEME_OBJECT(&scheme_one, &scheme_two); scheme_object.h loads it. The version goes up with
 * every change of this header, of node.h or of what they include that a compiled scheme would notice; the sizes catch a change that
 * was forgotten. */
enum { SCHEME_INTERFACE_VERSION = 1 };
struct scheme_object_export {
    uint32_t version, scheme_bytes, setup_bytes;
    const struct scheme *const *schemes; /* ends with NULL */
};
#define SCHEME_OBJECT_SYMBOL "laggard_schemes"
#define SCHEME_OBJECT(...)                                                                                                         \
    extern const struct scheme_object_export laggard_schemes;                                                                      \
    const struct scheme_object_export laggard_schemes = {SCHEME_INTERFACE_VERSION, (uint32_t)sizeof(struct scheme),                \
                                                         (uint32_t)sizeof(struct scheme_setup),                                    \
                                                         (const struct scheme *const[]){__VA_ARGS__, NULL}}

/* The table: rows of ours, then those of objects that were loaded. */
int scheme_count(void);
const struct scheme *scheme_at(int index);
const struct scheme *scheme_find(const char *name); /* NULL: unknown */
bool scheme_add(const struct scheme *scheme);       /* for the life of the process; false: no room, the name is not looked at */
int scheme_servers(const struct scheme *scheme, int workers, const double *values);
/* The node whose rounds are the trial's, as they go: the first server where rounds are its updates, else node 0. */
int scheme_round_node(const struct scheme *scheme, int workers);
/* What a worker counts in averages by samples: how many it owns, 1 where there is no data. */
uint32_t scheme_samples(const struct scheme_setup *setup, int worker);
bool scheme_talks(const struct scheme_setup *setup, int node, int peer);
bool scheme_approximates(const struct scheme_setup *setup);
/* The learning rate that node_update() of this step takes. */
double scheme_rate(const struct scheme_setup *setup, uint64_t step);
double scheme_amplification(const struct scheme_setup *setup);
int scheme_tolerates(const struct scheme_setup *setup);

#endif
