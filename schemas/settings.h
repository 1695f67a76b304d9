/* settings.h: the effective configuration of one cell: every default filled in, every swept leaf set. Plain data, owned by the
 * campaign's arena; every later stage takes it as const. Campaign keys and these members share one table,
 * harness/campaign_fields.c. */
#ifndef LAGGARD_SCHEMAS_SETTINGS_H
#define LAGGARD_SCHEMAS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/capture.h"
#include "schemas/names.h"
#include "schemas/topology.h"
#include "schemas/traffic.h"
#include "schemas/worker_graph.h"

enum { SCHEME_PARAMS_MAX = 12, LAYERS_MAX = 8, SIZES_MAX = 64 };

struct link_settings {    /* one link, the same in both directions */
    uint64_t rate_bps;    /* 0: not limited */
    int64_t delay_ns;     /* one way, over this link alone */
    uint64_t queue_bytes; /* 0: max(rate x 12 ms, 150 kB) */
    int queue_packets;    /* instead of bytes; 0: bytes count */
    enum framing_kind framing;
    struct impairments impairments;
    const char *jitter_table_path; /* where impairments.jitter_table was read from */
};

/* Members that take the place of those of another link's settings. */
struct link_patch {
    struct link_settings values;
    bool replaces[sizeof(struct link_settings)]; /* one a byte of `values`: it counts */
};
struct link_change {        /* of a link whose settings come from elsewhere; zeros change nothing */
    struct link_patch both; /* directions */
    struct link_patch back; /* from link.to to link.from; on top */
};
struct link_override {
    const char *link, *node;   /* one of them, the other NULL: a name or an index; `node` means every link of that place */
    struct link_change change; /* with `node`, back is the direction towards it */
};

struct name_list {
    const char *const *names;
    int count;
};
struct graph_link {
    const char *name; /* NULL: made of the two ends' names */
    const char *from, *to;
    struct link_change change;
};
struct graph_link_list {
    const struct graph_link *links;
    int count;
};
struct site_matrix { /* from the site of the row to that of the column; ns or bits a second */
    const double *cells;
    int size; /* of a row; 0: not set */
};

/* A distribution of compute times. Only the members that the kind names are meaningful. */
struct distribution {
    enum distribution_kind kind;
    double value_ns;  /* constant */
    double mean_ns;   /* exponential; of the exponential part in shifted-exponential */
    double shift_ns;  /* shifted-exponential */
    double mu, sigma; /* lognormal: of the logarithm of the time in `unit_ns` */
    double unit_ns;
    double scale_ns, shape; /* pareto: smallest value and tail index */
};

struct cpu_limit {     /* of one node's processes together */
    double processors; /* 0: no limit */
    int64_t period_ns; /* in each of these it may run for processors x period */
};

struct slow_workers { /* compute times of these workers are multiplied */
    const int *workers;
    int worker_count;
    double factor;
};

enum limited_nodes { LIMITED_LISTED, LIMITED_ALL, LIMITED_WORKERS, LIMITED_SERVERS, LIMITED_COUNT };
struct cpu_limit_setting { /* how much of the host's processors each of these nodes may use */
    enum limited_nodes who;
    const char *const *nodes; /* LISTED: names or indexes */
    int node_count;
    struct cpu_limit limit;
};
struct cpu_limit_list {
    const struct cpu_limit_setting *limits;
    int count;
};
struct event_request; /* schemas/events.h */

#define OUTSIDE_SCHEME "exec"
/* A shared object with schemes. */
struct scheme_object {
    const char *path;   /* as the campaign file has it */
    const char *file;   /* absolute */
    const char *sha256; /* hexadecimal, of what was loaded */
};
struct scheme_choice {
    const char *name; /* a row of the scheme table, or OUTSIDE_SCHEME: */
    bool outside;     /* no scheme of ours: workload.exec runs on every node */
    /* In the order of the scheme's parameter table; sizes in bytes, times in ns, choices by index. */
    double values[SCHEME_PARAMS_MAX];
};

