/* cmd_fields.c: `laggard fields`: the campaign file's fields for people, as a JSON schema for editors, or the control protocol's
 * layout. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "harness/campaign.h"
#include "harness/commands.h"
#include "schemas/control.h"

struct fields_options {
    bool schema, control;
};
static const struct option_row fields_rows[] = {
    {.name = "schema",
     .type = OPTION_FLAG,
     .offset = offsetof(struct fields_options, schema),
     .help = "print the JSON schema for editors"},
    {.name = "control",
     .type = OPTION_FLAG,
     .offset = offsetof(struct fields_options, control),
     .help = "print the control protocol's operations and their layout"},
    {0},
};
const struct option_table cmd_fields_table = {
    .command = "fields",
    .usage = "[--schema | --control]",
    .summary = "Lists the fields of a campaign file with units, ranges and defaults.",
    .rows = fields_rows,
};

static const char *const type_names[WIRE_TYPE_COUNT] = {"u32", "u64", "i64", "f64", "string", "bytes", "array", "struct"};

static void print_layout(struct text *out, const struct wire_table *table, int depth)
{
    for (size_t i = 0; table && i < table->field_count; i++) {
        const struct wire_field *field = &table->fields[i];
        text_printf(out, "%*s%-6s  %-24s %s\n", depth * 4, "", type_names[field->type], field->name,
                    field->help ? field->help : "");
        if (field->elements)
            print_layout(out, field->elements, depth + 1);
    }
}

static void print_control(struct text *out)
{
    text_printf(out, "control protocol, version %d: each frame is u32 length, u16 operation, u16 version, then the body\n",
                CONTROL_VERSION);
    for (int i = 1; i < CONTROL_OPERATION_END; i++) {
        const struct control_row *row = &control_operations[i];
        text_printf(out, "\n%d  %s  (%s)%s\n", i, row->name, row->from_agent ? "agent to controller" : "controller to agent",
                    row->body ? "" : ": empty body");
        print_layout(out, row->body, 1);
    }
}

int cmd_fields(int argc, char **argv, struct err *err)
{
    struct fields_options options = {0};
    int count;
    int result = options_parse(&cmd_fields_table, argc, argv, &options, &count, err);
    if (result != 0)
        return result < 0 ? result : 0;
    cleanup(text_free) struct text out = {0};
    if (options.schema)
        campaign_json_schema(&out);
    else if (options.control)
        print_control(&out);
    else
        campaign_print_fields(&out);
    fputs(out.bytes, stdout);
    return 0;
}
