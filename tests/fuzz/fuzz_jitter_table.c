/* fuzz_jitter_table.c: damaged tables of quantiles against their grammar, written out a second time with the C library's help. */
#include "netem/impairment.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tests/fuzz/fuzz.h"

enum { FILE_MAX = 2048 };

static size_t make_file(struct fuzz *fuzz, uint8_t bytes[FILE_MAX])
{
    static const char *const separators[] = {" ", "\n", "\t", "  # words\n", "\r\n"};
    size_t length = 0, entries = fuzz_few(fuzz, 40);
    for (size_t i = 0; i < entries; i++)
        length += (size_t)snprintf((char *)bytes + length, FILE_MAX - length, "%d%s", (int)fuzz_below(fuzz, 65600) - 32800,
                                   separators[fuzz_below(fuzz, 5)]);
    return length;
}

/* How many entries, or 0 where a word is no number or none is there; `sum` of them. */
static int expect(char *text, int64_t *sum)
{
    int count = 0;
    *sum = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "#")] = '\0';
        char *rest;
        for (char *word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
            char *end;
            const char *digits = word + (*word == '-' || *word == '+');
            errno = 0;
            long value = strtol(word, &end, 10);
            if (*digits < '0' || *digits > '9' || *end || errno || value < INT16_MIN || value > INT16_MAX)
                return 0;
            *sum += value;
            count++;
        }
    }
    return count;
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t bytes[FILE_MAX];
    static int16_t entries[IMPAIRMENT_TABLE_MOST];
    size_t length = make_file(fuzz, bytes);
    length = fuzz_mutate(fuzz, bytes, length, sizeof(bytes));
    cleanup(free_pointer) uint8_t *exact = malloc(length ? length : 1); /* reading past its end would be seen */
    cleanup(free_pointer) char *text = malloc(length + 1);
    FUZZ_CHECK(fuzz, exact && text);
    memcpy(exact, bytes, length);
    memcpy(text, bytes, length);
    text[length] = '\0';
    struct err err = {0};
    int64_t sum = 0, expected_sum;
    int count = impairment_table_parse((const char *)exact, length, entries, &err);
    FUZZ_CHECK(fuzz, count > 0 || (count == -ERR_USAGE && err.text[0]));
    for (int i = 0; i < count; i++)
        sum += entries[i];
    if (!memchr(bytes, '\0', length)) { /* the library's strings end there */
        int expected = expect(text, &expected_sum);
        FUZZ_CHECK(fuzz, expected == (count > 0 ? count : 0));
        FUZZ_CHECK(fuzz, count <= 0 || sum == expected_sum);
    }
    fuzz->accepted += count > 0;
}

FUZZ_MAIN("jitter_table")
