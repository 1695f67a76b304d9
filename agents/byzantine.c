/* agents/byzantine.c: see byzantine.h. */
#include "agents/byzantine.h"

#include <math.h>

#include "agents/vector.h"
#include "base/rng.h"

static void make_noise(double deviation, const struct byzantine_layer *which, float *gradient, size_t count)
{
    enum { LAYER_SHIFT = 24 }; /* above the numbers of workers */
    struct rng rng =
        rng_stream(which->seed, (uint32_t)which->step, (uint32_t)which->worker | (uint32_t)which->layer << LAYER_SHIFT, RNG_ATTACK);
    for (size_t i = 0; i < count; i++)
        gradient[i] = (float)(deviation * rng_normal(&rng));
}

void byzantine_falsify(const struct byzantine_workers *byzantine, const struct byzantine_layer *which, float *gradient,
                       size_t count)
{
    const double factor = byzantine->factor;
    switch (byzantine->attack) {
    case ATTACK_SIGN_FLIP:
        vector_scale(gradient, (float)-factor, gradient, count);
        break;
    case ATTACK_SCALE:
        vector_scale(gradient, (float)factor, gradient, count);
        break;
    case ATTACK_RANDOM:
        make_noise(count > 0 ? factor * sqrt(vector_dot(gradient, gradient, count) / (double)count) : 0, which, gradient, count);
        break;
    case ATTACK_LABEL_FLIP: /* the labels were */
    case ATTACK_COUNT:
        break;
    }
}
