/* campaign_dump.c: the effective settings as text that reads back, and the field table for people: in a terminal and in the
 * manual. */
#include "base/cleanup.h"
#include "base/text.h"
#include "campaign.h"
#include "campaign_internal.h"

void campaign_dump(const struct settings *settings, struct text *out)
{
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        cleanup(text_free) struct text value = {0};
        if (campaign_field_used(field, settings) && campaign_field_operations(field)->spell(field, settings, &value))
            text_printf(out, "%s: %s\n", field->path, value.bytes);
    }
}

void campaign_print_fields(struct text *out)
{
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        text_printf(out, "%s\n    %s\n    allowed: ", field->path, field->help);
        campaign_field_operations(field)->allowed(field, out);
        text_printf(out, "\n    default: %s%s\n",
                    field->standard   ? field->standard
                    : field->required ? "none, it must be set"
                                      : "not set",
                    field->fixed ? "; cannot be swept" : "");
    }
}

static void add_cell(const char *text, struct text *out)
{
    for (; *text; text++)
        text_printf(out, "%s%c", *text == '|' ? "\\" : "", *text);
}

void campaign_fields_markdown(struct text *out)
{
    text_add(out, "| field | allowed | default | meaning |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        cleanup(text_free) struct text allowed = {0};
        campaign_field_operations(field)->allowed(field, &allowed);
        text_printf(out, "| `%s`%s | ", field->path, field->fixed ? " (not swept)" : "");
        add_cell(allowed.bytes, out);
        text_printf(out, " | %s%s%s | ", field->standard ? "`" : "",
                    field->standard   ? field->standard
                    : field->required ? "required"
                                      : "",
                    field->standard ? "`" : "");
        add_cell(field->help, out);
        text_add(out, " |\n");
    }
}
