/* plan_paths.c: each pair's links, delay and narrowest rate, and what the halves of a network can send each other. */
#include "harness/plan_paths.h"

#include "base/text.h"
#include "base/units.h"
#include "netem/bisection.h"
#include "netem/routes.h"
#include "netem/topology.h"

enum { PAIRS_SHOWN = 56, SHARED_MOST = 2 };

static const char *spell_rate(char *text, uint64_t rate_bps)
{
    return rate_bps == 0 || rate_bps == UINT64_MAX ? "unlimited" : units_spell_rate(text, UNITS_TEXT_BYTES, rate_bps);
}

static void print_pair(const struct topology *topology, int from, int to, struct text *out)
{
    char delay[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES];
    struct topology_path path = topology_path(topology, from, to);
    struct route route = topology_route(topology, from, to);
    bool shared = false;
    text_printf(out, "  %s > %s: %s, %s, over", topology->places[from].name, topology->places[to].name,
                units_spell_time(delay, sizeof(delay), path.delay_ns), spell_rate(rate, path.rate_bps));
    for (;;) {
        int ends[SHARED_MOST], at = route.at;
        shared = shared || routes_first_ends(topology, at, to, ends, SHARED_MOST) > 1;
        int end = route_next(&route);
        if (end < 0)
            break;
        text_printf(out, " %s", topology->links[end / DIRECTIONS].name);
    }
    text_add(out, shared ? " and equal ones\n" : "\n");
}

static void print_bisection(const struct topology *topology, struct text *out)
{
    char there[UNITS_TEXT_BYTES], back[UNITS_TEXT_BYTES];
    if (topology->host_count < 2 || topology->link_count > BISECTION_LINKS_MOST)
        return;
    text_printf(out, "  bisection: the first %d node%s can send %s to the others, and those %s back\n",
                (topology->host_count + 1) / 2, units_plural((topology->host_count + 1) / 2),
                spell_rate(there, bisection_bps(topology, false)), spell_rate(back, bisection_bps(topology, true)));
}

void plan_paths_print(const struct topology *topology, bool all, struct text *out)
{
    int hosts = topology->host_count, pairs = hosts * (hosts - 1), shown = 0;
    for (int from = 0; from < hosts; from++)
        for (int to = 0; to < hosts && (all || shown < PAIRS_SHOWN); to++)
            if (from != to) {
                print_pair(topology, from, to, out);
                shown++;
            }
    if (shown < pairs)
        text_printf(out, "  ... and %d more pair%s: --paths shows all\n", pairs - shown, units_plural(pairs - shown));
    print_bisection(topology, out);
}
