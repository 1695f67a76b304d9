/* fidelity_rig.h: the evidence of a trial that went as asked, which tests then spoil, and the verdict on it. */
#ifndef LAGGARD_TESTS_FIDELITY_RIG_H
#define LAGGARD_TESTS_FIDELITY_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "harness/fidelity.h"

enum { LINKS = 2, NODES = 2 };

/* Evidence of a trial that went as asked; tests then spoil parts of it. */
struct evidence {
    struct link links[LINKS];
    struct topology topology;
    struct link_counters counters[LINKS];
    struct link_check checks[LINKS];
    struct node_result nodes[NODES];
    struct fidelity_evidence all;
};

static inline void good_evidence(struct evidence *evidence)
{
    *evidence = (struct evidence){
        .links = {{.name = "w0-router", .from = 0, .to = 2}, {.name = "w1-router", .from = 1, .to = 2}},
        .nodes = {{.counters = {.compute_tasks = 500}}, {.counters = {.compute_tasks = 500}}},
    };
    for (int l = 0; l < LINKS; l++)
        for (int d = 0; d < DIRECTIONS; d++) {
            evidence->links[l].direction[d].delay_ns = NS_PER_MS;
            evidence->counters[l].direction[d] = (struct direction_counters){
                .lateness_p50_ns = -1, .lateness_p99_ns = -1, .lateness_max_ns = -1, .queue_drops = 1000};
            evidence->checks[l].direction[d] = (struct direction_check){.measured = true, .within_tolerance = true};
        }
    evidence->topology = (struct topology){.links = evidence->links, .link_count = LINKS};
    evidence->all = (struct fidelity_evidence){.topology = &evidence->topology,
                                               .counters = evidence->counters,
                                               .checks = evidence->checks,
                                               .nodes = evidence->nodes,
                                               .node_count = NODES};
}

static inline void assert_verdict(const struct evidence *evidence, enum fidelity verdict, const char *reason)
{
    char found[FIDELITY_REASON_BYTES];
    memset(found, 'x', sizeof(found));
    assert_int_equal(fidelity_judge(&evidence->all, found), verdict);
    assert_string_equal(found, reason);
}

#endif
