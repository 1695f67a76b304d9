/* test_corruption.c: packets of which one bit is wrong: which one, and that a checksum tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/virtio_net.h>
#include <math.h>
#include <string.h>

#include "netem/impairment.h"

static struct impairment begun(const struct impairments *asked, uint64_t seed)
{
    struct impairment state;
    impairment_begin(&state, asked, seed, 3, 1);
    return state;
}

enum { HEADER = sizeof(struct virtio_net_hdr), ETHERNET = 14, UDP_AT = 34, FRAME = 64 };

static unsigned sum(const unsigned char *bytes, int length, unsigned start)
{
    unsigned long total = start;
    for (int i = 0; i < length; i++)
        total += (unsigned long)bytes[i] << (i % 2 == 0 ? 8 : 0);
    while (total >> 16 != 0)
        total = (total & 0xffff) + (total >> 16);
    return (unsigned)total;
}

/* A UDP datagram whose checksum is left to the device: the field has the pseudo header's sum. */
static void make_packet(unsigned char packet[HEADER + FRAME], unsigned pseudo)
{
    struct virtio_net_hdr header = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = UDP_AT, .csum_offset = 6};
    memset(packet, 0, HEADER + FRAME);
    for (int i = 0; i < FRAME; i++)
        packet[HEADER + i] = (unsigned char)(i * 37);
    packet[HEADER + UDP_AT + 6] = (unsigned char)(pseudo >> 8);
    packet[HEADER + UDP_AT + 7] = (unsigned char)pseudo;
    memcpy(packet, &header, sizeof(header));
}

static void one_bit_is_flipped_and_the_checksum_tells(void **state)
{
    (void)state;
    enum { PSEUDO = 0x1234 };
    const struct impairments asked = {.corrupt = 1};
    struct impairment impairment = begun(&asked, 11);
    bool hit[FRAME] = {false};
    for (int round = 0; round < 5000; round++) {
        unsigned char before[HEADER + FRAME], packet[HEADER + FRAME];
        make_packet(before, PSEUDO);
        memcpy(packet, before, sizeof(packet));
        impairment_flip_bit(&impairment, packet, sizeof(packet));
        struct virtio_net_hdr header;
        memcpy(&header, packet, sizeof(header));
        assert_int_equal(header.flags, 0); /* nobody fills the checksum in again */
        /* What the receiver computes: 0xffff where everything is right. */
        bool good = sum(packet + HEADER + UDP_AT, FRAME - UDP_AT, PSEUDO) == 0xffff;
        int flipped = 0, at = 0;
        for (int i = 0; i < FRAME; i++) {
            if (i == UDP_AT + 6 || i == UDP_AT + 7)
                continue;
            int bits = __builtin_popcount((unsigned)(packet[HEADER + i] ^ before[HEADER + i]));
            flipped += bits;
            at = bits ? i : at;
        }
        assert_in_range(flipped, 0, 1); /* 0: it was in the checksum itself */
        assert_true(flipped == 0 || at >= ETHERNET);
        assert_true(good == (flipped == 1 && at < UDP_AT)); /* the IP header has a checksum of its own */
        hit[flipped ? at : UDP_AT + 6] = true;
    }
    for (int i = ETHERNET; i < FRAME; i++)
        assert_true(hit[i] || i == UDP_AT + 7);
}

static void a_large_packet_is_hit_in_its_ip_header(void **state)
{
    (void)state;
    const struct impairments asked = {.corrupt = 1};
    struct impairment impairment = begun(&asked, 12);
    for (int round = 0; round < 500; round++) {
        unsigned char before[HEADER + FRAME], packet[HEADER + FRAME];
        make_packet(before, 7);
        before[1] = VIRTIO_NET_HDR_GSO_TCPV4;
        memcpy(packet, before, sizeof(packet));
        impairment_flip_bit(&impairment, packet, sizeof(packet));
        assert_memory_equal(packet, before, HEADER + ETHERNET);
        assert_memory_equal(packet + HEADER + UDP_AT, before + HEADER + UDP_AT, FRAME - UDP_AT);
        assert_memory_not_equal(packet, before, sizeof(packet));
    }
    unsigned char tiny[HEADER + ETHERNET] = {0}, same[HEADER + ETHERNET] = {0};
    impairment_flip_bit(&impairment, tiny, sizeof(tiny)); /* has nothing behind its header */
    assert_memory_equal(tiny, same, sizeof(tiny));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bit_is_flipped_and_the_checksum_tells),
        cmocka_unit_test(a_large_packet_is_hit_in_its_ip_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
