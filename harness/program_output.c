/* program_output.c: what an outside program wrote to one of its streams; see program_output.h. */
#include "harness/program_output.h"

#include <string.h>

#include "base/cleanup.h"
#include "harness/yaml_document.h"

static void keep_tail(struct program_output *output, const char *bytes, size_t length)
{
    size_t added = length < PROGRAM_OUTPUT_TAIL_BYTES ? length : PROGRAM_OUTPUT_TAIL_BYTES;
    size_t stays = PROGRAM_OUTPUT_TAIL_BYTES - added;
    if (stays > output->tail_length)
        stays = output->tail_length;
    memmove(output->tail, output->tail + output->tail_length - stays, stays);
    memcpy(output->tail + stays, bytes + length - added, added);
    output->tail_length = stays + added;
    output->tail[output->tail_length] = '\0';
}

void program_output_take(struct program_output *output, const char *bytes, size_t length)
{
    size_t room = PROGRAM_OUTPUT_KEPT_BYTES - output->kept.length;
    text_add_bytes(&output->kept, bytes, length < room ? length : room);
    keep_tail(output, bytes, length);
    output->bytes += length;
}

bool program_output_truncated(const struct program_output *output)
{
    return output->bytes > output->kept.length;
}

/* Where the limit cut a character in two, its beginning goes too. */
static size_t whole_characters(const struct text *text)
{
    size_t length = text->length, back = 0;
    while (back < 3 && back < length && (text->bytes[length - 1 - back] & 0xc0) == 0x80)
        back++;
    bool leads = back < length && (unsigned char)text->bytes[length - 1 - back] >= 0xc2;
    return leads && text_sequence_length(text->bytes + length - 1 - back) == 0 ? length - 1 - back : length;
}

void program_output_text(const struct program_output *output, struct text *text)
{
    if (output->kept.length > 0)
        text_add_utf8(text, output->kept.bytes,
                      program_output_truncated(output) ? whole_characters(&output->kept) : output->kept.length);
}

void program_output_last_line(const struct program_output *output, struct text *line)
{
    size_t end = output->tail_length;
    while (end > 0 && strchr(" \t\r\n", output->tail[end - 1]))
        end--;
    size_t begin = end;
    while (begin > 0 && output->tail[begin - 1] != '\n')
        begin--;
    if (begin == 0 && output->bytes > output->tail_length)
        while (begin < end && (output->tail[begin] & 0xc0) == 0x80) /* the tail begins inside a character */
            begin++;
    cleanup(text_free) struct text text = {0};
    char last[PROGRAM_OUTPUT_TAIL_BYTES + 1] = "";
    memcpy(last, output->tail + begin, end - begin);
    text_add_utf8(&text, last, end - begin);
    for (const char *c = text.bytes; *c;) {
        size_t unprintable = yaml_document_unprintable(c);
        text_add_bytes(line, unprintable ? "?" : c, 1);
        c += unprintable ? unprintable : 1;
    }
    text_add_bytes(line, "", 0);
}

void program_output_free(struct program_output *output)
{
    text_free(&output->kept);
}
