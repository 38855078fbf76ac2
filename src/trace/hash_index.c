/* hash_index.c: open addressing in segments that split.
 *
 * slot = hash << 32 | value; 0 = empty. The top directory_bits of a hash choose the directory entry,
 * the low bits the position in its segment, so that finding it takes no shift that depends on the
 * segment. Growing reads slots only, and moves them in order: entries keep their low bits.
 *
 * A full segment doubles while the index is young (one segment below 2^14 slots), else splits by
 * its next hash bit. If a split would leave nearly all entries on one side (many equal or crafted
 * hashes), the segment doubles instead: the directory cannot be driven to grow by a few hashes. */
#include "trace/hash_index_inline.h"

enum {
    SLOT_BITS_MIN = 6,
    SLOT_BITS_SEGMENT = 14,
    SLOT_BITS_MAX = 22, /* counts have 24 bits */
    DEPTH_MAX = 18,
};

/* Entries a segment holds at most: 45/64 = 0.70 of its slots. */
static uint32_t count_limit(uint32_t slot_bits)
{
    return (UINT32_C(45) << slot_bits) >> 6;
}

static uint32_t slot_bits_of(const HashSegment *segment)
{
    return (uint32_t)__builtin_popcount(segment->mask);
}

static bool segment_is_full(const HashSegment *segment)
{
    return segment->count >= (uint32_t)(((uint64_t)45 * segment->mask + 45) >> 6);
}

static size_t slot_bytes(uint32_t slot_bits)
{
    return sizeof(uint64_t) << slot_bits;
}

/* 2^slot_bits empty slots: whole pages from the pool, less from the allocator. */
static uint64_t *slots_new(HashIndex *index, uint32_t slot_bits, Error *err)
{
    const size_t size = slot_bytes(slot_bits);
    uint64_t *slots = NULL;
    if (size < PAGE_BYTES) {
        slots = weir_mem_zalloc(index->mem, size, err);
    } else {
        slots = weir_page_take(index->pool, size / PAGE_BYTES, err);
        if (slots != NULL) {
            memset(slots, 0, size);
        }
    }
    if (slots != NULL) {
        index->bytes += size;
    }
    return slots;
}

static void slots_free(HashIndex *index, const HashSegment *segment)
{
    const size_t size = ((size_t)segment->mask + 1) * sizeof *segment->slots;
    if (size < PAGE_BYTES) {
        weir_mem_free(index->mem, segment->slots);
    } else {
        weir_page_give(index->pool, segment->slots, size / PAGE_BYTES);
    }
    index->bytes -= size;
}

/* An empty segment. */
static Status segment_init(HashIndex *index, uint32_t depth, uint32_t slot_bits,
                           HashSegment *segment, Error *err)
{
    *segment = (HashSegment){.mask = (UINT32_C(1) << slot_bits) - 1, .depth = depth & 0xff};
    segment->slots = slots_new(index, slot_bits, err);
    return segment->slots == NULL ? err->code : WEIR_OK;
}

/* Entries that share the segment, and the first of them. */
static size_t sharing_count(const HashIndex *index, const HashSegment *segment)
{
    return (size_t)1 << (index->directory_bits - segment->depth);
}

static size_t first_sharing(const HashIndex *index, size_t entry)
{
    if (WEIR_LIKELY(index->segments[entry].depth == index->directory_bits)) {
        return entry;
    }
    return entry & ~(sharing_count(index, &index->segments[entry]) - 1);
}

static void set_segment(HashIndex *index, size_t first, size_t sharing, HashSegment segment)
{
    for (size_t i = 0; i < sharing; i++) {
        index->segments[first + i] = segment;
    }
}

/* Puts a slot into a segment that has room. */
static void segment_put(HashSegment *segment, uint64_t slot)
{
    const uint32_t mask = segment->mask;
    uint32_t position = (uint32_t)(slot >> 32) & mask;
    while (segment->slots[position] != 0) {
        position = (position + 1) & mask;
    }
    segment->slots[position] = slot;
    segment->count++;
}

