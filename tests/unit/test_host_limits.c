/* test_host_limits.c: what trials ask of a host, and the sentence of each limit that is too low. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "harness/forecast.h"
#include "harness/host_limits.h"

static struct host_limits no_limits(void)
{
    struct host_limits limits = {0};
    for (int kind = 0; kind < LIMIT_COUNT; kind++)
        limits.of[kind].allowed = UINT64_MAX;
    return limits;
}

static const struct host_demand demand = {
    .nodes = 20,
    .files = 124,
    .files_of = "the relay",
    .processes = 25,
    .network_namespaces = 23,
    .uts_namespaces = 22,
    .other_namespaces = 2,
    .user_namespaces = 3,
    .relay_mappings = 240,
    .flight_bytes = UINT64_C(8) << 30,
    .memory_bytes = UINT64_C(3) << 30,
};

static const struct row {
    enum host_limit_kind kind;
    uint64_t needed; /* what is allowed at least, with nothing taken */
    const char *where;
    uint64_t allowed, used;
    const char *sentence;
} rows[] = {
    {LIMIT_FILES, 124, "", 100, 0,
     "20 nodes need 124 open files in one process (the relay), but only 100 are allowed (RLIMIT_NOFILE, the hard limit); raise it: "
     "sudo prlimit --pid $$ --nofile=128:128"},
    {LIMIT_USER_PROCESSES, 25, "", 30, 7,
     "20 nodes need 25 processes and threads, but of 30 allowed 7 are taken (RLIMIT_NPROC, of all that this user runs); raise it: "
     "sudo prlimit --pid $$ --nproc=64:64"},
    {LIMIT_CGROUP_PROCESSES, 25, "/sys/fs/cgroup/a/pids.max", 30, 20,
     "20 nodes need 25 processes and threads, but of 30 allowed 20 are taken (this control group's /sys/fs/cgroup/a/pids.max); "
     "raise "
     "it, as root: echo 64 > /sys/fs/cgroup/a/pids.max"},
    {LIMIT_PID_MAX, 25, "", 301, 300,
     "20 nodes need 25 process numbers, but of 301 allowed 300 are taken (kernel.pid_max); raise it, as root: sysctl -w "
     "kernel.pid_max=512"},
    {LIMIT_THREADS_MAX, 25, "", 301, 300,
     "20 nodes need 25 processes and threads, but of 301 allowed 300 are taken (kernel.threads-max); raise it, as root: sysctl -w "
     "kernel.threads-max=512"},
    {LIMIT_NETWORK_NAMESPACES, 23, "", 22, 0,
     "20 nodes need 23 network namespaces, but only 22 are allowed (user.max_net_namespaces); raise it, as root: sysctl -w "
     "user.max_net_namespaces=64"},
    {LIMIT_UTS_NAMESPACES, 22, "", 1, 0,
     "20 nodes need 22 UTS namespaces, but only 1 are allowed (user.max_uts_namespaces); raise it, as root: sysctl -w "
     "user.max_uts_namespaces=64"},
    {LIMIT_PID_NAMESPACES, 2, "", 1, 0,
     "20 nodes need 2 PID namespaces, but only 1 are allowed (user.max_pid_namespaces); raise it, as root: sysctl -w "
     "user.max_pid_namespaces=64"},
    {LIMIT_MOUNT_NAMESPACES, 2, "", 0, 0,
     "20 nodes need 2 mount namespaces, but only 0 are allowed (user.max_mnt_namespaces); raise it, as root: sysctl -w "
     "user.max_mnt_namespaces=64"},
    {LIMIT_IPC_NAMESPACES, 2, "", 0, 0,
     "20 nodes need 2 IPC namespaces, but only 0 are allowed (user.max_ipc_namespaces); raise it, as root: sysctl -w "
     "user.max_ipc_namespaces=64"},
    {LIMIT_USER_NAMESPACES, 3, "", 2, 0,
     "20 nodes need 3 user namespaces, but only 2 are allowed (user.max_user_namespaces); raise it, as root: sysctl -w "
     "user.max_user_namespaces=64"},
    {LIMIT_MAPPINGS, 240, "", 239, 0,
     "20 nodes need 240 memory areas in the relay, but only 239 are allowed (vm.max_map_count); raise it, as root: sysctl -w "
     "vm.max_map_count=256"},
    {LIMIT_FLIGHT, UINT64_C(8) << 30, "", UINT64_C(4) << 30, 0,
     "20 nodes need about 8 GiB for packets in flight, at worst, but only 4 GiB are there (half of this host's memory); lower a "
     "rate "
     "or a delay, or use fewer links"},
    {LIMIT_MEMORY, UINT64_C(3) << 30, "", UINT64_C(1) << 30, 0,
     "20 nodes need about 3 GiB of memory, but only 1 GiB are there (MemAvailable of this host); use fewer nodes or a smaller "
     "model, "
     "or end other programs"},
    {LIMIT_CGROUP_MEMORY, UINT64_C(3) << 30, "/sys/fs/cgroup/a/memory.max", UINT64_C(3) << 30, UINT64_C(1) << 30,
     "20 nodes need about 3 GiB of memory, but of 3 GiB allowed 1 GiB are taken (this control group's "
     "/sys/fs/cgroup/a/memory.max); "
     "raise it, as root: echo 4294967296 > /sys/fs/cgroup/a/memory.max"},
};
static_assert(sizeof(rows) / sizeof(rows[0]) == LIMIT_COUNT, "each limit has its sentence here");

