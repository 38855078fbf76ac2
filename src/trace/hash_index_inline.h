/* hash_index_inline.h: the hot accessors of the hash index.
 *
 * A HashPlace is where a search for a hash stands. It stays valid while index->epoch stays the same;
 * an insert may fill the empty slot it stands on, so a search that ended there goes on from it. */
#ifndef WEIR_TRACE_HASH_INDEX_INLINE_H
#define WEIR_TRACE_HASH_INDEX_INLINE_H

#include "trace/hash_index.h"

enum { HASH_GROUP = 32 }; /* keys in flight */

typedef struct HashPlace {
    uint64_t *slots;
    uint32_t position;
    uint32_t mask; /* number of slots - 1 */
} HashPlace;

static inline size_t weir_hash_entry(const HashIndex *index, uint32_t hash)
{
    return (size_t)(((uint64_t)hash << index->directory_bits) >> 32);
}

/* The place where the search for a hash begins. */
static inline HashPlace weir_hash_home(const HashIndex *index, uint32_t hash)
{
    const HashSegment *segment = &index->segments[weir_hash_entry(index, hash)];
    return (HashPlace){
        .slots = segment->slots,
        .position = hash & segment->mask,
        .mask = segment->mask,
    };
}

static inline void weir_hash_prefetch(const HashPlace *place)
{
    __builtin_prefetch(place->slots + place->position);
}

/* Moves to the first entry of the hash at or behind the place and returns its value; 0 = the place
 * is now at the empty slot that ends the search. */
static inline uint32_t weir_hash_seek(HashPlace *place, uint32_t hash)
{
    for (;;) {
        const uint64_t slot = place->slots[place->position];
        if ((uint32_t)(slot >> 32) == hash || (uint32_t)slot == 0) {
            return (uint32_t)slot;
        }
        place->position = (place->position + 1) & place->mask;
    }
}

/* Moves behind the entry just found. */
static inline void weir_hash_step(HashPlace *place)
{
    place->position = (place->position + 1) & place->mask;
}

/* Like weir_hash_index_insert, for a search for the hash that has ended at the place; the epoch is
 * that of the search. */
Status weir_hash_index_insert_at(HashIndex *index, const HashPlace *place, uint32_t hash,
                                 uint32_t value, Error *err) WEIR_MUST_CHECK;

/* Changes the value of the entry just found. */
static inline void weir_hash_set_value(const HashPlace *place, uint32_t hash, uint32_t value)
{
    place->slots[place->position] = (uint64_t)hash << 32 | value;
}

#endif
