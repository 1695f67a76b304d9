/* enter_wire.c: reads what an asker sends; see enter_wire.h. */
#include "netem/enter_wire.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"

static int malformed(struct err *err)
{
    return err_set(err, ERR_USAGE, "the request to enter is malformed: it comes from no laggard of this version");
}

/* The next string, or NULL at the end. */
static char *next_word(char **at, const char *end)
{
    char *word = *at, *nul = word < end ? memchr(word, 0, (size_t)(end - word)) : NULL;
    if (nul)
        *at = nul + 1;
    return nul ? word : NULL;
}

static char **next_words(char **at, const char *end, uint32_t count, struct arena *arena)
{
    if (count > (size_t)(end - *at)) /* each takes a byte at least */
        return NULL;
    char **words = arena_new_array(arena, char *, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (!(words[i] = next_word(at, end)))
            return NULL;
    return words;
}

int enter_parse(const struct enter_header *header, char *bytes, size_t length, struct arena *arena, struct enter_words *words,
                struct err *err)
{
    char *at = bytes;
    const char *end = bytes + length;
    if (header->magic != ENTER_MAGIC || header->version != ENTER_VERSION)
        return malformed(err);
    struct enter_words found = {.node = next_word(&at, end)};
    found.directory = found.node ? next_word(&at, end) : NULL;
    found.arguments = found.directory ? next_words(&at, end, header->argument_count, arena) : NULL;
    found.environment = found.arguments ? next_words(&at, end, header->environment_count, arena) : NULL;
    if (!found.environment || at != end || header->argument_count == 0 || found.directory[0] != '/')
        return malformed(err);
    *words = found;
    return 0;
}
