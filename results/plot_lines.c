/* results/plot_lines.c: lines with a name each, for plots that have a line a cell; see plot_internal.h. */
#include <math.h>

#include "results/plot_internal.h"

void plot_lines_free(struct plot_lines *lines)
{
    plot_names_free(&lines->names);
    text_free(&lines->blocks);
}

bool plot_can_show(double value)
{
    return fabs(value) < 1e100;
}

void plot_line_begin(struct plot_lines *lines, const char *label, const char *arm)
{
    text_printf(&lines->blocks, "%s$line%d << END\n", lines->names.count ? "END\n" : "", lines->names.count);
    plot_names_add(&lines->names, label, arm, NULL);
}

void plot_lines_finish(struct plot_lines *lines, double point_size, int others, struct picture *picture)
{
    int count = lines->names.count;
    plot_names_shorten(&lines->names, PLOT_KEY_LETTERS);
    size_t widest = plot_names_width(&lines->names);
    plot_key(picture, count + others, others && widest < PLOT_OTHERS_LETTERS ? PLOT_OTHERS_LETTERS : widest);
    text_printf(&picture->script, "%sEND\n", lines->blocks.bytes);
    for (int line = 0; line < count; line++) {
        text_printf(&picture->script, "%s$line%d with linespoints lw 1.6 pt 7 ps %.1f dt %d lc rgb '%s' title ",
                    line ? ", " : "plot ", line, point_size, line < PLOT_COLOUR_COUNT ? 1 : 2,
                    plot_colours[line % PLOT_COLOUR_COUNT]);
        plot_quote_name(&picture->script, &lines->names, line);
    }
}
