/* topology_rig.h: the settings that the tests of topologies begin with. */
#ifndef LAGGARD_TESTS_TOPOLOGY_RIG_H
#define LAGGARD_TESTS_TOPOLOGY_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schemas/settings.h"

static inline struct settings ordinary(void)
{
    return (struct settings){.shape = SHAPE_STAR,
                             .link = {.rate_bps = 1000000000, .delay_ns = 250000},
                             .mtu = 1500,
                             .congestion_control = "cubic",
                             .slow_start_after_idle = true};
}

#endif
