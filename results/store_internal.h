/* results/store_internal.h: what the files of the store share. */
#ifndef LAGGARD_RESULTS_STORE_INTERNAL_H
#define LAGGARD_RESULTS_STORE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "results/sqlite_wrap.h"
#include "results/store.h"
#include "results/store_lock.h"

/* One a table that the program writes row by row: its INSERT is prepared when it is first used (store_rows.c). */
enum row_kind {
    ROW_ENVIRONMENT,
    ROW_ENVIRONMENT_FACT,
    ROW_CAMPAIGN,
    ROW_CELL,
    ROW_CELL_SETTING,
    ROW_TRIAL,
    ROW_NODE,
    ROW_LINK,
    ROW_LINK_READBACK,
    ROW_LINK_CHECK,
    ROW_LINK_COUNTER,
    ROW_PACKET_SUMMARY,
    ROW_ROUND,
    ROW_ROUND_HELD,
    ROW_SPAN,
    ROW_SPAN_TOTAL,
    ROW_STRAGGLING,
    ROW_GRADIENT,
    ROW_EVALUATION,
    ROW_NODE_COUNTER,
    ROW_COUNTER_SAMPLE,
    ROW_PROCESS,
    ROW_TRAFFIC_FLOW,
    ROW_CPU_LIMIT,
    ROW_PREDICTION,
    ROW_MESSAGE_SIZE,
    ROW_EVENT,
    ROW_ARM,
    ROW_ARM_CELL,
    ROW_CONFIRMATION,
    ROW_KIND_COUNT
};

struct store {
    struct sql *sql;
    struct store_lock *lock;
    struct sql_statement *rows[ROW_KIND_COUNT]; /* NULL until first used */
    struct sql_statement *many[ROW_KIND_COUNT]; /* of STORE_ROWS_AT_ONCE rows */
};

/* The statement of a row, started: put its values in the order of the columns in store_rows.c. NULL on failure. */
struct sql_statement *store_row(struct store *store, enum row_kind kind, struct err *err);

/* Rows of one kind by the thousand. Many in one statement take half the time: what a statement costs by itself is shared. */
enum { STORE_ROWS_AT_ONCE = 32 };
struct store_bulk {
    int64_t trial_id;
    int node; /* -1: they are the trial's */
    const void *records;
    uint32_t count;
    void (*put)(struct sql_statement *row, const struct store_bulk *bulk, uint32_t i); /* the values of record i */
    const char *name;                                                                  /* of one, for errors */
};
int store_bulk(struct store *store, enum row_kind kind, const struct store_bulk *bulk, struct err *err);

int store_links_asked(struct store *store, int64_t trial_id, const struct topology *topology, struct err *err);
int store_links_seen(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);
int store_nodes_seen(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);
int store_span_summaries(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);
int store_samples(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);
int store_processes(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);
int store_events_seen(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);
double store_long_run_loss(const struct impairments *asked);
int store_cpu_limits(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);
int store_traffic(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);
int store_metrics(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);

/* Tables, views, documentation and fixed rows of an empty database, inside the caller's transaction (store_schema.c). */
int store_schema_create(struct sql *sql, struct err *err);
int store_schema_index(struct sql *sql, struct err *err);

/* Inside the caller's transaction: this trial, which has not finished, makes room for another one (store_replace.c). */
int store_replace(struct store *store, int64_t trial_id, struct err *err);

/* Copying from another database, attached as `source` until the connection ends (store_copy.c). */
int store_attach_source(struct store *store, const char *path, struct err *err);
/* Every table that both have and that campaigns fill, in the order in which the schema makes them, which is that of their keys; the
 * keys are to be checked when all is there. */
typedef int store_copy_table(struct sql *sql, const char *table, struct err *err);
int store_copy_tables(struct sql *sql, store_copy_table *copy_table, struct err *err);
/* The names of the columns that both have, a row each; `table` must stay until all are read. */
int store_common_columns(struct sql *sql, const char *table, struct sql_statement **columns, struct err *err);
/* A number in the header of an SQLite file. */
static inline uint32_t store_big_endian(const uint8_t bytes[4])
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

enum { STORE_APPLICATION_ID = 0x4c616767 };

#endif
