/* checksum.c: see checksum.h. */
#include "wal/checksum.h"

#include "base/codec.h"

/* The hash of fewer than 8 bytes. */
static uint64_t hash_rest(const uint8_t *bytes, size_t size)
{
    const uint64_t factor = UINT64_C(0xc6a4a7935bd1e995);
    const unsigned shift = 47;
    uint64_t hash = UINT64_C(0xe17a1465) ^ (size * factor);
    uint64_t word = 0;
    memcpy(&word, bytes, size);
    hash ^= word;
    hash *= factor;
    hash ^= hash >> shift;
    hash *= factor;
    return hash ^ (hash >> shift);
}

uint64_t weir_wal_checksum_more(uint64_t checksum, const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    for (; size - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        checksum ^= weir_load_u64(bytes + at) * UINT64_C(0xbf58476d1ce4e5b9);
    }
    return size == at ? checksum : checksum ^ hash_rest(bytes + at, size - at);
}
