/* nearest_file.h: which file somebody may have meant who named one that is not there. */
#ifndef LAGGARD_BASE_NEAREST_FILE_H
#define LAGGARD_BASE_NEAREST_FILE_H

#include <limits.h>

struct nearest_file {
    char text[PATH_MAX + 32]; /* " (did you mean 'small.yaml'?)", or "" */
};

/* Of the same folder, with the ending of `path` or the usual one (".db"; NULL: none is usual): that with the nearest name. Names
 * that a terminal might take for commands are left out. errno stays. */
struct nearest_file nearest_file(const char *path, const char *usual_ending);

#endif
