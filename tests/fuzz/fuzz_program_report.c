/* fuzz_program_report.c: damaged lines of outside programs, fed in pieces: what is taken keeps its bounds and its order, and does
 * not depend on the pieces. */
#include "harness/program_report.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "schemas/names.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_MAX = 4096, EARLIEST = 1000, START = 5000, NOW = 100000, ROUNDS_MOST = 40, SPANS_MOST = 30 };

static size_t make_text(struct fuzz *fuzz, uint8_t bytes[TEXT_MAX])
{
    size_t length = 0, lines = fuzz_few(fuzz, 60), round = 0;
    uint64_t time = EARLIEST;
    for (size_t i = 0; i < lines && length < TEXT_MAX - 100; i++) {
        char *at = (char *)bytes + length;
        size_t room = TEXT_MAX - length;
        time += fuzz_below(fuzz, 1000);
        switch (fuzz_below(fuzz, 3)) {
        case 0:
            length += (size_t)snprintf(at, room, "round %zu\n", round++);
            break;
        case 1:
            length += (size_t)snprintf(at, room, "round %zu %" PRIu64 "\n", round++, time);
            break;
        default:
            length +=
                (size_t)snprintf(at, room, "span %s %zu %" PRIu64 " %" PRIu64 "%s\n", span_names[fuzz_below(fuzz, SPAN_COUNT)],
                                 round, time, time + fuzz_below(fuzz, 1000), fuzz_below(fuzz, 2) ? " 4096" : "");
        }
    }
    return length;
}

static void check(struct fuzz *fuzz, const struct program_report *report)
{
    FUZZ_CHECK(fuzz, report->round_count <= ROUNDS_MOST && report->span_count <= SPANS_MOST);
    for (uint32_t r = 0; r < report->round_count; r++) {
        FUZZ_CHECK(fuzz, report->rounds[r].round == r);
        FUZZ_CHECK(fuzz, report->rounds[r].held_ns >= 0 && report->rounds[r].held_ns <= NOW - START);
        FUZZ_CHECK(fuzz, r == 0 || report->rounds[r].held_ns >= report->rounds[r - 1].held_ns);
    }
    for (uint32_t s = 0; s < report->span_count; s++) {
        const struct span_record *span = &report->spans[s];
        FUZZ_CHECK(fuzz, span->kind < SPAN_COUNT && span->round < ROUNDS_MOST && span->peer == NO_PEER);
        FUZZ_CHECK(fuzz, span->begin_ns >= 0 && span->begin_ns <= span->end_ns && span->end_ns <= NOW - START);
    }
}

static const struct program_report fresh = {
    .earliest_ns = EARLIEST, .start_ns = START, .rounds_most = ROUNDS_MOST, .spans_most = SPANS_MOST};

/* A copy of each piece of its own, so that reading past its end would be seen. */
static int feed_in_pieces(struct fuzz *fuzz, struct program_report *report, const uint8_t *bytes, size_t length, struct err *err)
{
    int result = 0;
    for (size_t at = 0; at < length && result == 0;) {
        size_t piece = 1 + fuzz_below(fuzz, 100);
        piece = piece < length - at ? piece : length - at;
        cleanup(free_pointer) char *exact = malloc(piece);
        FUZZ_CHECK(fuzz, exact);
        memcpy(exact, bytes + at, piece);
        result = program_report_feed(report, exact, piece, NOW, err);
        at += piece;
    }
    return result;
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t bytes[TEXT_MAX];
    size_t length = make_text(fuzz, bytes);
    length = fuzz_mutate(fuzz, bytes, length, sizeof(bytes));
    cleanup(program_report_free) struct program_report whole = fresh, pieces = fresh;
    struct err err = {0}, other = {0};
    int result = program_report_feed(&whole, (const char *)bytes, length, NOW, &err);
    FUZZ_CHECK(fuzz, result == 0 || (result == -ERR_TRIAL && err.text[0]));
    FUZZ_CHECK(fuzz, feed_in_pieces(fuzz, &pieces, bytes, length, &other) == result);
    FUZZ_CHECK(fuzz, strcmp(err.text, other.text) == 0);
    FUZZ_CHECK(fuzz, whole.round_count == pieces.round_count && whole.span_count == pieces.span_count);
    check(fuzz, &whole);
    FUZZ_CHECK(fuzz, program_report_finish(&whole, NULL) == 0 || result < 0 || (length > 0 && bytes[length - 1] != '\n'));
    fuzz->accepted += result == 0;
}

FUZZ_MAIN("program_report")
