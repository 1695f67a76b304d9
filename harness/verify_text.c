/* verify_text.c: the table of a verification: one row a direction. Its columns are the rows of one table; a column without any
 * value is left out. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "harness/verify_internal.h"
#include "netem/impairment.h"

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

static void add_time(struct text *out, double ns)
{
    char text[UNITS_TEXT_BYTES];
    text_printf(out, "%s%s", ns < 0 ? "-" : "", units_show_time(text, sizeof(text), fabs(ns)));
}

static void add_rate(struct text *out, double bps)
{
    char text[UNITS_TEXT_BYTES];
    text_add(out, units_show_rate(text, sizeof(text), bps));
}

static void add_percent(struct text *out, double share)
{
    text_printf(out, "%.3g %%", 100 * share);
}

static void link_name(const struct verify_direction *d, struct text *out)
{
    text_add(out, d->link->name);
}

static void direction_name(const struct verify_direction *d, struct text *out)
{
    text_add(out, direction_names[d->index]);
}

static void rate_asked(const struct verify_direction *d, struct text *out)
{
    if (d->asked->rate_bps > 0)
        add_rate(out, (double)d->asked->rate_bps);
}

static void rate_read_back(const struct verify_direction *d, struct text *out)
{
    if (d->set->rate_bps > 0)
        add_rate(out, (double)d->set->rate_bps);
}

static void goodput(const struct verify_direction *d, struct text *out)
{
    if (d->check->goodput_bps > 0)
        add_rate(out, d->check->goodput_bps);
    if (d->check->goodput_bps > 0 && d->payload_bps > 0)
        text_printf(out, " %+.1f %%", 100 * (d->check->goodput_bps / d->payload_bps - 1));
}

static void message(const struct verify_direction *d, struct text *out)
{
    char size[UNITS_TEXT_BYTES];
    if (d->check->message_bps > 0)
        text_printf(out, "%s %+.1f %%", units_show_size(size, sizeof(size), (double)d->check->message_bytes),
                    100 * (d->check->message_bps / d->payload_bps - 1));
}

static void delay_asked(const struct verify_direction *d, struct text *out)
{
    if (d->asked->delay_ns > 0)
        add_time(out, (double)d->asked->delay_ns);
}

static void delay_read_back(const struct verify_direction *d, struct text *out)
{
    if (d->set->delay_ns > 0)
        add_time(out, (double)d->set->delay_ns);
}

static void delay_measured(const struct verify_direction *d, struct text *out)
{
    if (d->check->probes_received > 0)
        add_time(out, d->check->delay_mean_ns);
}

static void jitter_asked(const struct verify_direction *d, struct text *out)
{
    const struct impairments *asked = &d->asked->impairments;
    if (asked->jitter_ns == 0)
        return;
    add_time(out, d->delays.delay_sd_ns);
    text_printf(out, " %s", jitter_names[asked->jitter_distribution]);
}

static void spread(const struct verify_direction *d, struct text *out)
{
    if (d->check->probes_received > 1)
        add_time(out, d->check->delay_sd_ns);
}

static void quantiles(const struct verify_direction *d, struct text *out)
{
    if (d->check->probes_received == 0 || d->asked->impairments.jitter_ns == 0)
        return;
    for (int q = 0; q < CHECK_QUANTILES; q++) {
        text_add(out, q ? " " : "");
        text_printf(out, "%.2f", d->check->delay_quantiles_ns[q] / 1e6);
    }
}

static void loss_asked(const struct verify_direction *d, struct text *out)
{
    if (impairment_any_loss(&d->asked->impairments))
        add_percent(out, d->fates.lost);
}

static void add_count(struct text *out, uint64_t count, uint64_t sent)
{
    add_percent(out, (double)count / (double)sent);
    text_printf(out, " (%" PRIu64 "/%" PRIu64 ")", count, sent);
}

static void loss_measured(const struct verify_direction *d, struct text *out)
{
    const struct packet_fates *fates = &d->check->fates;
    if (fates->sent > 0)
        add_count(out, fates->lost, fates->sent);
}

static bool in_bursts(const struct verify_direction *d)
{
    return impairment_bursts(&d->asked->impairments).p > 0;
}

static void run_asked(const struct verify_direction *d, struct text *out)
{
    if (in_bursts(d))
        text_printf(out, "%.3g", d->fates.loss_run);
}

static void run_measured(const struct verify_direction *d, struct text *out)
{
    const struct packet_fates *fates = &d->check->fates;
    if (in_bursts(d) && fates->loss_runs > 0)
        text_printf(out, "%.3g", (double)fates->lost / (double)fates->loss_runs);
}

static void other_asked(const struct verify_direction *d, struct text *out, double asked)
{
    if (asked > 0 && d->check->measured)
        add_percent(out, asked);
}

static void other_measured(const struct verify_direction *d, struct text *out, double asked, uint64_t count)
{
    if ((asked > 0 || count > 0) && d->check->fates.sent > 0)
        add_count(out, count, d->check->fates.sent);
}

static void duplicate_asked(const struct verify_direction *d, struct text *out)
{
    other_asked(d, out, d->asked->impairments.duplicate);
}

static void duplicate_measured(const struct verify_direction *d, struct text *out)
{
    other_measured(d, out, d->asked->impairments.duplicate, d->check->fates.duplicated);
}

static void corrupt_asked(const struct verify_direction *d, struct text *out)
{
    other_asked(d, out, d->asked->impairments.corrupt);
}

static void corrupt_measured(const struct verify_direction *d, struct text *out)
{
    other_measured(d, out, d->asked->impairments.corrupt, d->check->fates.corrupted);
}

static void reorder_asked(const struct verify_direction *d, struct text *out)
{
    other_asked(d, out, d->asked->impairments.reorder);
}

static void reorder_measured(const struct verify_direction *d, struct text *out)
{
    other_measured(d, out, d->asked->impairments.reorder, d->check->fates.reordered);
}

static void drift(const struct verify_direction *d, struct text *out)
{
    if (d->check->drift_probes == 0)
        return;
    text_add(out, d->check->drift_ns < 0 ? "" : "+");
    add_time(out, d->check->drift_ns);
}

static void verdict(const struct verify_direction *d, struct text *out)
{
    text_add(out, d->check->within_tolerance ? "as asked" : d->check->reason);
}

static const struct column {
    const char *title;
    void (*add)(const struct verify_direction *direction, struct text *out);
} columns[] = {
    {"link", link_name},
    {"direction", direction_name},
    {"rate asked", rate_asked},
    {"read back", rate_read_back},
    {"goodput", goodput},
    {"message after idle", message},
    {"delay asked", delay_asked},
    {"read back", delay_read_back},
    {"delay", delay_measured},
    {"jitter asked", jitter_asked},
    {"sd", spread},
    {"10 50 90 99 % (ms)", quantiles},
    {"drift", drift},
    {"loss asked", loss_asked},
    {"lost", loss_measured},
    {"in a row asked", run_asked},
    {"in a row", run_measured},
    {"duplicate asked", duplicate_asked},
    {"duplicated", duplicate_measured},
    {"corrupt asked", corrupt_asked},
    {"corrupted", corrupt_measured},
    {"reorder asked", reorder_asked},
    {"reordered", reorder_measured},
    {"verdict", verdict},
};
enum { COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]), GAP = 2 };

static size_t width_of(const struct survey_entry *entry, const struct column *column)
{
    size_t widest = 0;
    for (int link = 0; link < entry->topology.link_count; link++)
        for (int d = 0; d < DIRECTIONS; d++) {
            cleanup(text_free) struct text cell = {0};
            struct verify_direction direction = verify_direction_of(entry, link, d);
            if (direction.check->measured)
                column->add(&direction, &cell);
            size_t width = cell.bytes ? text_width(cell.bytes) : 0;
            widest = width > widest ? width : widest;
        }
    if (widest == 0)
        return 0;
    return widest > text_width(column->title) ? widest : text_width(column->title);
}

static void print_row(const size_t *widths, const struct verify_direction *direction, struct text *out)
{
    size_t at = 0;
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (widths[c] == 0)
            continue;
        if (direction)
            columns[c].add(direction, out);
        else
            text_add(out, columns[c].title);
        at += widths[c] + GAP;
        if (c < COLUMN_COUNT - 1)
            text_pad_to(out, at);
    }
    text_add(out, "\n");
}

static void print_heading(const struct verify_result *result, int index, struct text *out)
{
    enum { CELLS_SHOWN = 6 };
    const struct survey_entry *entry = &result->survey->entries[index];
    int shown = 0, measured = 0;
    for (int link = 0; link < entry->topology.link_count; link++)
        measured += entry->checks[link].direction[DIRECTION_FORWARD].measured;
    text_add(out, "network of cell");
    for (int c = 0; c < result->plan->cell_count; c++) {
        if (result->survey->entry_of_cell[c] != index || shown > CELLS_SHOWN)
            continue;
        const char *label = cell_title(&result->plan->cells[c]);
        if (shown++ == CELLS_SHOWN)
            text_add(out, ", ...");
        else
            text_printf(out, "%s %d%s%s%s", shown > 1 ? "," : "", c / plan_variants(result->plan), label[0] ? " (" : "", label,
                        label[0] ? ")" : "");
    }
    text_printf(out, ": %s, %d host%s, engine %s, %d of %d link%s measured\n", shape_names[entry->topology.shape],
                entry->topology.host_count, units_plural(entry->topology.host_count), engine_names[entry->engine], measured,
                entry->topology.link_count, units_plural(entry->topology.link_count));
}

/* Where the time was too short for certainty. */
static void print_doubts(const struct survey_entry *entry, struct text *out)
{
    for (int link = 0; link < entry->topology.link_count; link++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct verify_direction direction = verify_direction_of(entry, link, d);
            uint64_t needed = verify_packets_needed(&direction), sent = direction.check->fates.sent;
            if (direction.check->measured && sent > 0 && needed > sent)
                text_printf(out,
                            "%s %s: %" PRIu64 " packet%s went through; %" PRIu64
                            " would tell what was asked from half and from twice of it (--time)\n",
                            direction.link->name, direction_names[d], sent, units_plural((int64_t)sent), needed);
        }
}

static void print_network(const struct verify_result *result, int index, struct text *out)
{
    const struct survey_entry *entry = &result->survey->entries[index];
    size_t widths[COLUMN_COUNT];
    print_heading(result, index, out);
    for (int c = 0; c < COLUMN_COUNT; c++)
        widths[c] = width_of(entry, &columns[c]);
    if (widths[0] == 0) /* no link at all */
        return;
    print_row(widths, NULL, out);
    for (int link = 0; link < entry->topology.link_count; link++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct verify_direction direction = verify_direction_of(entry, link, d);
            if (direction.check->measured)
                print_row(widths, &direction, out);
        }
    print_doubts(entry, out);
}

void verify_print_text(const struct verify_result *result, struct text *out)
{
    for (int e = 0; e < result->survey->count; e++) {
        if (!result->survey->entries[e].checks)
            continue;
        if (out->length > 0)
            text_add(out, "\n");
        print_network(result, e, out);
    }
}
