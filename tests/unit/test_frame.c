/* test_frame.c: the frame's bytes, reading them in pieces of any size, and the blocking calls over sockets and pipes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "tests/receive.h"

/* length 3, operation 0x0102, version 0x0304, "abc"; then an empty body */
static const uint8_t two_frames[] = {3, 0, 0, 0, 0x02, 0x01, 0x04, 0x03, 'a', 'b', 'c', 0, 0, 0, 0, 0xff, 0xff, 0, 0x80};

static void check_first(const struct frame *frame)
{
    assert_int_equal(frame->operation, 0x0102);
    assert_int_equal(frame->version, 0x0304);
    assert_int_equal(frame->length, 3);
    assert_memory_equal(frame->body, "abc", 3);
}

static void check_second(const struct frame *frame)
{
    assert_int_equal(frame->operation, 0xffff);
    assert_int_equal(frame->version, 0x8000);
    assert_int_equal(frame->length, 0);
}

static void frames_come_out_however_the_bytes_come_in(void **state)
{
    (void)state;
    for (size_t cut = 0; cut <= sizeof(two_frames); cut++) {
        cleanup(frame_reader_free) struct frame_reader reader = {0};
        struct frame frame;
        int frames = 0;
        for (int part = 0; part < 2; part++) {
            assert_int_equal(frame_reader_feed(&reader, two_frames + (part ? cut : 0), part ? sizeof(two_frames) - cut : cut, NULL),
                             0);
            while (frame_reader_next(&reader, &frame, NULL) == 1)
                frames++ == 0 ? check_first(&frame) : check_second(&frame);
            if (part == 0)
                assert_int_equal(frames, cut < 11 ? 0 : cut < 19 ? 1 : 2); /* never before its last byte */
        }
        assert_int_equal(frames, 2);
        assert_int_equal(frame_reader_next(&reader, &frame, NULL), 0);
    }
    cleanup(frame_reader_free) struct frame_reader reader = {0};
    struct frame frame;
    int frames = 0;
    for (int repeat = 0; repeat < 1000; repeat++) {
        for (size_t i = 0; i < sizeof(two_frames); i++) {
            frame_reader_feed(&reader, two_frames + i, 1, NULL);
            while (frame_reader_next(&reader, &frame, NULL) == 1)
                frames++;
        }
    }
    assert_int_equal(frames, 2000);
    assert_true(reader.capacity < 1000); /* consumed bytes do not pile up */
}

static void a_long_body_is_refused_by_its_header_alone(void **state)
{
    (void)state;
    static const uint8_t most[8] = {0, 0, 0, 4, 7, 0, 1, 0}, too_much[8] = {1, 0, 0, 4, 7, 0, 1, 0};
    cleanup(frame_reader_free) struct frame_reader reader = {0}, other = {0};
    struct frame frame = {.length = 77};
    struct err err = {0};
    frame_reader_feed(&reader, most, sizeof(most), NULL);
    assert_int_equal(frame_reader_next(&reader, &frame, &err), 0);
    assert_true(reader.capacity < 1000); /* memory is not taken on the word of a header */
    frame_reader_feed(&other, too_much, sizeof(too_much), NULL);
    assert_int_equal(frame_reader_next(&other, &frame, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "claims 67108865 bytes"));
    assert_non_null(strstr(err.text, "allowed are 67108864"));
    assert_int_equal(frame_reader_next(&other, &frame, NULL), -ERR_TRIAL); /* and stays refused */
    assert_int_equal(frame.length, 77);
    assert_int_equal(frame_send(-1, 1, 1, NULL, (size_t)FRAME_BODY_MAX + 1, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "too long"));
}

static void sent_bytes_are_the_documented_ones(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) { /* a socket, and a pipe */
        int fds[2];
        assert_int_equal(kind ? pipe(fds) : socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        assert_int_equal(frame_send(fds[1], 0x0102, 0x0304, "abc", 3, NULL), 0);
        assert_int_equal(frame_send(fds[1], 0xffff, 0x8000, NULL, 0, NULL), 0);
        uint8_t bytes[100];
        assert_int_equal(read(fds[0], bytes, sizeof(bytes)), sizeof(two_frames));
        assert_memory_equal(bytes, two_frames, sizeof(two_frames));
        close(fds[0]);
        close(fds[1]);
    }
}

