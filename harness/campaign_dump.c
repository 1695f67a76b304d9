/* campaign_dump.c: the effective settings as text that reads back, and the field table for people. */
#include "base/cleanup.h"
#include "base/text.h"
#include "campaign.h"
#include "campaign_internal.h"

void campaign_dump(const struct settings *settings, struct text *out)
{
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        cleanup(text_free) struct text value = {0};
        if (campaign_field_operations(field)->spell(field, settings, &value))
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
