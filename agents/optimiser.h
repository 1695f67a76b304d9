/* agents/optimiser.h: the step that a model takes with a sum of gradients: learning rate and its decay, momentum, weight decay.
 *
 *     g = sum / contributors + weight_decay w
 *     v = momentum v + g
 *     w = w - rate(step) v          rate(step) = learning_rate x decay_factor^(step / decay_every), rounded down
 *
 * as in I. Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013, in the form that
 * training frameworks use (the rate outside of v). Without momentum and weight decay it is w - rate / contributors x sum. */
#ifndef LAGGARD_AGENTS_OPTIMISER_H
#define LAGGARD_AGENTS_OPTIMISER_H

#include <stddef.h>
#include <stdint.h>

struct optimiser_settings {
    double learning_rate;
    double momentum, weight_decay; /* 0: none */
    double decay_factor;           /* of the learning rate, every `decay_every` steps; 0: never */
    int decay_every;
};
struct optimiser {
    struct optimiser_settings settings;
    float *velocity; /* one a float of the model, zero at first; NULL without momentum */
};
double optimiser_rate(const struct optimiser_settings *settings, uint64_t step);
/* Steps floats first .. first+count-1. `model` and `sum` point to whole vectors. Each float once a step. */
void optimiser_step(struct optimiser *optimiser, float *model, const float *sum, int contributors, size_t first, size_t count,
                    uint64_t step);

#endif