static void each_limit_says_what_is_needed_what_is_there_and_what_to_do(void **state)
{
    (void)state;
    struct err err;
    struct host_limits limits = no_limits();
    assert_int_equal(host_limits_check(&limits, &demand, &err), 0);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        limits = no_limits();
        limits.of[rows[i].kind].allowed = rows[i].allowed;
        limits.of[rows[i].kind].used = rows[i].used;
        snprintf(limits.of[rows[i].kind].where, sizeof(limits.of[0].where), "%s", rows[i].where);
        assert_int_equal(host_limits_check(&limits, &demand, &err), -ERR_HOST);
        assert_string_equal(err.text, rows[i].sentence);
    }
}

static void just_enough_is_enough(void **state)
{
    (void)state;
    struct err err;
    struct host_limits all = no_limits();
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        struct host_limits limits = no_limits();
        limits.of[rows[i].kind].allowed = all.of[rows[i].kind].allowed = rows[i].needed + 5;
        limits.of[rows[i].kind].used = all.of[rows[i].kind].used = 5;
        assert_int_equal(host_limits_check(&limits, &demand, &err), 0);
        limits.of[rows[i].kind].used = 6;
        assert_int_equal(host_limits_check(&limits, &demand, &err), -ERR_HOST);
        limits.of[rows[i].kind].used = UINT64_MAX; /* more than allowed: lowered while it was used */
        assert_int_equal(host_limits_check(&limits, &demand, &err), -ERR_HOST);
    }
    assert_int_equal(host_limits_check(&all, &demand, &err), 0);
}

/* What is not needed at all cannot be too little: root has no use for user namespaces, a network without delays none for a
 * relay. */
static void nothing_needed_is_never_refused(void **state)
{
    (void)state;
    struct err err;
    struct host_limits limits = no_limits();
    struct host_demand small = demand;
    small.user_namespaces = small.relay_mappings = small.flight_bytes = 0;
    limits.of[LIMIT_USER_NAMESPACES].allowed = limits.of[LIMIT_MAPPINGS].allowed = limits.of[LIMIT_FLIGHT].allowed = 0;
    assert_int_equal(host_limits_check(&limits, &small, &err), 0);
    small.nodes = 1;
    limits.of[LIMIT_FILES].allowed = 3;
    assert_int_equal(host_limits_check(&limits, &small, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "1 node needs 124 open files"));
}

static void processes_come_first_and_alone(void **state)
{
    (void)state;
    struct err err;
    struct host_limits limits = no_limits();
    limits.of[LIMIT_FILES].allowed = limits.of[LIMIT_NETWORK_NAMESPACES].allowed = limits.of[LIMIT_MEMORY].allowed = 0;
    assert_int_equal(host_limits_check_processes(&limits, &demand, &err), 0);
    static const enum host_limit_kind kinds[] = {LIMIT_USER_PROCESSES, LIMIT_CGROUP_PROCESSES, LIMIT_PID_MAX, LIMIT_THREADS_MAX};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        limits = no_limits();
        limits.of[kinds[i]].allowed = 3;
        assert_int_equal(host_limits_check_processes(&limits, &demand, &err), -ERR_HOST);
    }
}

/* ---- demands ---- */

static struct host_demand demand_of(struct cell *cell, enum engine_kind engine, bool shared)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct topology topology;
    struct host_demand found;
    int servers;
    assert_int_equal(forecast_topology(&cell->settings, arena, &topology, &servers, NULL), 0);
    host_demand_of(cell, &topology, engine, shared, &found);
    return found;
}

static struct cell a_cell(int workers)
{
    return (struct cell){.settings = {.link = {.rate_bps = 1000000000, .delay_ns = NS_PER_MS},
                                      .workers = workers,
                                      .scheme = {.name = "ps-sync", .values = {1}},
                                      .workload = {.model = MODEL_SYNTHETIC, .size_bytes = 4000, .batch = 1, .rounds = 5},
                                      .mtu = 1500,
                                      .congestion_control = "cubic",
                                      .record_spans = true}};
}

