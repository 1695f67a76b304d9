/* results/report.h: what a database holds as one HTML page that needs nothing else: no script, no request, styles and pictures in
 * it. Everything from the database is text there, whatever bytes it has. */
#ifndef LAGGARD_RESULTS_REPORT_H
#define LAGGARD_RESULTS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct sql;
struct text;

struct report_asked {
    int64_t campaign_id; /* 0: all, and compared with each other when there are several */
    bool no_plots;       /* tables alone: without gnuplot */
};

/* ERR_USAGE: no such campaign, or none at all; ERR_HOST: gnuplot is missing. */
int report_write(struct sql *sql, const struct report_asked *asked, struct text *page, struct err *err);

#endif
