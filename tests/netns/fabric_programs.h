/* fabric_programs.h: what fabric_tool runs on the hosts of a fabric: itself, as one of these programs. Descriptor 3 is its end of
 * a pair of sockets. */
#ifndef LAGGARD_TESTS_FABRIC_PROGRAMS_H
#define LAGGARD_TESTS_FABRIC_PROGRAMS_H

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "netem/topology.h"

enum { PORT = 5001 };

static inline uint8_t expected_byte(uint32_t sender, size_t position)
{
    return (uint8_t)(sender * 31 + position * 7 + position / 251);
}

/* The receiving program: one connection for each other host, one after the other in order of arrival; each begins with its
 * address. */
static inline int run_sink(int senders, size_t length)
{
    cleanup(close_fd) int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 128) < 0)
        return 1;
    char ready = 'r';
    if (write(3, &ready, 1) != 1)
        return 1;
    for (int i = 0; i < senders; i++) {
        struct sockaddr_in peer;
        socklen_t peer_bytes = sizeof(peer);
        cleanup(close_fd) int connection = accept(listener, (struct sockaddr *)&peer, &peer_bytes);
        uint32_t sender = ntohl(peer.sin_addr.s_addr) & 0xffff;
        int64_t started = clock_now_ns();
        size_t position = 0;
        static uint8_t bytes[1 << 16];
        for (ssize_t count; (count = read(connection, bytes, sizeof(bytes))) > 0;)
            for (ssize_t k = 0; k < count; k++, position++)
                if (bytes[k] != expected_byte(sender, position))
                    return 2;
        if (position != length)
            return 3;
        printf("received %zu bytes from %u at %.1f Mbit/s\n", position, sender,
               (double)position * 8e3 / (double)(clock_now_ns() - started));
    }
    return fflush(stdout) == 0 ? 0 : 4;
}

static inline int run_source(size_t length)
{
    char own_name[64], go;
    if (read(3, &go, 1) != 1)
        return 1;
    cleanup(close_fd) int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(TOPOLOGY_FIRST_ADDRESS)};
    struct sockaddr_in own;
    socklen_t own_bytes = sizeof(own);
    if (connect(connection, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        getsockname(connection, (struct sockaddr *)&own, &own_bytes) < 0)
        return 2;
    char algorithm[16] = "";
    socklen_t algorithm_bytes = sizeof(algorithm);
    getsockopt(connection, IPPROTO_TCP, 13 /* TCP_CONGESTION */, algorithm, &algorithm_bytes);
    gethostname(own_name, sizeof(own_name));
    printf("sender %s congestion_control %s\n", own_name, algorithm);
    fflush(stdout);
    uint32_t sender = ntohl(own.sin_addr.s_addr) & 0xffff;
    uint8_t *bytes = malloc(length);
    if (!bytes)
        return 3;
    for (size_t i = 0; i < length; i++)
        bytes[i] = expected_byte(sender, i);
    for (size_t sent = 0; sent < length;) {
        ssize_t count = write(connection, bytes + sent, length - sent);
        if (count <= 0)
            return 4;
        sent += (size_t)count;
    }
    free(bytes);
    return 0;
}

static inline int run_waiter(void)
{
    char byte;
    return read(3, &byte, 1) == 0 ? 0 : 1; /* until the caller closes its end */
}

/* Exits with 1 if its own file is out of sight at any moment before the caller closes its end. */
static inline int run_watcher(const char *own_path)
{
    char byte;
    while (recv(3, &byte, 1, MSG_DONTWAIT) < 0)
        if (access(own_path, X_OK) < 0)
            return 1;
    return 0;
}

#endif
