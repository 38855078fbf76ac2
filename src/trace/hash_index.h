/* hash_index.h: 32-bit hash -> 32-bit value, open addressing.
 *
 * Slots of 8 bytes (hash32, value32; value 0 = empty), linear probing, position = top bits of the
 * hash, load <= 0.7, delete by backward shift. A young index is one segment that doubles; from 2^14
 * slots on, full segments split by the next hash bit (extendible hashing), so that no insert pays
 * for a doubling. Growth never touches rows. The index does not compare keys: users walk the
 * candidates. */
#ifndef WEIR_TRACE_HASH_INDEX_H
#define WEIR_TRACE_HASH_INDEX_H

#include "trace/page_pool.h"

typedef struct HashSegment {
    uint64_t *slots;
    uint32_t count;      /* slots in use */
    uint32_t slot_bits;  /* log2 of the number of slots */
    uint32_t depth;      /* hash bits that chose this segment */
} HashSegment;

typedef struct HashIndex {
    Mem *mem;               /* borrowed */
    PagePool *pool;         /* borrowed */
    HashSegment **segments; /* owned directory of 2^directory_bits entries, shared between entries
                               of a shallower segment */
    uint32_t directory_bits;
    size_t count; /* entries */
} HashIndex;

Status weir_hash_index_init(HashIndex *index, Mem *mem, PagePool *pool, Error *err) WEIR_MUST_CHECK;
void weir_hash_index_deinit(HashIndex *index);
Status weir_hash_index_reserve(HashIndex *index, size_t count, Error *err) WEIR_MUST_CHECK;

/* Where a hash's candidates begin: walk with weir_hash_slot_next until an empty slot. Inline
 * accessors of the hot loops are in hash_index_inline.h (this folder only). */
Status weir_hash_index_insert(HashIndex *index, uint32_t hash, uint32_t value, Error *err)
    WEIR_MUST_CHECK;

/* Removes or changes the entry (hash, value), which must exist. */
void weir_hash_index_remove(HashIndex *index, uint32_t hash, uint32_t value);
void weir_hash_index_replace(HashIndex *index, uint32_t hash, uint32_t value, uint32_t new_value);
void weir_hash_index_clear(HashIndex *index);
size_t weir_hash_index_bytes(const HashIndex *index);

#endif
