/* matrix.c: sweeps by dotted path, and the cells that come out.
 *
 * An axis sweeps a field, or a part of a composite value ("scheme.segment", "compute.slow.0.factor"): then every cell's value is a
 * copy of the placed one with that part put in. Values of whole fields are checked once, before any cell exists; parts can only be
 * checked in their cell. The first axis varies slowest. A leaf has one place: in the matrix or outside, never both. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "yaml_document.h"

bool matrix_sweeps(const struct reading *reading, const struct campaign_field *field, bool parts_only)
{
    for (int i = 0; i < reading->axis_count; i++)
        if (reading->axes[i].field == field && (!parts_only || reading->axes[i].part))
            return true;
    return false;
}

/* ---- how a swept value reads in labels and tables: as written, mappings as name(key=value) ---- */
static void add_rendering(const struct yaml_value *value, struct text *out)
{
    static const char *const opening[] = {[YAML_SHAPE_LIST] = "[", [YAML_SHAPE_MAPPING] = "("};
    static const char *const closing[] = {[YAML_SHAPE_LIST] = "]", [YAML_SHAPE_MAPPING] = ")"};
    if (value->shape == YAML_SHAPE_SCALAR) {
        for (const char *c = value->text; *c; c++) {
            size_t unprintable = yaml_document_unprintable(c);
            text_add_bytes(out, unprintable ? "?" : c, 1);
            c += unprintable ? unprintable - 1 : 0;
        }
        return;
    }
    const struct yaml_value *child = value->first;
    bool is_named = child && child->key && campaign_field_is_name_key(child->key);
    if (is_named) {
        add_rendering(child, out);
        child = child->next;
        if (!child)
            return;
    }
    text_add(out, opening[value->shape]);
    for (const char *comma = ""; child; child = child->next, comma = ",") {
        text_add(out, comma);
        if (child->key)
            text_printf(out, "%s=", yaml_document_printable(child->key).text);
        add_rendering(child, out);
    }
    text_add(out, closing[value->shape]);
}

/* Long values are cut and told apart by their position, so that labels stay short and different. */
static const char *render(struct arena *arena, const struct yaml_value *value, int position)
{
    enum { LENGTH_MAX = 120, KEPT = 100 };
    cleanup(text_free) struct text out = {0};
    add_rendering(value, &out);
    if (out.length <= LENGTH_MAX)
        return arena_strdup(arena, out.bytes ? out.bytes : "");
    size_t kept = KEPT;
    while (kept > 0 && ((unsigned char)out.bytes[kept] & 0xc0) == 0x80)
        kept--;
    return arena_printf(arena, "%.*s...#%d", (int)kept, out.bytes, position + 1);
}

/* ---- axes ---- */

/* Words and numbers joined by dots: nothing else can be the path of a part. */
static bool is_dotted(const char *part)
{
    return *part && strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789_-.") == strlen(part);
}

int matrix_find_field(const struct reading *reading, const struct yaml_value *list, const char *key, struct axis *axis)
{
    const struct reader *reader = &reading->reader;
    axis->path = list->key;
    axis->field = campaign_field_find(list->key);
    if (axis->field) {
        axis->path = axis->field->path; /* a short form is spelled out */
        return 0;
    }
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        size_t length = strlen(field->path);
        bool is_part = strncmp(list->key, field->path, length) == 0 && list->key[length] == '.';
        if (!is_part || !campaign_field_operations(field)->composite || !is_dotted(list->key + length + 1))
            continue;
        axis->field = field;
        axis->part = list->key + length + 1;
        return 0;
    }
    if (campaign_field_is_group(list->key))
        return campaign_fail_key(reader, list, key, "'%s' is a group of fields, name one of them by its dotted path", list->key);
    return campaign_field_unknown(reader, list, "", list->key);
}

