/* harness/fidelity.h: how far what links and timers did was from what was asked, as a verdict with its reason. Pure; the thresholds
 * are here and in docs/emulator.md. */
#ifndef LAGGARD_HARNESS_FIDELITY_H
#define LAGGARD_HARNESS_FIDELITY_H

#include "results/store.h"
#include "schemas/names.h"
#include "schemas/topology.h"

struct fidelity_evidence {
    const struct topology *topology;
    const struct link_counters *counters; /* one a link; NULL: unknown */
    const struct link_check *checks;      /* one a link; NULL: not measured */
    const struct node_result *nodes;
    int node_count;
    double stolen_share; /* of all processors' time during the rounds, taken by a hypervisor */
};
enum { FIDELITY_REASON_BYTES = 320 };
/* `reason` (FIDELITY_REASON_BYTES) is empty for faithful. */
enum fidelity fidelity_judge(const struct fidelity_evidence *evidence, char *reason);

#endif
