/* fuzz_wire.c: structs of every field type, random and damaged. The layout has one spelling for each struct, so whatever the
 * decoder takes must encode to the very same bytes. */
#include "base/wire.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "tests/fuzz/fuzz.h"

enum { BYTES_MAX = 16384 };

struct leaf {
    uint32_t node;
    const char *name;
    int64_t at_ns;
};
static const struct wire_field leaf_fields[] = {WIRE_FIELD(leaf, node, WIRE_U32, ""), WIRE_FIELD(leaf, name, WIRE_STRING, ""),
                                                WIRE_FIELD(leaf, at_ns, WIRE_I64, "")};
static const struct wire_table leaf_table = WIRE_TABLE(leaf, leaf_fields);

struct tree {
    double value;
    struct leaf leaf;
    uint64_t seed;
    uint8_t *blob;
    uint32_t blob_bytes;
    struct leaf *leaves;
    uint32_t leaf_count;
    struct tree *children;
    uint32_t child_count;
};
static const struct wire_table tree_table;
static const struct wire_field tree_fields[] = {
    WIRE_FIELD(tree, value, WIRE_F64, ""),
    WIRE_EMBED(tree, leaf, &leaf_table, ""),
    WIRE_FIELD(tree, seed, WIRE_U64, ""),
    WIRE_BLOB(tree, blob, blob_bytes, ""),
    WIRE_LIST(tree, leaves, leaf_count, &leaf_table, ""),
    WIRE_LIST(tree, children, child_count, &tree_table, ""),
};
static const struct wire_table tree_table = WIRE_TABLE(tree, tree_fields);

static void make_leaf(struct fuzz *fuzz, struct arena *arena, struct leaf *leaf)
{
    leaf->node = fuzz_u32(fuzz);
    size_t length = fuzz_below(fuzz, 12);
    char *name = arena_alloc(arena, length + 1);
    for (size_t i = 0; i < length; i++)
        name[i] = (char)(1 + fuzz_below(fuzz, 255));
    leaf->name = name;
    leaf->at_ns = (int64_t)fuzz_u64(fuzz);
}

static void make_tree(struct fuzz *fuzz, struct arena *arena, unsigned depth, struct tree *tree)
{
    uint64_t bits = fuzz_u64(fuzz); /* any double, not-a-numbers included */
    memcpy(&tree->value, &bits, sizeof(bits));
    make_leaf(fuzz, arena, &tree->leaf);
    tree->seed = fuzz_u64(fuzz);
    tree->blob_bytes = (uint32_t)fuzz_below(fuzz, 20);
    tree->blob = arena_alloc(arena, tree->blob_bytes);
    for (uint32_t i = 0; i < tree->blob_bytes; i++)
        tree->blob[i] = (uint8_t)fuzz_u32(fuzz);
    tree->leaf_count = (uint32_t)fuzz_below(fuzz, 4);
    tree->leaves = arena_new_array(arena, struct leaf, tree->leaf_count);
    for (uint32_t i = 0; i < tree->leaf_count; i++)
        make_leaf(fuzz, arena, &tree->leaves[i]);
    tree->child_count = depth < 3 ? (uint32_t)fuzz_below(fuzz, 3) : 0;
    tree->children = arena_new_array(arena, struct tree, tree->child_count);
    for (uint32_t i = 0; i < tree->child_count; i++)
        make_tree(fuzz, arena, depth + 1, &tree->children[i]);
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t damaged[BYTES_MAX];
    cleanup(arena_cleanup) struct arena *arena = arena_new(), *decoded_arena = arena_new();
    cleanup(text_free) struct text encoded = {0}, again = {0};
    struct tree tree = {0}, decoded, before;
    make_tree(fuzz, arena, 0, &tree);
    wire_encode(&tree_table, &tree, &encoded);
    FUZZ_CHECK(fuzz, encoded.length <= sizeof(damaged) / 2);
    memcpy(damaged, encoded.bytes, encoded.length);
    size_t length = fuzz_mutate(fuzz, damaged, encoded.length, sizeof(damaged));
    bool unchanged = length == encoded.length && memcmp(damaged, encoded.bytes, length) == 0;

    cleanup(free_pointer) uint8_t *exact = malloc(length ? length : 1);
    FUZZ_CHECK(fuzz, exact);
    memcpy(exact, damaged, length);
    memset(&decoded, 0x5a, sizeof(decoded));
    memset(&before, 0x5a, sizeof(before));
    struct err err = {0};
    int status = wire_decode(&tree_table, exact, length, decoded_arena, &decoded, &err);
    /* no struct here takes more than three times its bytes: claims alone take no memory */
    FUZZ_CHECK(fuzz, arena_bytes(decoded_arena) <= sizeof(struct tree) + 3 * length);
    FUZZ_CHECK(fuzz, status == 0 || !unchanged);
    if (status == 0) {
        wire_encode(&tree_table, &decoded, &again);
        FUZZ_CHECK(fuzz, again.length == length && memcmp(again.bytes, exact, length) == 0);
        fuzz->accepted++;
    } else {
        FUZZ_CHECK(fuzz, status == -ERR_TRIAL && err.kind == ERR_TRIAL && err.text[0]);
        FUZZ_CHECK(fuzz, memcmp(&decoded, &before, sizeof(before)) == 0);
    }
}

FUZZ_MAIN("wire")