static Status segment_resize(HashIndex *index, size_t first, uint32_t slot_bits, Error *err)
{
    const HashSegment old = index->segments[first];
    if (slot_bits > SLOT_BITS_MAX) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "more than %u keys have similar hashes",
                              count_limit(SLOT_BITS_MAX));
    }
    HashSegment grown;
    WEIR_TRY(segment_init(index, old.depth, slot_bits, &grown, err));
    for (size_t i = 0; i <= old.mask; i++) {
        if (old.slots[i] != 0) {
            segment_put(&grown, old.slots[i]);
        }
    }
    WEIR_ASSERT(grown.count == old.count);
    slots_free(index, &old);
    set_segment(index, first, sharing_count(index, &old), grown);
    return WEIR_OK;
}

static Status directory_double(HashIndex *index, Error *err)
{
    const size_t old_count = (size_t)1 << index->directory_bits;
    const size_t size = 2 * old_count * sizeof *index->segments;
    HashSegment *grown = weir_mem_alloc(index->mem, size, err);
    if (grown == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < old_count; i++) {
        grown[2 * i] = index->segments[i];
        grown[2 * i + 1] = index->segments[i];
    }
    weir_mem_free(index->mem, index->segments);
    index->segments = grown;
    index->directory_bits++;
    index->bytes += size / 2;
    return WEIR_OK;
}

/* Slots of the segment whose next hash bit is 1. */
static uint32_t count_upper(const HashSegment *segment)
{
    uint32_t upper = 0;
    for (size_t i = 0; i <= segment->mask; i++) {
        upper += (uint32_t)((segment->slots[i] >> (63 - segment->depth)) & 1);
    }
    return upper;
}

static Status half_init(HashIndex *index, const HashSegment *old, uint32_t count, HashSegment *half,
                        Error *err)
{
    uint32_t slot_bits = SLOT_BITS_SEGMENT;
    while (count >= count_limit(slot_bits)) {
        slot_bits++;
    }
    return segment_init(index, old->depth + 1, slot_bits, half, err);
}

static Status segment_split(HashIndex *index, size_t entry, uint32_t upper_count, Error *err)
{
    size_t first = first_sharing(index, entry);
    const HashSegment old = index->segments[first];
    HashSegment lower = {0};
    HashSegment upper = {0};
    WEIR_TRY(half_init(index, &old, old.count - upper_count, &lower, err));
    Status status = half_init(index, &old, upper_count, &upper, err);
    if (status == WEIR_OK && old.depth == index->directory_bits) {
        status = directory_double(index, err);
        first *= 2;
    }
    if (status != WEIR_OK) {
        slots_free(index, &lower);
        if (upper.slots != NULL) {
            slots_free(index, &upper);
        }
        return status;
    }
    for (size_t i = 0; i <= old.mask; i++) {
        const uint64_t slot = old.slots[i];
        if (slot != 0) {
            segment_put(((slot >> (63 - old.depth)) & 1) != 0 ? &upper : &lower, slot);
        }
    }
    WEIR_ASSERT(upper.count == upper_count && lower.count + upper.count == old.count);
    slots_free(index, &old);
    const size_t half = (size_t)1 << (index->directory_bits - old.depth - 1);
    set_segment(index, first, half, lower);
    set_segment(index, first + half, half, upper);
    return WEIR_OK;
}

static Status segment_grow(HashIndex *index, size_t entry, Error *err)
{
    index->epoch++;
    const size_t first = first_sharing(index, entry);
    const HashSegment *segment = &index->segments[first];
    if (slot_bits_of(segment) >= SLOT_BITS_SEGMENT && segment->depth < DEPTH_MAX) {
        const uint32_t upper = count_upper(segment);
        if (WEIR_MIN(upper, segment->count - upper) >= segment->count / 16) {
            return segment_split(index, first, upper, err);
        }
    }
    return segment_resize(index, first, slot_bits_of(segment) + 1, err);
}

/* A directory of 2^depth empty segments in the place of an empty index's. */
static Status index_build(HashIndex *index, uint32_t depth, uint32_t slot_bits, Error *err)
{
    const size_t entry_count = (size_t)1 << depth;
    HashSegment *segments = weir_mem_calloc(index->mem, entry_count, sizeof *segments, err);
    if (segments == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < entry_count; i++) {
        if (segment_init(index, depth, slot_bits, &segments[i], err) != WEIR_OK) {
            for (size_t j = 0; j < i; j++) {
                slots_free(index, &segments[j]);
            }
            weir_mem_free(index->mem, segments);
            return err->code;
        }
    }
    index->segments = segments;
    index->directory_bits = depth;
    index->bytes += entry_count * sizeof *segments;
    return WEIR_OK;
}

