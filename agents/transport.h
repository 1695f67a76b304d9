/* agents/transport.h: messages between nodes over TCP, one connection a pair.
 *
 * A message leaves with one sendmsg() of header and payload from the caller itself; what the kernel does not take waits in a
 * bounded queue of that connection for EPOLLOUT. A message arrives header first: the owner then says where its payload goes, and it
 * is read right there. Per wake-up of a connection only a bounded amount is read, so that peers take turns. Nothing allocates once
 * the connections are up.
 *
 * Events are delivered on the loop's thread. transport_send() calls on_taken and on_lost from within; the owner must expect
 * that. */
#ifndef LAGGARD_AGENTS_TRANSPORT_H
#define LAGGARD_AGENTS_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/node.h"
#include "agents/transport_header.h"

struct arena;
struct err;
struct loop;
struct transport;

enum transport_landing {
    TRANSPORT_READ,    /* to *into, message->length bytes */
    TRANSPORT_DISCARD, /* read and drop; on_payload is still called */
    TRANSPORT_HOLD     /* read nothing more from this peer; transport_resume() asks again */
};
struct transport_taken {
    int peer;
    struct message_header header;
    size_t length;
    void *cookie;
    int64_t begin_ns; /* CLOCK_MONOTONIC: transport_send() */
    int64_t end_ns;   /* the kernel has its last byte */
    bool dropped;     /* the connection is lost: it never will have */
};
struct transport_events {
    /* message: header, source and length are set; one message a peer is in this state at a time. */
    enum transport_landing (*on_header)(void *context, const struct message *message, void **into);
    /* message->payload is what on_header said, NULL when discarded. begin_ns: its header's first byte was seen. */
    void (*on_payload)(void *context, const struct message *message, int64_t begin_ns, int64_t end_ns);
    void (*on_taken)(void *context, const struct transport_taken *taken);
    /* Once a peer. `violation`: it is alive and does not keep to the layout. */
    void (*on_lost)(void *context, int peer, bool violation, const struct err *reason);
    /* The end of a wake-up of one connection: no call of the above is on the stack. */
    void (*on_settled)(void *context);
    void (*on_connected)(void *context);                        /* all of them */
    void (*on_failed)(void *context, const struct err *reason); /* could not connect */
};

struct transport_options {
    struct loop *loop;
    struct arena *arena;
    int node, node_count;
    uint16_t port;
    const uint32_t *addresses;                              /* IPv4 in host byte order, one a node */
    const char *const *names;                               /* one a node, for sentences; NULL: their numbers */
    bool (*talks)(const void *context, int node, int peer); /* NULL: all pairs */
    const void *talks_context;
    uint64_t token; /* the same on all nodes of a trial */
    uint32_t cell;
    uint64_t payload_max;
    int64_t connect_ns; /* at most this long until every connection is up */
    const struct transport_events *events;
    void *context;
};
/* Opens the listening socket on this node's own address. */
struct transport *transport_new(const struct transport_options *options, struct err *err);
void transport_free(struct transport *transport); /* closes everything; NULL allowed */

/* Connects to every peer that talks() names (the lower index connects to the higher), then on_connected or on_failed. */
void transport_connect(struct transport *transport, unsigned hello_flags);
/* The flags of that peer's hello; 0 where there is no connection. */
unsigned transport_hello_of(const struct transport *transport, int peer);
/* Starts reading messages. */
int transport_start(struct transport *transport, struct err *err);
bool transport_connected(const struct transport *transport, int peer);
/* Closes the connection with a peer that will not go on, as if it had broken. */
void transport_give_up(struct transport *transport, int peer);
/* Takes a connected, non-blocking socket as the connection to this peer: for tests, instead of transport_connect(). */
void transport_attach(struct transport *transport, int peer, int fd, unsigned hello_flags);

/* bytes must not change until on_taken(). False: the queue to that peer is full and nothing was queued. */
bool transport_send(struct transport *transport, int peer, const struct message_header *header, const void *bytes, size_t length,
                    void *cookie);
/* Shows the message that was held to on_header again and goes on. Harmless when none is held. */
void transport_resume(struct transport *transport, int peer);
/* The message whose payload is being read, or NULL. */
const struct message *transport_receiving(const struct transport *transport, int peer);
/* The rest of the message that is being read goes to `into` instead (NULL: is dropped); what has come already is moved there. */
void transport_redirect(struct transport *transport, int peer, void *into);
uint64_t transport_retransmits(const struct transport *transport); /* TCP_INFO, all connections */
/* All but at_ns; one system call a connection. */
void transport_sample(const struct transport *transport, struct sample_record *sample);

enum { TRANSPORT_QUEUE = 1024 }; /* messages waiting for one peer */

#endif
