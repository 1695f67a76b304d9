/* test_agent_refusals.c: what an agent refuses, with its sentence: setups, operations out of turn, and a controller that babbles.
 * */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "schemas/control.h"
#include "tests/receive.h"
#include "tests/unit/agent_rig.h"

static void a_size_out_of_turn_is_refused(void **state)
{
    (void)state;
    static const struct control_message_size sizes[] = {{.bytes = 400}, {.bytes = 4}};
    for (uint32_t named = 0; named < 3; named += 2) {
        struct agent_rig rig;
        agent_rig_open(&rig);
        struct control_setup setup = agent_rig_setup();
        setup.sizes = sizes;
        setup.size_count = 2;
        agent_rig_say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
        assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_LISTENING);
        agent_rig_say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
        assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_READY);
        agent_rig_say(&rig, CONTROL_START, CONTROL_VERSION, &(struct control_start){.start_ns = clock_now_ns()});
        assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_DONE);
        agent_rig_say(&rig, CONTROL_SIZE, CONTROL_VERSION, &(struct control_size){.position = named});
        assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_FAILURE);
        assert_non_null(strstr(rig.failure, named == 0 ? "SIZE names message size 0 where size 0 of 2 is over"
                                                       : "SIZE names message size 2 where size 0 of 2 is over"));
        assert_int_equal(agent_rig_close(&rig), 1);
    }
}

/* A socket that listens on 127.0.0.1, and its port. */
static int take_port(uint32_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void refused_setups_say_why(void **state)
{
    (void)state;
    static const struct control_node two[] = {{.name = "w0", .address = 0x7f000001, .slow_factor = 1},
                                              {.name = "s0", .address = 0x7f000002, .role = ROLE_SERVER, .slow_factor = 1}};
    static const struct control_node slow = {.name = "w0", .address = 0x7f000001, .slow_factor = -1};
    for (int fault = 0; fault < 16; fault++) {
        static const char *const says[] = {"no scheme 'rings'",
                                           "has 7 parameters, 2 were sent",
                                           "the number of rounds is 0",
                                           "the node's index is 1, allowed are 0 to 0",
                                           "the model is 99",
                                           "has 0 servers, the roster has 1",
                                           "slow factor of -1",
                                           "the number of nodes is 0",
                                           "cannot listen on 127.0.0.1",
                                           "mark 0 is 0 rounds, allowed are 1 to 3",
                                           "mark 1 is 2 rounds, allowed are 3 to 3",
                                           "at least 4 bytes",
                                           "message size 1 is 6 bytes, a multiple of 4",
                                           "which only synthetic gradients have",
                                           "the number of message sizes is 65",
                                           "the number of rounds of all message sizes is 33554432"};
        static const struct control_message_size good[65] = {[0 ... 64] = {.bytes = 4}}, odd[] = {{.bytes = 4}, {.bytes = 6}};
        static const struct control_mark none[] = {{0}}, twice[] = {{2}, {2}};
        struct control_setup setup = agent_rig_setup();
        int taken = -1;
        switch (fault) {
        case 0:
            setup.scheme = "rings";
            break;
        case 1:
            setup.value_count = 2;
            break;
        case 2:
            setup.rounds = 0;
            break;
        case 3:
            setup.node = 1;
            break;
        case 4:
            setup.model = 99;
            break;
        case 5:
            setup.nodes = two;
            setup.node_count = 2;
            break;
        case 6:
            setup.nodes = &slow;
            break;
        case 7:
            setup.node_count = 0;
            break;
        case 8:
            taken = take_port(&setup.port);
            break;
        case 9:
            setup.marks = none;
            setup.mark_count = 1;
            break;
        case 10:
            setup.marks = twice;
            setup.mark_count = 2;
            break;
        case 11:
            setup.size_bytes = 0;
            break;
        case 12:
            setup.sizes = odd;
            setup.size_count = 2;
            break;
        case 13:
            setup.model = MODEL_SOFTMAX;
            setup.sizes = good;
            setup.size_count = 2;
            break;
        case 14:
            setup.sizes = good;
            setup.size_count = 65;
            break;
        default:
            setup.sizes = good;
            setup.size_count = 2;
            setup.rounds = 1 << 24;
        }
        struct agent_rig rig;
        agent_rig_open(&rig);
        agent_rig_say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
        assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_FAILURE);
        if (!strstr(rig.failure, says[fault]))
            assert_string_equal(rig.failure, says[fault]);
        assert_int_equal(agent_rig_close(&rig), 1);
        if (taken >= 0)
            close(taken);
    }
}

static void operations_out_of_turn_are_refused(void **state)
{
    (void)state;
    static const struct {
        int operation, version;
        bool after_setup;
        const char *says;
    } rows[] = {
        {CONTROL_CONNECT, CONTROL_VERSION, false, "sent connect while the agent waits for SETUP"},
        {CONTROL_COLLECT, CONTROL_VERSION, true, "sent collect while the agent waits for CONNECT"},
        {CONTROL_START, CONTROL_VERSION, true, "sent start while the agent waits for CONNECT"},
        {CONTROL_SIZE, CONTROL_VERSION, true, "sent size while the agent waits for CONNECT"},
        {CONTROL_PEER, CONTROL_VERSION, true, "sent peer while"},
        {CONTROL_READY, CONTROL_VERSION, false, "operation 4, which no agent understands"},
        {0, CONTROL_VERSION, false, "operation 0"},
        {999, CONTROL_VERSION, true, "operation 999"},
        {CONTROL_QUIT, CONTROL_VERSION + 1, false, "speaks version 3"},
        {CONTROL_SETUP, CONTROL_VERSION, false, "the controller's setup"}, /* without a body */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct agent_rig rig;
        agent_rig_open(&rig);
        if (rows[i].after_setup) {
            struct control_setup setup = agent_rig_setup();
            agent_rig_say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
            assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_LISTENING);
        }
        agent_rig_say(&rig, rows[i].operation, rows[i].version, NULL);
        assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_FAILURE);
        if (!strstr(rig.failure, rows[i].says))
            assert_string_equal(rig.failure, rows[i].says);
        assert_int_equal(agent_rig_close(&rig), 1);
    }
}

static void a_controller_that_goes_or_babbles_ends_the_agent(void **state)
{
    (void)state;
    struct agent_rig rig;
    agent_rig_open(&rig);
    assert_int_equal(agent_rig_close(&rig), 1);
    agent_rig_open(&rig);
    static const uint8_t noise[64] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4};
    assert_int_equal(send(rig.fd, noise, sizeof(noise), MSG_NOSIGNAL), (ssize_t)sizeof(noise));
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_FAILURE);
    assert_non_null(strstr(rig.failure, "claims 4294967295 bytes"));
    assert_int_equal(agent_rig_close(&rig), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_out_of_turn_is_refused),
        cmocka_unit_test(refused_setups_say_why),
        cmocka_unit_test(operations_out_of_turn_are_refused),
        cmocka_unit_test(a_controller_that_goes_or_babbles_ends_the_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
