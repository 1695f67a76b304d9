/* transport_header.c: message headers to bytes and back. */
#include "agents/transport_header.h"

#include <inttypes.h>

#include "base/err.h"

#define MAGIC_MESSAGE UINT32_C(0x314d474c) /* "LGM1" */
#define MAGIC_HELLO UINT32_C(0x3148474c)   /* "LGH1" */

enum { AT_MAGIC = 0, AT_CHANNEL = 4, AT_KIND = 6, AT_INDEX = 8, AT_SEQUENCE = 12, AT_STEP = 16, AT_ARGUMENT = 24, AT_LENGTH = 32 };

static void put(uint8_t *bytes, uint64_t value, int width)
{
    for (int i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *bytes, int width)
{
    uint64_t value = 0;
    for (int i = width - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

void transport_header_encode(const struct transport_header *header, uint8_t bytes[static TRANSPORT_HEADER_BYTES])
{
    put(bytes + AT_MAGIC, MAGIC_MESSAGE, 4);
    put(bytes + AT_CHANNEL, header->message.channel, 2);
    put(bytes + AT_KIND, header->message.kind, 2);
    put(bytes + AT_INDEX, header->message.index, 4);
    put(bytes + AT_SEQUENCE, header->sequence, 4);
    put(bytes + AT_STEP, header->message.step, 8);
    put(bytes + AT_ARGUMENT, (uint64_t)header->message.argument, 8);
    put(bytes + AT_LENGTH, header->length, 8);
}

int transport_header_decode(const uint8_t bytes[static TRANSPORT_HEADER_BYTES], uint32_t expected_sequence, uint64_t payload_max,
                            struct transport_header *header, struct err *err)
{
    uint32_t magic = (uint32_t)get(bytes + AT_MAGIC, 4);
    if (magic != MAGIC_MESSAGE)
        return err_set(err, ERR_TRIAL, "what should be message %" PRIu32 " starts with 0x%08" PRIx32 " instead of \"LGM1\"",
                       expected_sequence, magic);
    uint32_t sequence = (uint32_t)get(bytes + AT_SEQUENCE, 4);
    if (sequence != expected_sequence)
        return err_set(err, ERR_TRIAL, "message %" PRIu32 " came where message %" PRIu32 " was due", sequence, expected_sequence);
    uint64_t length = get(bytes + AT_LENGTH, 8);
    if (length > payload_max)
        return err_set(err, ERR_TRIAL, "message %" PRIu32 " claims %" PRIu64 " bytes, allowed are %" PRIu64, sequence, length,
                       payload_max);
    *header = (struct transport_header){
        .message = {.channel = (uint16_t)get(bytes + AT_CHANNEL, 2),
                    .kind = (uint16_t)get(bytes + AT_KIND, 2),
                    .index = (uint32_t)get(bytes + AT_INDEX, 4),
                    .step = get(bytes + AT_STEP, 8),
                    .argument = (int64_t)get(bytes + AT_ARGUMENT, 8)},
        .sequence = sequence,
        .length = length,
    };
    return 0;
}

void transport_hello_encode(const struct transport_hello *hello, uint8_t bytes[static TRANSPORT_HEADER_BYTES])
{
    put(bytes + AT_MAGIC, MAGIC_HELLO, 4);
    put(bytes + AT_CHANNEL, TRANSPORT_VERSION, 2);
    put(bytes + AT_KIND, hello->flags, 2);
    put(bytes + AT_INDEX, hello->node, 4);
    put(bytes + AT_SEQUENCE, hello->cell, 4);
    put(bytes + AT_STEP, hello->token, 8);
    put(bytes + AT_ARGUMENT, 0, 8);
    put(bytes + AT_LENGTH, 0, 8);
}

int transport_hello_decode(const uint8_t bytes[static TRANSPORT_HEADER_BYTES], struct transport_hello *hello, struct err *err)
{
    uint32_t magic = (uint32_t)get(bytes + AT_MAGIC, 4);
    if (magic != MAGIC_HELLO)
        return err_set(err, ERR_TRIAL, "the connection opens with 0x%08" PRIx32 " instead of \"LGH1\": this is no laggard agent",
                       magic);
    unsigned version = (unsigned)get(bytes + AT_CHANNEL, 2);
    if (version != TRANSPORT_VERSION)
        return err_set(err, ERR_TRIAL,
                       "the peer speaks version %u of the message layout, this agent version %d: use agents of one build", version,
                       TRANSPORT_VERSION);
    unsigned flags = (unsigned)get(bytes + AT_KIND, 2);
    if (flags & ~(unsigned)HELLO_FLAGS_ALL)
        return err_set(err, ERR_TRIAL, "the hello has unknown flags 0x%x, known are 0x%x", flags, HELLO_FLAGS_ALL);
    if (get(bytes + AT_ARGUMENT, 8) != 0 || get(bytes + AT_LENGTH, 8) != 0)
        return err_set(err, ERR_TRIAL, "the hello has an argument or a length, which must be 0");
    *hello = (struct transport_hello){.node = (uint32_t)get(bytes + AT_INDEX, 4),
                                      .cell = (uint32_t)get(bytes + AT_SEQUENCE, 4),
                                      .token = get(bytes + AT_STEP, 8),
                                      .flags = flags};
    return 0;
}
