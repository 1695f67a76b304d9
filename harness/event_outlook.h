/* harness/event_outlook.h: events that will hardly come, because the rounds are expected to be over long before. */
#ifndef LAGGARD_HARNESS_EVENT_OUTLOOK_H
#define LAGGARD_HARNESS_EVENT_OUTLOOK_H

struct plan;
struct settings;
struct text;

/* Adds "event 1, at 10h; event 2, at 11h" and returns how many there are. rounds_ns: how long all rounds are expected to take if no
 * event ever came; NAN: nobody knows, and nothing is said. Pure. */
int event_outlook(const struct settings *settings, double rounds_ns, struct text *out);

/* A warning for each cell (of cells in a row with the same ones, the first). rounds_ns: one a cell. */
void event_outlook_warn(const struct plan *plan, const double *rounds_ns);

#endif
