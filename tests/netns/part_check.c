/* part_check.c: parts the hosts of a standing fabric into groups and joins them again, and looks who reaches whom.
 *
 *     part_check none star|ring|mesh */
#include "tests/netns/change_traffic.h"

static int count_rules(const struct bench *bench, int place)
{
    cleanup(close_fd) int fd = socket_on(bench, place, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    struct {
        struct nlmsghdr header;
        struct rtmsg body;
    } request = {.header = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETRULE, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                 .body = {.rtm_family = AF_INET}};
    static _Alignas(8) char answer[1 << 16];
    int found = 0;
    if (send(fd, &request, sizeof(request), 0) < 0)
        die("a dump", NULL);
    for (bool done = false; !done;) {
        ssize_t length = recv(fd, answer, sizeof(answer), 0);
        if (length <= 0)
            die("a dump", NULL);
        unsigned left = (unsigned)length;
        for (struct nlmsghdr *header = (struct nlmsghdr *)answer; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
            done = done || header->nlmsg_type == NLMSG_DONE;
            found += header->nlmsg_type == RTM_NEWRULE;
        }
    }
    return found;
}

enum { PARTED_MOST = 6 };

/* One datagram a pair: who hears whom must be who shares a group. First those who are to hear, then, after a silence, the
 * others. */
static void check_reach(struct bench *bench, struct flow flows[PARTED_MOST][PARTED_MOST], const int *group, const char *what)
{
    int hosts = bench->topology.host_count, reached = 0, wrong = 0, errors = 0, expected = 0;
    for (int a = 0; a < hosts; a++)
        for (int b = 0; b < hosts; b++)
            if (a != b)
                send_one(&flows[a][b]);
    for (int apart = 0; apart < 2; apart++) {
        for (int pair = 0; pair < hosts * hosts; pair++) {
            int a = pair / hosts, b = pair % hosts, error = 0;
            socklen_t length = sizeof(error);
            struct datagram datagram;
            bool together = !group || group[a] == group[b];
            if (a == b || together == (apart == 1))
                continue;
            bool heard = receive_one(&flows[a][b], together ? PATIENCE_MS : 0, &datagram);
            (void)getsockopt(flows[a][b].from, SOL_SOCKET, SO_ERROR, &error, &length);
            reached += heard;
            expected += together;
            wrong += heard != together;
            errors += error != 0;
        }
        if (apart == 0)
            poll(NULL, 0, QUIET_MS);
    }
    check(bench, wrong == 0 && errors == 0, "%s: %d of %d pairs reach each other, %d should; %d senders were told", what, reached,
          hosts * (hosts - 1), expected, errors);
}

static void separate(struct bench *bench, const int *group)
{
    struct err err;
    if (fabric_separate(bench->fabric, group, &err) < 0)
        die("a partition", &err);
}

static void part(struct bench *bench, enum topology_shape shape, int hosts)
{
    static const int halves[PARTED_MOST] = {0, 0, 1, 1, 1, 1}, alternating[PARTED_MOST] = {7, 8, 7, 8, 7, 8},
                     single[PARTED_MOST] = {0, 1, 2, 3, 4, 5};
    struct flow flows[PARTED_MOST][PARTED_MOST];
    char what[64];
    plan(bench, shape, hosts, 100000000, 0);
    build(bench);
    for (int a = 0; a < hosts; a++)
        for (int b = 0; b < hosts; b++)
            if (a != b)
                flows[a][b] = open_flow(bench, a, b);
    struct stream across = open_stream(bench, 0, hosts - 1), within = open_stream(bench, 0, 1);
    const struct {
        const char *name;
        const int *group;
    } steps[] = {{"one network", NULL}, {"in halves", halves},  {"every other one", alternating},
                 {"healed", NULL},      {"each alone", single}, {"in halves again", halves},
                 {"healed again", NULL}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (i > 0)
            separate(bench, steps[i].group);
        snprintf(what, sizeof(what), "%s of %d, %s", shape_names[shape], hosts, steps[i].name);
        check_reach(bench, flows, steps[i].group, what);
        pump(&across, 100 * NS_PER_MS); /* what was received before, and not yet read */
        pump(&within, 100 * NS_PER_MS);
        if (!steps[i].group || steps[i].group[0] == steps[i].group[hosts - 1])
            check(bench, resumes_after_ns(&across) > 0, "%s: the connection from end to end lives", what);
        else
            check(bench, falls_silent(&across, 200 * NS_PER_MS), "%s: the connection from end to end stands still", what);
        if (!steps[i].group || steps[i].group[0] == steps[i].group[1])
            check(bench, resumes_after_ns(&within) > 0, "%s: the connection to the next host lives", what);
    }
    int rules = 0;
    for (int host = 0; host < hosts; host++)
        rules += count_rules(bench, host);
    check(bench, rules == 3 * hosts, "no rule is left: %d", rules - 3 * hosts);
    close_stream(&across);
    close_stream(&within);
    for (int a = 0; a < hosts; a++)
        for (int b = 0; b < hosts; b++)
            if (a != b)
                close_flow(&flows[a][b]);
    end(bench);
}

static void case_star(struct bench *bench)
{
    part(bench, SHAPE_STAR, 4);
}

/* Hosts forward for others, whom they may not hear themselves; halfway round there are two ways. */
static void case_ring(struct bench *bench)
{
    part(bench, SHAPE_RING, 6);
}

static void case_mesh(struct bench *bench)
{
    part(bench, SHAPE_MESH, 4);
}

int main(int argc, char **argv)
{
    static const struct bench_case cases[] = {{"star", case_star}, {"ring", case_ring}, {"mesh", case_mesh}};
    return bench_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
