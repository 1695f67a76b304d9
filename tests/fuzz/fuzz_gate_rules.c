/* fuzz_gate_rules.c: damaged rules of a gate: thresholds with their cells, and waivers. Each is refused with a printable sentence
 * at a place, or every rule keeps what schemas/gate.h promises. */
#include "harness/gate_rules.h"

#include <ctype.h>
#include <math.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/fuzz/fuzz_sentence.h"

enum { TEXT_MAX = 2048 };

static const char *const valid[] = {
    "gate:\n  thresholds:\n    - round_time_ns.p50 <= baseline * 1.05\n    - {threshold: accuracy >= baseline - 1%, cells: "
    "\"scheme=ring*\", min_effect: 2%, alpha: 0.01}\n",
    "gate:\n  thresholds: [accuracy >= 0.8, round_time_ns.p99 <= 25ms]\n  waivers:\n    - {metric: accuracy, cells: "
    "\"scheme=async*\", owner: anna, expires: 2027-01-31, reason: \"not yet, #41\"}\n    - {metric: round_time_ns.p50, verdict: "
    "regressed, owner: ben, expires: 2262-12-24}\n",
    "name: t\ngate: {baseline: before, thresholds: [accuracy >= baseline]}\narms: [{name: before}]\n",
    "name: t\n",
};

static bool is_date(const char *text)
{
    for (int i = 0; i < 10; i++)
        if (i == 4 || i == 7 ? text[i] != '-' : !isdigit((unsigned char)text[i]))
            return false;
    return text[10] == '\0';
}

static void check_rules(struct fuzz *fuzz, const struct gate_rules *rules)
{
    FUZZ_CHECK(fuzz, rules->threshold_count >= 1 && rules->threshold_count <= GATE_THRESHOLDS_MAX);
    FUZZ_CHECK(fuzz, rules->waiver_count >= 0 && rules->waiver_count <= GATE_THRESHOLDS_MAX);
    for (int i = 0; i < rules->threshold_count; i++) {
        const struct gate_threshold *threshold = &rules->thresholds[i];
        FUZZ_CHECK(fuzz, threshold->text && threshold->metric && threshold->place && threshold->form < GATE_FORM_COUNT);
        FUZZ_CHECK(fuzz, isfinite(threshold->number) && threshold->min_effect >= 0 && threshold->min_effect <= 1);
        FUZZ_CHECK(fuzz, threshold->alpha >= 1e-6 && threshold->alpha <= 0.2);
    }
    for (int i = 0; i < rules->waiver_count; i++) {
        const struct gate_waiver *waiver = &rules->waivers[i];
        FUZZ_CHECK(fuzz, waiver->metric && waiver->owner && waiver->place && waiver->expires && is_date(waiver->expires));
        FUZZ_CHECK(fuzz, waiver->verdict == GATE_MISSING || waiver->verdict == GATE_REGRESSED);
        FUZZ_CHECK(fuzz, waiver->expires_unix_ns > 0);
    }
}

static void fuzz_one(struct fuzz *fuzz)
{
    static char text[TEXT_MAX];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const char *whole = valid[fuzz_below(fuzz, sizeof(valid) / sizeof(valid[0]))];
    size_t length = strlen(whole);
    memcpy(text, whole, length);
    length = fuzz_mutate(fuzz, (uint8_t *)text, length, sizeof(text) - 1);
    text[length] = '\0';
    const struct gate_rules *rules = NULL;
    struct err err = {0};
    const int result = gate_rules_of_campaign("t", text, arena, &rules, &err);
    if (result < 0) {
        fuzz_check_sentence(fuzz, &err);
        return;
    }
    if (rules)
        check_rules(fuzz, rules);
    fuzz->accepted++;
}

FUZZ_MAIN("gate_rules")
