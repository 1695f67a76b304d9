/* harness/write_all.h: a blocking write of everything, on descriptors that others may have made non-blocking. */
#ifndef LAGGARD_HARNESS_WRITE_ALL_H
#define LAGGARD_HARNESS_WRITE_ALL_H

#include <stddef.h>

/* 0 or an errno. */
int write_all(int fd, const char *bytes, size_t length);

#endif
