/* results/plot_svg.c: one pass over gnuplot's SVG that replaces what begins with a known text; see plot_svg.h. Letters in the
 * drawing have had their < replaced by gnuplot, so that nothing in them begins with one of the texts that hold one. */
#include "results/plot_svg.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/plot_internal.h"

void plot_svg_escape(struct text *out, const char *text)
{
    cleanup(text_free) struct text utf8 = {0};
    text_add_utf8(&utf8, text ? text : "", text ? strlen(text) : 0);
    for (const char *c = utf8.bytes ? utf8.bytes : ""; *c; c++) {
        if (*c == '<')
            text_add(out, "&lt;");
        else if (*c == '>')
            text_add(out, "&gt;");
        else if (*c == '&')
            text_add(out, "&amp;");
        else if (*c == '"')
            text_add(out, "&quot;");
        else if (*c == '\'')
            text_add(out, "&#39;");
        else if (((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') || *c == 0x7f)
            text_add(out, "\xef\xbf\xbd");
        else if ((unsigned char)c[0] == 0xef && (unsigned char)c[1] == 0xbf && (unsigned char)c[2] >= 0xbe) {
            text_add(out, "\xef\xbf\xbd"); /* U+FFFE and U+FFFF have no place in XML */
            c += 2;
        } else
            text_add_bytes(out, c, 1);
    }
}

static void add_head(const struct picture *picture, const char *id, struct text *out)
{
    if (!id)
        text_add(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    text_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" viewBox=\"0 0 %d %d\"",
                picture->width, picture->height);
    if (!id)
        text_printf(out, " width=\"%d\" height=\"%d\"", picture->width, picture->height);
    id = id ? id : "laggard";
    text_printf(out, " role=\"img\" aria-labelledby=\"%s-title %s-description\">\n<title id=\"%s-title\">", id, id, id);
    plot_svg_escape(out, picture->title.bytes);
    text_printf(out, "</title>\n<desc id=\"%s-description\">", id);
    plot_svg_escape(out, picture->description.bytes);
    text_add(out, "</desc>\n");
}

/* rgb(r, g, b) of a page's picture: its colour by number, ink or faint. Returns the bytes taken, 0 when it is none of them. */
static size_t replace_colour(const char *c, struct text *out)
{
    unsigned r, g, b;
    int length = 0;
    char spelled[16];
    if (sscanf(c, "rgb(%u,%u,%u)%n", &r, &g, &b, &length) < 3 || length == 0 || r > 255 || g > 255 || b > 255)
        return 0;
    snprintf(spelled, sizeof(spelled), "#%02x%02x%02x", r, g, b);
    if (strcmp(spelled, PLOT_INK) == 0) {
        text_add(out, "currentColor");
        return (size_t)length;
    }
    if (strcmp(spelled, PLOT_FAINT) == 0) {
        text_add(out, "var(--plot-faint)");
        return (size_t)length;
    }
    for (int i = 0; i < PLOT_COLOUR_COUNT; i++)
        if (strcmp(spelled, plot_colours[i]) == 0) {
            text_printf(out, "var(--plot-%d)", i);
            return (size_t)length;
        }
    return 0;
}

/* gnuplot's groups carry their id as a title, which browsers would show. */
static size_t skip_title(const char *c)
{
    static const char end[] = "</title>";
    const char *found = strncmp(c, "<title>", 7) == 0 ? strstr(c, end) : NULL;
    return found ? (size_t)(found - c) + sizeof(end) - 1 : 0;
}

static size_t replace(const char *c, const char *id, struct text *out)
{
    static const struct {
        const char *found, *put; /* %: where the page's id goes */
    } rows[] = {
        {" id='", " id='%-"},
        {"id=\"gnuplot_canvas\"", "id=\"%-canvas\""},
        {"xlink:href='#", "href='#%-"},
        {" color=\"black\"", ""},
        {" color=\"white\"", ""},
        {"stroke=\"black\"", "stroke=\"currentColor\""},
        {" font-family=\"sans-serif\"", ""},
    };
    if (c[0] == 'r' && c[1] == 'g')
        return replace_colour(c, out);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].found);
        if (strncmp(c, rows[i].found, length) != 0)
            continue;
        const char *mark = strchr(rows[i].put, '%');
        if (mark) {
            text_add_bytes(out, rows[i].put, (size_t)(mark - rows[i].put));
            text_add(out, id);
        }
        text_add(out, mark ? mark + 1 : rows[i].put);
        return length;
    }
    return 0;
}

int plot_svg_finish(const struct picture *picture, const char *id, const struct text *drawn, struct text *out, struct err *err)
{
    static const char end_of_head[] = "</desc>";
    const char *c = strstr(drawn->bytes, end_of_head);
    bool in_text = false, in_tag = false; /* letters of the database are left as they are, but for the > that gnuplot leaves */
    if (!c)
        return err_set(err, ERR_HOST, "gnuplot's SVG has no description where versions 5.4 and later put one: is it older?");
    add_head(picture, id, out);
    for (c += sizeof(end_of_head) - 1; *c;) {
        if (*c == '<')
            in_text = in_tag = strncmp(c, "<text", 5) == 0;
        size_t taken = in_text ? 0 : skip_title(c);
        if (taken == 0 && id && !in_text)
            taken = replace(c, id, out);
        if (taken == 0) {
            text_add(out, *c == '>' && in_text && !in_tag ? "&gt;" : (char[]){*c, 0});
            in_tag = in_tag && *c != '>';
            taken = 1;
        }
        c += taken;
    }
    return 0;
}
