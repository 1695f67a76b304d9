/* fuzz_transport.c: what peers send. Headers and hellos, damaged, against the rule that what is accepted encodes to the same bytes;
 * and whole streams, damaged and cut into pieces, through a connection's receiver that drops, holds and redirects at random. */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "agents/transport.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "tests/fuzz/fuzz.h"

enum { PAYLOAD_MAX = 9000, STREAM_MAX = 64 << 10, ROOM = 16 };

static void fuzz_headers(struct fuzz *fuzz)
{
    uint8_t bytes[TRANSPORT_HEADER_BYTES], again[TRANSPORT_HEADER_BYTES];
    struct transport_header header = {.message = {.channel = (uint16_t)fuzz_u32(fuzz),
                                                  .kind = (uint16_t)fuzz_u32(fuzz),
                                                  .index = fuzz_u32(fuzz),
                                                  .step = fuzz_u64(fuzz),
                                                  .argument = (int64_t)fuzz_u64(fuzz)},
                                      .sequence = fuzz_u32(fuzz),
                                      .length = fuzz_below(fuzz, PAYLOAD_MAX + 2)};
    struct transport_header untouched = {.length = 12345}, decoded = untouched;
    uint32_t sequence = header.sequence;
    transport_header_encode(&header, bytes);
    fuzz_mutate(fuzz, bytes, sizeof(bytes), sizeof(bytes));
    struct err err = {0};
    if (transport_header_decode(bytes, sequence, PAYLOAD_MAX, &decoded, &err) == 0) {
        FUZZ_CHECK(fuzz, decoded.length <= PAYLOAD_MAX && decoded.sequence == sequence);
        transport_header_encode(&decoded, again);
        FUZZ_CHECK(fuzz, memcmp(bytes, again, sizeof(bytes)) == 0);
        fuzz->accepted++;
    } else {
        FUZZ_CHECK(fuzz, err.kind == ERR_TRIAL && err.text[0] && memcmp(&decoded, &untouched, sizeof(decoded)) == 0);
    }
    struct transport_hello hello = {
        .node = fuzz_u32(fuzz), .cell = fuzz_u32(fuzz), .token = fuzz_u64(fuzz), .flags = fuzz_below(fuzz, 2)};
    transport_hello_encode(&hello, bytes);
    fuzz_mutate(fuzz, bytes, sizeof(bytes), sizeof(bytes));
    if (transport_hello_decode(bytes, &hello, &err) == 0) {
        transport_hello_encode(&hello, again);
        FUZZ_CHECK(fuzz, memcmp(bytes, again, sizeof(bytes)) == 0);
        fuzz->accepted++;
    }
}

/* ---- streams ---- */

struct owner {
    struct fuzz *fuzz;
    struct transport *transport;
    uint8_t *into; /* memory of exactly the current payload's length, so that an address sanitizer sees one byte too many */
    bool held, lost;
    uint32_t messages;
};

static enum transport_landing on_header(void *context, const struct message *message, void **into)
{
    struct owner *owner = context;
    FUZZ_CHECK(owner->fuzz, message->length <= PAYLOAD_MAX && message->source == 1 && !owner->lost);
    owner->held = fuzz_below(owner->fuzz, 4) == 0;
    if (owner->held)
        return TRANSPORT_HOLD;
    if (fuzz_below(owner->fuzz, 4) == 0)
        return TRANSPORT_DISCARD;
    FUZZ_CHECK(owner->fuzz, !owner->into);
    owner->into = malloc(message->length + 1) /* malloc(0) may be NULL */;
    *into = owner->into;
    return TRANSPORT_READ;
}

static void on_payload(void *context, const struct message *message, int64_t begin_ns, int64_t end_ns)
{
    struct owner *owner = context;
    FUZZ_CHECK(owner->fuzz, begin_ns <= end_ns && !owner->lost);
    FUZZ_CHECK(owner->fuzz, !message->payload || message->payload == owner->into);
    free_pointer(&owner->into);
    owner->messages++;
}

static void on_taken(void *context, const struct transport_taken *taken)
{
    (void)context, (void)taken;
}

