/* test_capture_file.c: capture files byte by byte, their limits, and disks that are full; and what a ring must hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/capture.h"
#include "netem/capture_file.h"
#include "tests/unit/bytes.h"

/* A file without a name, and a second descriptor of it. */
static int open_nameless(int *other)
{
    char path[] = "/tmp/test_capture_file.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    *other = dup(fd);
    return fd;
}

static struct capture_file *open_file(int fd, uint64_t snap_bytes, uint64_t size_bytes)
{
    struct err err = {0};
    struct capture_file *file = capture_file_new(fd, snap_bytes, size_bytes, &err);
    assert_non_null(file);
    return file;
}

static void records_are_those_of_pcap(void **state)
{
    (void)state;
    int fd;
    struct capture_file *file = open_file(open_nameless(&fd), 64, 0);
    const uint8_t bytes[100] = {1, 2, 3, [63] = 0xee, [64] = 0xff};
    capture_file_add(file, INT64_C(1500000000) * NS_PER_S + 123456789, bytes, 3, 1514);
    capture_file_add(file, INT64_C(1500000000) * NS_PER_S + 123456790, bytes, 100, 100); /* cut to 64 */
    struct packet_summary sum = {0};
    capture_file_sum(file, &sum);
    assert_int_equal(sum.written_count, 2);
    assert_int_equal(sum.written_bytes, 24 + 16 + 3 + 16 + 64);
    assert_false(sum.truncated);
    capture_file_free(file);
    uint8_t found[24 + 16 + 3 + 16 + 64 + 1];
    assert_int_equal(pread(fd, found, sizeof(found), 0), sizeof(found) - 1);
    assert_bytes(found, "4d3cb2a1 0200 0400 00000000 00000000 40000000 01000000" /* ns, 2.4, UTC, snap 64, Ethernet */
                        "002f6859 15cd5b07 03000000 ea050000 010203"
                        "002f6859 16cd5b07 40000000 64000000 010203");
    assert_int_equal(found[24 + 16 + 3 + 16 + 63], 0xee);
    close(fd);
}

static void the_size_limit_is_kept(void **state)
{
    (void)state;
    int fd;
    struct capture_file *file = open_file(open_nameless(&fd), 128, 4096);
    const uint8_t bytes[128] = {0};
    for (int i = 0; i < 100; i++)
        capture_file_add(file, i, bytes, i == 90 ? 1 : 100, 1514); /* a small one does not slip in */
    struct packet_summary sum = {0};
    capture_file_sum(file, &sum);
    assert_int_equal(sum.written_count, 35); /* 24 + 35 x 116 = 4084 */
    assert_true(sum.truncated);
    assert_string_equal(sum.reason, "the size limit was reached after 35 packets");
    capture_file_free(file);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 4084);
    close(fd);
}

static void much_passes_the_buffer(void **state)
{
    (void)state;
    int fd;
    struct capture_file *file = open_file(open_nameless(&fd), 65536, 0);
    uint8_t *bytes = calloc(1, 65536);
    assert_non_null(bytes);
    for (int i = 0; i < 40; i++)
        capture_file_add(file, i, bytes, (size_t)65536 - (size_t)i, 65536);
    capture_file_free(file);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 24 + 40 * (16 + 65536) - 39 * 40 / 2);
    free(bytes);
    close(fd);
}

static void a_full_disk_is_said(void **state)
{
    (void)state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct capture_file *file = open_file(fd, 128, 0);
    const uint8_t bytes[128] = {0};
    for (int i = 0; i < 3; i++)
        capture_file_add(file, i, bytes, 128, 128);
    capture_file_flush(file);
    struct packet_summary sum = {0};
    capture_file_sum(file, &sum);
    assert_true(sum.truncated);
    assert_int_equal(sum.written_count, 0);
    assert_non_null(strstr(sum.reason, "writing failed"));
    capture_file_add(file, 4, bytes, 128, 128); /* harmless from here on */
    capture_file_sum(file, &sum);
    assert_int_equal(sum.written_count, 0);
    capture_file_free(file);
}

static void rings_hold_a_quarter_of_a_second(void **state)
{
    (void)state;
    assert_int_equal(capture_ring_bytes(UINT64_C(1000000000), 128, 1500), UINT64_C(82562) * (128 + 96) / 4);
    assert_int_equal(capture_ring_bytes(UINT64_C(10000000), 128, 1500), 2 << 20);      /* the least */
    assert_int_equal(capture_ring_bytes(UINT64_C(1000000000), 65535, 1500), 16 << 20); /* the most */
    assert_int_equal(capture_ring_bytes(0, 65535, 1500), 16 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_those_of_pcap),        cmocka_unit_test(the_size_limit_is_kept),
        cmocka_unit_test(much_passes_the_buffer),           cmocka_unit_test(a_full_disk_is_said),
        cmocka_unit_test(rings_hold_a_quarter_of_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