struct outside_command {      /* an outside program and its arguments */
    const char *const *words; /* words[count] is NULL */
    int count;                /* 0: none */
    int line, column;         /* in the campaign file */
};

struct size_list {
    const uint64_t *bytes;
    int count;
};

struct shard_settings { /* how training samples are dealt out to workers */
    enum shard_kind split;
    double alpha;      /* dirichlet: of each label */
    double size_alpha; /* 0: sizes are equal */
};

struct byzantine_workers { /* whose gradients are falsified */
    const int *workers;
    int worker_count; /* 0: nobody's */
    enum attack_kind attack;
    double factor; /* of the attack; label-flip has none: 1 */
};

struct workload_settings { /* all zero but exec where that runs, and the other way round */
    enum model_kind model;
    enum dataset_kind dataset;
    const char *dataset_path; /* NULL: where Debian's package puts it */
    struct shard_settings shards;
    int layers[LAYERS_MAX]; /* mlp: hidden layer widths */
    int layer_count;
    int batch; /* samples a worker and a round */
    double learning_rate;
    double momentum, weight_decay; /* 0: none */
    double decay_factor;           /* of the learning rate, every decay_every rounds */
    int decay_every;               /* 0: never */
    int rounds;                    /* measured ones; warm-up rounds come before */
    int evaluate_every;            /* rounds; 0: only after the last */
    uint64_t size_bytes;           /* synthetic: gradient size, a multiple of 4; 0: each trial sweeps `sizes` */
    struct size_list sizes;        /* synthetic: one after the other, each with all rounds; empty: size_bytes alone */
    enum gradient_kind gradients;
    struct byzantine_workers byzantine;
    struct outside_command exec;
};

struct settings {
    const char *name;
    uint64_t seed;
    enum world_kind world;
    enum engine_kind engine;
    enum topology_shape shape;
    struct link_settings link;             /* what a link is unless something below says otherwise */
    const struct link_patch *back;         /* the other direction of every link; NULL: the same */
    const struct link_change *bottleneck;  /* dumbbell: its middle link; NULL: like the others */
    const struct link_change *uplink;      /* tree: each rack's link to the core; NULL: like the others */
    int racks;                             /* tree */
    double oversubscription;               /* tree: what a rack's hosts can send over what its uplink carries; 0: not set */
    struct name_list hosts;                /* graph: node i runs on the i-th; empty: hosts are called like the nodes */
    struct name_list routers;              /* graph */
    struct graph_link_list links;          /* graph */
    struct name_list sites;                /* sites */
    struct name_list placement;            /* sites: of each node; empty: in order and evenly */
    struct site_matrix latency;            /* sites */
    struct site_matrix rate;               /* sites; not set: unlimited */
    const struct link_override *overrides; /* in order, the last one wins */
    int override_count;
    int workers;
    struct scheme_choice scheme;
    const struct scheme_object *scheme_objects; /* with schemes of the user's own */
    int scheme_object_count;
    const struct worker_graph *worker_graph; /* that `graph: file` of the scheme means; NULL: none */
    struct workload_settings workload;
    struct distribution compute_time;
    const struct slow_workers *slow;
    int slow_count;
    struct cpu_limit_list cpu_limits;
    struct traffic_list traffic;
    const struct event_request *events; /* what happens while a trial runs */
    int event_count;
    int repeats;
    int warmup_rounds;
    int mtu;
    const char *congestion_control;
    int64_t rto_min_ns; /* 0: the kernel's default (200 ms) */
    bool slow_start_after_idle;
    int64_t message_cost_ns;   /* world virtual: what a message takes beyond its bytes and its way */
    int64_t busy_wait_ns;      /* how long an agent looks for messages before it sleeps */
    int64_t trial_deadline_ns; /* 0: derived from the prediction */
    bool record_spans;
    bool record_nodes;       /* when each node held each round, and the fate of each gradient */
    bool awake;              /* processors are kept out of sleep states while a trial runs */
    int64_t sample_every_ns; /* 0: counters are read at the end alone */
    struct capture_settings capture;
};

#endif
