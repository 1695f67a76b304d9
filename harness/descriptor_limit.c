/* descriptor_limit.c: how many files this process may have open; see descriptor_limit.h. */
#include "harness/descriptor_limit.h"

#include <sys/resource.h>

uint64_t descriptor_limit_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    uint64_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return before;
}