static void segments_free(HashIndex *index, HashSegment *segments, uint32_t directory_bits)
{
    const size_t entry_count = (size_t)1 << directory_bits;
    size_t i = 0;
    while (i < entry_count) {
        const HashSegment segment = segments[i];
        slots_free(index, &segment);
        i += (size_t)1 << (directory_bits - segment.depth);
    }
    weir_mem_free(index->mem, segments);
    index->bytes -= entry_count * sizeof *segments;
}

Status weir_hash_index_init(HashIndex *index, Mem *mem, PagePool *pool, Error *err)
{
    *index = (HashIndex){.mem = mem, .pool = pool};
    return index_build(index, 0, SLOT_BITS_MIN, err);
}

void weir_hash_index_deinit(HashIndex *index)
{
    if (index->segments != NULL) {
        segments_free(index, index->segments, index->directory_bits);
    }
    *index = (HashIndex){0};
}

/* The shape that holds count entries with a margin for uneven hashes. */
static void choose_shape(size_t count, uint32_t *depth, uint32_t *slot_bits)
{
    const size_t wanted = count + count / 16;
    *depth = 0;
    *slot_bits = SLOT_BITS_MIN;
    while (*slot_bits < SLOT_BITS_SEGMENT && wanted > count_limit(*slot_bits)) {
        (*slot_bits)++;
    }
    while (*depth < DEPTH_MAX && (wanted >> *depth) > count_limit(*slot_bits)) {
        (*depth)++;
    }
}

Status weir_hash_index_reserve(HashIndex *index, size_t count, Error *err)
{
    uint32_t depth = 0;
    uint32_t slot_bits = 0;
    choose_shape(count, &depth, &slot_bits);
    if (index->count == 0) {
        const HashSegment old = index->segments[0];
        if (depth <= index->directory_bits && (depth != 0 || slot_bits <= slot_bits_of(&old))) {
            return WEIR_OK;
        }
        HashSegment *old_segments = index->segments;
        const uint32_t old_bits = index->directory_bits;
        WEIR_TRY(index_build(index, depth, slot_bits, err));
        segments_free(index, old_segments, old_bits);
        index->epoch++;
        return WEIR_OK;
    }
    size_t entry = 0;
    while (entry < (size_t)1 << index->directory_bits) {
        const HashSegment *segment = &index->segments[entry];
        const bool is_young = slot_bits_of(segment) < SLOT_BITS_SEGMENT;
        if (is_young ? slot_bits_of(segment) < slot_bits : segment->depth < depth) {
            const uint32_t directory_bits = index->directory_bits;
            index->epoch++;
            if (is_young) {
                WEIR_TRY(segment_resize(index, entry, slot_bits, err));
            } else {
                WEIR_TRY(segment_split(index, entry, count_upper(segment), err));
            }
            entry <<= index->directory_bits - directory_bits;
        } else {
            entry += sharing_count(index, segment);
        }
    }
    return WEIR_OK;
}

Status weir_hash_index_insert(HashIndex *index, uint32_t hash, uint32_t value, Error *err)
{
    WEIR_ASSERT(value != 0);
    size_t entry = weir_hash_entry(index, hash);
    HashSegment *segment = &index->segments[first_sharing(index, entry)];
    while (WEIR_UNLIKELY(segment_is_full(segment))) {
        WEIR_TRY(segment_grow(index, entry, err));
        entry = weir_hash_entry(index, hash);
        segment = &index->segments[first_sharing(index, entry)];
    }
    segment_put(segment, (uint64_t)hash << 32 | value);
    index->count++;
    return WEIR_OK;
}

Status weir_hash_index_insert_at(HashIndex *index, const HashPlace *place, uint32_t hash,
                                 uint32_t value, Error *err)
{
    WEIR_ASSERT(value != 0);
    HashSegment *segment = &index->segments[first_sharing(index, weir_hash_entry(index, hash))];
    if (WEIR_UNLIKELY(segment_is_full(segment))) {
        return weir_hash_index_insert(index, hash, value, err);
    }
    WEIR_ASSERT(place->slots == segment->slots);
    uint32_t position = place->position;
    while (place->slots[position] != 0) {
        position = (position + 1) & place->mask;
    }
    place->slots[position] = (uint64_t)hash << 32 | value;
    segment->count++;
    index->count++;
    return WEIR_OK;
}

