/* fuzz_gate_threshold.c: damaged thresholds: what is taken is whole and within its bounds, what is refused leaves nothing
 * behind. */
#include "harness/gate_threshold.h"

#include <math.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_MAX = 300 };

static const struct metric_row metrics[] = {
    {"round_time_ns.p50", "ns", true}, {"round_time_ns.p99", "ns", true}, {"accuracy", "ratio", false}, {"loss", "", true}};
enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

static size_t make_text(struct fuzz *fuzz, uint8_t bytes[TEXT_MAX])
{
    static const char *const signs[] = {"<=", ">=", " <= ", " >= ", "<", "="};
    static const char *const rights[] = {
        "baseline * 1.05", "baseline*0.95", "baseline + 2ms", "baseline - 1%", "baseline", "25ms", "0.8",
        "1e300",           "nan",           "baselines * 2"};
    return (size_t)snprintf((char *)bytes, TEXT_MAX, "%s%s%s", metrics[fuzz_below(fuzz, METRICS)].name, signs[fuzz_below(fuzz, 6)],
                            rights[fuzz_below(fuzz, 10)]);
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t bytes[TEXT_MAX];
    size_t length = make_text(fuzz, bytes);
    length = fuzz_mutate(fuzz, bytes, length, sizeof(bytes) - 1);
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const char *text = arena_strndup(arena, (const char *)bytes, length);
    struct gate_threshold threshold = {.form = GATE_FORM_COUNT, .alpha = 0.25};
    struct err err = {0};
    int result = gate_threshold_parse(text, metrics, METRICS, arena, &threshold, &err);
    FUZZ_CHECK(fuzz, result == 0 || (result == -ERR_USAGE && err.text[0]));
    FUZZ_CHECK(fuzz, threshold.alpha == 0.25 && (result == 0 || (threshold.form == GATE_FORM_COUNT && !threshold.metric)));
    if (result == 0) {
        bool worse_is_more = threshold.lower;
        FUZZ_CHECK(fuzz, threshold.form < GATE_FORM_COUNT && isfinite(threshold.number) && threshold.text && threshold.metric);
        FUZZ_CHECK(fuzz, threshold.form != GATE_RATIO ||
                             (threshold.number >= (worse_is_more ? 1 : 0.1) && threshold.number <= (worse_is_more ? 10 : 1)));
        FUZZ_CHECK(fuzz, threshold.form != GATE_DIFFERENCE || threshold.number >= 0);
    }
    fuzz->accepted += result == 0;
}

FUZZ_MAIN("gate_threshold")
