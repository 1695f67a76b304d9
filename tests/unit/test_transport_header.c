/* test_transport_header.c: message headers and the first words of a connection, as bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#undef fail
#include "agents/transport_internal.h"
#include "base/err.h"

static const struct transport_header example = {
    .message = {.channel = 0x0102, .kind = 0x0304, .index = 0x05060708, .step = 0x1112131415161718, .argument = -2},
    .sequence = 0x0a0b0c0d,
    .length = 0x2122,
};
static const uint8_t example_bytes[TRANSPORT_HEADER_BYTES] = {
    'L',  'G',  'M',  '1',  0x02, 0x01, 0x04, 0x03, 0x08, 0x07, 0x06, 0x05, 0x0d, 0x0c, 0x0b, 0x0a, 0x18, 0x17, 0x16, 0x15,
    0x14, 0x13, 0x12, 0x11, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x22, 0x21, 0,    0,    0,    0,    0,    0,
};

static void a_header_is_these_forty_bytes(void **state)
{
    (void)state;
    uint8_t bytes[TRANSPORT_HEADER_BYTES];
    transport_header_encode(&example, bytes);
    assert_memory_equal(bytes, example_bytes, sizeof(bytes));
    struct transport_header header;
    assert_int_equal(transport_header_decode(bytes, 0x0a0b0c0d, 0x2122, &header, NULL), 0);
    assert_int_equal(header.message.channel, 0x0102);
    assert_int_equal(header.message.kind, 0x0304);
    assert_int_equal(header.message.index, 0x05060708);
    assert_true(header.message.step == UINT64_C(0x1112131415161718));
    assert_int_equal(header.message.argument, -2);
    assert_int_equal(header.length, 0x2122);
}

static void a_header_that_is_not_ours_is_refused(void **state)
{
    (void)state;
    struct transport_header header = {.sequence = 77};
    struct err err;
    uint8_t bytes[TRANSPORT_HEADER_BYTES];
    memcpy(bytes, example_bytes, sizeof(bytes));
    assert_int_equal(transport_header_decode(bytes, 0x0a0b0c0e, 1 << 20, &header, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "was due"));
    assert_int_equal(transport_header_decode(bytes, 0x0a0b0c0d, 0x2121, &header, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "claims 8482 bytes, allowed are 8481"));
    bytes[0] = 'X';
    assert_int_equal(transport_header_decode(bytes, 0x0a0b0c0d, 1 << 20, &header, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "LGM1"));
    assert_int_equal(header.sequence, 77); /* untouched */
}

static void a_hello_round_trips_and_its_faults_are_refused(void **state)
{
    (void)state;
    const struct transport_hello hello = {.node = 3, .cell = 9, .token = UINT64_C(0xfedcba9876543210), .flags = HELLO_HAS_MODEL};
    uint8_t bytes[TRANSPORT_HEADER_BYTES], damaged[TRANSPORT_HEADER_BYTES];
    struct transport_hello back;
    struct err err;
    transport_hello_encode(&hello, bytes);
    assert_memory_equal(bytes, "LGH1\x01\x00\x01\x00\x03\x00\x00\x00\x09\x00\x00\x00\x10\x32\x54\x76\x98\xba\xdc\xfe", 24);
    assert_int_equal(transport_hello_decode(bytes, &back, NULL), 0);
    assert_true(back.node == 3 && back.cell == 9 && back.token == hello.token && back.flags == HELLO_HAS_MODEL);
    static const struct {
        int at;
        const char *says;
    } rows[] = {{0, "LGH1"}, {4, "version"}, {7, "flags"}, {24, "must be 0"}, {39, "must be 0"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memcpy(damaged, bytes, sizeof(damaged));
        damaged[rows[i].at] ^= 0x40;
        assert_int_equal(transport_hello_decode(damaged, &back, &err), -ERR_TRIAL);
        assert_non_null(strstr(err.text, rows[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_is_these_forty_bytes),
        cmocka_unit_test(a_header_that_is_not_ours_is_refused),
        cmocka_unit_test(a_hello_round_trips_and_its_faults_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
