/* test_link_queue.c: a queue is counted in bytes or in packets, and what comes last says in which: an override, the other
 * direction, an event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "harness/campaign.h"
#include "netem/topology.h"

enum { FRAME = 1514 };
static const char head[] = "name: queues\nscheme: ring\nworkers: 2\nworkload: {model: synthetic, size: 1KB, rounds: 1}\n";

/* The first link of the network of that text. */
static struct link first_link(struct arena *arena, const char *topology_text)
{
    char text[512];
    struct plan plan;
    struct topology topology;
    struct err err = {0};
    snprintf(text, sizeof(text), "%stopology: %s\n", head, topology_text);
    if (campaign_parse("queues", text, strlen(text), arena, &plan, &err) < 0 ||
        topology_build(&plan.cells[0].settings, 2, 0, arena, &topology, &err) < 0)
        fail_msg("%s", err.text);
    return topology.links[0];
}

static void assert_queue(const struct direction *direction, uint64_t bytes, uint32_t packets)
{
    assert_int_equal(direction->queue_packets, packets);
    assert_int_equal(direction->queue_bytes, packets > 0 ? (uint64_t)packets * FRAME : bytes);
}

static void what_comes_last_says_in_what_it_is_counted(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    static const struct {
        const char *topology;
        uint64_t bytes[DIRECTIONS];
        uint32_t packets[DIRECTIONS];
    } cases[] = {
        {"{link: {rate: 100mbit, queue_packets: 200}}", {0, 0}, {200, 200}},
        {"{link: {rate: 100mbit, queue_packets: 200}, overrides: [{node: w0, queue: 20KB}]}", {20000, 20000}, {0, 0}},
        {"{link: {rate: 100mbit, queue: 20KB}, overrides: [{node: w0, queue_packets: 10}]}", {0, 0}, {10, 10}},
        {"{link: {rate: 100mbit, queue_packets: 200, back: {queue: 30KB}}}", {0, 30000}, {200, 0}},
        {"{link: {rate: 100mbit, queue: 20KB}, overrides: [{node: w0, queue_packets: 10, back: {queue: 30KB}}]}",
         {0, 30000},
         {10, 0}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct link link = first_link(arena, cases[i].topology);
        for (int d = 0; d < DIRECTIONS; d++)
            assert_queue(&link.direction[d], cases[i].bytes[d], cases[i].packets[d]);
    }
}

static void a_change_says_it_anew(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct link link = first_link(arena, "{link: {rate: 100mbit, queue_packets: 200}}");
    struct link_patch patch = {.values = {.queue_bytes = 20000}};
    struct direction then;
    struct err err;
    memset(patch.replaces + offsetof(struct link_settings, queue_bytes), true, sizeof(patch.values.queue_bytes));
    assert_int_equal(topology_change_direction(&link.direction[0], &patch, 1500, &then, &err), 0);
    assert_queue(&then, 20000, 0);
    patch.values.queue_packets = 10;
    memset(patch.replaces + offsetof(struct link_settings, queue_packets), true, sizeof(patch.values.queue_packets));
    assert_int_equal(topology_change_direction(&then, &patch, 1500, &then, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "not both"));
    memset(patch.replaces + offsetof(struct link_settings, queue_bytes), false, sizeof(patch.values.queue_bytes));
    assert_int_equal(topology_change_direction(&then, &patch, 1500, &then, &err), 0);
    assert_queue(&then, 0, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_last_says_in_what_it_is_counted),
        cmocka_unit_test(a_change_says_it_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
