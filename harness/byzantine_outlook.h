/* harness/byzantine_outlook.h: cells with more Byzantine workers than their scheme withstands. */
#ifndef LAGGARD_HARNESS_BYZANTINE_OUTLOOK_H
#define LAGGARD_HARNESS_BYZANTINE_OUTLOOK_H

#include <stdbool.h>

struct cell;
struct settings;
struct text;

/* Adds a sentence and returns true where that is so. Pure. */
bool byzantine_outlook(const struct settings *settings, struct text *out);
/* A warning that names the cell. */
void byzantine_outlook_warn(const struct cell *cell);

#endif
