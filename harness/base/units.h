/* units.h: the one place where numbers are read and shown. Every parser takes the whole string, rejects trailing bytes, checks the
 * range, and on failure says what was found and what is allowed ("found '10', a time needs a unit: ns us ms s m h").
 *
 *   times  ns us ms s m h                            -> int64_t nanoseconds
 *   rates  bit kbit mbit gbit (decimal, per second)  -> uint64_t bits per second
 *   sizes  B KB MB GB (decimal) KiB MiB GiB (binary) -> uint64_t bytes
 * A fraction is allowed where the result is whole ("1.5ms"); "0" needs no unit; a negative number is out of range where the
 * caller's minimum is 0. The error's kind is ERR_USAGE. */
#ifndef LAGGARD_BASE_UNITS_H
#define LAGGARD_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

struct err;

int units_parse_time(const char *text, int64_t minimum_ns, int64_t maximum_ns, int64_t *ns, struct err *err);
int units_parse_rate(const char *text, uint64_t minimum_bps, uint64_t maximum_bps, uint64_t *bits_per_second, struct err *err);
int units_parse_size(const char *text, uint64_t minimum_bytes, uint64_t maximum_bytes, uint64_t *bytes, struct err *err);
int units_parse_integer(const char *text, int64_t minimum, int64_t maximum, int64_t *value, struct err *err);
int units_parse_unsigned(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *value, struct err *err);
int units_parse_number(const char *text, double minimum, double maximum, double *value, struct err *err);
int units_parse_share(const char *text, double minimum, double maximum, double *value, struct err *err); /* "0.01" or "1%" */

/* The formatters write at most `size` bytes including the NUL and return their first argument. Three significant digits for
 * units_show_* ("12.3 ms", "1 Gbit/s", "25 MiB"); units_spell_* are exact and read back by the parsers ("250us", "1gbit"). */
enum { UNITS_TEXT_BYTES = 32 };
char *units_show_time(char *text, size_t size, double ns);
char *units_show_rate(char *text, size_t size, double bits_per_second);
char *units_show_size(char *text, size_t size, double bytes);
char *units_spell_time(char *text, size_t size, int64_t ns);
char *units_spell_rate(char *text, size_t size, uint64_t bits_per_second);
char *units_spell_size(char *text, size_t size, uint64_t bytes);
/* What follows a noun behind this number: "" for "1 worker", "s" for "0 workers". */
const char *units_plural(int64_t count);

#endif
