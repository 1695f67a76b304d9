/* grow.c: doubles arrays; see grow.h. */
#include "agents/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

enum { LEAST = 64 };

void *grow(void *array, size_t *capacity, size_t bytes_each)
{
    const size_t wanted = *capacity < LEAST ? LEAST : 2 * *capacity;
    void *grown = reallocarray(array, wanted, bytes_each);
    if (grown) {
        memset((char *)grown + *capacity * bytes_each, 0, (wanted - *capacity) * bytes_each);
        *capacity = wanted;
        return grown;
    }
    fprintf(stderr, "laggard: out of memory (%zu elements of %zu bytes were needed)\n", wanted, bytes_each);
    _exit(err_exit_code(ERR_HOST));
}

void grow_free(void *array)
{
    free(array);
}
