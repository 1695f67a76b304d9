/* cmd_doctor.c: `laggard doctor`: what this host can do; exit code 3 when no campaign with delayed links can run here. */
#include <stdio.h>

#include "agents/dataset.h"
#include "base/awake.h"
#include "base/err.h"
#include "base/options.h"
#include "base/units.h"
#include "harness/agent_path.h"
#include "harness/commands.h"
#include "harness/cpu_limit.h"
#include "harness/host_limits.h"
#include "netem/fabric.h"

static const struct option_row doctor_rows[] = {{0}};
const struct option_table cmd_doctor_table = {
    .command = "doctor",
    .usage = "",
    .summary = "Says what this host can do, and the remedy for what it cannot.",
    .rows = doctor_rows,
};

static void print_check(const char *what, bool good, const char *meaning)
{
    printf("%-4s %-16s %s\n", good ? "yes" : "no", what, meaning);
}

int cmd_doctor(int argc, char **argv, struct err *err)
{
    char none = 0, path[4096];
    int count;
    int result = options_parse(&cmd_doctor_table, argc, argv, &none, &count, err);
    if (result != 0)
        return result < 0 ? result : 0;
    struct fabric_host host;
    result = fabric_probe(&host, err);
    if (result < 0)
        return result;
    struct err agent_err = {0}, data_err = {0}, limiter_err = {0};
    struct cpu_limiter *limiter = NULL;
    bool limits_processors = cpu_limiter_open(&limiter, &limiter_err) == 0;
    bool agent = agent_path_find(path, sizeof(path), &agent_err) == 0;
    bool data = dataset_check(DATASET_FASHION_MNIST, NULL, &data_err) == 0;
    print_check("root", host.root, "capabilities in the host's own user namespace");
    print_check("user namespaces", host.user_namespaces, "networks without root");
    print_check("tbf", host.tbf, "rates");
    print_check("tun", host.tun, "engine relay: delay in user space");
    print_check("netem", host.netem && host.ifb && host.clsact, "engine netem: delay in the kernel (with ifb and clsact)");
    print_check("packet sockets", host.packets, "captures of links");
    print_check("cpu limits", limits_processors,
                limits_processors ? cpu_limiter_where(limiter) : "nodes that may use a part of a processor");
    cpu_limiter_close(limiter);
    print_check("awake", awake_possible(),
                "processors that do not sleep during trials: nothing wakes up late (/dev/cpu_dma_latency, root's)");
    print_check("agent", agent, "the agent program");
    print_check("fashion-mnist", data, "images for softmax and mlp");
    struct host_limits limits;
    struct err next;
    host_limits_raise();
    host_limits_read(&limits);
    int nodes = host_limits_nodes(&limits, &next);
    char room[80];
    snprintf(room, sizeof(room), "for %d node%s with small gradients in a star of delayed links", nodes, units_plural(nodes));
    print_check("room", nodes > 1, room);
    if (host.missing[0])
        printf("\n%s\n", host.missing);
    if (next.kind)
        printf("\nMore find no room: %s.\n", next.text);
    if (!limits_processors)
        printf("\n%s\n", limiter_err.text);
    if (!agent)
        printf("\n%s\n", agent_err.text);
    if (!data)
        printf("\n%s\n", data_err.text);
    bool able = agent && host.tbf && (host.root || host.user_namespaces) && (host.tun || (host.netem && host.ifb && host.clsact));
    return able ? 0 : err_set(err, ERR_HOST, "this host cannot run campaigns with delayed links; what is missing stands above");
}