static int read_axis(struct reading *reading, const struct yaml_value *list, struct axis *axis)
{
    const struct reader *reader = &reading->reader;
    int status = matrix_find_field(reading, list, "matrix", axis);
    if (status < 0)
        return status;
    const char *key = arena_printf(reader->arena, "matrix.%s", axis->path);
    if (axis->field->fixed)
        return campaign_fail_key(reader, list, key, "this field is the same for the whole campaign and cannot be swept");
    if (list->shape != YAML_SHAPE_LIST || list->count == 0)
        return campaign_fail(reader, list, key, "a list of values is needed, for example [A, B]");
    if (list->count > CELLS_MAX)
        return campaign_fail(reader, list, key, "found %d values, a campaign holds at most %d cells", list->count, CELLS_MAX);
    for (int i = 0; i < reading->axis_count; i++)
        if (strcmp(reading->axes[i].path, axis->path) == 0)
            return campaign_fail_key(reader, list, key, "this field is swept twice, first on line %d",
                                     reading->axes[i].list->key_line);
    const struct yaml_value *placed = reading->placed[axis->field - campaign_fields];
    if (placed && !axis->part)
        return campaign_fail_key(reader, list, key, "this field is set on line %d too, leave one of the two out", placed->line);
    axis->list = list;
    axis->count = list->count;
    axis->values = arena_new_array(reader->arena, const struct yaml_value *, (size_t)list->count);
    axis->texts = arena_new_array(reader->arena, const char *, (size_t)list->count);
    int i = 0;
    for (const struct yaml_value *child = list->first; child; child = child->next, i++) {
        axis->values[i] = child;
        axis->texts[i] = render(reader->arena, child, i);
    }
    return 0;
}

