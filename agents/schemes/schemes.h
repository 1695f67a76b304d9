/* agents/schemes/schemes.h: the rows of the scheme table, one a file of this folder. Everyone else finds them through
 * agents/scheme.h. */
#ifndef LAGGARD_AGENTS_SCHEMES_SCHEMES_H
#define LAGGARD_AGENTS_SCHEMES_SCHEMES_H

#include "agents/scheme.h"

extern const struct scheme scheme_ps_sync;
extern const struct scheme scheme_ring;

#endif
