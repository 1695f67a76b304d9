/* fuzz_link_trace.c: damaged trace files. Each is refused with a printable sentence at a place, or gives steps that keep every
 * promise of link_trace.h. */
#include "harness/link_trace.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/fuzz/fuzz_sentence.h"

enum { FILE_MAX = 4096 };

static size_t make_mahimahi(struct fuzz *fuzz, char bytes[FILE_MAX])
{
    size_t length = 0, lines = fuzz_few(fuzz, 200), ms = 0;
    for (size_t i = 0; i < lines; i++) {
        ms += fuzz_below(fuzz, fuzz_below(fuzz, 20) == 0 ? 2000 : 3);
        length += (size_t)snprintf(bytes + length, FILE_MAX - length, "%zu%s", ms, fuzz_below(fuzz, 9) == 0 ? "\r\n" : "\n");
    }
    return length;
}

static size_t make_csv(struct fuzz *fuzz, char bytes[FILE_MAX])
{
    static const char *const heads[] = {"time,rate,delay,loss\n", "# words\ntime_ms, rate_kbit,delay_us ,loss\r\n"};
    static const char *const rows[] = {"%zums,%zumbit,%zuus,%zu%%\n", "%zu,%zu000,%zu,0.0%zu\n"};
    size_t kind = fuzz_below(fuzz, 2), ms = 0, lines = fuzz_few(fuzz, 50);
    size_t length = (size_t)snprintf(bytes, FILE_MAX, "%s", heads[kind]);
    for (size_t i = 0; i < lines; i++) {
        ms += 1 + fuzz_below(fuzz, 500);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* of the table above */
        length += (size_t)snprintf(bytes + length, FILE_MAX - length, rows[kind], ms, 1 + fuzz_below(fuzz, 400),
                                   fuzz_below(fuzz, 99999), fuzz_below(fuzz, 10));
#pragma GCC diagnostic pop
    }
    return length;
}

static void check_trace(struct fuzz *fuzz, const struct link_trace *trace, enum trace_format format)
{
    FUZZ_CHECK(fuzz, trace->count >= 1 && (trace->has_rate || trace->has_delay || trace->has_loss));
    for (int i = 0; i < trace->count; i++) {
        const struct trace_step *step = &trace->steps[i];
        FUZZ_CHECK(fuzz, i == 0 || step->at_ns >= step[-1].at_ns + NS_PER_MS);
        FUZZ_CHECK(fuzz, step->at_ns >= 0 && step->at_ns < trace->period_ns);
        FUZZ_CHECK(fuzz, !trace->has_rate || (step->rate_bps >= 8000 && step->rate_bps <= UINT64_C(400000000000)));
        FUZZ_CHECK(fuzz, step->delay_ns >= 0 && step->delay_ns <= 10 * NS_PER_S && step->loss >= 0 && step->loss <= 1);
        FUZZ_CHECK(fuzz, format == TRACE_CSV || step->rate_bps >= LINK_TRACE_FLOOR_BPS);
    }
}

static void fuzz_one(struct fuzz *fuzz)
{
    static char bytes[FILE_MAX];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    enum trace_format format = (enum trace_format)fuzz_below(fuzz, TRACE_FORMAT_COUNT);
    size_t length = format == TRACE_MAHIMAHI ? make_mahimahi(fuzz, bytes) : make_csv(fuzz, bytes);
    length = fuzz_mutate(fuzz, (uint8_t *)bytes, length, sizeof(bytes));
    cleanup(free_pointer) char *exact = malloc(length ? length : 1); /* reading past its end would be seen */
    FUZZ_CHECK(fuzz, exact);
    memcpy(exact, bytes, length);
    struct link_trace trace = {.count = -7};
    struct err err = {0};
    if (link_trace_parse(format, "t", exact, length, arena, &trace, &err) < 0) {
        fuzz_check_sentence(fuzz, &err);
        FUZZ_CHECK(fuzz, trace.count == -7);
        return;
    }
    check_trace(fuzz, &trace, format);
    fuzz->accepted++;
}

FUZZ_MAIN("link_trace")
