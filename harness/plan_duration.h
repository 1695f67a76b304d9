/* harness/plan_duration.h: how long the trials of a plan take: those in real time, and those on a virtual clock, which take what
 * their computations take. */
#ifndef LAGGARD_HARNESS_PLAN_DURATION_H
#define LAGGARD_HARNESS_PLAN_DURATION_H

struct settings;
struct text;

struct plan_duration { /* zeroed: of no trial */
    double seconds;    /* NAN: an outside program is among them */
    double virtual_seconds;
};

void plan_duration_add(struct plan_duration *duration, const struct settings *settings, double seconds);
/* "about 2 min 05 s", "about 2 min 05 s of virtual time", or both. */
void plan_duration_print(const struct plan_duration *duration, struct text *out);

#endif
