/* agents/compressors/compressor.c: the table of compressors. */
#include "agents/compressors/compressor.h"

#include <assert.h>

#include "agents/compressors/compressor_internal.h"
#include "base/err.h"

const char *const compressor_choices[] = {
    [COMPRESSOR_NONE] = "none", [COMPRESSOR_TOP_K] = "top-k",       [COMPRESSOR_ONE_BIT] = "1-bit",
    [COMPRESSOR_QSGD] = "qsgd", [COMPRESSOR_POWERSGD] = "powersgd", NULL,
};
static const struct compressor *const table[] = {
    [COMPRESSOR_NONE] = NULL,
    [COMPRESSOR_TOP_K] = &compressor_top_k,
    [COMPRESSOR_ONE_BIT] = &compressor_one_bit,
    [COMPRESSOR_QSGD] = &compressor_qsgd,
    [COMPRESSOR_POWERSGD] = &compressor_powersgd,
};
static_assert(sizeof(table) / sizeof(table[0]) == COMPRESSOR_COUNT, "one row a compressor");
static_assert(sizeof(compressor_choices) / sizeof(compressor_choices[0]) == COMPRESSOR_COUNT + 1, "one name a row");

const struct compressor *compressor_at(int choice)
{
    return choice >= 0 && choice < COMPRESSOR_COUNT ? table[choice] : NULL;
}

int compressor_check_length(const struct compressor *compressor, const struct compression *compression, size_t count, size_t length,
                            struct err *err)
{
    const size_t wanted = compressor->encoded_bytes(compression, count);
    return length == wanted
               ? 0
               : err_set(err, ERR_TRIAL, "%s of %zu floats has %zu bytes, and %zu came", compressor->name, count, wanted, length);
}
