/* harness/capture_links.h: which links of a network are to be captured. Pure. */
#ifndef LAGGARD_HARNESS_CAPTURE_LINKS_H
#define LAGGARD_HARNESS_CAPTURE_LINKS_H

#include "schemas/capture.h"
#include "schemas/plan.h"
#include "schemas/topology.h"

struct arena;
struct err;

/* No links; where files go and how much of each packet, unless said otherwise. */
struct capture_settings capture_links_standard(void);
bool capture_links_wanted(const struct capture_settings *capture);
/* As a command line has them: all, none, or names and indexes between commas. */
int capture_links_parse(const char *words, struct arena *arena, struct capture_settings *capture, struct err *err);
/* The same for every cell, in place of the file's; directory, snap and size stay. */
int capture_links_override(const char *words, struct arena *arena, struct plan *plan, struct err *err);
/* The links, ascending, in the arena. ERR_USAGE: there is no such link, one is named twice, they are too many; *position (may be
 * NULL) is then the word at fault, -1: all of them. */
int capture_links_find(const struct capture_settings *capture, const struct topology *topology, struct arena *arena,
                       const int **links, int *count, int *position, struct err *err);

#endif
