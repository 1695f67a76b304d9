/* campaign_fields.c: the one table of campaign fields. Parser, dump, `laggard fields`, docs/campaign-file.md and the JSON schema
 * read it. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "campaign_internal.h"
#include "yaml_document.h"

/* The member's type decides how a value is stored. */
#define STORE_OF(member)                                                                                                           \
    _Generic(((struct settings *)0)->member,                                                                                       \
        int: STORE_INT,                                                                                                            \
        unsigned: STORE_ENUM,                                                                                                      \
        int64_t: STORE_INT64,                                                                                                      \
        uint64_t: STORE_UINT64,                                                                                                    \
        double: STORE_DOUBLE,                                                                                                      \
        bool: STORE_BOOL,                                                                                                          \
        const char *: STORE_STRING,                                                                                                \
        default: STORE_SPECIAL)
#define MEMBER(member)                                                                                                             \
    .offset = offsetof(struct settings, member), .bytes = sizeof(((struct settings *)0)->member), .store = STORE_OF(member)
#define MODEL(kind) (1u << (kind))
#define SHAPE(kind) (1u << (kind))

static_assert(sizeof(enum world_kind) == sizeof(int), "enumerations are stored as int");

const struct campaign_field campaign_fields[] = {
    {.path = "name",
     .type = FIELD_STRING,
     MEMBER(name),
     .pattern = "A-Za-z0-9._-",
     .length_max = 64,
     .required = true,
     .fixed = true,
     .help = "names the campaign and, without --db, its database: NAME.db"},
    {.path = "seed",
     .type = FIELD_SEED,
     MEMBER(seed),
     .standard = "1",
     .fixed = true,
     .help = "of every random stream: order of trials, data, weights, compute times"},
    {.path = "world",
     .type = FIELD_VALUE,
     MEMBER(world),
     .rule =
         {.type = VALUE_CHOICE, .choices = world_names, .choice_count = 1, .refused = "the virtual world is not in this version"},
     .standard = "emulated",
     .help = "what carries the schemes: namespaces, TCP and real time"},
    {.path = "engine",
     .type = FIELD_VALUE,
     MEMBER(engine),
     .rule = {.type = VALUE_CHOICE,
              .choices = engine_names,
              .choice_count = ENGINE_NONE,
              .refused = "that is what auto chooses where no link has a delay"},
     .standard = "auto",
     .help = "what delays packets: the kernel's netem, or the user-space relay; auto takes netem where the kernel has it"},
    {.path = "topology.shape",
     .type = FIELD_VALUE,
     MEMBER(shape),
     .rule = {.type = VALUE_CHOICE, .choices = shape_names},
     .standard = "star",
     .help = "how nodes are joined: a router in the centre, a circle, a link a pair, two routers with a bottleneck, racks, as "
             "written out, sites"},
    {.path = "topology.link.rate",
     .type = FIELD_VALUE,
     MEMBER(link.rate_bps),
     .rule = {.type = VALUE_RATE, .minimum = 8e3, .maximum = 400e9, .zero = "unlimited", .bare_zero = true, .example = "1gbit"},
     .standard = "unlimited",
     .help = "bits a second over each link, in each direction; Ethernet frames count"},
    {.path = "topology.link.delay",
     .type = FIELD_VALUE,
     MEMBER(link.delay_ns),
     .rule = {.type = VALUE_TIME, .minimum = 0, .maximum = 10.0 * NS_PER_S, .example = "250us"},
     .standard = "0",
     .help = "one way over one link; a path in a star crosses two links"},
    {.path = "topology.link.queue",
     .type = FIELD_VALUE,
     MEMBER(link.queue_bytes),
     .rule = {.type = VALUE_SIZE, .minimum = 590, .maximum = 0x1p31, .zero = "auto", .example = "150KB"},
     .standard = "auto",
     .help = "bytes that wait in front of a link before packets are dropped; auto: rate x 12 ms, at least 150 kB"},
    {.path = "topology.link.queue_packets",
     .type = FIELD_VALUE,
     MEMBER(link.queue_packets),
     .rule = {.type = VALUE_INTEGER, .minimum = 1, .maximum = 1e6, .zero = "none", .example = "100"},
     .standard = "none",
     .help = "the same counted in frames, instead of bytes"},
    {.path = "topology.link.framing",
     .type = FIELD_VALUE,
     MEMBER(link.framing),
     .rule = {.type = VALUE_CHOICE, .choices = framing_names},
     .standard = "l2",
     .help = "what the rate counts: l2, Ethernet frames, or l1, also their preamble, checksum and gap, 24 bytes a frame"},
    {.path = "topology.link.jitter",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.jitter_ns),
     .rule = {.type = VALUE_TIME, .minimum = 0, .maximum = 2.0 * NS_PER_S, .example = "1ms"},
     .standard = "0",
     .help = "random part of the delay; packets keep their order"},
    {.path = "topology.link.jitter_distribution",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.jitter_distribution),
     .rule = {.type = VALUE_CHOICE, .choices = jitter_names},
     .standard = "uniform",
     .help = "uniform: from -jitter to jitter; the others have jitter as standard deviation"},
    {.path = "topology.link.jitter_table",
     .type = FIELD_JITTER_TABLE,
     MEMBER(link.jitter_table_path),
     .length_max = 1024,
     .help = "file with the quantiles of jitter_distribution table, in 1/8192 of the jitter"},
    {.path = "topology.link.jitter_correlation",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.jitter_correlation),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 0.9999, .example = "0.25"},
     .standard = "0",
     .help = "of each jitter with that of the packet in front; engine relay only"},
    {.path = "topology.link.loss",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.loss),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 1, .example = "1%"},
     .standard = "0",
     .help = "probability of a packet to be lost"},
    {.path = "topology.link.loss_correlation",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.loss_correlation),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 0.9999, .example = "0.25"},
     .standard = "0",
     .help = "of each loss with that of the packet in front"},
    {.path = "topology.link.gilbert_elliott.p",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.gilbert_elliott.p),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 1, .example = "1%"},
     .standard = "0",
     .help = "loss in bursts: probability a packet of going from the good to the bad state; 0: no bursts"},
    {.path = "topology.link.gilbert_elliott.r",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.gilbert_elliott.r),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 1, .example = "10%"},
     .standard = "0",
     .help = "of going back to the good state"},
    {.path = "topology.link.gilbert_elliott.loss_bad",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.gilbert_elliott.loss_bad),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 1, .example = "70%"},
     .standard = "1",
     .help = "probability of loss in the bad state (1-h)"},
    {.path = "topology.link.gilbert_elliott.loss_good",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.gilbert_elliott.loss_good),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 1, .example = "0.1%"},
     .standard = "0",
     .help = "probability of loss in the good state (1-k)"},
    {.path = "topology.link.duplicate",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.duplicate),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 1, .example = "1%"},
     .standard = "0",
     .help = "probability of a packet to come twice"},
    {.path = "topology.link.corrupt",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.corrupt),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 1, .example = "0.1%"},
     .standard = "0",
     .help = "probability of a packet to get one wrong bit"},
    {.path = "topology.link.reorder",
     .type = FIELD_VALUE,
     MEMBER(link.impairments.reorder),
     .rule = {.type = VALUE_SHARE, .minimum = 0, .maximum = 1, .example = "1%"},
     .standard = "0",
     .help = "probability of a packet to be sent without delay, in front of those still under way"},
    {.path = "topology.link.back",
     .type = FIELD_LINK,
     MEMBER(back),
     .help = "what differs in the other direction of each link, towards its first end; without it both directions are the same"},
    {.path = "topology.bottleneck",
     .type = FIELD_LINK,
     MEMBER(bottleneck),
     .shapes = SHAPE(SHAPE_DUMBBELL),
     .help = "what differs from topology.link in the link between the two routers"},
    {.path = "topology.racks",
     .type = FIELD_VALUE,
     MEMBER(racks),
     .rule = {.type = VALUE_INTEGER, .minimum = 1, .maximum = 1000},
     .standard = "2",
     .shapes = SHAPE(SHAPE_TREE),
     .help = "racks that the nodes fill in order, as evenly as can be, each with a router and an uplink to the core"},
    {.path = "topology.uplink",
     .type = FIELD_LINK,
     MEMBER(uplink),
     .shapes = SHAPE(SHAPE_TREE),
     .help = "what differs from topology.link in each rack's link to the core"},
    {.path = "topology.oversubscription",
     .type = FIELD_VALUE,
     MEMBER(oversubscription),
     .rule = {.type = VALUE_NUMBER, .minimum = 0.001, .maximum = 1e6},
     .shapes = SHAPE(SHAPE_TREE),
     .help = "an uplink's rate: what its rack's nodes can send together, divided by this; in place of a rate in topology.uplink"},
    {.path = "topology.hosts",
     .type = FIELD_NAMES,
     MEMBER(hosts),
     .shapes = SHAPE(SHAPE_GRAPH),
     .help =
         "names for links: node i (workers, then servers) runs on the i-th; others forward; without it hosts are w0, w1, ... s0"},
    {.path = "topology.routers",
     .type = FIELD_NAMES,
     MEMBER(routers),
     .shapes = SHAPE(SHAPE_GRAPH),
     .help = "routers, or switches: what forwards and runs no node"},
    {.path = "topology.links",
     .type = FIELD_GRAPH_LINKS,
     MEMBER(links),
     .shapes = SHAPE(SHAPE_GRAPH),
     .help = "every link, with what differs from topology.link; two places may have several"},
    {.path = "topology.sites",
     .type = FIELD_NAMES,
     MEMBER(sites),
     .shapes = SHAPE(SHAPE_SITES),
     .help = "sites, each a router, with a link between every two; a node hangs on its site by a link like topology.link"},
    {.path = "topology.placement",
     .type = FIELD_NAMES,
     MEMBER(placement),
     .shapes = SHAPE(SHAPE_SITES),
     .help = "the site of each node (workers, then servers); without it sites are filled in order, as evenly as can be"},
    {.path = "topology.latency",
     .type = FIELD_MATRIX,
     MEMBER(latency),
     .rule = {.type = VALUE_TIME, .minimum = 0, .maximum = 10.0 * NS_PER_S, .example = "[[0, 5ms], [5ms, 0]]"},
     .shapes = SHAPE(SHAPE_SITES),
     .help = "one way from the row's site to the column's, detours or not"},
    {.path = "topology.rate",
     .type = FIELD_MATRIX,
     MEMBER(rate),
     .rule = {.type = VALUE_RATE,
              .minimum = 8e3,
              .maximum = 400e9,
              .zero = "unlimited",
              .bare_zero = true,
              .example = "[[0, 1gbit], [1gbit, 0]]"},
     .shapes = SHAPE(SHAPE_SITES),
     .help = "of the link from the row's site to the column's; without it unlimited"},
    {.path = "topology.overrides",
     .type = FIELD_OVERRIDES,
     MEMBER(overrides),
     .help = "what differs in single links, by name (w0-router) or index, or in all links of a node; the last one wins"},
    {.path = "workers",
     .type = FIELD_VALUE,
     MEMBER(workers),
     .rule = {.type = VALUE_INTEGER, .minimum = 1, .maximum = 1000},
     .required = true,
     .help = "nodes that compute gradients, all of them; indexes start at 0"},
    {.path = "scheme",
     .type = FIELD_SCHEME,
     MEMBER(scheme),
     .required = true,
     .help = "the aggregation algorithm; `laggard schemes` lists parameters, ranges and defaults"},
    {.path = "workload.model",
     .type = FIELD_VALUE,
     MEMBER(workload.model),
     .rule = {.type = VALUE_CHOICE, .choices = model_names},
     .required = true,
     .help = "what is trained; synthetic moves a gradient whose exact mean is known and checks it on every node"},
    {.path = "workload.dataset",
     .type = FIELD_VALUE,
     MEMBER(workload.dataset),
     .rule = {.type = VALUE_CHOICE, .choices = dataset_names},
     .standard = "fashion-mnist",
     .help = "what it is trained on"},
    {.path = "workload.dataset_path",
     .type = FIELD_STRING,
     MEMBER(workload.dataset_path),
     .length_max = 1024,
     .help = "directory of the data set's files; without it, where Debian's package puts them"},
    {.path = "workload.layers",
     .type = FIELD_LAYERS,
     MEMBER(workload.layers),
     .standard = "[128]",
     .models = MODEL(MODEL_MLP),
     .help = "widths of the hidden layers"},
    {.path = "workload.batch",
     .type = FIELD_VALUE,
     MEMBER(workload.batch),
     .rule = {.type = VALUE_INTEGER, .minimum = 1, .maximum = 65536},
     .standard = "64",
     .help = "samples a worker and a round"},
    {.path = "workload.learning_rate",
     .type = FIELD_VALUE,
     MEMBER(workload.learning_rate),
     .rule = {.type = VALUE_NUMBER, .minimum = 1e-12, .maximum = 1000},
     .standard = "0.1",
     .help = "the step: w - learning_rate x gradient"},
    {.path = "workload.rounds",
     .type = FIELD_VALUE,
     MEMBER(workload.rounds),
     .rule = {.type = VALUE_INTEGER, .minimum = 1, .maximum = 1e6},
     .required = true,
     .help = "measured rounds a trial"},
    {.path = "workload.evaluate_every",
     .type = FIELD_VALUE,
     MEMBER(workload.evaluate_every),
     .rule = {.type = VALUE_INTEGER, .minimum = 0, .maximum = 1e6},
     .standard = "0",
     .help = "rounds between evaluations, which happen after the trial on snapshots; 0: only after the last round"},
    {.path = "workload.size",
     .type = FIELD_VALUE,
     MEMBER(workload.size_bytes),
     .rule = {.type = VALUE_SIZE, .minimum = 4, .maximum = 0x1p32, .multiple = 4, .example = "25MiB"},
     .models = MODEL(MODEL_SYNTHETIC),
     .help = "bytes of the synthetic gradient; required for that model"},
    {.path = "workload.gradients",
     .type = FIELD_VALUE,
     MEMBER(workload.gradients),
     .rule = {.type = VALUE_CHOICE,
              .choices = gradient_names,
              .choice_count = 1,
              .refused = "gradients can be left out only in the virtual world, which is not in this version"},
     .standard = "real",
     .help = "whether gradients are really computed and carried"},
    {.path = "compute.time",
     .type = FIELD_DISTRIBUTION,
     MEMBER(compute_time),
     .standard = "measured",
     .help = "how long a gradient takes: as long as the real work, or at least a drawn time"},
    {.path = "compute.slow", .type = FIELD_SLOW, MEMBER(slow), .help = "stragglers: compute times of these workers are multiplied"},
    {.path = "repeats",
     .type = FIELD_VALUE,
     MEMBER(repeats),
     .rule = {.type = VALUE_INTEGER, .minimum = 1, .maximum = 10000},
     .standard = "1",
     .fixed = true,
     .help = "trials a cell; each repeat is a block that holds every cell once, in random order"},
    {.path = "warmup_rounds",
     .type = FIELD_VALUE,
     MEMBER(warmup_rounds),
     .rule = {.type = VALUE_INTEGER, .minimum = 0, .maximum = 1e6},
     .standard = "0",
     .help = "rounds before the measured ones, left out of statistics; they train the model too"},
    {.path = "mtu",
     .type = FIELD_VALUE,
     MEMBER(mtu),
     .rule = {.type = VALUE_INTEGER, .minimum = 576, .maximum = 9000},
     .standard = "1500",
     .help = "largest IP packet on every link, in bytes"},
    {.path = "congestion_control",
     .type = FIELD_STRING,
     MEMBER(congestion_control),
     .pattern = "a-z0-9_-",
     .length_max = 15,
     .standard = "cubic",
     .help = "TCP's, one that the kernel has; never the host's default"},
    {.path = "rto_min",
     .type = FIELD_VALUE,
     MEMBER(rto_min_ns),
     .rule = {.type = VALUE_TIME, .minimum = NS_PER_MS, .maximum = 60.0 * NS_PER_S, .zero = "auto", .example = "20ms"},
     .standard = "auto",
     .help = "TCP's shortest retransmission timeout; auto: the kernel's, 200 ms"},
    {.path = "slow_start_after_idle",
     .type = FIELD_VALUE,
     MEMBER(slow_start_after_idle),
     .rule = {.type = VALUE_BOOL},
     .standard = "false",
     .help = "whether TCP starts slowly again after a pause, as every compute phase is one; the kernel's own default is true"},
    {.path = "trial_deadline",
     .type = FIELD_VALUE,
     MEMBER(trial_deadline_ns),
     .rule = {.type = VALUE_TIME, .minimum = NS_PER_S, .maximum = 7 * 24 * 3600.0 * NS_PER_S, .zero = "auto", .example = "90s"},
     .standard = "auto",
     .help = "a trial that takes longer has failed; auto: derived from the prediction"},
    {.path = "record_spans",
     .type = FIELD_VALUE,
     MEMBER(record_spans),
     .rule = {.type = VALUE_BOOL},
     .standard = "true",
     .help = "whether every interval of every node is stored, or the rounds alone"},
};
static_assert(sizeof(campaign_fields) / sizeof(campaign_fields[0]) <= CAMPAIGN_FIELDS_MAX, "raise CAMPAIGN_FIELDS_MAX");
const int campaign_field_count = sizeof(campaign_fields) / sizeof(campaign_fields[0]);