/* Every node more costs the same, and the counts that the kernel's limits know are exact. */
static void demands_grow_with_the_nodes(void **state)
{
    (void)state;
    struct cell ten = a_cell(9), hundred = a_cell(99), thousand = a_cell(999);
    struct host_demand small = demand_of(&ten, ENGINE_NONE, true), middle = demand_of(&hundred, ENGINE_NONE, true),
                       large = demand_of(&thousand, ENGINE_NONE, true);
    assert_int_equal(small.nodes, 10);
    assert_int_equal(large.nodes, 1000);
    assert_int_equal(large.processes - middle.processes, 900);
    assert_int_equal(large.network_namespaces - middle.network_namespaces, 900);
    assert_int_equal(large.uts_namespaces - middle.uts_namespaces, 900);
    assert_int_equal(large.other_namespaces, small.other_namespaces);
    assert_int_equal(large.files - middle.files, 900 * 5); /* namespace, netlink, control socket, pidfd, report */
    assert_string_equal(large.files_of, "the process that holds the network");
    assert_int_equal(large.relay_mappings, 0);
    assert_int_equal(large.flight_bytes, 0);
    uint64_t a_node = (large.memory_bytes - middle.memory_bytes) / 900;
    assert_in_range(a_node, 800 << 10, 1200 << 10); /* measured: 0.4 MB of the kernel's, 0.7 of the agent's */
}

static void the_relay_asks_for_more(void **state)
{
    (void)state;
    struct cell cell = a_cell(99);
    struct host_demand without = demand_of(&cell, ENGINE_NONE, true), with = demand_of(&cell, ENGINE_RELAY, true);
    assert_true(with.relay_mappings >= 200);
    assert_true(with.flight_bytes > 200 * (1000000000 / 8 / 1000)); /* each direction holds what is on its way for 1 ms */
    assert_true(with.memory_bytes > without.memory_bytes);
    cell.settings.link.delay_ns = 0;
    with = demand_of(&cell, ENGINE_RELAY, true);
    assert_int_equal(with.relay_mappings, 0); /* no link needs it */
}

static void measured_links_have_sockets(void **state)
{
    (void)state;
    enum { LINKS = 99 };
    struct link links[LINKS] = {0};
    const struct topology topology = {.host_count = LINKS, .place_count = LINKS + 1, .links = links, .link_count = LINKS};
    struct host_demand few, all;
    host_demand_of_measurement(&topology, ENGINE_NONE, 32, &few);
    host_demand_of_measurement(&topology, ENGINE_NONE, LINKS, &all);
    assert_string_equal(all.files_of, "the process that measures links");
    assert_int_equal(all.files - few.files, (LINKS - 32) * 4); /* a source and a target of each direction */
    assert_in_range(few.files, 2 * (LINKS + 1) + 32 * 4, 2 * (LINKS + 1) + 32 * 4 + 100);
    assert_int_equal(few.nodes, LINKS);
}

static void traffic_and_limits_ask_for_more(void **state)
{
    (void)state;
    struct cell cell = a_cell(99);
    struct host_demand without = demand_of(&cell, ENGINE_NONE, true);
    cell.settings.cpu_limits.count = 1;
    struct host_demand with = demand_of(&cell, ENGINE_NONE, true);
    assert_int_equal(with.files - without.files, 100); /* a control group a node */
    assert_int_equal(with.processes - without.processes, 1);
    cell.settings.cpu_limits.count = 0;
    cell.settings.traffic.count = 1000;
    with = demand_of(&cell, ENGINE_NONE, true);
    assert_string_equal(with.files_of, "the process of the cross traffic");
    assert_in_range(with.files, 3000 + 101, 3000 + 101 + 20); /* three sockets a flow, and every place */
    assert_int_equal(with.processes - without.processes, 1);
}

