/* harness/fidelity.h: how far what links and timers did was from what was asked, as a verdict with its reason. Pure. The doubts are
 * rows of one table in fidelity.c, from which docs/emulator.md has its thresholds. A new doubt: a member of the evidence, filled by
 * whoever knows it (a part of a trial in its conclude()), a function and a row; then `test_fidelity --update`. What was asked for,
 * by impairments or events, is no doubt. */
#ifndef LAGGARD_HARNESS_FIDELITY_H
#define LAGGARD_HARNESS_FIDELITY_H

#include "results/store.h"
#include "schemas/names.h"
#include "schemas/topology.h"

struct text;

struct fidelity_evidence {
    const struct topology *topology;
    const struct link_counters *counters; /* one a link; NULL: unknown */
    const struct link_check *checks;      /* one a link; NULL: not measured */
    const struct node_result *nodes;
    int node_count;
    int64_t duration_ns;                /* of all rounds */
    bool busy_waits;                    /* nodes were asked to want processors while they wait, and so wait for these */
    const bool *paused;                 /* one a node: an event stopped it for a while, so its own times say nothing; NULL: none */
    const bool *crashed;                /* one a node: an event ended it; NULL: none */
    bool parted;                        /* an event cut nodes off */
    int entered;                        /* programs that somebody started on the nodes meanwhile (`laggard enter`) */
    const struct cpu_limit *cpu_limits; /* one a node, processors 0: none; NULL: nobody is limited */
    const struct traffic_flow *flows;   /* cross traffic, with its counters */
    const struct traffic_counters *traffic;
    int flow_count;
    int64_t suspended_ns;                  /* the host was, during the rounds */
    double stolen_share;                   /* of all processors' time during the rounds, taken by a hypervisor; NAN: unknown */
    const struct capture_result *captures; /* capture_count of them */
    int capture_count;
};
enum { FIDELITY_REASON_BYTES = 480 };
/* `reason` (FIDELITY_REASON_BYTES) is empty for faithful. */
enum fidelity fidelity_judge(const struct fidelity_evidence *evidence, char *reason);
/* The thresholds as the table of docs/emulator.md. */
void fidelity_markdown(struct text *out);

#endif
