/* units.c: reads numbers with units exactly, in integer arithmetic, and shows and spells them. */
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

__extension__ typedef __int128 wide; /* holds every int64_t and uint64_t, and 2^64 times the largest unit */

struct unit {
    const char *name; /* NULL ends a table */
    uint64_t factor;
};

/* Everything that differs between the kinds of numbers. */
struct quantity {
    const char *noun;         /* "a time" */
    const char *whole_of;     /* "nanoseconds" */
    const char *unit_list;    /* for messages */
    const struct unit *units; /* smallest first; NULL: a bare whole number */
    char *(*spell)(char *text, size_t size, wide value);
    bool is_signed;
};

static const struct unit time_units[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", UINT64_C(60000000000)}, {"h", UINT64_C(3600000000000)},
    {NULL, 0}};
static const struct unit rate_units[] = {{"bit", 1}, {"kbit", 1000}, {"mbit", 1000000}, {"gbit", 1000000000}, {NULL, 0}};
static const struct unit size_units[] = {{"B", 1},         {"KB", 1000},       {"KiB", 1 << 10}, {"MB", 1000000},
                                         {"MiB", 1 << 20}, {"GB", 1000000000}, {"GiB", 1 << 30}, {NULL, 0}};

static char *spell(char *text, size_t size, wide value, const struct unit *units)
{
    bool negative = value < 0;
    uint64_t magnitude = negative ? (uint64_t)-value : (uint64_t)value;
    if (!units) {
        snprintf(text, size, "%s%" PRIu64, negative ? "-" : "", magnitude);
        return text;
    }
    /* The unit that leaves the smallest whole number; of equals the later one, so that 1024000 B is 1000KiB, like 1MiB is
     * binary. */
    const struct unit *best = units;
    for (const struct unit *unit = units; magnitude && unit->name; unit++)
        if (magnitude % unit->factor == 0 && unit->factor >= best->factor)
            best = unit;
    snprintf(text, size, "%s%" PRIu64 "%s", negative ? "-" : "", magnitude / best->factor, best->name);
    return text;
}

static char *spell_time(char *text, size_t size, wide value)
{
    return spell(text, size, value, time_units);
}

static char *spell_rate(char *text, size_t size, wide value)
{
    return spell(text, size, value, rate_units);
}

static char *spell_size(char *text, size_t size, wide value)
{
    return spell(text, size, value, size_units);
}

static char *spell_bare(char *text, size_t size, wide value)
{
    return spell(text, size, value, NULL);
}

static const struct quantity a_time = {"a time", "nanoseconds", "ns us ms s m h", time_units, spell_time, true};
static const struct quantity a_rate = {"a rate", "bits a second", "bit kbit mbit gbit", rate_units, spell_rate, false};
static const struct quantity a_size = {"a size", "bytes", "B KB MB GB KiB MiB GiB", size_units, spell_size, false};
static const struct quantity an_integer = {"a whole number", NULL, NULL, NULL, spell_bare, true};
static const struct quantity an_unsigned = {"a whole number", NULL, NULL, NULL, spell_bare, false};

/* What was found, fit for a message: no control bytes, not too long, no code point cut in two. */
struct found {
    char text[68];
};

