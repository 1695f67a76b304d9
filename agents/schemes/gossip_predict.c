/* agents/schemes/gossip_predict.c: what a round of gossip takes. */
#include <stdio.h>

#include "agents/predict.h"
#include "agents/schemes/gossip_rounds.h"

void gossip_predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (predict_begin(setup, prediction))
        snprintf(prediction->reason, sizeof(prediction->reason), "rounds without a barrier are not predicted yet");
}
