/* campaign_internal.h: what the files of the campaign reader share: the field table and the kinds of values. */
#ifndef LAGGARD_HARNESS_CAMPAIGN_INTERNAL_H
#define LAGGARD_HARNESS_CAMPAIGN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/plan.h"
#include "schemas/settings.h"

struct arena;
struct cell_check;
struct err;
struct json;
struct text;
struct trace_cache;
struct yaml_value;

/* ---- reading: where errors go ---- */
struct reader {
    const char *file;
    struct arena *arena;
    struct err *err;
    const char *cell;               /* label of the cell under check, NULL: none; messages name it */
    struct trace_cache **traces;    /* files that events follow, read once for all cells */
    const struct plan_file **files; /* that were read; NULL: nobody asks */
};
/* "file:line:column: key: sentence"; `key` may be NULL. Returns -ERR_USAGE. */
int campaign_fail(const struct reader *reader, const struct yaml_value *at, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, at the place of the value's key. */
int campaign_fail_key(const struct reader *reader, const struct yaml_value *at, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* ", did you mean 'x'?" for the nearest of the candidates, or ".": a sentence may follow. */
const char *campaign_suggest(struct arena *arena, const char *word, const char *const *candidates, size_t count);
/* Refuses lists, mappings and nulls where one value is needed. */
int campaign_need_scalar(const struct reader *reader, const struct yaml_value *value, const char *key);
/* Refuses everything but a list, and one of more than `most` entries; `example` as a campaign file would write it. */
int campaign_need_list(const struct reader *reader, const struct yaml_value *value, const char *key, const char *example, int most);
/* A node, a link or an index, in the arena; whether a network has it is another question. */
int campaign_read_name(const struct reader *reader, const struct yaml_value *value, const char *key, const char **name);
/* The path of a file, in the arena: from where the campaign file is. *written: as it stands there, which is what settings say,
 * wherever laggard is called. */
int campaign_read_path(const struct reader *reader, const struct yaml_value *value, const char *key, const char **path,
                       const char **written);
/* This file was read: the plan tells of it. */
void campaign_note_file(const struct reader *reader, const char *path, const char *written);
/* Refuses the child's key, with the nearest of those that are known, and all of them. */
int campaign_unknown_key(const struct reader *reader, const struct yaml_value *child, const char *key, const char *const *keys,
                         size_t count);

/* ---- single values (campaign_values.c): one row a type, used by fields, scheme parameters and distributions alike ---- */
enum value_type {
    VALUE_INTEGER,
    VALUE_NUMBER,
    VALUE_SHARE, /* a probability or a correlation */
    VALUE_TIME,
    VALUE_RATE,
    VALUE_SIZE,
    VALUE_CHOICE,
    VALUE_BOOL,
    VALUE_UNIT,
    VALUE_TYPE_COUNT
};
struct value_rule {
    enum value_type type;
    double minimum, maximum;    /* ns, bits a second, bytes; below 2^53 */
    double multiple;            /* 0: any */
    const char *const *choices; /* CHOICE */
    int choice_count;           /* how many of them a campaign may name; 0: all */
    const char *refused;        /* what to say about the others */
    const char *zero;           /* a word for the value 0, which may lie below the minimum: "unlimited", "auto"; NULL: none */
    const char *example;        /* NULL: none */
};
int campaign_read_value(const struct reader *reader, const struct yaml_value *value, const char *key, const struct value_rule *rule,
                        double *out);
void campaign_spell_value(const struct value_rule *rule, double value, struct text *out);
void campaign_allowed_value(const struct value_rule *rule, struct text *out); /* for people: "8kbit to 400gbit, or unlimited" */
void campaign_schema_value(const struct value_rule *rule, struct json *json); /* members of an open JSON object */
void campaign_spell_string(const char *string, struct text *out);             /* quoted where YAML needs it */

/* ---- fields (campaign_fields.c) ---- */
enum { CAMPAIGN_FIELDS_MAX = 128 };
enum field_type {
    FIELD_VALUE,
    FIELD_STRING,
    FIELD_SEED,
    FIELD_SCHEME,
    FIELD_DISTRIBUTION,
    FIELD_SLOW,
    FIELD_LAYERS,
    FIELD_SIZES,
    FIELD_JITTER_TABLE,
    FIELD_LINK,
    FIELD_OVERRIDES,
    FIELD_NAMES,
    FIELD_GRAPH_LINKS,
    FIELD_MATRIX,
    FIELD_CAPTURE,
    FIELD_COMMAND,
    FIELD_EVENTS,
    FIELD_TRAFFIC,
    FIELD_CPU_LIMITS,
    FIELD_WORKER_GRAPH,
    FIELD_BYZANTINE,
    FIELD_SCHEME_OBJECTS,
    FIELD_TYPE_COUNT
};
#define CAMPAIGN_BIT(kind) (1u << (kind))                                  /* of a field's `models` and `shapes` */
enum campaign_carriers { CARRIED_BY_AGENTS = 1, CARRIED_BY_PROGRAMS = 2 }; /* what runs on a cell's nodes */
enum field_store { STORE_INT, STORE_ENUM, STORE_INT64, STORE_UINT64, STORE_DOUBLE, STORE_BOOL, STORE_STRING, STORE_SPECIAL };
struct campaign_field {
    const char *path; /* dotted */
    enum field_type type;
    enum field_store store;
    size_t offset; /* into struct settings */
    size_t bytes;  /* of the member there */
    struct value_rule rule;
    const char *pattern;  /* STRING: allowed characters as in a bracket expression; NULL: all that can be printed */
    int length_max;       /* STRING */
    const char *standard; /* the default, as a campaign file would write it; NULL: not set */
    bool required, fixed; /* fixed: one value for the whole campaign, not to be swept */
    unsigned models;      /* bit set of the models that use the field; 0: all */
    unsigned shapes;      /* likewise, of topology shapes */
    unsigned carriers;    /* likewise, enum campaign_carriers */
    const char *help;
};
extern const struct campaign_field campaign_fields[];
extern const int campaign_field_count;
/* NULL: unknown. Knows the short forms too ("queue"). */
const struct campaign_field *campaign_field_find(const char *path);
bool campaign_field_is_group(const char *path); /* "topology.link" */
bool campaign_field_used(const struct campaign_field *field, const struct settings *settings);
/* What does not use the field: "workload.model mlp". For one that is not used. */
const char *campaign_field_refuser(const struct campaign_field *field, const struct settings *settings, struct arena *arena);
int campaign_field_unknown(const struct reader *reader, const struct yaml_value *value, const char *prefix, const char *key);
/* The keys of the mapping whose fields begin with prefix, "workload.shards." for one, each once; "": there are none. */
const char *campaign_keys_beneath(struct arena *arena, const char *prefix);
/* The short form at `index`, or false. */
bool campaign_field_alias(int index, const char **alias, const char **path);

/* What differs between the types of fields; one row a type. */
struct field_operations {
    int (*read)(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value, const char *key,
                struct settings *settings);
    bool (*spell)(const struct campaign_field *field, const struct settings *settings, struct text *out); /* false: not set */
    void (*allowed)(const struct campaign_field *field, struct text *out);
    void (*schema)(const struct campaign_field *field, struct json *json); /* members of an open JSON object */
    bool composite;       /* parts of the value have dotted paths too: scheme.segment */
    bool optional;        /* composite: a part can be swept where the value is not set otherwise */
    const char *name_key; /* composite: a bare word is short for {name_key: word} */
};
void campaign_fields_markdown(struct text *out); /* the table in docs/campaign-file.md; campaign_dump.c */
const struct field_operations *campaign_field_operations(const struct campaign_field *field);
bool campaign_field_is_name_key(const char *key); /* of any type's composite values: "name", "distribution" */
/* The rows of campaign_special.c and campaign_scheme.c. */
extern const struct field_operations campaign_scheme_operations, campaign_distribution_operations, campaign_slow_operations,
    campaign_layers_operations, campaign_jitter_table_operations, campaign_link_operations, campaign_overrides_operations,
    campaign_names_operations, campaign_links_operations, campaign_matrix_operations, campaign_command_operations,
    campaign_events_operations, campaign_capture_operations, campaign_traffic_operations, campaign_cpu_limits_operations,
    campaign_sizes_operations, campaign_worker_graph_operations, campaign_byzantine_operations, campaign_scheme_objects_operations;
/* Whether this value of the field `scheme` means workload.exec (campaign_scheme.c). */
bool campaign_scheme_is_outside(const struct yaml_value *value);
/* campaign_worker_graph.c: whether this cell's scheme reads the file of a worker graph, and whether that has its workers alone. */
bool campaign_worker_graph_used(const struct settings *settings);
int campaign_check_worker_graph(const struct cell_check *check);
/* ---- links in mappings (campaign_link.c): any field below topology.link, and `back` with the same; `others` are the caller's keys
 * ---- */
int campaign_read_link_change(const struct reader *reader, const struct yaml_value *mapping, const char *key,
                              const char *const *others, size_t other_count, struct link_change *change);
void campaign_spell_link_change(const struct link_change *change, const char *comma, struct text *out); /* without braces */
void campaign_schema_link(bool with_back, struct json *json); /* members of open properties */

/* ---- a campaign while it is read ---- */
enum { AXES_MAX = 32, ARMS_MAX = 16, CELLS_MAX = 10000, TRIALS_MAX = 1000000 };
struct axis {
    const struct campaign_field *field;
    const char *path; /* in full; longer than field->path when a part of a composite value is swept */
    const char *part; /* "segment", "0.factor"; NULL: the whole field */
    const struct yaml_value *list;
    const struct yaml_value **values;
    const char **texts; /* as written */
    int count;
    bool replaces; /* an arm's: takes the place of what is set */
};
struct arm_setting { /* one line of an arm's `settings`, or its `exec`: an axis with one value */
    struct axis axis;
    const struct yaml_value *value;
};
struct arm_reading {
    struct arm arm;
    const struct arm_setting *settings;
    int setting_count;
};
struct reading {
    struct reader reader;
    const struct yaml_value *root;
    const struct yaml_value **placed; /* one a field: its value outside the matrix, NULL: none */
    struct settings base;             /* defaults and placed values */
    struct axis axes[AXES_MAX];
    int axis_count;
    const struct arm_reading *arms;
    int arm_count;
    const struct arm_reading *arm; /* of the cell that is being made */
    bool only_outside;             /* no cell has a scheme of ours: all run workload.exec */
};
/* matrix.c. First the axes are read, then, once `base` is filled in, their values are checked, then they are combined. */
int matrix_read_axes(struct reading *reading, const struct yaml_value *matrix);
int matrix_check_values(struct reading *reading);
int matrix_expand(struct reading *reading, const struct cell **cells, int *cell_count);
bool matrix_sweeps(const struct reading *reading, const struct campaign_field *field, bool parts_only);
/* The field, or the part of one, that a list's dotted key names; `key` begins messages. */
int matrix_find_field(const struct reading *reading, const struct yaml_value *value, const char *key, struct axis *axis);
/* matrix_part.c: *value, NULL where the field is not set, becomes a copy with the axis's part as the leaf says. */
int matrix_part_apply(const struct reader *reader, const struct axis *axis, const struct yaml_value *leaf,
                      const struct yaml_value **value);
/* campaign_arms.c: the arms under comparison; after matrix_read_axes(). */
int campaign_read_arms(struct reading *reading, const struct yaml_value *list);
int campaign_check_arms(const struct reading *reading, const struct yaml_value *list, const struct cell *cells, int cell_count);
bool campaign_arm_sets(const struct arm_reading *arm, const struct campaign_field *field); /* NULL: no arm, nothing */
bool campaign_arms_all_set(const struct reading *reading, const struct campaign_field *field);
void campaign_schema_arms(struct json *json);
/* campaign_check.c: everything that more than one field decides. `values` has the cell's value of each field, NULL: the default. */
int campaign_check_cell(const struct reading *reading, const struct yaml_value *const *values, struct settings *settings);
int campaign_check_whole(const struct reading *reading, const struct cell *cells, int cell_count);
/* A cell as its checks see it. */
struct cell_check {
    const struct reading *reading;
    const struct yaml_value *const *values; /* one a field */
    struct settings *settings;              /* what has no use in this cell is taken out: what is stored says what ran */
};
/* Where a field's value stands; for a default, where the other field stands that does not go with it (NULL: none). */
const struct yaml_value *campaign_place(const struct cell_check *check, const char *path, const char *otherwise);
/* campaign_check_network.c: the topology, what happens in it, and the scheme that is to run over it. */
int campaign_check_network(const struct cell_check *check);
/* campaign_impairments.c: what the impairments of a link decide together. */
int campaign_check_impairments(const struct cell_check *check);
int campaign_check_world(const struct cell_check *check); /* campaign_world.c: what its world cannot carry */
/* plan_order.c */
const struct trial_plan *plan_order(struct arena *arena, uint64_t seed, int cell_count, int arm_count, int repeats,
                                    int *trial_count);

#endif