static struct found found_text(const char *text)
{
    struct found found;
    size_t length = 0;
    for (; length < 60 && text[length]; length++)
        found.text[length] = (unsigned char)text[length] < 0x20 || text[length] == 0x7f ? '?' : text[length];
    if (text[length]) {
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
        memcpy(found.text + length, "...", 3);
        length += 3;
    }
    found.text[length] = '\0';
    return found;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digit_count(const char *text)
{
    size_t count = 0;
    while (is_digit(text[count]))
        count++;
    return count;
}

/* A limit that is only what the type holds is said to those alone who are beyond it. */
static int out_of_range(const struct quantity *quantity, const char *text, wide value, wide minimum, wide maximum, struct err *err)
{
    char low[UNITS_TEXT_BYTES], high[UNITS_TEXT_BYTES];
    quantity->spell(low, sizeof(low), minimum);
    quantity->spell(high, sizeof(high), maximum);
    bool unbounded_below = quantity->is_signed && minimum == INT64_MIN;
    bool unbounded_above = maximum == (quantity->is_signed ? (wide)INT64_MAX : (wide)UINT64_MAX);
    struct found found = found_text(text);
    if (unbounded_above && value < minimum)
        return err_set(err, ERR_USAGE, "found '%s', allowed is %s or more", found.text, low);
    if (unbounded_below && value > maximum)
        return err_set(err, ERR_USAGE, "found '%s', allowed is %s or less", found.text, high);
    return err_set(err, ERR_USAGE, "found '%s', allowed is %s to %s", found.text, low, high);
}

/* Reads [-]digits[.digits][unit] exactly. The fraction is multiplied by the unit digit by digit, from its last digit on: what is
 * carried out at the decimal point is whole, and every digit left behind it must be zero. Hence any number of digits is exact. */
static int parse(const struct quantity *quantity, const char *text, wide minimum, wide maximum, wide *value, struct err *err)
{
    const char *cursor = text;
    bool negative = *cursor == '-';
    cursor += negative;
    const char *whole = cursor;
    size_t whole_digits = digit_count(whole);
    cursor += whole_digits;
    const char *fraction = NULL;
    size_t fraction_digits = 0;
    if (quantity->units && *cursor == '.') {
        fraction = cursor + 1;
        fraction_digits = digit_count(fraction);
        cursor = fraction + fraction_digits;
    }
    if (whole_digits == 0 || (fraction && fraction_digits == 0)) {
        if (!quantity->units)
            return err_set(err, ERR_USAGE, "found '%s', a whole number is needed", found_text(text).text);
        return err_set(err, ERR_USAGE, "found '%s', %s is a number and a unit: %s", found_text(text).text, quantity->noun,
                       quantity->unit_list);
    }
    if (!quantity->units && *cursor)
        return err_set(err, ERR_USAGE, "found '%s', a whole number is needed, '%s' is too much", found_text(text).text,
                       found_text(cursor).text);

    bool is_zero = strspn(whole, "0") >= whole_digits && (!fraction || strspn(fraction, "0") >= fraction_digits);
    uint64_t factor = quantity->units ? 0 : 1;
    if (quantity->units && *cursor) {
        for (const struct unit *unit = quantity->units; unit->name; unit++)
            if (strcmp(cursor, unit->name) == 0)
                factor = unit->factor;
        if (factor == 0)
            return err_set(err, ERR_USAGE, "found '%s', the unit '%s' is not one of: %s", found_text(text).text,
                           found_text(cursor).text, quantity->unit_list);
    } else if (quantity->units && !is_zero) {
        return err_set(err, ERR_USAGE, "found '%s', %s needs a unit: %s", found_text(text).text, quantity->noun,
                       quantity->unit_list);
    }

    wide carried = 0;
    for (size_t i = fraction_digits; i-- > 0;) {
        wide digit = (wide)(fraction[i] - '0') * factor + carried;
        if (digit % 10 != 0)
            return err_set(err, ERR_USAGE, "found '%s', which is not a whole number of %s", found_text(text).text,
                           quantity->whole_of);
        carried = digit / 10;
    }
    const wide ceiling = (wide)1 << 64; /* beyond every range: stop counting there */
    wide total = 0;
    for (size_t i = 0; i < whole_digits && total < ceiling; i++)
        total = total * 10 + (whole[i] - '0');
    if (total > ceiling)
        total = ceiling;
    total = total * factor + carried;
    if (negative)
        total = -total;
    if (total < minimum || total > maximum)
        return out_of_range(quantity, text, total, minimum, maximum, err);
    *value = total;
    return 0;
}

static int parse_signed(const struct quantity *quantity, const char *text, int64_t minimum, int64_t maximum, int64_t *value,
                        struct err *err)
{
    wide parsed = 0;
    int status = parse(quantity, text, minimum, maximum, &parsed, err);
    if (status == 0)
        *value = (int64_t)parsed;
    return status;
}

static int parse_unsigned(const struct quantity *quantity, const char *text, uint64_t minimum, uint64_t maximum, uint64_t *value,
                          struct err *err)
{
    wide parsed = 0;
    int status = parse(quantity, text, (wide)minimum, (wide)maximum, &parsed, err);
    if (status == 0)
        *value = (uint64_t)parsed;
    return status;
}

int units_parse_time(const char *text, int64_t minimum_ns, int64_t maximum_ns, int64_t *ns, struct err *err)
{
    return parse_signed(&a_time, text, minimum_ns, maximum_ns, ns, err);
}

int units_parse_rate(const char *text, uint64_t minimum_bps, uint64_t maximum_bps, uint64_t *bits_per_second, struct err *err)
{
    return parse_unsigned(&a_rate, text, minimum_bps, maximum_bps, bits_per_second, err);
}

int units_parse_size(const char *text, uint64_t minimum_bytes, uint64_t maximum_bytes, uint64_t *bytes, struct err *err)
{
    return parse_unsigned(&a_size, text, minimum_bytes, maximum_bytes, bytes, err);
}

int units_parse_integer(const char *text, int64_t minimum, int64_t maximum, int64_t *value, struct err *err)
{
    return parse_signed(&an_integer, text, minimum, maximum, value, err);
}

int units_parse_unsigned(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *value, struct err *err)
{
    return parse_unsigned(&an_unsigned, text, minimum, maximum, value, err);
}

/* strtod alone would take hexadecimal, "inf", "nan" and leading spaces: the grammar is checked first. */
static bool is_decimal(const char *text)
{
    text += *text == '-';
    size_t digits = digit_count(text);
    if (digits == 0)
        return false;
    text += digits;
    if (*text == '.') {
        digits = digit_count(++text);
        if (digits == 0)
            return false;
        text += digits;
    }
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        digits = digit_count(text);
        if (digits == 0)
            return false;
        text += digits;
    }
    return *text == '\0';
}

