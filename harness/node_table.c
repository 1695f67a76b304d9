/* node_table.c: the nodes of a network for people; see node_table.h. */
#include "harness/node_table.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"

enum { NODE, ADDRESS, TOWARDS, RATE, DELAY, COLUMNS };
static const char *const heads[COLUMNS] = {"node", "address", "link to", "rate", "delay"};

struct row {
    const char *node, *towards;
    char address[16], rate[UNITS_TEXT_BYTES], delay[UNITS_TEXT_BYTES];
};

static void print_row(struct text *out, const size_t *widths, const char *const *cells)
{
    size_t column = 0;
    for (int c = 0; c < COLUMNS; c++) {
        text_add(out, cells[c]);
        column += widths[c] + 2;
        if (c < COLUMNS - 1)
            text_pad_to(out, column);
    }
    text_add(out, "\n");
}

static void fill(const struct topology *topology, int host, const struct link *link, struct row *row)
{
    const struct direction *direction = &link->direction[link->from == host ? DIRECTION_FORWARD : DIRECTION_BACKWARD];
    uint32_t address = topology->places[host].address;
    *row = (struct row){.node = topology->places[host].name,
                        .towards = topology->places[link->from == host ? link->to : link->from].name};
    snprintf(row->address, sizeof(row->address), "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
             address & 255);
    if (direction->rate_bps > 0)
        units_show_rate(row->rate, sizeof(row->rate), (double)direction->rate_bps);
    else
        snprintf(row->rate, sizeof(row->rate), "unlimited");
    units_show_time(row->delay, sizeof(row->delay), (double)direction->delay_ns);
}

void node_table_print(const struct topology *topology, struct text *out)
{
    size_t widths[COLUMNS] = {0};
    /* First how wide, then the lines. */
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            print_row(out, widths, heads);
        for (int c = 0; c < COLUMNS; c++)
            widths[c] = text_width(heads[c]) > widths[c] ? text_width(heads[c]) : widths[c];
        for (int host = 0; host < topology->host_count; host++)
            for (int l = 0; l < topology->link_count; l++) {
                const struct link *link = &topology->links[l];
                if (link->from != host && link->to != host)
                    continue;
                struct row row;
                fill(topology, host, link, &row);
                const char *cells[COLUMNS] = {row.node, row.address, row.towards, row.rate, row.delay};
                for (int c = 0; c < COLUMNS && pass == 0; c++)
                    widths[c] = text_width(cells[c]) > widths[c] ? text_width(cells[c]) : widths[c];
                if (pass == 1)
                    print_row(out, widths, cells);
            }
    }
    cleanup(text_free) struct text routers = {0};
    for (int i = topology->host_count; i < topology->place_count; i++)
        text_printf(&routers, " %s", topology->places[i].name);
    if (routers.length > 0)
        text_printf(out, "routers:%s\n", routers.bytes);
}
