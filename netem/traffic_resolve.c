/* netem/traffic_resolve.c: flows as asked to flows between places of one network, and why one cannot be. Pure. */
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "netem/topology.h"
#include "netem/traffic.h"

enum {
    USUAL_PACKET_BYTES = 1400,
    UDP_IP_HEADERS = 28, /* IPv4 20, UDP 8 */
};

__attribute__((format(printf, 5, 6))) static int refuse(struct traffic_fault *fault, int flow, const char *key, struct err *err,
                                                        const char *format, ...)
{
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    *fault = (struct traffic_fault){.flow = flow, .key = key};
    return err_set(err, ERR_USAGE, "%s", sentence);
}

static bool are_neighbours(const struct topology *topology, int one, int other)
{
    for (int i = 0; i < topology->link_count; i++) {
        const struct link *link = &topology->links[i];
        if ((link->from == one && link->to == other) || (link->from == other && link->to == one))
            return true;
    }
    return false;
}

static int find_end(const struct topology *topology, const struct name_list *hosts, int flow, const char *key, const char *word,
                    int *place, struct traffic_fault *fault, struct err *err)
{
    *place = topology_find_place(topology, hosts, word);
    if (*place >= 0)
        return 0;
    return refuse(fault, flow, key, err, "there is no node or router '%.80s': here the nodes are %s to %s, indexes 0 to %d", word,
                  topology->places[0].name, topology->places[topology->host_count - 1].name, topology->host_count - 1);
}

static int check_ends(const struct topology *topology, int index, const struct traffic_flow *flow, struct traffic_fault *fault,
                      struct err *err)
{
    bool from_router = flow->from >= topology->host_count, to_router = flow->to >= topology->host_count;
    if (flow->from == flow->to)
        return refuse(fault, index, "to", err, "a flow needs two ends, '%.80s' and '%.80s' are one", flow->asked.from,
                      flow->asked.to);
    /* Nobody but its neighbours has a route to a router. */
    if ((from_router || to_router) && !are_neighbours(topology, flow->from, flow->to))
        return refuse(
            fault, index, from_router ? "from" : "to", err,
            "%s is a router: a flow that begins or ends there needs its other end at a neighbour, and no link joins it and %s",
            topology->places[from_router ? flow->from : flow->to].name, topology->places[from_router ? flow->to : flow->from].name);
    return 0;
}

int traffic_resolve(const struct traffic_list *asked, const struct name_list *hosts, const struct topology *topology,
                    struct traffic_flow *flows, struct traffic_fault *fault, struct err *err)
{
    uint32_t packet_most = (uint32_t)(topology->mtu - UDP_IP_HEADERS);
    for (int i = 0; i < asked->count; i++) {
        struct traffic_flow *flow = &flows[i];
        flow->asked = asked->flows[i];
        int code = find_end(topology, hosts, i, "from", flow->asked.from, &flow->from, fault, err);
        if (code == 0)
            code = find_end(topology, hosts, i, "to", flow->asked.to, &flow->to, fault, err);
        if (code == 0)
            code = check_ends(topology, i, flow, fault, err);
        if (code < 0)
            return code;
        uint32_t *packet = &flow->asked.packet_bytes;
        if (*packet > packet_most)
            return refuse(fault, i, "packet", err, "found %uB, but a packet within an mtu of %d carries at most %uB", *packet,
                          topology->mtu, packet_most);
        if (flow->asked.transport == TRANSPORT_UDP && *packet == 0)
            *packet = packet_most < USUAL_PACKET_BYTES ? packet_most : USUAL_PACKET_BYTES;
    }
    return 0;
}