/* Short forms of paths. */
static const struct {
    const char *alias, *path;
} aliases[] = {{"queue", "topology.link.queue"}};

bool campaign_field_alias(int index, const char **alias, const char **path)
{
    if (index < 0 || (size_t)index >= sizeof(aliases) / sizeof(aliases[0]))
        return false;
    *alias = aliases[index].alias;
    *path = aliases[index].path;
    return true;
}

const struct campaign_field *campaign_field_find(const char *path)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(aliases[i].alias, path) == 0)
            path = aliases[i].path;
    for (int i = 0; i < campaign_field_count; i++)
        if (strcmp(campaign_fields[i].path, path) == 0)
            return &campaign_fields[i];
    return NULL;
}

bool campaign_field_is_group(const char *path)
{
    size_t length = strlen(path);
    for (int i = 0; i < campaign_field_count; i++)
        if (strncmp(campaign_fields[i].path, path, length) == 0 && campaign_fields[i].path[length] == '.')
            return true;
    return false;
}

static bool model_uses(const struct campaign_field *field, const struct settings *settings)
{
    return field->models == 0 || field->models & MODEL(settings->workload.model);
}

static bool shape_uses(const struct campaign_field *field, const struct settings *settings)
{
    return field->shapes == 0 || field->shapes & SHAPE(settings->shape);
}

