/* yaml_document.h: a YAML text as a tree whose every value knows its line and column. */
#ifndef LAGGARD_HARNESS_YAML_DOCUMENT_H
#define LAGGARD_HARNESS_YAML_DOCUMENT_H

#include <stddef.h>

struct arena;
struct err;

enum { YAML_DOCUMENT_BYTES_MAX = 1 << 20, YAML_DOCUMENT_DEPTH_MAX = 16, YAML_DOCUMENT_KEYS_MAX = 1000 };
enum yaml_shape { YAML_SHAPE_SCALAR, YAML_SHAPE_LIST, YAML_SHAPE_MAPPING };

struct yaml_value {
    enum yaml_shape shape;
    int line, column; /* from 1; columns count code points */
    const char *text; /* scalar: never NULL, no NUL byte inside */
    const char *key;  /* of this value, when its parent is a mapping; NULL otherwise */
    int key_line, key_column;
    int count;                /* of children */
    struct yaml_value *first; /* children, in the order of the file */
    struct yaml_value *next;  /* sibling */
};

/* Pure. The tree lives in the arena; `text` is not kept. Errors are ERR_USAGE and start with "file:line:column: ". Refused with a
 * sentence: what is no YAML or no UTF-8, several documents, anchors, aliases and tags, keys that are no scalars or come twice, and
 * texts that are too long, too deep or have mappings with too many keys. An empty document is refused too. */
int yaml_document_parse(const char *file, const char *text, size_t length, struct arena *arena, const struct yaml_value **root,
                        struct err *err);

/* The child of a mapping, or NULL. */
const struct yaml_value *yaml_document_child(const struct yaml_value *mapping, const char *key);
/* Whether a scalar is YAML's null: `key:` with nothing behind it, `~` or `null`. Quoted scalars count as well: nothing is called
 * so. */
int yaml_document_is_null(const struct yaml_value *value);

/* The length of the UTF-8 character at `text` if it cannot be shown as it is: control characters, line and paragraph separators,
 * marks that turn the direction of writing. 0: it can. */
size_t yaml_document_unprintable(const char *text);
/* A text from a file, fit for a message: what cannot be shown as '?', cut with "..." when long, no code point cut in two. */
struct yaml_printable {
    char text[84];
};
struct yaml_printable yaml_document_printable(const char *text);

#endif
