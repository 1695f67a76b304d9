/* campaign_impairments.c: a link's impairments in a campaign file: the jitter table, and what several of these fields decide
 * together. */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "campaign_internal.h"
#include "harness/input_file.h"
#include "netem/impairment.h"
#include "yaml_document.h"

/* ---- the table ---- */
enum { TABLE_FILE_MOST = 1 << 20 };

static int read_jitter_table(const struct reader *reader, const struct campaign_field *field, const struct yaml_value *value,
                             const char *key, struct settings *settings)
{
    int status = campaign_need_scalar(reader, value, key);
    if (status < 0)
        return status;
    if (strlen(value->text) > (size_t)field->length_max)
        return campaign_fail(reader, value, key, "found a path of %zu characters, allowed are %d", strlen(value->text),
                             field->length_max);
    cleanup(text_free) struct text text = {0};
    struct err err;
    status = input_file_read(value->text, "table", TABLE_FILE_MOST, &text, &err);
    if (status < 0)
        return campaign_fail(reader, value, key, "%s", err.text);
    int16_t *entries = arena_new_array(reader->arena, int16_t, IMPAIRMENT_TABLE_MOST);
    int count = impairment_table_parse(text.bytes ? text.bytes : "", text.length, entries, &err);
    if (count < 0)
        return campaign_fail(reader, value, key, "%s: %s", value->text, err.text);
    settings->link.jitter_table_path = arena_strdup(reader->arena, value->text);
    campaign_note_file(reader, settings->link.jitter_table_path, settings->link.jitter_table_path);
    settings->link.impairments.jitter_table = entries;
    settings->link.impairments.jitter_table_size = count;
    return 0;
}

static bool spell_jitter_table(const struct campaign_field *field, const struct settings *settings, struct text *out)
{
    (void)field;
    if (settings->link.jitter_table_path)
        campaign_spell_string(settings->link.jitter_table_path, out);
    return settings->link.jitter_table_path;
}

static void allowed_jitter_table(const struct campaign_field *field, struct text *out)
{
    text_printf(out, "path of 1 to %d characters", field->length_max);
}

static void schema_jitter_table(const struct campaign_field *field, struct json *json)
{
    json_string(json, "type", "string");
    json_integer(json, "minLength", 1);
    json_integer(json, "maxLength", field->length_max);
}

const struct field_operations campaign_jitter_table_operations = {
    .read = read_jitter_table,
    .spell = spell_jitter_table,
    .allowed = allowed_jitter_table,
    .schema = schema_jitter_table,
};

/* ---- what goes together ---- */
#define LINK "topology.link."

static int fail(const struct cell_check *check, const char *path, const char *otherwise, const char *sentence)
{
    return campaign_fail(&check->reading->reader, campaign_place(check, path, otherwise), path, "%s", sentence);
}

/* A field that may be 0 in some cells takes what depends on it along: only where it is 0 everywhere the other has no use. */
static bool never(const struct cell_check *check, const char *path, double value)
{
    return value == 0 && !matrix_sweeps(check->reading, campaign_field_find(path), false);
}

static int check_jitter(const struct cell_check *check)
{
    const struct link_settings *link = &check->settings->link;
    const struct impairments *asked = &link->impairments;
    bool none = never(check, LINK "jitter", (double)asked->jitter_ns), from_file = asked->jitter_distribution == JITTER_TABLE;
    if (from_file && !link->jitter_table_path)
        return fail(check, LINK "jitter_distribution", NULL, "table needs " LINK "jitter_table, the path of a file");
    if (link->jitter_table_path && !from_file &&
        !matrix_sweeps(check->reading, campaign_field_find(LINK "jitter_distribution"), false))
        return fail(check, LINK "jitter_table", NULL, "only jitter_distribution table uses this field");
    if (none && asked->jitter_correlation > 0)
        return fail(check, LINK "jitter_correlation", NULL, "there is no jitter: set " LINK "jitter too");
    if (none && asked->jitter_distribution != JITTER_UNIFORM)
        return fail(check, LINK "jitter_distribution", NULL, "there is no jitter: set " LINK "jitter too");
    if (asked->jitter_correlation > 0 && asked->jitter_ns > 0 && check->settings->engine == ENGINE_NETEM)
        return fail(check, LINK "jitter_correlation", "engine", "the kernel's netem cannot correlate jitter, engine relay can");
    return 0;
}

static int check_loss(const struct cell_check *check)
{
    const struct impairments *asked = &check->settings->link.impairments;
    const struct gilbert_elliott *bursts = &asked->gilbert_elliott;
    if (asked->loss > 0 && bursts->p > 0)
        return fail(check, LINK "gilbert_elliott.p", LINK "loss",
                    "a link has " LINK "loss or bursts, not both; gilbert_elliott.loss_good is the loss outside of bursts");
    if (never(check, LINK "loss", asked->loss) && asked->loss_correlation > 0)
        return fail(check, LINK "loss_correlation", NULL, "there is no loss: set " LINK "loss too");
    if (bursts->p > 0 && bursts->r == 0)
        return fail(check, LINK "gilbert_elliott.r", LINK "gilbert_elliott.p", "with r 0 the first burst would never end");
    if (never(check, LINK "gilbert_elliott.p", bursts->p) && (bursts->r > 0 || bursts->loss_bad != 1 || bursts->loss_good > 0))
        return fail(check, LINK "gilbert_elliott.p", LINK "gilbert_elliott.r", "without p there are no bursts");
    return 0;
}

static void take_out_unused(struct link_settings *link)
{
    struct impairments *asked = &link->impairments;
    if (asked->jitter_ns == 0) {
        asked->jitter_distribution = JITTER_UNIFORM;
        asked->jitter_correlation = 0;
    }
    if (asked->jitter_distribution != JITTER_TABLE) {
        link->jitter_table_path = NULL;
        asked->jitter_table = NULL;
        asked->jitter_table_size = 0;
    }
    if (asked->loss == 0)
        asked->loss_correlation = 0;
    if (asked->gilbert_elliott.p == 0)
        asked->gilbert_elliott = (struct gilbert_elliott){.loss_bad = 1};
    if (link->rate_bps == 0)
        link->framing = FRAMING_L2;
}

int campaign_check_impairments(const struct cell_check *check)
{
    const struct link_settings *link = &check->settings->link;
    if (link->impairments.reorder > 0 && link->delay_ns == 0 && link->impairments.jitter_ns == 0)
        return fail(check, LINK "reorder", NULL, "without a delay there is nothing to overtake: set " LINK "delay too");
    if (link->queue_packets > 0 && link->queue_bytes > 0)
        return fail(check, LINK "queue_packets", LINK "queue", "a queue is counted in bytes or in packets, not both");
    if (link->queue_packets > 0 && link->rate_bps == 0)
        return fail(check, LINK "queue_packets", NULL, "a link without a rate has no queue");
    if (link->framing != FRAMING_L2 && never(check, LINK "rate", (double)link->rate_bps))
        return fail(check, LINK "framing", NULL, "a link without a rate counts nothing");
    int status = check_jitter(check);
    if (status == 0)
        status = check_loss(check);
    if (status == 0)
        take_out_unused(&check->settings->link);
    return status;
}