int matrix_read_axes(struct reading *reading, const struct yaml_value *matrix)
{
    const struct reader *reader = &reading->reader;
    if (yaml_document_is_null(matrix))
        return 0;
    if (matrix->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(reader, matrix, "matrix", "a mapping is needed: {scheme: [ps-sync, ring], workers: [2, 4]}");
    int64_t cells = 1;
    for (const struct yaml_value *list = matrix->first; list; list = list->next) {
        if (reading->axis_count == AXES_MAX)
            return campaign_fail_key(reader, list, "matrix", "found more than %d fields to sweep", AXES_MAX);
        struct axis axis = {0};
        int status = read_axis(reading, list, &axis);
        if (status < 0)
            return status;
        cells *= axis.count;
        if (cells > CELLS_MAX)
            return campaign_fail_key(reader, list, "matrix",
                                     "up to here there are %lld combinations, a campaign holds at most %d cells", (long long)cells,
                                     CELLS_MAX);
        reading->axes[reading->axis_count++] = axis;
    }
    return 0;
}

/* ---- values of axes, one by one ---- */
struct spelled {
    char *text;
    int position;
};

static int compare_spelled(const void *a, const void *b)
{
    const struct spelled *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : x->position - y->position;
}

/* Equal values make equal cells, also when they are written differently (250us, 0.25ms). */
static int check_axis(struct reading *reading, const struct axis *axis)
{
    const struct reader *reader = &reading->reader;
    const struct field_operations *operations = campaign_field_operations(axis->field);
    bool whole = !axis->part && !matrix_sweeps(reading, axis->field, true);
    struct spelled *spelled = arena_new_array(reader->arena, struct spelled, (size_t)axis->count);
    struct settings scratch = reading->base;
    for (int i = 0; i < axis->count; i++) {
        cleanup(text_free) struct text text = {0};
        if (whole) {
            int status = operations->read(reader, axis->field, axis->values[i], axis->path, &scratch);
            if (status < 0)
                return status;
            operations->spell(axis->field, &scratch, &text);
        } else {
            text_add(&text, axis->texts[i]);
        }
        spelled[i] = (struct spelled){.text = arena_strdup(reader->arena, text.bytes ? text.bytes : ""), .position = i};
    }
    qsort(spelled, (size_t)axis->count, sizeof(*spelled), compare_spelled);
    for (int i = 1; i < axis->count; i++) {
        const struct yaml_value *first = axis->values[spelled[i - 1].position], *again = axis->values[spelled[i].position];
        if (strcmp(spelled[i].text, spelled[i - 1].text) == 0)
            return campaign_fail(reader, again, axis->path, "'%s' is the same value as '%s' on line %d",
                                 axis->texts[spelled[i].position], axis->texts[spelled[i - 1].position], first->line);
    }
    return 0;
}

int matrix_check_values(struct reading *reading)
{
    for (int i = 0; i < reading->axis_count; i++) {
        int status = check_axis(reading, &reading->axes[i]);
        if (status < 0)
            return status;
    }
    return 0;
}

/* ---- cells ---- */
static const char *label_of(const struct reading *reading, const struct swept *swept)
{
    struct arena *arena = reading->reader.arena;
    if (reading->axis_count == 0)
        return arena_printf(arena, "scheme=%s workers=%d", reading->base.scheme.name, reading->base.workers);
    cleanup(text_free) struct text label = {0};
    for (int i = 0; i < reading->axis_count; i++)
        text_printf(&label, "%s%s=%s", i ? " " : "", swept[i].path, swept[i].text);
    return arena_strdup(arena, label.bytes);
}

/* What this cell's arm sets takes the place of what the campaign says. */
static int apply_arm(const struct reading *here, const struct yaml_value **values)
{
    for (int i = 0; here->arm && i < here->arm->setting_count; i++) {
        const struct arm_setting *setting = &here->arm->settings[i];
        const struct yaml_value **value = &values[setting->axis.field - campaign_fields];
        int status = 0;
        if (setting->axis.part)
            status = matrix_part_apply(&here->reader, &setting->axis, setting->value, value);
        else
            *value = setting->value;
        if (status < 0)
            return status;
    }
    return 0;
}

/* The cell's value of each field, before its arm: whole fields first, then parts of them. */
static int choose_values(const struct reading *here, const int *choice, const struct yaml_value **values)
{
    memcpy(values, here->placed, (size_t)campaign_field_count * sizeof(*values));
    for (int i = 0; i < here->axis_count; i++)
        if (!here->axes[i].part)
            values[here->axes[i].field - campaign_fields] = here->axes[i].values[choice[i]];
    int status = 0;
    for (int i = 0; i < here->axis_count && status == 0; i++) {
        const struct axis *axis = &here->axes[i];
        if (axis->part)
            status = matrix_part_apply(&here->reader, axis, axis->values[choice[i]], &values[axis->field - campaign_fields]);
    }
    return status;
}

static int make_cell(const struct reading *reading, const int *choice, int index, const struct arm_reading *arm, struct cell *cell)
{
    struct arena *arena = reading->reader.arena;
    struct swept *swept = arena_new_array(arena, struct swept, AXES_MAX);
    for (int i = 0; i < reading->axis_count; i++)
        swept[i] = (struct swept){.path = reading->axes[i].path, .text = reading->axes[i].texts[choice[i]]};
    *cell = (struct cell){.index = index, .settings = reading->base, .swept = swept, .swept_count = reading->axis_count};
    cell->label = cell->title = label_of(reading, swept);
    if (arm) {
        cell->arm = &arm->arm;
        cell->title = arena_printf(arena, "%s arm=%s", cell->label, arm->arm.name);
    }

    struct reading here = *reading;
    here.arm = arm;
    here.reader.cell = cell->label;
    const struct yaml_value *values[CAMPAIGN_FIELDS_MAX];
    int status = choose_values(&here, choice, values);
    if (status < 0)
        return status;
    status = apply_arm(&here, values);
    if (status < 0)
        return status;
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        if (!matrix_sweeps(reading, field, false) && !campaign_arm_sets(arm, field))
            continue;
        status = campaign_field_operations(field)->read(&here.reader, field, values[i], field->path, &cell->settings);
        if (status < 0)
            return status;
    }
    return campaign_check_cell(&here, values, &cell->settings);
}

int matrix_expand(struct reading *reading, const struct cell **out, int *cell_count)
{
    int count = 1;
    for (int i = 0; i < reading->axis_count; i++)
        count *= reading->axes[i].count;
    int variants = reading->arm_count > 0 ? reading->arm_count : 1;
    struct cell *cells = arena_new_array(reading->reader.arena, struct cell, (size_t)count * (size_t)variants);
    for (int index = 0; index < count; index++) {
        int choice[AXES_MAX] = {0}, rest = index;
        for (int i = reading->axis_count; i-- > 0;) { /* the last axis varies fastest */
            choice[i] = rest % reading->axes[i].count;
            rest /= reading->axes[i].count;
        }
        for (int a = 0; a < variants; a++) {
            const struct arm_reading *arm = reading->arm_count > 0 ? &reading->arms[a] : NULL;
            int status = make_cell(reading, choice, index, arm, &cells[index * variants + a]);
            if (status < 0)
                return status;
        }
    }
    *out = cells;
    *cell_count = count * variants;
    return 0;
}
