/* agents/schemes/adacomm.h: the rule by which adacomm chooses its periods. */
#ifndef LAGGARD_AGENTS_SCHEMES_ADACOMM_H
#define LAGGARD_AGENTS_SCHEMES_ADACOMM_H

#include <stdint.h>

/* The next period after `period`: loss_ratio is F_l / F_0, rate_ratio eta_0 / eta_l. */
uint64_t adacomm_period(uint64_t first_period, uint64_t period, double loss_ratio, double rate_ratio);

#endif
