/* doctor_noise.c: how steady this host is; see doctor_noise.h.
 *
 * Three things disturb a round: a sleeper wakes up late (2,000 sleeps of 0.5 ms), computing takes longer than the last time (the
 * same work twice, in 50 pieces that are all alike), and frames take longer there and back (500 over a veth pair). */
#include "harness/doctor_noise.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "harness/doctor_internal.h"
#include "netem/echo.h"
#include "results/database.h"
#include "results/sqlite_wrap.h"
#include "results/store.h"

enum { SLEEPS = 2000, PIECES = 50, STEPS = 1000000, ROUND_TRIPS = 500 };
static const int64_t step_ns = 500 * NS_PER_US, frame_step_ns = NS_PER_MS, frames_most_ns = 3 * NS_PER_S;

static double quantile(const int64_t *sorted, int count, int percent)
{
    const int rank = count * percent / 100;
    return (double)sorted[rank];
}

static void measure_sleeps(struct doctor_noise *noise)
{
    int64_t late[SLEEPS];
    doctor_sleep_late(late, SLEEPS, step_ns);
    noise->late_p50_ns = quantile(late, SLEEPS, 50);
    noise->late_p99_ns = quantile(late, SLEEPS, 99);
    noise->late_most_ns = (double)late[SLEEPS - 1];
}

/* A chain of dependent operations: as long on every pass as the processor's frequency and other programs let it be. */
static double compute(int64_t *pieces_ns)
{
    volatile uint64_t kept = 0;
    int64_t begin = clock_now_ns();
    for (int piece = 0; piece < PIECES; piece++) {
        int64_t from = clock_now_ns();
        uint64_t value = 1;
        for (int i = 0; i < STEPS; i++)
            value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        kept = kept + value;
        pieces_ns[piece] = clock_now_ns() - from;
    }
    return (double)(clock_now_ns() - begin);
}

static void measure_compute(struct doctor_noise *noise)
{
    int64_t pieces[2 * PIECES];
    noise->compute_first_ns = compute(pieces);
    noise->compute_second_ns = compute(pieces + PIECES);
    clock_sort(pieces, 2 * PIECES);
    noise->piece_p50_ns = quantile(pieces, 2 * PIECES, 50);
    noise->piece_p99_ns = quantile(pieces, 2 * PIECES, 99);
}

static void measure_round_trips(struct doctor_noise *noise)
{
    int64_t took[ROUND_TRIPS];
    struct err err = {0};
    int got = echo_measure(took, ROUND_TRIPS, frame_step_ns, frames_most_ns, &err);
    noise->round_trip_p50_ns = noise->round_trip_p99_ns = NAN;
    if (got < 0) {
        cleanup(text_free) struct text why = {0};
        text_printf(&why, "%.*s", (int)sizeof(noise->no_round_trips) - 1, err.text);
        memcpy(noise->no_round_trips, why.bytes, why.length + 1);
        return;
    }
    noise->round_trips = got;
    noise->round_trip_p50_ns = quantile(took, got, 50);
    noise->round_trip_p99_ns = quantile(took, got, 99);
}

void doctor_noise_measure(struct doctor_noise *noise)
{
    memset(noise, 0, sizeof(*noise));
    measure_sleeps(noise);
    measure_compute(noise);
    measure_round_trips(noise);
}

void doctor_noise_json(const struct doctor_noise *noise, struct json *json)
{
    json_double(json, "late_p50_ns", noise->late_p50_ns);
    json_double(json, "late_p99_ns", noise->late_p99_ns);
    json_double(json, "late_most_ns", noise->late_most_ns);
    json_double(json, "compute_first_ns", noise->compute_first_ns);
    json_double(json, "compute_second_ns", noise->compute_second_ns);
    json_double(json, "compute_piece_p50_ns", noise->piece_p50_ns);
    json_double(json, "compute_piece_p99_ns", noise->piece_p99_ns);
    json_integer(json, "round_trips", noise->round_trips);
    json_double(json, "round_trip_p50_ns", noise->round_trip_p50_ns);
    json_double(json, "round_trip_p99_ns", noise->round_trip_p99_ns);
    json_string(json, "no_round_trips", noise->no_round_trips[0] ? noise->no_round_trips : NULL);
}

int doctor_noise_campaign(const char *path, int64_t *campaign_id, struct err *err)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    int result = database_open(path, &sql, err);
    *campaign_id = 0;
    if (result == 0)
        result = sql_ask_integer(sql, "SELECT campaign_id FROM campaign ORDER BY campaign_id DESC LIMIT 1", campaign_id, err);
    if (result == 0 && *campaign_id == 0)
        return err_set(err, ERR_USAGE, "%s has no campaign that a measurement of noise could belong to; run one first", path);
    return result;
}

int doctor_noise_store(const char *path, int64_t campaign_id, const struct doctor_noise *noise, struct err *err)
{
    cleanup(text_free) struct text out = {0};
    struct json json = {.out = &out};
    json_begin_object(&json, NULL);
    doctor_noise_json(noise, &json);
    json_end_object(&json);
    struct store *store = NULL;
    int result = store_open_existing(path, &store, err);
    if (result < 0)
        return result;
    result = store_event(store, campaign_id, 0, "noise", out.bytes, err);
    return store_close_after(store, result, err);
}
