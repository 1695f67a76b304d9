/* results/history.h: what became of a metric over the campaigns of one database: series of medians, oldest first, and where their
 * level changed. Reads with gate_data.h, so that a history counts the trials that a gate counts. */
#ifndef LAGGARD_RESULTS_HISTORY_H
#define LAGGARD_RESULTS_HISTORY_H

#include <stdbool.h>

#include "results/change_points.h"
#include "results/gate_data.h"

struct arena;
struct err;
struct sql;
struct text;

struct history_question {
    const char *metric; /* a name, or a pattern of names with * and ?; NULL: round_time_ns.p50 */
    const char *cell;   /* a pattern of labels; NULL: all */
    struct change_rule rule;
};

/* A change point of a table that nobody asked for otherwise: one series in a hundred without a change has one. */
#define HISTORY_RULE ((struct change_rule){.alpha = 0.01})

struct history_campaign {
    const struct gate_data *data;
    const char *revision;         /* as a baseline that was set has it; NULL: none has */
    const char *laggard_revision; /* NULL: not known */
};

struct history_point { /* a campaign in a series */
    const struct history_campaign *campaign;
    int count;                         /* of trials with a value */
    double median, low, high;          /* over them, with the 95 % interval from order statistics; NAN: undefined */
    const char *remark;                /* why there is no median, which trials do not count or are degraded; NULL */
    const struct change_point *change; /* the level that begins here; NULL: it goes on */
};

struct history_series { /* a metric of a cell under an arm, as long as settings and environment stay what they are */
    const char *label, *arm, *metric, *unit;
    bool lower;          /* is better */
    const char *differs; /* why it does not go on with the series in front of it, which has the same cell and arm; NULL: none has */
    struct history_point *points;
    int point_count, measured_count; /* of which have a median */
};

struct history {
    const char *path;
    struct change_rule rule;
    struct history_campaign *campaigns;
    int campaign_count;
    struct history_series *series;
    int series_count;
    int worse_count, better_count; /* change points */
};

/* Campaigns that confirm others are left out. All is in the arena. ERR_USAGE: no campaign, no such metric or cell, or not one
 * value. */
int history_read(struct sql *sql, const struct history_question *question, struct arena *arena, struct history *history,
                 struct err *err);

bool history_is_worse(const struct history_series *series, const struct change_point *change);

/* changes_alone: rows only where a level begins. */
void history_print_table(const struct history *history, bool changes_alone, bool colour, struct text *out);
void history_print_json(const struct history *history, struct text *out);

#endif