static void on_lost(void *context, int peer, bool violation, const struct err *reason)
{
    struct owner *owner = context;
    (void)violation;
    FUZZ_CHECK(owner->fuzz, peer == 1 && !owner->lost && reason->text[0]);
    owner->lost = true;
}

static void on_settled(void *context)
{
    struct owner *owner = context;
    if (owner->held && fuzz_below(owner->fuzz, 2))
        transport_resume(owner->transport, 1);
    const struct message *message = transport_receiving(owner->transport, 1);
    if (message && owner->into && fuzz_below(owner->fuzz, 8) == 0) {
        uint8_t *elsewhere = fuzz_below(owner->fuzz, 2) ? malloc(message->length + 1) : NULL;
        transport_redirect(owner->transport, 1, elsewhere);
        free_pointer(&owner->into);
        owner->into = elsewhere;
    }
}

static const struct transport_events events = {
    .on_header = on_header, .on_payload = on_payload, .on_taken = on_taken, .on_lost = on_lost, .on_settled = on_settled};

static size_t make_stream(struct fuzz *fuzz, uint8_t *stream, uint32_t *count)
{
    size_t length = 0;
    *count = (uint32_t)fuzz_below(fuzz, 6);
    for (uint32_t i = 0; i < *count; i++) {
        struct transport_header header = {.sequence = i, .length = fuzz_below(fuzz, fuzz_below(fuzz, 3) ? 60 : PAYLOAD_MAX)};
        transport_header_encode(&header, stream + length);
        length += TRANSPORT_HEADER_BYTES + header.length;
    }
    return length;
}

static void fuzz_stream(struct fuzz *fuzz)
{
    static uint8_t stream[STREAM_MAX + ROOM];
    uint32_t count;
    size_t length = make_stream(fuzz, stream, &count), whole = length;
    if (fuzz_below(fuzz, 4))
        length = fuzz_mutate(fuzz, stream, length, sizeof(stream));
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct loop *loop = loop_new(NULL);
    struct owner owner = {.fuzz = fuzz};
    int pair[2];
    FUZZ_CHECK(fuzz, loop && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    const struct transport_options options = {
        .loop = loop, .arena = arena, .node_count = 2, .payload_max = PAYLOAD_MAX, .events = &events, .context = &owner};
    owner.transport = transport_new(&options, NULL);
    transport_attach(owner.transport, 1, pair[0], 0);
    FUZZ_CHECK(fuzz, transport_start(owner.transport, NULL) == 0);
    for (size_t fed = 0; fed < length && !owner.lost;) {
        size_t piece = 1 + fuzz_below(fuzz, fuzz_below(fuzz, 2) ? 50 : 5000);
        ssize_t sent = send(pair[1], stream + fed, piece < length - fed ? piece : length - fed, MSG_NOSIGNAL | MSG_DONTWAIT);
        fed += sent > 0 ? (size_t)sent : 0;
        FUZZ_CHECK(fuzz, loop_turn(loop, 0, NULL) == 0);
        if (owner.held && fuzz_below(fuzz, 2))
            transport_resume(owner.transport, 1);
    }
    /* what is still held or in the socket, until nothing is and nothing comes of it */
    for (int i = 0, quiet = 0; i < 1000 && quiet < 4 && !owner.lost && owner.messages < count; i++) {
        const uint32_t before = owner.messages;
        int left = 0;
        if (owner.held)
            transport_resume(owner.transport, 1);
        FUZZ_CHECK(fuzz, loop_turn(loop, 0, NULL) == 0);
        FUZZ_CHECK(fuzz, owner.lost || ioctl(pair[0], FIONREAD, &left) == 0);
        quiet = owner.held || left > 0 || owner.messages > before ? 0 : quiet + 1;
    }
    fuzz->accepted += !owner.lost && owner.messages == count && length == whole;
    transport_free(owner.transport);
    close(pair[1]);
    loop_free(loop);
    free_pointer(&owner.into);
}

static void fuzz_one(struct fuzz *fuzz)
{
    if (fuzz->iteration % 16)
        fuzz_headers(fuzz);
    else
        fuzz_stream(fuzz);
}

FUZZ_MAIN("transport")
