/* relay_transfer.h: a TCP transfer over the two links of a rig, from place 0 to place 1, of bytes that tell where they belong. */
#ifndef LAGGARD_TESTS_NETNS_RELAY_TRANSFER_H
#define LAGGARD_TESTS_NETNS_RELAY_TRANSFER_H

#include <pthread.h>
#include <sys/time.h>

#include "tests/netns/relay_rig.h"

struct transfer {
    int listener;
    uint64_t bytes, wrong; /* received; those of them that another one should have been */
};

static inline unsigned char transfer_byte(uint64_t position)
{
    return (unsigned char)(position * 2654435761u >> 13);
}

static inline void *transfer_receive(void *argument)
{
    struct transfer *transfer = argument;
    enum { CHUNK = 1 << 16 };
    unsigned char *chunk = malloc(CHUNK);
    int fd = accept(transfer->listener, NULL, NULL);
    if (!chunk || fd < 0)
        rig_die("accepting a transfer");
    ssize_t length;
    while ((length = recv(fd, chunk, CHUNK, 0)) > 0)
        for (ssize_t i = 0; i < length; i++)
            transfer->wrong += chunk[i] != transfer_byte(transfer->bytes++);
    close(fd);
    free(chunk);
    return NULL;
}

static inline struct transfer transfer_over(const struct rig *rig, size_t count)
{
    struct sockaddr_in from, to;
    pthread_t thread;
    struct transfer transfer = {.listener = rig_socket(rig, 1, SOCK_STREAM, &to)};
    int fd = rig_socket(rig, 0, SOCK_STREAM, &from);
    const struct timeval patience = {.tv_sec = 60};
    if (listen(transfer.listener, 1) < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
        pthread_create(&thread, NULL, transfer_receive, &transfer) != 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        rig_die("a connection over two links");
    unsigned char *bytes = malloc(count);
    if (!bytes)
        rig_die("memory for a transfer");
    for (uint64_t i = 0; i < count; i++)
        bytes[i] = transfer_byte(i);
    for (size_t sent = 0; sent < count;) {
        ssize_t length = send(fd, bytes + sent, count - sent, MSG_NOSIGNAL);
        if (length < 0)
            rig_die("sending a transfer");
        sent += (size_t)length;
    }
    shutdown(fd, SHUT_WR);
    pthread_join(thread, NULL);
    free(bytes);
    close(fd);
    close(transfer.listener);
    return transfer;
}

#endif
