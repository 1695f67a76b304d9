/* fuzz_control.c: the control protocol as both ends decode it: valid operations of every kind, damaged, cut and joined, through the
 * frame reader, the operation table and the report check. What is taken must encode to the very same bytes; what is refused has a
 * sentence. */
#include "schemas/control.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/frame.h"
#include "base/text.h"
#include "harness/control_channel.h"
#include "harness/report_check.h"
#include "tests/fuzz/fuzz.h"

enum { BYTES_MAX = 1 << 16, OPERATIONS_MAX = 4, LIST_MAX = 6 };

/* Fills a struct of any table: small counts, short strings, any number. */
static void make_struct(struct fuzz *fuzz, struct arena *arena, const struct wire_table *table, char *object)
{
    for (size_t f = 0; f < table->field_count; f++) {
        const struct wire_field *field = &table->fields[f];
        char *member = object + field->offset;
        uint32_t count = (uint32_t)fuzz_below(fuzz, LIST_MAX), small = (uint32_t)fuzz_below(fuzz, 8);
        uint64_t wide = fuzz_u64(fuzz);
        char *list = NULL;
        switch (field->type) {
        case WIRE_U32:
            memcpy(member, &small, sizeof(small));
            break;
        case WIRE_U64:
        case WIRE_I64:
        case WIRE_F64:
            memcpy(member, &wide, sizeof(wide));
            break;
        case WIRE_STRING:
            list = arena_alloc(arena, count + 1);
            memset(list, 'a' + (int)small, count);
            memcpy(member, &list, sizeof(list));
            break;
        case WIRE_BYTES:
            list = arena_alloc(arena, 32);
            count = small < 4 ? 32 : count;
            memcpy(member, &list, sizeof(list));
            memcpy(object + field->count_offset, &count, sizeof(count));
            break;
        case WIRE_ARRAY:
            list = arena_calloc(arena, count + 1, field->elements->struct_bytes);
            for (uint32_t i = 0; i < count; i++)
                make_struct(fuzz, arena, field->elements, list + i * field->elements->struct_bytes);
            memcpy(member, &list, sizeof(list));
            memcpy(object + field->count_offset, &count, sizeof(count));
            break;
        case WIRE_STRUCT:
            make_struct(fuzz, arena, field->elements, member);
            break;
        case WIRE_TYPE_COUNT:
            break;
        }
    }
}

static void add_operation(struct fuzz *fuzz, struct arena *arena, bool from_agent, struct text *out)
{
    cleanup(text_free) struct text body = {0};
    unsigned operation;
    do
        operation = 1 + (unsigned)fuzz_below(fuzz, CONTROL_OPERATION_END - 1);
    while ((control_operations[operation].from_agent != 0) != from_agent);
    const struct wire_table *table = control_operations[operation].body;
    if (table) {
        char *object = arena_alloc(arena, table->struct_bytes);
        make_struct(fuzz, arena, table, object);
        wire_encode(table, object, &body);
    }
    uint8_t header[FRAME_HEADER_BYTES];
    frame_header(header, (uint16_t)operation, CONTROL_VERSION, (uint32_t)body.length);
    text_add_bytes(out, (const char *)header, sizeof(header));
    text_add_bytes(out, body.bytes, body.length);
}

static void check_sentence(struct fuzz *fuzz, int status, const struct err *err)
{
    FUZZ_CHECK(fuzz, status == -ERR_TRIAL && err->kind == ERR_TRIAL && err->text[0]);
}

/* What the controller goes on to read of a report it takes. */
static void look_at_report(struct fuzz *fuzz, const struct control_report *report)
{
    enum { NODES = 8, ROUNDS = 8 };
    struct err err = {0};
    int status = report_check(report, NODES, ROUNDS, &err);
    if (status < 0) {
        check_sentence(fuzz, status, &err);
        return;
    }
    for (uint32_t i = 0; i < report->span_count; i++) {
        FUZZ_CHECK(fuzz, span_names[report->spans[i].kind] != NULL);
        FUZZ_CHECK(fuzz, report->spans[i].end_ns >= report->spans[i].begin_ns);
    }
    FUZZ_CHECK(fuzz, report->model_sha256_bytes == 0 || report->model_sha256 != NULL);
}

/* All frames of a stream until one is refused. True when none was. */
static bool read_stream(struct fuzz *fuzz, const uint8_t *bytes, size_t length, bool from_agent)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(frame_reader_free) struct frame_reader reader = {0};
    struct frame frame;
    struct err err = {0};
    size_t cut = fuzz_below(fuzz, length + 1);
    FUZZ_CHECK(fuzz, frame_reader_feed(&reader, bytes, cut, &err) == 0);
    for (int part = 0; part < 2; part++) {
        int status;
        while ((status = frame_reader_next(&reader, &frame, &err)) == 1) {
            struct control_operation_in in;
            status = control_channel_decode(&frame, from_agent, arena, &in, &err);
            if (status < 0)
                break;
            const struct control_row *row = &control_operations[in.operation];
            FUZZ_CHECK(fuzz, (row->from_agent != 0) == from_agent && (in.body != NULL) == (row->body != NULL));
            cleanup(text_free) struct text again = {0};
            if (row->body)
                wire_encode(row->body, in.body, &again);
            FUZZ_CHECK(fuzz,
                       again.length == frame.length && (frame.length == 0 || memcmp(again.bytes, frame.body, frame.length) == 0));
            if (in.operation == CONTROL_REPORT)
                look_at_report(fuzz, in.body);
        }
        if (status < 0) {
            check_sentence(fuzz, status, &err);
            return false;
        }
        if (part == 0)
            FUZZ_CHECK(fuzz, frame_reader_feed(&reader, bytes + cut, length - cut, &err) == 0);
    }
    /* no struct takes more than four times its bytes: what a length claims takes no memory */
    FUZZ_CHECK(fuzz, arena_bytes(arena) <= 4 * length + OPERATIONS_MAX * 4096);
    return true;
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t damaged[BYTES_MAX];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text stream = {0};
    bool from_agent = fuzz_below(fuzz, 2);
    for (size_t i = 1 + fuzz_below(fuzz, OPERATIONS_MAX); i > 0; i--)
        add_operation(fuzz, arena, from_agent, &stream);
    FUZZ_CHECK(fuzz, stream.length <= sizeof(damaged) / 2);
    memcpy(damaged, stream.bytes, stream.length);
    size_t length = fuzz_mutate(fuzz, damaged, stream.length, sizeof(damaged));
    bool unchanged = length == stream.length && memcmp(damaged, stream.bytes, length) == 0;

    cleanup(free_pointer) uint8_t *exact = malloc(length ? length : 1); /* so that a sanitizer sees its end */
    FUZZ_CHECK(fuzz, exact);
    memcpy(exact, damaged, length);
    bool taken = read_stream(fuzz, exact, length, from_agent);
    FUZZ_CHECK(fuzz, taken || !unchanged);
    FUZZ_CHECK(fuzz, !read_stream(fuzz, (const uint8_t *)stream.bytes, stream.length, !from_agent)); /* the other end's */
    fuzz->accepted += taken;
}

FUZZ_MAIN("control")
