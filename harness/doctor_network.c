/* doctor_network.c: what networks are made of: qdiscs, devices, sockets, and the kernel's table of neighbours. All but the last
 * were tried. */
#include <inttypes.h>
#include <stddef.h>
#include <unistd.h>

#include "base/arena.h"
#include "harness/doctor_internal.h"

enum { ENTRIES_A_LINK = 2, ENTRIES_SPARE = 64 };

void doctor_tbf(const struct doctor_host *host, struct doctor_finding *finding)
{
    doctor_answer(finding, host->fabric.tbf, NULL, "as root: modprobe sch_tbf, or boot a kernel with CONFIG_NET_SCH_TBF");
}

void doctor_tun(const struct doctor_host *host, struct doctor_finding *finding)
{
    const char *device = doctor_path(host, "/dev/net/tun");
    const char *remedy = "as root: modprobe tun, and where namespaces cannot be made, see there";
    if (access(device, F_OK) < 0)
        remedy = "as root: modprobe tun; mkdir -p /dev/net; mknod /dev/net/tun c 10 200; chmod 666 /dev/net/tun; a container is "
                 "started with --device /dev/net/tun";
    else if (access(device, R_OK | W_OK) < 0)
        remedy = "as root: chmod 666 /dev/net/tun";
    doctor_answer(finding, host->fabric.tun, NULL, remedy);
}

void doctor_ifb(const struct doctor_host *host, struct doctor_finding *finding)
{
    doctor_answer(finding, host->fabric.ifb, NULL, "as root: modprobe ifb");
}

void doctor_clsact(const struct doctor_host *host, struct doctor_finding *finding)
{
    doctor_answer(finding, host->fabric.clsact, host->fabric.ifb || host->fabric.clsact ? NULL : "not tried without ifb",
                  "as root: modprobe -a sch_ingress cls_u32 act_mirred");
}

static bool has_netem(const struct fabric_host *fabric)
{
    return fabric->netem && fabric->ifb && fabric->clsact;
}

void doctor_netem(const struct doctor_host *host, struct doctor_finding *finding)
{
    doctor_answer(finding, has_netem(&host->fabric), NULL, "as root: modprobe -a sch_netem ifb sch_ingress cls_u32 act_mirred");
}

void doctor_delays(const struct doctor_host *host, struct doctor_finding *finding)
{
    doctor_answer(finding, host->fabric.tun || has_netem(&host->fabric), NULL,
                  host->fabric.missing[0] ? host->fabric.missing : "as root: modprobe tun; chmod 666 /dev/net/tun");
}

void doctor_rules(const struct doctor_host *host, struct doctor_finding *finding)
{
    doctor_answer(finding, host->fabric.rules, NULL, "boot a kernel with CONFIG_IP_MULTIPLE_TABLES");
}

void doctor_packets(const struct doctor_host *host, struct doctor_finding *finding)
{
    doctor_answer(finding, host->fabric.packets, NULL, "as root: modprobe af_packet, or boot a kernel with CONFIG_PACKET");
}

/* The table is one for all namespaces; each end of a link knows the other, by a permanent entry, which kernels since 5.0 do not
 * count. The thresholds are the first namespace's alone, so that they cannot be read in a container with a network of its own. */
void doctor_neighbours(const struct doctor_host *host, struct doctor_finding *finding)
{
    int64_t most = doctor_number(host, "/proc/sys/net/ipv4/neigh/default/gc_thresh3");
    int64_t needed = USUAL_NODES * ENTRIES_A_LINK + ENTRIES_SPARE;
    if (most >= 0)
        doctor_answer(finding, most >= needed, arena_printf(host->arena, "gc_thresh3 is %" PRId64, most),
                      "as root: sysctl -w net.ipv4.neigh.default.gc_thresh3=4096 net.ipv4.neigh.default.gc_thresh2=2048");
}
