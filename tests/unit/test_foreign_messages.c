/* test_foreign_messages.c: messages that no scheme sent fail the node that gets them, with a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { ROUNDS = 20 };

/* Which values the true messages have is nothing to the false ones. */
static void plain_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct scheme_setup *setup = context;
    (void)step;
    (void)model;
    for (size_t i = 0; i < setup->parameter_count; i++)
        gradient[i] = (float)worker;
}

static void run_foreign(const char *scheme, int source, int destination, struct message_header header, size_t length)
{
    struct scheme_setup setup = scheme_setup_of(scheme, 3, 300, 100);
    setup.rounds = ROUNDS;
    uint8_t payload[4096] = {0};
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct memory_world_settings settings = memory_world_hostile(&setup, seed);
        settings.context = &setup;
        settings.gradient = plain_gradient;
        cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
        memory_world_inject(world, source, destination, &header, payload, length);
        memory_world_run(world);
        assert_non_null(memory_world_failure(world));
        assert_non_null(strstr(memory_world_failure(world), "the nodes do not run the same scheme"));
    }
}

static void test_foreign_messages_fail_the_node(void **state)
{
    (void)state;
    const uint16_t channel = 1, kind = 1;
    /* Ring of three, chunks of 100 floats in 4 segments of 100 bytes: rank 1 hears rank 0. */
    run_foreign("ring", 0, 1, (struct message_header){.channel = 9, .kind = kind}, 100);
    run_foreign("ring", 0, 1, (struct message_header){.channel = channel, .kind = 7}, 100);
    run_foreign("ring", 2, 1, (struct message_header){.channel = channel, .kind = kind}, 100);
    run_foreign("ring", 0, 1, (struct message_header){.channel = channel, .kind = kind, .step = 5}, 100);
    run_foreign("ring", 0, 1, (struct message_header){.channel = channel, .kind = kind, .index = UINT32_MAX}, 100);
    run_foreign("ring", 0, 1, (struct message_header){.channel = channel, .kind = kind}, 104);
    run_foreign("ring", 0, 1, (struct message_header){.channel = channel, .kind = kind}, 0);
    run_foreign("ring", 0, 1, (struct message_header){.channel = channel, .kind = kind},
                100); /* the true one is then a duplicate */
    run_foreign("ps-sync", 0, 3, (struct message_header){.kind = 7}, 1200);
    run_foreign("ps-sync", 0, 3, (struct message_header){.kind = 1, .step = 1}, 1200);
    run_foreign("ps-sync", 0, 3, (struct message_header){.kind = 1}, 1196);
    run_foreign("ps-sync", 0, 3, (struct message_header){.kind = 1}, 1200);
    run_foreign("ps-sync", 3, 0, (struct message_header){.kind = 2}, 1200);
    run_foreign("ps-sync", 1, 0, (struct message_header){.kind = 2}, 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_foreign_messages_fail_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
