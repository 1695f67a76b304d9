/* agents/transport_internal.h: what transport.c (receiving, events), transport_send.c (sending, losing) and transport_connect.c
 * (connecting, freeing) share. */
#ifndef LAGGARD_AGENTS_TRANSPORT_INTERNAL_H
#define LAGGARD_AGENTS_TRANSPORT_INTERNAL_H

#include "agents/transport.h"
#include "base/err.h"

/* A message of 4 KiB with its header, and some headers behind it, come with one system call. */
enum { STAGED_BYTES = 4096 + 4 * TRANSPORT_HEADER_BYTES };

struct outgoing {
    struct transport_taken taken; /* what on_taken() will be told */
    const uint8_t *payload;
    size_t sent; /* of header and payload together */
    uint8_t header[TRANSPORT_HEADER_BYTES];
};

enum receive_state { RECEIVE_HEADER, RECEIVE_PAYLOAD, RECEIVE_HELD };

struct connection {
    struct transport *transport;
    int peer;
    int fd; /* -1: none, or lost */
    unsigned hello_flags;
    struct watch *watch;
    uint32_t interest;    /* epoll events asked for */
    uint64_t retransmits; /* of the closed socket */

    /* Receiving. Bytes beyond the payload being read are staged; a header is parsed out of the stage. */
    enum receive_state state;
    uint32_t receive_sequence;
    struct message message;
    uint8_t *into; /* NULL: discard */
    size_t got;
    int64_t begin_ns, read_ns;
    bool begun; /* a first byte of the next header has come, at begin_ns */
    size_t staged_begin, staged_end;
    uint8_t *staged; /* STAGED_BYTES, once attached */

    /* Sending: a ring. */
    uint32_t send_sequence;
    struct outgoing *queue;
    uint32_t queue_first, queue_count;
};

/* A connection whose hello is awaited. */
struct greeting {
    struct transport *transport;
    int fd;   /* -1: free */
    int peer; /* -1: it called us and has not said who it is */
    bool connecting;
    struct watch *watch;
    uint8_t bytes[TRANSPORT_HEADER_BYTES];
    size_t got;
};

struct transport {
    struct transport_options options;
    int listen_fd;
    struct watch *listen_watch;
    struct timer *deadline;
    /* One a node. Nodes with which the scheme does not talk share `nobody`, which is never attached: memory grows with the peers,
     * not with the network. */
    struct connection **connections;
    struct connection nobody;
    struct greeting *greetings;
    int greeting_count;
    int expected, up;
    unsigned hello_flags;
    bool failed, started;
    uint8_t *waste; /* discarded payloads are read to here */
};

enum { WASTE_BYTES = 65536 };

/* Adds to, or takes from, the events for which the loop watches the connection. */
void transport_want(struct connection *connection, uint32_t events);
void transport_unwant(struct connection *connection, uint32_t events);
/* Sends what the kernel takes of the queue. The connection may be lost afterwards. */
void transport_flush(struct connection *connection);
/* Closes the connection, tells of every message in its queue that it is dropped, then on_lost(). Harmless when it is lost already.
 * `violation`: the peer is alive and does not keep to the layout. */
void transport_lose(struct connection *connection, bool violation, const struct err *reason);
void transport_lose_errno(struct connection *connection, int error, const char *doing);

#endif
