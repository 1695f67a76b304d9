/* transport_rig.h: one connection over a socket pair, whose other end is the test's, and what the connection told. */
#ifndef LAGGARD_TESTS_TRANSPORT_RIG_H
#define LAGGARD_TESTS_TRANSPORT_RIG_H

#include "agents/transport.h"
#include "agents/transport_internal.h"
#include "base/err.h"

enum { PAYLOAD_MAX = 1 << 21, MESSAGES_MAX = 4096 };

struct transport_rig {
    struct arena *arena;
    struct loop *loop;
    struct transport *transport;
    int other; /* the peer's end */
    /* what the owner decides */
    enum transport_landing landing[MESSAGES_MAX];
    uint8_t *memory; /* payloads land here, one behind the other */
    size_t used;
    /* what happened */
    int headers, payloads, dropped, settled;
    struct message messages[MESSAGES_MAX];
    int taken, taken_dropped;
    intptr_t last_cookie;
    bool lost, violation;
    struct err reason;
};

void transport_rig_open(struct transport_rig *rig);
void transport_rig_close(struct transport_rig *rig);
void transport_rig_turn(struct transport_rig *rig);
uint8_t transport_rig_pattern(uint32_t index, size_t at);
size_t transport_rig_put(uint8_t *stream, uint32_t index, size_t length);
void transport_rig_check(const struct message *message, uint32_t index, size_t length);

#endif
