/* agents/byzantine.h: what a Byzantine worker makes of its gradient before any scheme sees it. The scheme does not know: it is
 * applied where gradients are computed (workload_run.c), the same in both worlds.
 *
 *     sign-flip    g <- -factor g
 *     scale        g <- factor g
 *     random       g <- factor rms(g) z, z standard normal numbers; rms: root of the mean of a layer's squares
 *     label-flip   g stays; it is of the labels classes - 1 - l in place of l (model_turn_labels())
 *
 * Layer by layer, since a layer may be sent before the next one is computed. Noise is drawn from a stream of its own, keyed by
 * seed, worker, step and layer: it does not depend on what else is drawn, and costs the honest ones nothing.
 *
 * Example: sign-flip, factor 10, g = (0.5, -1): (-5, 10). */
#ifndef LAGGARD_AGENTS_BYZANTINE_H
#define LAGGARD_AGENTS_BYZANTINE_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/settings.h"

struct byzantine_layer { /* which one this is */
    uint64_t seed, step;
    int worker, layer;
};
void byzantine_falsify(const struct byzantine_workers *byzantine, const struct byzantine_layer *which, float *gradient,
                       size_t count);

#endif
