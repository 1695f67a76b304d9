/* idx.c: the pure parser of IDX files (Y. LeCun, "The MNIST database of handwritten digits", "File formats").
 *
 *     0  u8   0, 0                     magic
 *     2  u8   type of the values; 8: unsigned byte, the only one accepted
 *     3  u8   number of dimensions, 1 .. 3 here
 *     4  u32  each dimension, big-endian
 *     .. u8   the values, last dimension fastest */
#include <string.h>

#include "agents/dataset.h"
#include "base/err.h"

enum { IDX_UNSIGNED_BYTE = 8, MAGIC_BYTES = 4 };

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

int idx_parse_header(const uint8_t *bytes, size_t length, struct idx *idx, struct err *err)
{
    struct idx found = {.value_count = 1};
    if (length < MAGIC_BYTES)
        return err_set(err, ERR_USAGE, "not an IDX file: it ends at byte %zu, the header has at least 8 bytes", length);
    for (size_t i = 0; i < 2; i++)
        if (bytes[i] != 0)
            return err_set(err, ERR_USAGE, "not an IDX file: byte %zu is 0x%02x, 0x00 is expected", i, bytes[i]);
    if (bytes[2] != IDX_UNSIGNED_BYTE)
        return err_set(err, ERR_USAGE, "byte 2: values of type 0x%02x, only 0x08 (unsigned byte) is read", bytes[2]);
    if (bytes[3] < 1 || bytes[3] > IDX_DIMENSIONS_MAX)
        return err_set(err, ERR_USAGE, "byte 3: %u dimensions, 1 to %d are read", bytes[3], IDX_DIMENSIONS_MAX);
    found.dimension_count = bytes[3];
    size_t header = MAGIC_BYTES + 4 * (size_t)found.dimension_count;
    if (length < header)
        return err_set(err, ERR_USAGE, "truncated at byte %zu: a header of %d dimensions has %zu bytes", length,
                       found.dimension_count, header);
    for (int i = 0; i < found.dimension_count; i++) {
        size_t offset = MAGIC_BYTES + 4 * (size_t)i;
        found.dimensions[i] = big_endian(bytes + offset);
        if (found.dimensions[i] == 0)
            return err_set(err, ERR_USAGE, "byte %zu: dimension %d is 0", offset, i);
        if (__builtin_mul_overflow(found.value_count, (size_t)found.dimensions[i], &found.value_count))
            return err_set(err, ERR_USAGE, "byte %zu: dimension %d is %u, more values than memory can address", offset, i,
                           found.dimensions[i]);
    }
    *idx = found;
    return (int)header;
}

int idx_parse(const uint8_t *bytes, size_t length, struct idx *idx, struct err *err)
{
    struct idx found = {0};
    int header = idx_parse_header(bytes, length, &found, err);
    if (header < 0)
        return header;
    size_t values = length - (size_t)header;
    if (values < found.value_count)
        return err_set(err, ERR_USAGE, "truncated at byte %zu: %zu values are missing", length, found.value_count - values);
    if (values > found.value_count)
        return err_set(err, ERR_USAGE, "byte %zu: %zu bytes follow the last value", (size_t)header + found.value_count,
                       values - found.value_count);
    found.values = bytes + header;
    *idx = found;
    return 0;
}
