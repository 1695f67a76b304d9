/* agents/optimiser.c: the model's step; see optimiser.h. */
#include "agents/optimiser.h"

#include "agents/vector.h"

double optimiser_rate(const struct optimiser_settings *settings, uint64_t step)
{
    double rate = settings->learning_rate;
    if (settings->decay_every <= 0)
        return rate;
    for (uint64_t i = step / (uint64_t)settings->decay_every; i > 0 && rate > 0; i--)
        rate *= settings->decay_factor;
    return rate;
}

void optimiser_step(struct optimiser *optimiser, float *model, const float *sum, int contributors, size_t first, size_t count,
                    uint64_t step)
{
    const struct optimiser_settings *settings = &optimiser->settings;
    const double rate = optimiser_rate(settings, step);
    if (!optimiser->velocity && settings->weight_decay == 0) {
        vector_axpy(model + first, -(float)(rate / contributors), sum + first, count);
        return;
    }
    const float share = (float)(1.0 / contributors), decay = (float)settings->weight_decay, momentum = (float)settings->momentum;
    const float step_rate = (float)rate;
    for (size_t i = first; i < first + count; i++) {
        float gradient = share * sum[i] + decay * model[i];
        if (optimiser->velocity)
            gradient = optimiser->velocity[i] = momentum * optimiser->velocity[i] + gradient;
        model[i] -= step_rate * gradient;
    }
}
