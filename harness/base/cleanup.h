/* cleanup.h: the one cleanup idiom: a resource is released when its variable leaves the scope.
 *
 *     cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
 *     ...
 *     *out = steal_fd(&fd);            ownership moves out; the cleanup then does nothing
 *
 * A cleanup function takes a pointer to the variable and must accept its empty value (-1, NULL). */
#ifndef LAGGARD_BASE_CLEANUP_H
#define LAGGARD_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup(function) __attribute__((cleanup(function)))

/* Takes the pointer out of *variable, leaving NULL. */
#define steal_pointer(variable)                                                                                                    \
    ({                                                                                                                             \
        __typeof__(*(variable)) stolen_ = *(variable);                                                                             \
        *(variable) = NULL;                                                                                                        \
        stolen_;                                                                                                                   \
    })

static inline int steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

static inline void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static inline void free_pointer(void *pointer_to_pointer)
{
    void **p = pointer_to_pointer;
    free(*p);
    *p = NULL;
}

static inline void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
    *file = NULL;
}

#endif
