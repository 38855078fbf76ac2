/* codec.h: reading and writing integers in bytes, little endian, at any alignment.
 *
 * The engine runs on little-endian machines only; state kept in memory is in host order. */
#ifndef WEIR_BASE_CODEC_H
#define WEIR_BASE_CODEC_H

#include "base/base.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the engine is little endian");

static inline uint32_t weir_load_u32(const void *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint64_t weir_load_u64(const void *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline void weir_store_u32(void *bytes, uint32_t value)
{
    memcpy(bytes, &value, sizeof value);
}

static inline void weir_store_u64(void *bytes, uint64_t value)
{
    memcpy(bytes, &value, sizeof value);
}

#endif
