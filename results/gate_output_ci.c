/* results/gate_output_ci.c: a gate's result for what runs it: JUnit's XML, and GitHub's workflow commands. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "results/gate_output.h"

enum { SHOWN_BYTES = 120 };

/* One sentence: what was found, and why that is the verdict. */
static void describe(const struct gate_row *row, struct text *out)
{
    char change[SHOWN_BYTES], before[SHOWN_BYTES], after[SHOWN_BYTES];
    text_printf(out, "%s: %s", gate_verdicts[row->verdict].name, row->threshold->text);
    text_printf(out, ": median %s", gate_show_value(after, sizeof(after), row->numbers.median, row->unit));
    if (row->threshold->form != GATE_ABSOLUTE)
        text_printf(out, ", baseline %s, change %s", gate_show_value(before, sizeof(before), row->numbers.base_median, row->unit),
                    gate_show_change(change, sizeof(change), row));
    if (row->reason)
        text_printf(out, "; %s", row->reason);
    if (row->remark)
        text_printf(out, "; %s", row->remark);
    if (row->waiver)
        text_printf(out, "; waived by %s until %s", row->waiver->owner, row->waiver->expires);
}

/* XML 1.0 has no place for most control characters, not even escaped, nor for U+FFFE and U+FFFF. */
static void add_xml(const char *text, struct text *out)
{
    cleanup(text_free) struct text utf8 = {0};
    text_add_utf8(&utf8, text, strlen(text));
    for (const char *c = utf8.bytes ? utf8.bytes : ""; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '&')
            text_add(out, "&amp;");
        else if (byte == '<')
            text_add(out, "&lt;");
        else if (byte == '>')
            text_add(out, "&gt;");
        else if (byte == '"')
            text_add(out, "&quot;");
        else if (byte == '\n' || byte == '\r' || byte == '\t')
            text_printf(out, "&#%d;", byte);
        else if (byte < 0x20)
            text_add(out, "\xef\xbf\xbd");
        else if (byte == 0xef && (unsigned char)c[1] == 0xbf && ((unsigned char)c[2] & 0xfe) == 0xbe) {
            text_add(out, "\xef\xbf\xbd");
            c += 2;
        } else
            text_add_bytes(out, c, 1);
    }
}

enum outcome { OUTCOME_GOOD, OUTCOME_SKIPPED, OUTCOME_FAILURE, OUTCOME_ERROR };
static enum outcome outcome_of(const struct gate_row *row)
{
    if (row->waiver || gate_verdicts[row->verdict].exit_code == 0)
        return OUTCOME_GOOD;
    if (!gate_verdicts[row->verdict].fails)
        return OUTCOME_SKIPPED;
    return row->verdict == GATE_ERROR || row->verdict == GATE_INCOMPARABLE ? OUTCOME_ERROR : OUTCOME_FAILURE;
}

static void add_case(const struct gate_result *result, const struct gate_row *row, struct text *out)
{
    static const char *const elements[] = {NULL, "skipped", "failure", "error"};
    const char *element = elements[outcome_of(row)];
    cleanup(text_free) struct text sentence = {0};
    describe(row, &sentence);
    text_add(out, "    <testcase classname=\"");
    add_xml(result->question->campaign->name, out);
    text_add(out, row->arm[0] ? "." : "");
    add_xml(row->arm, out);
    text_add(out, "\" name=\"");
    add_xml(gate_show_where(row), out);
    text_add(out, " ");
    add_xml(row->threshold->text, out);
    text_add(out, "\" time=\"0\">\n");
    if (element) {
        text_printf(out, "      <%s message=\"", element);
        add_xml(sentence.bytes, out);
        if (outcome_of(row) != OUTCOME_SKIPPED) /* which has no type */
            text_printf(out, "\" type=\"%s", gate_verdicts[row->verdict].name);
        text_add(out, "\"/>\n");
    }
    text_add(out, "      <system-out>");
    add_xml(sentence.bytes, out);
    text_add(out, "</system-out>\n    </testcase>\n");
}

void gate_print_junit(const struct gate_result *result, struct text *out)
{
    int counts[4] = {0};
    for (int i = 0; i < result->row_count; i++)
        counts[outcome_of(&result->rows[i])]++;
    text_printf(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"laggard gate\" tests=\"%d\" "
                "failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"0\">\n",
                result->row_count, counts[OUTCOME_FAILURE], counts[OUTCOME_ERROR], counts[OUTCOME_SKIPPED]);
    for (int i = 0; i < result->row_count; i++)
        add_case(result, &result->rows[i], out);
    text_add(out, "  </testsuite>\n</testsuites>\n");
}

/* What ends a command or a property is escaped as GitHub's own toolkit does it. A log is read in a terminal, too, which obeys no
 * name. */
static void add_command_text(const char *text, bool property, struct text *out)
{
    while (*text) {
        cleanup(text_free) struct text line = {0}, plain = {0};
        size_t length = strcspn(text, "\r\n");
        text_add_bytes(&line, text, length);
        text_add_line(&plain, line.bytes, '?');
        for (const char *c = plain.bytes ? plain.bytes : ""; *c; c++)
            if (*c == '%' || (property && (*c == ':' || *c == ',')))
                text_printf(out, "%%%02X", (unsigned char)*c);
            else
                text_add_bytes(out, c, 1);
        for (text += length; *text == '\r' || *text == '\n'; text++)
            text_printf(out, "%%%02X", (unsigned char)*text);
    }
}

void gate_print_github(const struct gate_result *result, struct text *out)
{
    static const char *const levels[] = {NULL, "warning", "error", "error"};
    for (int i = 0; i < result->row_count; i++) {
        const struct gate_row *row = &result->rows[i];
        const char *level = levels[outcome_of(row)];
        cleanup(text_free) struct text sentence = {0}, title = {0};
        if (!level && row->verdict != GATE_IMPROVED && !row->waiver)
            continue;
        describe(row, &sentence);
        text_printf(&title, "%s%s%s", gate_show_where(row), row->arm[0] ? ", arm " : "", row->arm);
        text_printf(out, "::%s title=", level ? level : "notice");
        add_command_text(title.bytes, true, out);
        text_add(out, "::");
        add_command_text(sentence.bytes, false, out);
        text_add(out, "\n");
    }
}
