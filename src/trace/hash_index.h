/* hash_index.h: 32-bit hash -> 32-bit value, open addressing.
 *
 * Slots of 8 bytes (hash32, value32; value 0 = empty), linear probing, load <= 0.7, delete by
 * backward shift. A young index is one segment that doubles; from 2^14 slots on, full segments split
 * (extendible hashing), so that no insert pays for a doubling: the top bits of a hash choose the
 * segment, the low bits the position in it. Growth never touches rows. The index does not compare keys: users walk the
 * candidates of a hash with hash_index_inline.h (this folder only). */
#ifndef WEIR_TRACE_HASH_INDEX_H
#define WEIR_TRACE_HASH_INDEX_H

#include "trace/page_pool.h"

/* A directory entry. 2^(directory_bits - depth) neighbouring entries share a segment: all but
 * `count` is the same in them, and count is kept in the first. */
typedef struct HashSegment {
    uint64_t *slots;     /* owned by the first entry */
    uint32_t mask;       /* number of slots - 1 */
    uint32_t depth : 8;  /* hash bits that chose this segment */
    uint32_t count : 24; /* slots in use */
} HashSegment;

typedef struct HashIndex {
    Mem *mem;              /* borrowed */
    PagePool *pool;        /* borrowed */
    HashSegment *segments; /* owned directory of 2^directory_bits entries, by top hash bits */
    uint32_t directory_bits;
    uint32_t epoch; /* changes whenever entries may have moved */
    size_t count;   /* entries */
    size_t bytes;   /* directory and slots */
} HashIndex;

Status weir_hash_index_init(HashIndex *index, Mem *mem, PagePool *pool, Error *err) WEIR_MUST_CHECK;
void weir_hash_index_deinit(HashIndex *index);

/* Makes room, so that the index does not grow before it has count entries (of well-spread hashes).
 */
Status weir_hash_index_reserve(HashIndex *index, size_t count, Error *err) WEIR_MUST_CHECK;

/* Adds an entry; value is not 0. Equal entries are not looked for. */
Status weir_hash_index_insert(HashIndex *index, uint32_t hash, uint32_t value, Error *err)
    WEIR_MUST_CHECK;

/* Removes or changes the entry (hash, value), which must exist. */
void weir_hash_index_remove(HashIndex *index, uint32_t hash, uint32_t value);
void weir_hash_index_replace(HashIndex *index, uint32_t hash, uint32_t value, uint32_t new_value);

/* Back to an empty young index. */
void weir_hash_index_clear(HashIndex *index);
size_t weir_hash_index_bytes(const HashIndex *index);

/* The next up to `capacity` values, in no order. cursor starts at 0; returns 0 at the end. Entries
 * already returned may be removed while walking; none may be added. */
size_t weir_hash_index_scan(const HashIndex *index, uint64_t *cursor, uint32_t *values,
                            size_t capacity);

#endif