int units_parse_number(const char *text, double minimum, double maximum, double *value, struct err *err)
{
    double parsed = 0;
    if (!is_decimal(text) && units_parse_share(text, minimum, maximum, &parsed, NULL) == 0)
        return err_set(err, ERR_USAGE, "found '%s', a decimal number is needed: %g", found_text(text).text, parsed);
    if (!is_decimal(text))
        return err_set(err, ERR_USAGE, "found '%s', a decimal number is needed", found_text(text).text);
    parsed = strtod(text, NULL);
    if (!isfinite(parsed))
        return err_set(err, ERR_USAGE, "found '%s', which is too large", found_text(text).text);
    if (parsed < minimum || parsed > maximum) {
        if (maximum >= INFINITY)
            return err_set(err, ERR_USAGE, "found '%s', allowed is %g or more", found_text(text).text, minimum);
        if (minimum <= -INFINITY)
            return err_set(err, ERR_USAGE, "found '%s', allowed is %g or less", found_text(text).text, maximum);
        return err_set(err, ERR_USAGE, "found '%s', allowed is %g to %g", found_text(text).text, minimum, maximum);
    }
    *value = parsed;
    return 0;
}

int units_parse_share(const char *text, double minimum, double maximum, double *value, struct err *err)
{
    char digits[UNITS_TEXT_BYTES] = "";
    size_t length = strlen(text);
    bool percent = length > 0 && length <= sizeof(digits) && text[length - 1] == '%';
    if (percent) {
        memcpy(digits, text, length - 1);
        digits[length - 1] = '\0';
    }
    if (!is_decimal(percent ? digits : text))
        return err_set(err, ERR_USAGE, "found '%s', a share is needed: 0.01 or 1%%", found_text(text).text);
    double parsed = strtod(percent ? digits : text, NULL) / (percent ? 100 : 1);
    if (!(parsed >= minimum && parsed <= maximum))
        return err_set(err, ERR_USAGE, "found '%s', allowed is %g to %g (%g%% to %g%%)", found_text(text).text, minimum, maximum,
                       100 * minimum, 100 * maximum);
    *value = parsed;
    return 0;
}

struct shown_unit {
    const char *name;
    double factor;
};

/* Three significant digits, without trailing zeros of a fraction, in the largest unit that leaves at least 1 after rounding. */
static char *show(char *text, size_t size, double value, const struct shown_unit *units, size_t count)
{
    if (isnan(value)) {
        snprintf(text, size, "n/a");
        return text;
    }
    double magnitude = fabs(value);
    size_t chosen = 0;
    while (chosen + 1 < count && magnitude >= 0.9995 * units[chosen + 1].factor)
        chosen++;
    double scaled = magnitude / units[chosen].factor;
    int decimals = scaled < 0.9995 ? 3 : scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
    char digits[400]; /* the largest double has 309 digits */
    int length = snprintf(digits, sizeof(digits), "%.*f", decimals, scaled);
    if (decimals > 0 && isfinite(scaled)) {
        while (digits[length - 1] == '0')
            length--;
        if (digits[length - 1] == '.')
            length--;
        digits[length] = '\0';
    }
    snprintf(text, size, "%s%s %s", value < 0 && strcmp(digits, "0") != 0 ? "-" : "", digits, units[chosen].name);
    return text;
}

char *units_show_time(char *text, size_t size, double ns)
{
    static const struct shown_unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};
    return show(text, size, ns, units, sizeof(units) / sizeof(units[0]));
}

char *units_show_rate(char *text, size_t size, double bits_per_second)
{
    static const struct shown_unit units[] = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"Tbit/s", 1e12}};
    return show(text, size, bits_per_second, units, sizeof(units) / sizeof(units[0]));
}

char *units_show_size(char *text, size_t size, double bytes)
{
    static const struct shown_unit units[] = {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    return show(text, size, bytes, units, sizeof(units) / sizeof(units[0]));
}

const char *units_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

char *units_spell_time(char *text, size_t size, int64_t ns)
{
    return spell_time(text, size, ns);
}

char *units_spell_rate(char *text, size_t size, uint64_t bits_per_second)
{
    return spell_rate(text, size, bits_per_second);
}

char *units_spell_size(char *text, size_t size, uint64_t bytes)
{
    return spell_size(text, size, bytes);
}
