/* tests/unit/bytes.h: messages compared byte by byte with what a test spells. */
#ifndef LAGGARD_TESTS_UNIT_BYTES_H
#define LAGGARD_TESTS_UNIT_BYTES_H

/* Fails at the first byte that differs. `expected` is hexadecimal, "0400aabb"; spaces are for reading only. */
void assert_bytes(const void *bytes, const char *expected);

#endif