struct sender {
    int fd, status;
    const uint8_t *body;
    size_t length;
};

static void *send_one(void *context)
{
    struct sender *sender = context;
    sender->status = frame_send(sender->fd, 5, 6, sender->body, sender->length, NULL);
    return NULL;
}

static void a_body_larger_than_the_socket_buffer_arrives_whole(void **state)
{
    (void)state;
    size_t length = 3 << 20;
    cleanup(free_pointer) uint8_t *body = malloc(length);
    for (size_t i = 0; i < length; i++)
        body[i] = (uint8_t)(i * 7 + i / 251);
    for (int kind = 0; kind < 3; kind++) { /* a non-blocking socket, a blocking one, a non-blocking pipe */
        int fds[2];
        assert_int_equal(kind == 2 ? pipe2(fds, O_NONBLOCK) : socketpair(AF_UNIX, SOCK_STREAM | (kind ? 0 : SOCK_NONBLOCK), 0, fds),
                         0);
        struct sender sender = {.fd = fds[1], .status = 77, .body = body, .length = length};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, send_one, &sender), 0);
        cleanup(frame_reader_free) struct frame_reader reader = {0};
        struct frame frame;
        struct err err = {0};
        if (receive_frame(&reader, fds[0], INT64_MAX, &frame, &err) != 0)
            fail_msg("%s", err.text);
        pthread_join(thread, NULL);
        assert_int_equal(sender.status, 0);
        assert_int_equal(frame.operation, 5);
        assert_int_equal(frame.length, length);
        assert_memory_equal(frame.body, body, length);
        close(fds[0]);
        close(fds[1]);
    }
}

static void receiving_ends_at_the_deadline_and_at_the_end_of_the_stream(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    cleanup(frame_reader_free) struct frame_reader reader = {0};
    struct frame frame;
    struct err err = {0};
    assert_int_equal(frame_reader_fill(&reader, fds[0], &err), 0); /* does not block, though the descriptor would */
    int64_t deadline = clock_now_ns() + 3 * NS_PER_MS;
    assert_int_equal(receive_frame(&reader, fds[0], deadline, &frame, &err), -ERR_TRIAL);
    assert_true(clock_now_ns() >= deadline);
    assert_int_equal(receive_frame(&reader, fds[0], 1, &frame, &err), -ERR_TRIAL);
    frame_send(fds[1], 1, 1, "abc", 3, NULL);
    assert_int_equal(receive_frame(&reader, fds[0], 1, &frame, &err), 0); /* what is there is taken, however late */
    assert_int_equal(write(fds[1], two_frames, 10), 10);
    close(fds[1]);
    assert_int_equal(receive_frame(&reader, fds[0], INT64_MAX, &frame, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "the peer closed the connection inside a message (10 bytes of it came)");
    frame_reader_free(&reader);
    assert_int_equal(frame_reader_fill(&reader, fds[0], &err), -ERR_TRIAL);
    assert_string_equal(err.text, "the peer closed the connection");
    assert_int_equal(frame_reader_fill(&reader, -1, &err), -ERR_TRIAL);
    close(fds[0]);
}

static void a_closed_peer_raises_no_signal(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL); /* the signal would end this program */
    for (int kind = 0; kind < 2; kind++) {
        int fds[2];
        assert_int_equal(kind ? pipe(fds) : socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        close(fds[0]);
        struct err err = {0};
        assert_int_equal(frame_send(fds[1], 1, 1, "abc", 3, &err), -ERR_TRIAL);
        assert_non_null(strstr(err.text, "Broken pipe"));
        sigset_t pending, mask;
        sigpending(&pending);
        assert_false(sigismember(&pending, SIGPIPE));
        sigprocmask(SIG_SETMASK, NULL, &mask);
        assert_false(sigismember(&mask, SIGPIPE));
        close(fds[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_out_however_the_bytes_come_in),
        cmocka_unit_test(a_long_body_is_refused_by_its_header_alone),
        cmocka_unit_test(sent_bytes_are_the_documented_ones),
        cmocka_unit_test(a_body_larger_than_the_socket_buffer_arrives_whole),
        cmocka_unit_test(receiving_ends_at_the_deadline_and_at_the_end_of_the_stream),
        cmocka_unit_test(a_closed_peer_raises_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
