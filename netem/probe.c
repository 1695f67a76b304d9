/* probe.c: what this host can do, found by trying in a scratch process whose namespaces end with it. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/process.h"
#include "base/text.h"
#include "netem/fabric.h"
#include "netem/impairment.h"
#include "netem/namespaces.h"
#include "netem/netem_qdisc.h"
#include "netem/netlink.h"
#include "netem/tap.h"
#include "netem/tbf.h"

enum {
    NOBODY = 65534,
    SENDER_INDEX = 2,
    RECEIVER_INDEX = 3,
    IFB_INDEX = 4,
    TAP_INDEX = 5,
    SCRATCH_MTU = 1500,
    LOCAL_RULE_PRIORITY = 1000
};

struct findings { /* shared with the scratch process */
    bool settled, network, tbf, ifb, clsact, netem, rules, packets, tun;
    struct err settle_err, network_err, tun_err;
};

static bool made(struct netlink *netlink)
{
    return netlink_flush(netlink, NULL) == 0;
}

static void try_kinds(struct netlink *netlink, int own_namespace, struct findings *found)
{
    struct netlink_device sender = {.index = SENDER_INDEX, .name = "sender"},
                          receiver = {.index = RECEIVER_INDEX, .name = "receiver"};
    netlink_add_veth(netlink, &sender, &receiver, own_namespace);
    if (netlink_flush(netlink, &found->network_err) < 0)
        return;
    found->network = true;

    netlink_move_local_rule(netlink, LOCAL_RULE_PRIORITY);
    found->rules = made(netlink);
    struct shaping shaping = shaping_for_rate(1000000000, shaping_default_queue_bytes(1000000000), SCRATCH_MTU);
    tbf_add(netlink, sender.index, sender.name, &shaping);
    found->tbf = made(netlink);
    struct netlink_device ifb = {.index = IFB_INDEX, .name = "ifb"};
    netlink_add_ifb(netlink, &ifb);
    found->ifb = made(netlink);
    if (!found->ifb)
        return;
    netem_qdisc_add_hook(netlink, receiver.index, receiver.name, ifb.index);
    found->clsact = made(netlink);
    struct netem_setting setting = {.delay_ns = NS_PER_MS, .limit_packets = netem_qdisc_limit(1000000000, NS_PER_MS, 0)};
    netem_qdisc_add_delay(netlink, ifb.index, ifb.name, &setting);
    found->netem = made(netlink);
}

static _Noreturn void run_scratch(const struct namespaces_owner *owner, struct findings *found)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "laggard-probe");
    if (namespaces_settle(owner, &found->settle_err) < 0)
        _exit(0);
    found->settled = true;
    cleanup(netlink_cleanup) struct netlink *netlink = NULL;
    int own_namespace = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own_namespace < 0)
        err_set_errno(&found->network_err, ERR_HOST, errno, "cannot hold a network namespace");
    else if (netlink_open(&netlink, &found->network_err) == 0)
        try_kinds(netlink, own_namespace, found);
    cleanup(close_fd) int packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    found->packets = packets >= 0;
    int tap;
    found->tun = tap_open("tap", TAP_INDEX, &tap, &found->tun_err) == 0;
    _exit(0);
}

static void await(pid_t pid, int *status)
{
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
}

/* Root asks on behalf of an ordinary user, by being one for a moment. */
static bool nobody_may(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
            _exit(1);
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0);
    }
    if (pid > 0)
        await(pid, &status);
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Each thing that is missing and matters, with its remedy. */
static void explain(const struct fabric_host *host, const struct findings *found, struct text *missing)
{
    if (!found->settled || !found->network) {
        text_printf(missing, "No network can be built: %s.", found->settled ? found->network_err.text : found->settle_err.text);
        if (found->settled)
            text_add(missing, " If the kernel has no veth, as root: modprobe veth.");
        return;
    }
    if (!host->tbf)
        text_add(missing, "Rates need the kernel's tbf; as root: modprobe sch_tbf, or boot a kernel with CONFIG_NET_SCH_TBF.");
    bool netem = host->netem && host->ifb && host->clsact;
    if (!netem && !host->tun)
        text_printf(
            missing,
            "%sDelays need TAP devices: %s; or, with engine netem, the kernel's netem, ifb and clsact; as root: modprobe -a "
            "sch_netem ifb sch_ingress cls_u32 act_mirred.",
            missing->length > 0 ? " " : "", found->tun_err.text);
}

/* A scratch process that is killed half way has found nothing out about this host: ERR_TRIAL. */
static int find_out(struct findings *found, struct namespaces_owner *owner, struct err *err)
{
    pid_t pid;
    int status = 0;
    cleanup(close_fd) int pidfd = -1;
    *found = (struct findings){.settled = false};
    if (namespaces_fork(owner, &pid, &pidfd, &found->settle_err) < 0)
        return 0;
    if (pid == 0)
        run_scratch(owner, found);
    await(pid, &status);
    if (!WIFSIGNALED(status))
        return 0;
    char text[64];
    return err_set(err, ERR_TRIAL, "the process that tries what this host can do has ended (%s)",
                   process_describe(text, sizeof(text), &(struct process_exit){.status = WTERMSIG(status)}));
}

