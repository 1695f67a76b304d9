/* harness/descriptor_limit.h: how many files this process may have open. */
#ifndef LAGGARD_HARNESS_DESCRIPTOR_LIMIT_H
#define LAGGARD_HARNESS_DESCRIPTOR_LIMIT_H

#include <stdint.h>

/* Takes the most that is allowed: a large network needs several descriptors a node. Returns what the limit was, for other people's
 * programs, some of which expect the usual one. */
uint64_t descriptor_limit_raise(void);

#endif
