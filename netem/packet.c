/* packet.c: the headers of a captured frame.
 *
 * The kernel hands TCP's data to a device in packets of up to 64 KiB and has them cut to the MTU behind it (or never, where the
 * next device takes them whole). What a wire would carry follows from the headers: every segment repeats them, and all but the last
 * are as long as the MTU lets them be. That is how TCP itself chooses segments, unless a program asks for shorter ones
 * (TCP_MAXSEG). */
#include "netem/packet.h"

enum {
    ETHERNET_BYTES = 14,
    ETHERTYPE_IPV4 = 0x0800,
    IPV4_BYTES = 20,
    PROTOCOL_TCP = 6,
    PROTOCOL_UDP = 17,
    TCP_BYTES = 20,
    UDP_BYTES = 8,
    OPTION_END = 0,
    OPTION_NOTHING = 1,
    OPTION_TIMESTAMPS = 8,
    OPTION_TIMESTAMPS_BYTES = 10,
};

static uint32_t get16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static uint32_t get32(const uint8_t *bytes)
{
    return get16(bytes) << 16 | get16(bytes + 2);
}

static void read_options(const uint8_t *option, const uint8_t *end, struct packet *packet)
{
    while (option < end && *option != OPTION_END) {
        if (*option == OPTION_NOTHING) {
            option++;
            continue;
        }
        if (end - option < 2 || option[1] < 2 || option[1] > end - option)
            return;
        if (option[0] == OPTION_TIMESTAMPS && option[1] == OPTION_TIMESTAMPS_BYTES) {
            packet->has_timestamps = true;
            packet->timestamp = get32(option + 2);
            packet->timestamp_echo = get32(option + 6);
        }
        option += option[1];
    }
}

/* header_bytes: of Ethernet, IP and transport together. */
static void cut(struct packet *packet, size_t header_bytes, size_t payload, unsigned mtu)
{
    size_t room = (size_t)mtu + ETHERNET_BYTES;
    if (header_bytes + payload <= room || header_bytes >= room) {
        packet->segment_bytes = (uint32_t)payload;
        return;
    }
    packet->segment_bytes = (uint32_t)(room - header_bytes);
    packet->frame_count = (uint32_t)((payload + packet->segment_bytes - 1) / packet->segment_bytes);
    packet->wire_bytes += (uint64_t)(packet->frame_count - 1) * header_bytes;
}

static void parse_tcp(const uint8_t *tcp, size_t captured, size_t header_bytes, size_t length, unsigned mtu, struct packet *packet)
{
    if (captured < TCP_BYTES)
        return;
    size_t tcp_bytes = (size_t)(tcp[12] >> 4) * 4;
    if (tcp_bytes < TCP_BYTES || tcp_bytes > length)
        return;
    packet->is_tcp = true;
    packet->source_port = (uint16_t)get16(tcp);
    packet->target_port = (uint16_t)get16(tcp + 2);
    packet->sequence = get32(tcp + 4);
    packet->acknowledgement = get32(tcp + 8);
    packet->flags = tcp[13];
    packet->payload_bytes = (uint32_t)(length - tcp_bytes);
    read_options(tcp + TCP_BYTES, tcp + (tcp_bytes < captured ? tcp_bytes : captured), packet);
    cut(packet, header_bytes + tcp_bytes, packet->payload_bytes, mtu);
}

void packet_parse(const uint8_t *bytes, size_t captured, size_t length, unsigned mtu, struct packet *packet)
{
    *packet = (struct packet){.frame_count = 1, .wire_bytes = length};
    if (captured > length)
        captured = length;
    if (captured < ETHERNET_BYTES + IPV4_BYTES || get16(bytes + 12) != ETHERTYPE_IPV4)
        return;
    const uint8_t *ip = bytes + ETHERNET_BYTES;
    captured -= ETHERNET_BYTES;
    length -= ETHERNET_BYTES;
    size_t ip_bytes = (size_t)(ip[0] & 15) * 4, total = get16(ip + 2);
    if (total == 0) /* more than 16 bits can say */
        total = length;
    bool is_fragment = (get16(ip + 6) & 0x3fff) != 0;
    if (ip[0] >> 4 != 4 || ip_bytes < IPV4_BYTES || captured < ip_bytes || total < ip_bytes || total > length || is_fragment)
        return;
    packet->source = get32(ip + 12);
    packet->target = get32(ip + 16);
    if (ip[9] == PROTOCOL_TCP)
        parse_tcp(ip + ip_bytes, captured - ip_bytes, ETHERNET_BYTES + ip_bytes, total - ip_bytes, mtu, packet);
    else if (ip[9] == PROTOCOL_UDP && total >= ip_bytes + UDP_BYTES)
        cut(packet, ETHERNET_BYTES + ip_bytes + UDP_BYTES, total - ip_bytes - UDP_BYTES, mtu);
    if (!packet->is_tcp)
        *packet = (struct packet){.frame_count = packet->frame_count, .wire_bytes = packet->wire_bytes};
}