int fabric_probe(struct fabric_host *host, struct err *err)
{
    struct findings *found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        return err_set_errno(err, ERR_HOST, errno, "cannot probe this host: no shared memory");
    struct namespaces_owner owner;
    struct err killed;
    int code = find_out(found, &owner, &killed);
    if (code < 0) {
        log_warning("%s; trying once more", killed.text);
        code = find_out(found, &owner, &killed);
    }
    if (code < 0) {
        munmap(found, sizeof(*found));
        return err_set(err, ERR_HOST, "%s", killed.text);
    }
    struct fabric_host probed = {
        .root = found->settled && owner.uid == 0 && !owner.user_namespace,
        .tun = found->tun,
        .tbf = found->tbf,
        .ifb = found->ifb,
        .clsact = found->clsact,
        .netem = found->netem,
        .rules = found->rules,
        .packets = found->packets,
    };
    probed.user_namespaces = probed.root ? nobody_may() : found->settled;
    cleanup(text_free) struct text missing = {0};
    explain(&probed, found, &missing);
    if (missing.length > 0)
        memcpy(probed.missing, missing.bytes,
               missing.length < sizeof(probed.missing) ? missing.length : sizeof(probed.missing) - 1);
    munmap(found, sizeof(*found));
    *host = probed;
    return 0;
}

static const struct link *engine_link(const struct topology *topology)
{
    for (int i = 0; i < topology->link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++)
            if (impairment_needs_engine(&topology->links[i].direction[d]))
                return &topology->links[i];
    return NULL;
}

/* netem's own correlation of jitter has no effect (impairment.h). */
static const struct link *correlated_link(const struct topology *topology)
{
    for (int i = 0; i < topology->link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++)
            if (topology->links[i].direction[d].impairments.jitter_correlation > 0)
                return &topology->links[i];
    return NULL;
}

static const struct link *limited_link(const struct topology *topology)
{
    for (int i = 0; i < topology->link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++)
            if (topology->links[i].direction[d].rate_bps > 0)
                return &topology->links[i];
    return NULL;
}

static int refuse_correlation(const struct link *link, struct err *err)
{
    return err_set(err, ERR_USAGE,
                   "engine netem cannot correlate the jitter of link %s: the kernel's correlation does not reach its tables; use "
                   "engine relay",
                   link->name);
}

static int check_engine(const struct fabric_host *host, const struct topology *topology, const struct link *delayed,
                        enum engine_kind engine, enum engine_kind *resolved, struct err *err)
{
    bool netem = host->netem && host->ifb && host->clsact;
    const struct link *correlated = correlated_link(topology);
    switch (engine) {
    case ENGINE_AUTO:
        if (!netem && !host->tun)
            return err_set(err, ERR_HOST,
                           "link %s asks for a delay, an impairment or changes, and this host has no engine for it. %s",
                           delayed->name, host->missing);
        *resolved = netem && !(correlated && host->tun) ? ENGINE_NETEM : ENGINE_RELAY;
        if (*resolved == ENGINE_NETEM && correlated)
            return refuse_correlation(correlated, err);
        return 0;
    case ENGINE_NETEM:
        if (!netem)
            return err_set(
                err, ERR_HOST,
                "engine netem cannot delay link %s: the kernel has no %s; as root: modprobe -a sch_netem ifb sch_ingress "
                "cls_u32 act_mirred, or use engine relay",
                delayed->name,
                !host->ifb      ? "ifb"
                : !host->clsact ? "clsact with u32 and mirred"
                                : "netem");
        if (correlated)
            return refuse_correlation(correlated, err);
        break;
    case ENGINE_RELAY:
        if (!host->tun)
            return err_set(err, ERR_HOST,
                           "engine relay cannot delay link %s: no TAP device can be made; as root: modprobe tun; chmod 666 "
                           "/dev/net/tun%s",
                           delayed->name, netem ? "; or use engine netem" : "");
        break;
    case ENGINE_NONE:
        return err_set(
            err, ERR_USAGE,
            "engine none cannot delay packets, but link %s asks for a delay, an impairment or changes: choose netem, relay or auto",
            delayed->name);
    case ENGINE_COUNT:
    default:
        return err_set(err, ERR_USAGE, "there is no engine number %d", (int)engine);
    }
    *resolved = engine;
    return 0;
}

/* The kernel loads the module on asking where the caller's privilege allows, exactly as it would for a route. An algorithm that
 * only root may choose for a socket exists, and a route may name it: only "no such" is a refusal. */
static int check_congestion_control(const char *name, struct err *err)
{
    cleanup(close_fd) int fd = name ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0 || errno != ENOENT)
        return 0;
    char available[256] = "";
    cleanup(close_fd) int list = open("/proc/sys/net/ipv4/tcp_available_congestion_control", O_RDONLY | O_CLOEXEC);
    ssize_t length = list < 0 ? 0 : read(list, available, sizeof(available) - 1);
    available[length > 0 ? length : 0] = '\0';
    available[strcspn(available, "\n")] = '\0';
    return err_set(err, ERR_HOST,
                   "congestion_control '%s' is none that this kernel has; choose one of: %s; or, as root: modprobe tcp_%s", name,
                   available[0] ? available : "reno cubic", name);
}

int fabric_check(const struct fabric_host *host, const struct topology *topology, enum engine_kind engine,
                 enum engine_kind *resolved, struct err *err)
{
    if (!host->root && !host->user_namespaces)
        return err_set(err, ERR_HOST, "this host does not let laggard make namespaces. %s", host->missing);
    if (check_congestion_control(topology->tcp.congestion_control, err) < 0)
        return -ERR_HOST;
    const struct link *limited = limited_link(topology), *delayed = engine_link(topology);
    if (limited && !host->tbf)
        return err_set(err, ERR_HOST, "link %s asks for a rate, and this host cannot set one. %s", limited->name, host->missing);
    if (delayed)
        return check_engine(host, topology, delayed, engine, resolved, err);
    *resolved = ENGINE_NONE;
    return 0;
}
