/* campaign_parse.c: a campaign file's bytes to a plan: values to their fields, defaults, then the matrix, the checks and the
 * order. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/nearest_file.h"
#include "base/text.h"
#include "base/units.h"
#include "campaign.h"
#include "campaign_internal.h"
#include "gate_rules.h"
#include "yaml_document.h"

const char *const campaign_world_choices[] = {"emulated", "virtual", CAMPAIGN_BOTH_WORLDS, NULL};

/* What is no field, and stands at the top alone. */
static bool campaign_key_is_special(const char *key)
{
    return strcmp(key, "matrix") == 0 || strcmp(key, "arms") == 0 || strcmp(key, "gate") == 0;
}

static int place_value(struct reading *reading, const struct campaign_field *field, const struct yaml_value *value)
{
    const struct yaml_value **placed = &reading->placed[field - campaign_fields];
    if (*placed)
        return campaign_fail_key(&reading->reader, value, field->path, "this field is set twice, first on line %d",
                                 (*placed)->key_line);
    *placed = value;
    return 0;
}

/* Sorts the values of a mapping to their fields. Groups may be written nested or dotted. */
static int place_mapping(struct reading *reading, const struct yaml_value *mapping, const char *prefix)
{
    for (const struct yaml_value *child = mapping->first; child; child = child->next) {
        const char *path = arena_printf(reading->reader.arena, "%s%s", prefix, child->key);
        const struct campaign_field *field = campaign_field_find(path);
        int status = 0;
        if (field)
            status = place_value(reading, field, child);
        else if (!*prefix && campaign_key_is_special(path))
            continue;
        else if (!campaign_field_is_group(path))
            status = campaign_field_unknown(&reading->reader, child, prefix, child->key);
        else if (child->shape != YAML_SHAPE_MAPPING)
            status = campaign_fail(&reading->reader, child, path, "a mapping is needed, with keys of these: %s",
                                   campaign_keys_beneath(reading->reader.arena, arena_printf(reading->reader.arena, "%s.", path)));
        else
            status = place_mapping(reading, child, arena_printf(reading->reader.arena, "%s.", path));
        if (status < 0)
            return status;
    }
    return 0;
}

/* The mapping that a field's key would stand in, as far as it is written. */
static const struct yaml_value *mapping_of(const struct yaml_value *root, const char *path)
{
    const struct yaml_value *mapping = root;
    for (const struct yaml_value *child = root->first; child; child = child->next) {
        size_t length = strlen(child->key);
        if (child->shape == YAML_SHAPE_MAPPING && strncmp(path, child->key, length) == 0 && path[length] == '.')
            mapping = mapping_of(child, path + length + 1);
    }
    return mapping;
}

/* A default is written like a value of the file and read by the same code. Most are one word, which is a scalar without libyaml's
 * help: to ask it for each of them was most of the time that a small campaign took. */
static int read_default(const struct reading *reading, const struct campaign_field *field, struct settings *settings)
{
    const struct yaml_value word = {.shape = YAML_SHAPE_SCALAR, .line = 1, .column = 1, .text = field->standard}, *value = &word;
    if (field->standard[0] == '[') {
        int status = yaml_document_parse("default", field->standard, strlen(field->standard), reading->reader.arena, &value,
                                         reading->reader.err);
        if (status < 0)
            return status;
    }
    return campaign_field_operations(field)->read(&reading->reader, field, value, field->path, settings);
}

/* Without a scheme, workload.exec is what runs. */
static bool only_outside(const struct reading *reading)
{
    const struct campaign_field *scheme = campaign_field_find("scheme"), *exec = campaign_field_find("workload.exec");
    const struct yaml_value *placed = reading->placed[scheme - campaign_fields];
    if (placed)
        return campaign_scheme_is_outside(placed);
    for (int i = 0; i < reading->axis_count; i++) {
        const struct axis *axis = &reading->axes[i];
        for (int v = 0; axis->field == scheme && v < axis->count; v++)
            if (!campaign_scheme_is_outside(axis->values[v]))
                return false;
    }
    return matrix_sweeps(reading, scheme, false) || matrix_sweeps(reading, exec, false) ||
           reading->placed[exec - campaign_fields] || campaign_arms_all_set(reading, exec);
}

