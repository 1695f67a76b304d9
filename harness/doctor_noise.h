/* harness/doctor_noise.h: how steady this host is right now, in a few seconds, and where an analyst finds it later. */
#ifndef LAGGARD_HARNESS_DOCTOR_NOISE_H
#define LAGGARD_HARNESS_DOCTOR_NOISE_H

#include <stdint.h>

struct err;
struct json;

struct doctor_noise {
    double late_p50_ns, late_p99_ns, late_most_ns; /* of sleepers that wake up */
    double compute_first_ns, compute_second_ns;    /* the same work twice */
    double piece_p50_ns, piece_p99_ns;             /* of its pieces, all alike */
    double round_trip_p50_ns, round_trip_p99_ns;   /* of frames over a veth pair; NAN: not measured */
    int round_trips;
    char no_round_trips[512]; /* why not; "" */
};
/* Takes about three seconds, and longer on a host where sleepers wake up late. */
void doctor_noise_measure(struct doctor_noise *noise);
/* The members of an object. */
void doctor_noise_json(const struct doctor_noise *noise, struct json *json);

/* The campaign that a measurement belongs to: the database's last. ERR_USAGE: there is no such database, or no campaign in it. */
int doctor_noise_campaign(const char *path, int64_t *campaign_id, struct err *err);
/* Stores it as an event of kind `noise`, whose text is the JSON object. */
int doctor_noise_store(const char *path, int64_t campaign_id, const struct doctor_noise *noise, struct err *err);

#endif