static void models_and_data_count(void **state)
{
    (void)state;
    struct cell cell = a_cell(10);
    struct host_demand small = demand_of(&cell, ENGINE_NONE, true);
    cell.settings.workload.size_bytes = 40000000;
    struct host_demand large = demand_of(&cell, ENGINE_NONE, true);
    /* Two vectors a node, and the server's of all workers. */
    assert_in_range(large.memory_bytes - small.memory_bytes, UINT64_C(31) * 40000000, UINT64_C(33) * 40000000);
    /* Message sizes follow each other: the largest counts, and the spans of all. */
    static const uint64_t sizes[] = {4000, 40000000, 400000};
    cell.settings.workload.sizes = (struct size_list){sizes, 3};
    cell.settings.workload.size_bytes = 0;
    struct host_demand swept = demand_of(&cell, ENGINE_NONE, true);
    assert_in_range(swept.memory_bytes, large.memory_bytes, large.memory_bytes + 40000000);
    assert_int_equal(swept.processes, large.processes);
    cell.settings.workload.sizes.count = 0;
    cell.settings.workload.size_bytes = 40000000;
    cell.settings.workload.model = MODEL_SOFTMAX;
    struct host_demand shared = demand_of(&cell, ENGINE_NONE, true), apart = demand_of(&cell, ENGINE_NONE, false);
    assert_int_equal(shared.processes - small.processes, 10); /* a thread for gradients */
    assert_int_equal(apart.memory_bytes - shared.memory_bytes, 9 * 70000 * 784);
}

static void outside_programs_have_namespaces_of_their_own(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct cell cell = a_cell(9);
    struct topology topology;
    struct host_demand found;
    int servers;
    assert_int_equal(forecast_topology(&cell.settings, arena, &topology, &servers, NULL), 0);
    cell.settings.scheme.outside = true;
    host_demand_of(&cell, &topology, ENGINE_NONE, true, &found);
    assert_true(found.processes >= 2 * 10); /* a program and its process 1 */
    assert_true(found.other_namespaces >= 11);
    host_demand_of_network(&topology, ENGINE_NONE, 0, &(struct capture_settings){0}, &found);
    assert_int_equal(found.other_namespaces, 2);
}

static void captures_count(void **state)
{
    (void)state;
    struct cell cell = a_cell(10);
    struct host_demand without = demand_of(&cell, ENGINE_NONE, true);
    cell.settings.capture.all = true;
    struct host_demand with = demand_of(&cell, ENGINE_NONE, true);
    const char *name = "w3-router";
    cell.settings.capture = (struct capture_settings){.links = &name, .link_count = 1};
    struct host_demand one = demand_of(&cell, ENGINE_NONE, true);
    assert_in_range(with.processes - without.processes, 2, 64);
    assert_int_equal(with.memory_bytes - without.memory_bytes, UINT64_C(22) * (4 << 20)); /* a server's link, too */
    assert_int_equal(one.memory_bytes - without.memory_bytes, UINT64_C(2) * (4 << 20));
    assert_string_equal(with.files_of, "the process that holds the network"); /* a file for each direction */
    assert_int_equal(with.files - without.files, 22);
}

/* ---- this host ---- */

static void this_host_is_read(void **state)
{
    (void)state;
    struct host_limits limits;
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    host_limits_read(&limits);
    assert_true(limits.of[LIMIT_FILES].allowed == files.rlim_max || files.rlim_max == RLIM_INFINITY);
    assert_in_range(limits.of[LIMIT_PID_MAX].allowed, 300, UINT64_C(1) << 32);
    assert_true(limits.of[LIMIT_PID_MAX].used > 0);
    assert_in_range(limits.of[LIMIT_MEMORY].allowed, 1 << 20, UINT64_C(1) << 50);
    assert_true(limits.of[LIMIT_FLIGHT].allowed >= 1 << 20);
}

static void room_is_the_largest_star_that_fits(void **state)
{
    (void)state;
    struct host_limits limits = no_limits();
    struct host_demand fits;
    struct err next;
    assert_int_equal(host_limits_nodes(&limits, &next), 100000);
    assert_int_equal(next.kind, ERR_NONE);
    host_demand_of_star(321, &fits);
    limits.of[LIMIT_FILES].allowed = fits.files;
    assert_int_equal(host_limits_nodes(&limits, &next), 321);
    assert_non_null(strstr(next.text, "322 nodes need"));
    limits.of[LIMIT_FILES].allowed = 3;
    assert_int_equal(host_limits_nodes(&limits, &next), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_limit_says_what_is_needed_what_is_there_and_what_to_do),
        cmocka_unit_test(just_enough_is_enough),
        cmocka_unit_test(nothing_needed_is_never_refused),
        cmocka_unit_test(processes_come_first_and_alone),
        cmocka_unit_test(demands_grow_with_the_nodes),
        cmocka_unit_test(the_relay_asks_for_more),
        cmocka_unit_test(measured_links_have_sockets),
        cmocka_unit_test(traffic_and_limits_ask_for_more),
        cmocka_unit_test(models_and_data_count),
        cmocka_unit_test(captures_count),
        cmocka_unit_test(outside_programs_have_namespaces_of_their_own),
        cmocka_unit_test(this_host_is_read),
        cmocka_unit_test(room_is_the_largest_star_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
