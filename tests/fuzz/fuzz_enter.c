/* fuzz_enter.c: requests to enter, damaged: what is accepted is made of the bytes that came, all of them and in order. */
#include "netem/enter_wire.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

enum { WORDS_MAX = 12, BYTES_MAX = 1024 };

static size_t add_word(struct fuzz *fuzz, uint8_t *bytes, size_t length, const char *begin)
{
    size_t letters = fuzz_below(fuzz, 20);
    memcpy(bytes + length, begin, strlen(begin));
    length += strlen(begin);
    for (size_t i = 0; i < letters; i++)
        bytes[length++] = (uint8_t)(1 + fuzz_below(fuzz, 255));
    bytes[length++] = 0;
    return length;
}

static const char *walk(struct fuzz *fuzz, const char *at, char *const *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_CHECK(fuzz, words[i] == at);
        at += strlen(at) + 1;
    }
    FUZZ_CHECK(fuzz, words[count] == NULL);
    return at;
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t bytes[BYTES_MAX];
    struct enter_header header = {.magic = ENTER_MAGIC,
                                  .version = ENTER_VERSION,
                                  .argument_count = 1 + (uint32_t)fuzz_below(fuzz, WORDS_MAX),
                                  .environment_count = (uint32_t)fuzz_below(fuzz, WORDS_MAX)};
    size_t length = add_word(fuzz, bytes, 0, "");
    length = add_word(fuzz, bytes, length, "/");
    for (uint32_t i = 0; i < header.argument_count + header.environment_count; i++)
        length = add_word(fuzz, bytes, length, "");
    length = fuzz_mutate(fuzz, bytes, length, sizeof(bytes));
    if (fuzz_below(fuzz, 8) == 0)
        header.argument_count = fuzz_u32(fuzz);
    if (fuzz_below(fuzz, 8) == 0)
        header.environment_count = fuzz_u32(fuzz);
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    /* a copy of exactly this size: reading past its end would be seen by an address sanitizer */
    cleanup(free_pointer) char *exact = malloc(length ? length : 1);
    FUZZ_CHECK(fuzz, exact);
    memcpy(exact, bytes, length);
    struct enter_words words;
    struct err err = {0};
    int code = enter_parse(&header, exact, length, arena, &words, &err);
    FUZZ_CHECK(fuzz, code == 0 || (code == -ERR_USAGE && err.text[0]));
    if (code < 0)
        return;
    fuzz->accepted++;
    FUZZ_CHECK(fuzz, words.node == exact && words.directory == exact + strlen(exact) + 1 && words.directory[0] == '/');
    const char *at = words.directory + strlen(words.directory) + 1;
    at = walk(fuzz, at, words.arguments, header.argument_count);
    at = walk(fuzz, at, words.environment, header.environment_count);
    FUZZ_CHECK(fuzz, at == exact + length);
}

FUZZ_MAIN("enter")