static bool is_needed(const struct reading *reading, const struct campaign_field *field)
{
    if (reading->only_outside && (field->carriers == CARRIED_BY_AGENTS || field->type == FIELD_SCHEME))
        return false;
    return field->required && !reading->placed[field - campaign_fields] && !matrix_sweeps(reading, field, false);
}

/* A program stands there, and a scheme that is not it, whose agents need this field. */
static bool is_beside_program(const struct reading *reading, const struct campaign_field *field)
{
    const struct campaign_field *exec = campaign_field_find("workload.exec");
    return field->carriers == CARRIED_BY_AGENTS && (reading->placed[exec - campaign_fields] || matrix_sweeps(reading, exec, false));
}

static int read_base(struct reading *reading)
{
    reading->only_outside = only_outside(reading);
    if (reading->only_outside)
        reading->base.scheme = (struct scheme_choice){.name = OUTSIDE_SCHEME, .outside = true};
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        int status = field->standard ? read_default(reading, field, &reading->base) : 0;
        if (status == 0 && reading->placed[i] && !matrix_sweeps(reading, field, true))
            status =
                campaign_field_operations(field)->read(&reading->reader, field, reading->placed[i], field->path, &reading->base);
        else if (status == 0 && is_needed(reading, field))
            status = campaign_fail(&reading->reader, mapping_of(reading->root, field->path), NULL, "the key '%s' is missing (%s)%s",
                                   field->path, field->help,
                                   is_beside_program(reading, field) ? "; `scheme` names one of laggard's own: leave it out where "
                                                                       "workload.exec alone is to run"
                                                                     : "");
        if (status < 0)
            return status;
    }
    return 0;
}

static int check_trial_count(const struct reading *reading, int cell_count)
{
    int64_t trials = (int64_t)cell_count * reading->base.repeats;
    if (trials <= TRIALS_MAX)
        return 0;
    const struct yaml_value *repeats = reading->placed[campaign_field_find("repeats") - campaign_fields];
    return campaign_fail(&reading->reader, repeats ? repeats : reading->root, "repeats",
                         "%d repeat%s of %d cell%s are %lld trials, a campaign holds at most %d", reading->base.repeats,
                         units_plural(reading->base.repeats), cell_count, units_plural(cell_count), (long long)trials, TRIALS_MAX);
}

/* A world by --world is read like one of the file; both are one more axis, the one that varies fastest. Axes and arms are read
 * before. */
static int override_world(struct reading *reading, const char *world)
{
    const struct reader *reader = &reading->reader;
    const struct campaign_field *field = campaign_field_find("world");
    const bool both = strcmp(world, CAMPAIGN_BOTH_WORLDS) == 0;
    const char *text = both ? "{world: [emulated, virtual]}" : world;
    const struct yaml_value *value;
    for (int i = 0; i < reading->axis_count; i++)
        if (reading->axes[i].field == field)
            return campaign_fail_key(reader, reading->axes[i].list, "matrix.world",
                                     "the file sweeps the world, so --world %s has no place: leave one of the two out", world);
    for (int i = 0; i < reading->arm_count; i++)
        if (campaign_arm_sets(&reading->arms[i], field))
            return campaign_fail_key(reader, yaml_document_child(reading->root, "arms"), "arms",
                                     "arm %s sets the world, so --world %s has no place: leave one of the two out",
                                     reading->arms[i].arm.name, world);
    int status = yaml_document_parse("--world", text, strlen(text), reader->arena, &value, reader->err);
    if (status < 0)
        return status;
    reading->placed[field - campaign_fields] = both ? NULL : value;
    return both ? matrix_read_axes(reading, value) : 0;
}

