/* matrix_part.c: puts a part ("segment", "slow.0.factor") into a composite value, of which every cell gets a copy of its own. */
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "campaign_internal.h"
#include "yaml_document.h"

struct overriding {
    const struct reader *reader;
    const struct axis *axis;
    const struct yaml_value *leaf;
};

static int override(const struct overriding *what, const struct yaml_value *base, const char *part, struct yaml_value *out);

static int replace_child(const struct overriding *what, const struct yaml_value *base, const char *rest, struct yaml_value *child)
{
    if (!*rest && what->axis->replaces) {
        const struct yaml_value old = *child;
        *child = *what->leaf;
        child->key = old.key;
        child->key_line = old.key_line;
        child->key_column = old.key_column;
        child->next = old.next;
        return 0;
    }
    if (!*rest)
        return campaign_fail_key(what->reader, what->axis->list, what->axis->path,
                                 "this is set on line %d too, leave one of the two out", base->line);
    struct yaml_value *next = child->next;
    int status = override(what, base, rest, child);
    child->next = next;
    return status;
}

/* *out becomes a copy of base in which `part` is the leaf. */
static int override(const struct overriding *what, const struct yaml_value *base, const char *part, struct yaml_value *out)
{
    struct arena *arena = what->reader->arena;
    size_t head_length = strcspn(part, ".");
    const char *head = arena_strndup(arena, part, head_length), *rest = part[head_length] ? part + head_length + 1 : "";
    int64_t wanted = -1;
    if (base->shape == YAML_SHAPE_LIST && units_parse_integer(head, 0, base->count - 1, &wanted, NULL) < 0)
        return campaign_fail_key(what->reader, what->axis->list, what->axis->path,
                                 "there is no '%s' in the list of %d on line %d, counted from 0", head, base->count, base->line);
    *out = *base;
    struct yaml_value **tail = &out->first;
    bool found = false;
    int64_t index = 0;
    for (const struct yaml_value *child = base->first; child; child = child->next, index++) {
        *tail = arena_copy(arena, child, sizeof(*child));
        if (index == wanted || (base->shape == YAML_SHAPE_MAPPING && strcmp(child->key, head) == 0)) {
            found = true;
            int status = replace_child(what, child, rest, *tail);
            if (status < 0)
                return status;
        }
        tail = &(*tail)->next;
    }
    if (found)
        return 0;
    if (base->shape != YAML_SHAPE_MAPPING || *rest)
        return campaign_fail_key(what->reader, what->axis->list, what->axis->path,
                                 "there is no '%s' to be set in the value on line %d", part, base->line);
    struct yaml_value *leaf = arena_copy(arena, what->leaf, sizeof(*leaf));
    leaf->next = NULL;
    leaf->key = head;
    leaf->key_line = what->axis->list->key_line;
    leaf->key_column = what->axis->list->key_column;
    *tail = leaf;
    out->count++;
    return 0;
}

int matrix_part_apply(const struct reader *reader, const struct axis *axis, const struct yaml_value *leaf,
                      const struct yaml_value **value)
{
    const struct field_operations *operations = campaign_field_operations(axis->field);
    struct yaml_value nothing = *axis->list;
    nothing.shape = YAML_SHAPE_MAPPING;
    nothing.first = NULL;
    nothing.count = 0;
    if (!*value && operations->optional)
        *value = arena_copy(reader->arena, &nothing, sizeof(nothing));
    if (!*value)
        return campaign_fail_key(reader, axis->list, axis->path, "'%s' is not set, so there is nothing to put this into",
                                 axis->field->path);
    const struct yaml_value *base = *value;
    if (base->shape == YAML_SHAPE_SCALAR && operations->name_key) {
        struct yaml_value *name = arena_copy(reader->arena, base, sizeof(*base));
        name->key = operations->name_key;
        name->next = NULL;
        struct yaml_value *mapping = arena_copy(reader->arena, base, sizeof(*base));
        mapping->shape = YAML_SHAPE_MAPPING;
        mapping->first = name;
        mapping->count = 1;
        base = mapping;
    }
    struct yaml_value *merged = arena_new_object(reader->arena, struct yaml_value);
    int status = override(&(struct overriding){reader, axis, leaf}, base, axis->part, merged);
    if (status == 0)
        *value = merged;
    return status;
}
