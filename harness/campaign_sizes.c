/* campaign_sizes.c: workload.sizes, the message sizes that each trial sweeps: [4KiB, 64KiB, 1MiB]. In any order, each once. */
#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "campaign_internal.h"
#include "yaml_document.h"

static const struct value_rule size_rule = {
    .type = VALUE_SIZE, .minimum = 4, .maximum = 0x1p32, .multiple = 4, .example = "[4KiB, 64KiB, 1MiB]"};

static int read_sizes(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                      const char *key, struct settings *settings)
{
    (void)field;
    if (value->shape != YAML_SHAPE_LIST || value->count < 1 || value->count > SIZES_MAX)
        return campaign_fail(reader, value, key, "a list of 1 to %d sizes is needed, for example %s", SIZES_MAX, size_rule.example);
    uint64_t *sizes = arena_new_array(reader->arena, uint64_t, (size_t)value->count);
    int count = 0;
    for (const struct yaml_value *child = value->first; child; child = child->next, count++) {
        double bytes;
        int status = campaign_read_value(reader, child, key, &size_rule, &bytes);
        if (status < 0)
            return status;
        sizes[count] = (uint64_t)bytes;
        for (int i = 0; i < count; i++)
            if (sizes[i] == sizes[count])
                return campaign_fail(reader, child, key, "found %s, which is there already: each size has its own rows once",
                                     child->text);
    }
    settings->workload.sizes = (struct size_list){.bytes = sizes, .count = count};
    return 0;
}

static bool spell_sizes(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    const struct size_list *sizes = &settings->workload.sizes;
    for (int i = 0; i < sizes->count; i++) {
        text_add(out, i ? ", " : "[");
        campaign_spell_value(&size_rule, (double)sizes->bytes[i], out);
    }
    if (sizes->count > 0)
        text_add(out, "]");
    return sizes->count > 0;
}

static void allowed_sizes(const struct campaign_field *field, struct text *out)
{
    (void)field;
    text_printf(out, "list of 1 to %d sizes, each a ", SIZES_MAX);
    campaign_allowed_value(&size_rule, out);
}

static void schema_sizes(const struct campaign_field *field, struct json *json)
{
    (void)field;
    json_string(json, "type", "array");
    json_integer(json, "minItems", 1);
    json_integer(json, "maxItems", SIZES_MAX);
    json_begin_object(json, "items");
    campaign_schema_value(&size_rule, json);
    json_end_object(json);
}

const struct field_operations campaign_sizes_operations = {
    .read = read_sizes,
    .spell = spell_sizes,
    .allowed = allowed_sizes,
    .schema = schema_sizes,
};