static int parse(const char *path, const char *text, size_t length, const struct campaign_overrides *overrides, struct arena *arena,
                 struct plan *plan, struct err *err)
{
    struct reading reading = {.reader = {.file = arena_strdup(arena, path), .arena = arena, .err = err}};
    reading.reader.traces = arena_new_array(arena, struct trace_cache *, 1);
    reading.reader.files = arena_new_array(arena, const struct plan_file *, 1);
    reading.placed = arena_new_array(arena, const struct yaml_value *, (size_t)campaign_field_count);
    int status = yaml_document_parse(path, text, length, arena, &reading.root, err);
    if (status < 0)
        return status;
    if (reading.root->shape != YAML_SHAPE_MAPPING)
        return campaign_fail(&reading.reader, reading.root, NULL, "a campaign is a mapping that starts with 'name: NAME'");
    status = place_mapping(&reading, reading.root, "");
    if (status < 0)
        return status;
    const struct yaml_value *matrix = yaml_document_child(reading.root, "matrix");
    const struct yaml_value *arms = yaml_document_child(reading.root, "arms"), *gate = yaml_document_child(reading.root, "gate");
    status = matrix ? matrix_read_axes(&reading, matrix) : 0;
    if (status == 0 && arms)
        status = campaign_read_arms(&reading, arms);
    if (status == 0 && overrides && overrides->world)
        status = override_world(&reading, overrides->world);
    if (status == 0)
        status = read_base(&reading);
    if (status == 0 && overrides && overrides->seed)
        reading.base.seed = *overrides->seed;
    if (status == 0)
        status = matrix_check_values(&reading);
    struct plan made = {.file_path = reading.reader.file, .file_text = arena_strndup(arena, text, length)};
    if (status == 0)
        status = matrix_expand(&reading, &made.cells, &made.cell_count);
    if (status == 0)
        status = campaign_check_whole(&reading, made.cells, made.cell_count);
    if (status == 0)
        status = campaign_check_arms(&reading, arms, made.cells, made.cell_count);
    if (status == 0)
        status = check_trial_count(&reading, made.cell_count);
    if (status < 0)
        return status;
    made.name = reading.base.name;
    made.seed = reading.base.seed;
    made.files = *reading.reader.files;
    struct arm *made_arms = arena_new_array(arena, struct arm, (size_t)reading.arm_count + 1);
    for (int i = 0; i < reading.arm_count; i++)
        made_arms[i] = reading.arms[i].arm;
    made.arms = reading.arm_count > 0 ? made_arms : NULL;
    made.arm_count = reading.arm_count;
    if (gate && (status = gate_rules_read(&reading.reader, gate, &made, &made.gate, err)) < 0)
        return status;
    int variants = plan_variants(&made);
    made.trials = plan_order(arena, made.seed, made.cell_count / variants, variants, reading.base.repeats, &made.trial_count);
    *plan = made;
    return 0;
}

int campaign_parse(const char *path, const char *text, size_t length, struct arena *arena, struct plan *plan, struct err *err)
{
    return parse(path, text, length, NULL, arena, plan, err);
}

/* At most one byte more than is allowed is read: that is enough to refuse a file of any size. */
static int read_file(const char *path, struct text *out, struct err *err)
{
    cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, ERR_USAGE, errno, "cannot open the campaign file '%s'%s", path,
                             errno == ENOENT ? nearest_file(path, ".yaml").text : "");
    char buffer[16384];
    while (out->length <= YAML_DOCUMENT_BYTES_MAX) {
        ssize_t got = read(fd, buffer, sizeof(buffer));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, ERR_USAGE, errno, "cannot read the campaign file '%s'", path);
        if (got == 0)
            return 0;
        text_add_bytes(out, buffer, (size_t)got);
    }
    return err_set(err, ERR_USAGE, "%s:1:1: the file is larger than a campaign may be, allowed are %d bytes", path,
                   YAML_DOCUMENT_BYTES_MAX);
}

int campaign_load(const char *path, const struct campaign_overrides *overrides, struct arena *arena, struct plan *plan,
                  struct err *err)
{
    cleanup(text_free) struct text text = {0};
    int status = read_file(path, &text, err);
    if (status < 0)
        return status;
    return parse(path, text.bytes ? text.bytes : "", text.length, overrides, arena, plan, err);
}