bool campaign_field_used(const struct campaign_field *field, const struct settings *settings)
{
    return model_uses(field, settings) && shape_uses(field, settings);
}

const char *campaign_field_refuser(const struct campaign_field *field, const struct settings *settings, struct arena *arena)
{
    return model_uses(field, settings) ? arena_printf(arena, "topology.shape %s", shape_names[settings->shape])
                                       : arena_printf(arena, "workload.model %s", model_names[settings->workload.model]);
}

/* Keys that could have been meant: those of the same mapping, then fields anywhere whose last word is the same. */
int campaign_field_unknown(const struct reader *reader, const struct yaml_value *value, const char *prefix, const char *key)
{
    enum { CANDIDATES_MAX = 64 };
    const char *candidates[CANDIDATES_MAX];
    size_t count = 0, prefix_length = strlen(prefix);
    for (int i = 0; i < campaign_field_count && count + 2 < CANDIDATES_MAX; i++) {
        const char *path = campaign_fields[i].path;
        if (strncmp(path, prefix, prefix_length) != 0)
            continue;
        path += prefix_length;
        candidates[count++] = path;
        candidates[count++] = arena_strndup(reader->arena, path, strcspn(path, "."));
    }
    if (!*prefix)
        candidates[count++] = "matrix";
    const char *near = campaign_suggest(reader->arena, key, candidates, count);
    bool found = *near != '.';
    for (int i = 0; i < campaign_field_count && !found; i++) {
        const char *dot = strrchr(campaign_fields[i].path, '.');
        found = dot && strcmp(dot + 1, key) == 0;
        if (found)
            near = arena_printf(reader->arena, ", did you mean '%s'?", campaign_fields[i].path);
    }
    return campaign_fail_key(reader, value, NULL, "unknown key '%s%s'%s%s", prefix, yaml_document_printable(key).text, near,
                             found ? "" : " `laggard fields` lists the known ones");
}