static HashPlace find_entry(const HashIndex *index, uint32_t hash, uint32_t value)
{
    HashPlace place = weir_hash_home(index, hash);
    const uint64_t wanted = (uint64_t)hash << 32 | value;
    while (place.slots[place.position] != wanted) {
        WEIR_ASSERT(place.slots[place.position] != 0);
        weir_hash_step(&place);
    }
    return place;
}

void weir_hash_index_remove(HashIndex *index, uint32_t hash, uint32_t value)
{
    const HashPlace place = find_entry(index, hash, value);
    HashSegment *segment = &index->segments[first_sharing(index, weir_hash_entry(index, hash))];
    uint32_t hole = place.position;
    uint32_t position = hole;
    for (;;) {
        position = (position + 1) & place.mask;
        const uint64_t slot = place.slots[position];
        if (slot == 0) {
            break;
        }
        /* The entry may move to the hole if its home is not between hole and entry. */
        const uint32_t home = (uint32_t)(slot >> 32) & place.mask;
        if (((position - home) & place.mask) >= ((position - hole) & place.mask)) {
            place.slots[hole] = slot;
            hole = position;
        }
    }
    place.slots[hole] = 0;
    WEIR_ASSERT(segment->count > 0 && index->count > 0);
    segment->count--;
    index->count--;
    index->epoch++;
}

void weir_hash_index_replace(HashIndex *index, uint32_t hash, uint32_t value, uint32_t new_value)
{
    WEIR_ASSERT(new_value != 0);
    const HashPlace place = find_entry(index, hash, value);
    weir_hash_set_value(&place, hash, new_value);
}

void weir_hash_index_clear(HashIndex *index)
{
    /* The first segment stays: clearing cannot fail. */
    const HashSegment first = index->segments[0];
    const size_t entry_count = (size_t)1 << index->directory_bits;
    size_t entry = sharing_count(index, &first);
    while (entry < entry_count) {
        const HashSegment segment = index->segments[entry];
        slots_free(index, &segment);
        entry += sharing_count(index, &segment);
    }
    memset(first.slots, 0, ((size_t)first.mask + 1) * sizeof *first.slots);
    index->segments[0] = (HashSegment){.slots = first.slots, .mask = first.mask};
    index->bytes -= (entry_count - 1) * sizeof *index->segments;
    index->directory_bits = 0;
    index->count = 0;
    index->epoch++;
}

size_t weir_hash_index_bytes(const HashIndex *index)
{
    return index->bytes;
}

/* cursor = entry << 44 | start << 22 | done. A segment is walked downwards from an empty slot
 * `start`, `done` slots of it so far. A removal moves entries downwards, but never over an empty
 * slot: an entry that was walked cannot get before the cursor, nor one to be walked behind it. */
size_t weir_hash_index_scan(const HashIndex *index, uint64_t *cursor, uint32_t *values,
                            size_t capacity)
{
    const size_t entry_count = (size_t)1 << index->directory_bits;
    size_t entry = (size_t)(*cursor >> 44);
    uint32_t start = (uint32_t)(*cursor >> 22) & ((UINT32_C(1) << 22) - 1);
    uint32_t done = (uint32_t)*cursor & ((UINT32_C(1) << 22) - 1);
    size_t count = 0;
    while (entry < entry_count && count < capacity) {
        const HashSegment *segment = &index->segments[entry];
        const uint32_t mask = segment->mask;
        if (done == 0) {
            start = 0;
            while (segment->slots[start] != 0) {
                start++;
            }
        }
        while (done < mask && count < capacity) {
            done++;
            values[count] = (uint32_t)segment->slots[(start - done) & mask];
            count += values[count] != 0;
        }
        if (done == mask) {
            entry += sharing_count(index, segment);
            done = 0;
        }
    }
    *cursor = (uint64_t)entry << 44 | (uint64_t)start << 22 | done;
    return count;
}
