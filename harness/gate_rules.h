/* harness/gate_rules.h: the rules of a gate, out of `gate:` in a campaign file or out of a file of their own. */
#ifndef LAGGARD_HARNESS_GATE_RULES_H
#define LAGGARD_HARNESS_GATE_RULES_H

#include "schemas/gate.h"

struct arena;
struct err;
struct json;
struct plan;
struct reader;
struct yaml_value;

/* Metrics, units, dates and, with a plan, arms and cells are checked: what is named must be there. plan: NULL, not known. Errors
 * are ERR_USAGE and begin with the place. */
int gate_rules_read(const struct reader *reader, const struct yaml_value *mapping, const struct plan *plan,
                    const struct gate_rules **rules, struct err *err);
int gate_rules_load(const char *path, struct arena *arena, const struct gate_rules **rules, struct err *err);
/* Out of the text of a whole campaign file, as a database keeps it. *rules becomes NULL where it has no `gate`. */
int gate_rules_of_campaign(const char *path, const char *text, struct arena *arena, const struct gate_rules **rules,
                           struct err *err);
void gate_rules_schema(struct json *json); /* members of the open property `gate` */

#endif
