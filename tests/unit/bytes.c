/* tests/unit/bytes.c: see bytes.h. */
#include "tests/unit/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

void assert_bytes(const void *bytes, const char *expected)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; *expected; expected++) {
        if (*expected == ' ')
            continue;
        char found[3];
        snprintf(found, sizeof(found), "%02x", byte[i++]);
        if (found[0] != expected[0] || found[1] != expected[1])
            fail_msg("byte %zu is %s, expected %.2s", i - 1, found, expected);
        expected++;
    }
}
