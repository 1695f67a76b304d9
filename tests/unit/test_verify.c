/* test_verify.c: what a verification prints of a made-up network: columns that have something, one row a direction, one
 * document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "harness/verify_result.h"

struct made_up {
    struct place places[3];
    struct link links[2];
    struct link_readback readback[2];
    struct link_check checks[2];
    struct survey_entry entry;
    int entry_of_cell[2];
    struct link_survey survey;
    struct cell cells[2];
    struct plan plan;
    struct verify_result result;
};

/* Link 0 loses and jitters forward, and is plain backward; link 1 was not in the sample. */
static void make_up(struct made_up *made)
{
    *made = (struct made_up){
        .places = {{.name = "w0"}, {.name = "w1"}, {.name = "router"}},
        .links = {{.name = "w0-router", .from = 0, .to = 2}, {.name = "w1-router", .from = 1, .to = 2}},
        .cells = {{.label = "workers=2"}, {.label = "workers=3"}},
    };
    struct direction *there = &made->links[0].direction[0], *back = &made->links[0].direction[1];
    *there = (struct direction){.rate_bps = 100000000,
                                .delay_ns = 2 * NS_PER_MS,
                                .queue_bytes = 150000,
                                .impairments = {.jitter_ns = NS_PER_MS, .jitter_distribution = JITTER_UNIFORM, .loss = 0.01}};
    *back = (struct direction){.rate_bps = 100000000, .queue_bytes = 150000};
    made->readback[0] = (struct link_readback){
        .engine = ENGINE_RELAY, .direction = {{.rate_bps = 100000000, .delay_ns = 2 * NS_PER_MS}, {.rate_bps = 100000000}}};
    made->checks[0].direction[0] = (struct direction_check){.measured = true,
                                                            .goodput_bps = 50e6,
                                                            .delay_mean_ns = 2.01e6,
                                                            .delay_min_ns = 1e6,
                                                            .delay_max_ns = 3e6,
                                                            .delay_sd_ns = 580e3,
                                                            .delay_quantiles_ns = {1.2e6, 2e6, 2.8e6, 2.98e6},
                                                            .probes_sent = 1000,
                                                            .probes_received = 990,
                                                            .fates = {.sent = 1000, .lost = 12, .loss_runs = 12, .spacing_ns = 5e4},
                                                            .drift_ns = -1500,
                                                            .drift_probes = 50,
                                                            .within_tolerance = true};
    made->checks[0].direction[1] = (struct direction_check){.measured = true,
                                                            .goodput_bps = 47.82e6,
                                                            .delay_mean_ns = 8e3,
                                                            .probes_sent = 200,
                                                            .probes_received = 200,
                                                            .fates = {.sent = 2000, .spacing_ns = 5e4},
                                                            .message_bytes = 65536,
                                                            .message_bps = 100e6,
                                                            .reason = "goodput 47.8 Mbit/s where 95.6 Mbit/s was asked"};
    made->entry = (struct survey_entry){.topology = {.shape = SHAPE_STAR,
                                                     .places = made->places,
                                                     .place_count = 3,
                                                     .host_count = 2,
                                                     .links = made->links,
                                                     .link_count = 2,
                                                     .mtu = 1500},
                                        .engine = ENGINE_RELAY,
                                        .checks = made->checks,
                                        .readback = made->readback,
                                        .load = {.stolen_share = 0, .pressure_some_share = NAN}};
    made->survey = (struct link_survey){.entries = &made->entry, .count = 1, .entry_of_cell = made->entry_of_cell};
    made->plan = (struct plan){.name = "made up", .cells = made->cells, .cell_count = 2};
    made->result = (struct verify_result){.plan = &made->plan, .survey = &made->survey, .effort = {.time_ns = NS_PER_S}};
}

static void a_row_a_direction(void **state)
{
    (void)state;
    struct made_up made;
    cleanup(text_free) struct text out = {0};
    make_up(&made);
    verify_print_text(&made.result, &out);
    assert_string_equal(
        out.bytes,
        "network of cell 0 (workers=2), 1 (workers=3): star, 2 hosts, engine relay, 1 of 2 links measured\n"
        "link       direction  rate asked  read back   goodput              message after idle  delay asked  read back  delay    "
        "jitter asked    sd      10 50 90 99 % (ms)   drift    loss asked  lost             verdict\n"
        "w0-router  forward    100 Mbit/s  100 Mbit/s  50 Mbit/s -47.7 %                        2 ms         2 ms       2.01 ms  "
        "577 us uniform  580 us  1.20 2.00 2.80 2.98  -1.5 us  1 %         1.2 % (12/1000)  as asked\n"
        "w0-router  backward   100 Mbit/s  100 Mbit/s  47.8 Mbit/s -50.0 %  64 KiB +4.6 %                               8 us     "
        "                0 ns                                              0 % (0/2000)     goodput 47.8 Mbit/s where 95.6 Mbit/s "
        "was "
        "asked\n"
        "w0-router forward: 1000 packets went through; 2628 would tell what was asked from half and from twice of it (--time)\n");
    struct verify_counts counts = verify_count(&made.result);
    assert_int_equal(counts.networks, 1);
    assert_int_equal(counts.links, 1);
    assert_int_equal(counts.directions, 2);
    assert_int_equal(counts.out_of_tolerance, 1);
}

static void assert_has(const struct text *out, const char *part)
{
    if (!strstr(out->bytes, part))
        fail_msg("%s is not in %s", part, out->bytes);
}

static void one_document(void **state)
{
    (void)state;
    struct made_up made;
    cleanup(text_free) struct text out = {0};
    make_up(&made);
    verify_print_json(&made.result, &out);
    assert_has(&out,
               "{\"campaign\":\"made up\",\"time_ns\":1000000000,\"directions_measured\":2,\"directions_out_of_tolerance\":1,");
    assert_has(&out,
               "\"networks\":[{\"cells\":[0,1],\"shape\":\"star\",\"hosts\":2,\"links\":2,\"engine\":\"relay\",\"stolen_ratio\":0,"
               "\"pressure_some_ratio\":null,\"directions\":[{\"link\":\"w0-router\",\"direction\":\"forward\",\"from\":\"w0\","
               "\"to\":\"router\",\"asked\":{\"rate_bps\":100000000,");
    assert_has(&out, "\"packets_sent\":1000,\"packets_needed\":2628,\"packets_lost\":12,\"loss_ratio\":0.012,");
    assert_has(&out, "\"message_bytes\":null,\"message_bps\":null,");
    assert_has(
        &out, "\"within_tolerance\":true,\"reason\":null},{\"link\":\"w0-router\",\"direction\":\"backward\",\"from\":\"router\",");
    assert_has(&out, "\"within_tolerance\":false,\"reason\":\"goodput 47.8 Mbit/s where 95.6 Mbit/s was asked\"}]}]}\n");
    assert_null(strstr(out.bytes, "w1-router"));
}

static void what_was_not_measured_is_left_out(void **state)
{
    (void)state;
    struct made_up made;
    cleanup(text_free) struct text out = {0};
    make_up(&made);
    made.entry.checks = NULL; /* interrupted */
    verify_print_text(&made.result, &out);
    assert_null(out.bytes);
    assert_int_equal(verify_count(&made.result).directions, 0);
    verify_print_json(&made.result, &out);
    assert_has(&out, "\"networks\":[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_a_direction),
        cmocka_unit_test(one_document),
        cmocka_unit_test(what_was_not_measured_is_left_out),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
