/* results/gate_group.c: what is said about the groups that a row compares: whether their settings are the same, and which of their
 * trials do not count; see gate_internal.h. */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "results/gate_internal.h"

/* Past lines that only say how often, under which name and with which records. A version may not know one of them. */
static const char *past_ignored(const char *text)
{
    static const char *const ignored[] = {
        "name: ", "seed: ", "repeats: ", "capture: ", "record_spans: ", "record_nodes: ", "sample_every: ", NULL};
    for (int i = 0; ignored[i]; i++) {
        if (strncmp(text, ignored[i], strlen(ignored[i])) != 0)
            continue;
        text += strcspn(text, "\n");
        text += *text == '\n';
        i = -1;
    }
    return text;
}

/* The first setting that differs, or NULL. */
const char *gate_other_setting(const char *a, const char *b, struct arena *arena)
{
    for (;;) {
        a = past_ignored(a);
        b = past_ignored(b);
        if (!*a && !*b)
            break;
        size_t length_a = strcspn(a, "\n"), length_b = strcspn(b, "\n");
        if (length_a != length_b || strncmp(a, b, length_a) != 0)
            return arena_strndup(arena, *a ? a : b, strcspn(*a ? a : b, ":\n"));
        a += length_a + (a[length_a] == '\n');
        b += length_b + (b[length_b] == '\n');
    }
    return NULL;
}

const char *gate_remark(const struct gate_group *base, const struct gate_group *group, struct arena *arena)
{
    cleanup(text_free) struct text text = {0};
    const struct gate_group *const both[] = {group, base};
    for (int i = 0; i < 2; i++) {
        if (!both[i])
            continue;
        const struct {
            int count;
            const char *what;
        } states[] = {{i == 1 ? both[i]->failed : 0, "failed"},
                      {both[i]->interrupted, "interrupted"},
                      {both[i]->void_count, "void and left out"},
                      {both[i]->degraded, "degraded"}};
        for (size_t s = 0; s < sizeof(states) / sizeof(states[0]); s++)
            if (states[s].count > 0)
                text_printf(&text, "%s%d %s%s", text.length > 0 ? ", " : "", states[s].count, i == 1 ? "of the baseline " : "",
                            states[s].what);
    }
    return text.length > 0 ? arena_strdup(arena, text.bytes) : NULL;
}
