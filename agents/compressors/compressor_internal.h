/* agents/compressors/compressor_internal.h: what the forms of messages share: their length, and how numbers stand in them,
 * little-endian, floats by their bits. */
#ifndef LAGGARD_AGENTS_COMPRESSORS_COMPRESSOR_INTERNAL_H
#define LAGGARD_AGENTS_COMPRESSORS_COMPRESSOR_INTERNAL_H

#include <stdint.h>
#include <string.h>

#include "agents/compressors/compressor.h"

/* Whether so many bytes are a message for `count` floats: ERR_TRIAL, with both lengths. */
int compressor_check_length(const struct compressor *compressor, const struct compression *compression, size_t count, size_t length,
                            struct err *err);

/* Floats that share their scale, in the forms that have one: long enough for it to cost little, short enough to follow the
 * values. */
enum { COMPRESSOR_BLOCK = 512 };

static inline void put_u32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static inline uint32_t get_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline void put_float(uint8_t *bytes, float value)
{
    put_u32(bytes, bits_of(value));
}

static inline float get_float(const uint8_t *bytes)
{
    uint32_t bits = get_u32(bytes);
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Floats of block number `block` among `count`. */
static inline size_t block_floats(size_t count, size_t block)
{
    size_t left = count - block * COMPRESSOR_BLOCK;
    return left < COMPRESSOR_BLOCK ? left : COMPRESSOR_BLOCK;
}

#endif
