/* shape_sites.c: a router a site, a link between every two of them by the matrices, and nodes placed in sites by links of
 * topology.link. A pair of sites keeps to its own link: what the matrix says is what a pair gets, also where a detour would be
 * shorter. */
#include <string.h>

#include "base/units.h"
#include "netem/shapes.h"

static int find_site(const struct settings *settings, const char *name)
{
    for (int i = 0; i < settings->sites.count; i++)
        if (strcmp(settings->sites.names[i], name) == 0)
            return i;
    return -1;
}

static int check_matrix(struct shape *shape, const char *path, const struct site_matrix *matrix, struct err *err)
{
    int sites = shape->settings->sites.count;
    return matrix->size == 0 || matrix->size == sites
               ? 0
               : shape_fail(shape, err, path, -1, "found %d row%s, there %s %d site%s", matrix->size, units_plural(matrix->size),
                            sites == 1 ? "is" : "are", sites, units_plural(sites));
}

static int check_sites(struct shape *shape, struct err *err)
{
    const struct settings *settings = shape->settings;
    if (settings->sites.count == 0 || settings->latency.size == 0)
        return shape_fail(shape, err, settings->sites.count ? "topology.latency" : "topology.sites", -1,
                          "shape sites needs it: sites: [a, b], latency: [[0, 5ms], [5ms, 0]]");
    int code = check_matrix(shape, "topology.latency", &settings->latency, err);
    if (code == 0)
        code = check_matrix(shape, "topology.rate", &settings->rate, err);
    for (int i = 0; i < settings->sites.count && code == 0; i++) {
        if (shape_find_place(shape, settings->sites.names[i]) >= 0 || find_site(settings, settings->sites.names[i]) != i)
            code = shape_fail(shape, err, "topology.sites", i, "the name '%s' is taken already", settings->sites.names[i]);
        else if (settings->latency.cells[i * settings->sites.count + i] != 0)
            code = shape_fail(shape, err, "topology.latency", i,
                              "from site '%s' to itself there is 0: within a site topology.link counts", settings->sites.names[i]);
    }
    if (code == 0 && settings->placement.count > 0 && settings->placement.count < shape->hosts)
        code = shape_fail(shape, err, "topology.placement", -1, "found %d site%s for %d nodes: each needs one",
                          settings->placement.count, units_plural(settings->placement.count), shape->hosts);
    return code;
}

static struct link_settings between(const struct settings *settings, int from, int to)
{
    int cell = from * settings->sites.count + to;
    return (struct link_settings){
        .framing = settings->link.framing,
        .delay_ns = (int64_t)settings->latency.cells[cell],
        .rate_bps = settings->rate.size > 0 ? (uint64_t)settings->rate.cells[cell] : 0,
    };
}

int shape_sites(struct shape *shape, struct err *err)
{
    const struct settings *settings = shape->settings;
    int code = check_sites(shape, err), sites = settings->sites.count, first = shape->place_count;
    if (code < 0)
        return code;
    shape->fewest_links = true;
    for (int site = 0; site < sites; site++)
        shape_add_router(shape, settings->sites.names[site]);
    for (int host = 0; host < shape->hosts; host++) {
        const char *name = settings->placement.count > 0 ? settings->placement.names[host] : NULL;
        int site = name ? find_site(settings, name) : shape_group_of(shape, host, sites);
        if (site < 0)
            return shape_fail(shape, err, "topology.placement", host, "there is no site '%s'", name);
        shape_add_link(shape, NULL, host, first + site, NULL);
    }
    for (int from = 0; from < sites; from++)
        for (int to = from + 1; to < sites; to++) {
            struct shape_link *link = shape_add_link(shape, NULL, first + from, first + to, NULL);
            link->direction[DIRECTION_FORWARD] = between(settings, from, to);
            link->direction[DIRECTION_BACKWARD] = between(settings, to, from);
            link->origin = (struct topology_fault){.path = "topology.latency", .index = from};
        }
    return 0;
}
