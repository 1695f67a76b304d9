/* results/report_internal.h: the parts that a report is made of. */
#ifndef LAGGARD_RESULTS_REPORT_INTERNAL_H
#define LAGGARD_RESULTS_REPORT_INTERNAL_H

#include <stdint.h>

#include "results/report.h"

struct plot_kind;

/* What a page holds at most, so that it stays under 3 MB and takes seconds: sections of so many campaigns, so many bytes of them
 * (the rest is for what stands around them), and pictures: no campaign gets any once there are so many. The last campaign is
 * always there. */
enum { REPORT_CAMPAIGNS_MAX = 30, REPORT_BYTES_MAX = 2700000, REPORT_PICTURES_MAX = 30 };

struct report {
    struct sql *sql;
    struct text *page;
    int64_t campaign_id;    /* whose sections are written; 0: all campaigns' */
    bool no_plots, several; /* campaigns: then their numbers stand before their names */
    int count;              /* of tables and pictures: each has an id */
    int pictures;           /* drawn so far */
};

extern const char report_style[]; /* CSS */

/* A query as a table: its column names are the headings; # begins one of numbers, and a digit behind it says how many decimals they
 * get. The first column names its row. ?1 in it is the campaign. Without rows `empty` is said, or nothing when it is NULL. */
struct report_table {
    const char *caption, *query, *empty;
};
enum { REPORT_ROWS_MAX = 400 };
int report_add_table(struct report *report, const struct report_table *table, struct err *err);
/* The picture with its words, or nothing when there is nothing to draw: the table beneath says why. `trial` as in struct
 * plot_asked. */
int report_add_plot(struct report *report, const char *name, int64_t trial, struct err *err);
/* h3 with an id, of the campaign's section. */
void report_add_heading(struct report *report, const char *id, const char *heading);

/* Of a cell: its label with the arm. */
#define REPORT_NAME(row)                                                                                                           \
    "CASE WHEN " row ".label = '' THEN 'the only cell' ELSE " row ".label END || CASE WHEN " row                                   \
    ".arm = '' THEN '' ELSE ', ' || " row ".arm END"
#define REPORT_COUNTED "t.status = 'finished' AND t.fidelity <> 'void'"

/* Of all campaigns: their medians in time, with change points. */
int report_add_history(struct report *report, struct err *err);
int report_add_predictions(struct report *report, struct err *err);
int report_add_learning(struct report *report, struct err *err);
int report_add_timelines(struct report *report, struct err *err);
int report_add_stragglers(struct report *report, struct err *err);
int report_add_links(struct report *report, struct err *err);
/* All sections of report->campaign_id. */
int report_add_campaign(struct report *report, struct err *err);
extern const struct report_section {
    const char *id, *heading;
    int (*add)(struct report *report, struct err *err);
} report_sections[]; /* in their order; ends with a row without an id */

#endif
