/* checksum.h: DuckDB's checksum of a block of bytes, which can be taken in parts.
 *
 * The exclusive or of 5381, of every 8-byte word times a constant, and of a MurmurHash64A (without
 * the usual seed) of the 1 to 7 bytes that are left. */
#ifndef WEIR_WAL_CHECKSUM_H
#define WEIR_WAL_CHECKSUM_H

#include "base/base.h"

#define WAL_CHECKSUM_START UINT64_C(5381)

/* Continues with `size` bytes: a multiple of 8 unless they are the last. */
uint64_t weir_wal_checksum_more(uint64_t checksum, const uint8_t *bytes, size_t size);

static inline uint64_t weir_wal_checksum(const uint8_t *bytes, size_t size)
{
    return weir_wal_checksum_more(WAL_CHECKSUM_START, bytes, size);
}

#endif
