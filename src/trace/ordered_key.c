/* ordered_key.c: how values of a type become keys.
 *
 *   up to 8 bytes    the value extended to 64 bits, so that its address is the value's (floats with
 *                    one zero and one NaN); order = the word with bits flipped
 *   16-byte integers both words, low first; order = high word with the sign flipped, low word
 *                    (TIME_TZ as well: DuckDB's MIN and MAX compare its bits, ORDER BY does not)
 *   strings          order = first 8 bytes; ties by value
 *   intervals        order = months; ties by value, then by bytes
 *   nested, others   ties by value, then by bytes
 *
 * A copy is the 16-byte physical value; of a long string its bytes follow, and the slot points to
 * them: rows of a store do not move. */
#include "trace/ordered_priv.h"

#include "base/codec.h"
#include "types/interval.h"
#include "types/normal.h"
#include "types/time.h"
#include "types/vector.h"

#define SIGN_BIT (UINT64_C(1) << 63)

static const uint16_t class_granules[ORDERED_CLASS_COUNT] = {2,  3,  4,  6,  8,  12,  16,
                                                             24, 32, 48, 64, 96, 128, 160};

void weir_ordered_space_shape(OrderedSpace *space)
{
    space->kind = ORDERED_WORD;
    switch (space->type->phys) {
    case PHYS_I8:
    case PHYS_I16:
    case PHYS_I32:
    case PHYS_I64: space->flip = SIGN_BIT; break;
    case PHYS_U8:
    case PHYS_U16:
    case PHYS_U32:
    case PHYS_U64: break;
    case PHYS_F32:
    case PHYS_F64:
        space->flip = SIGN_BIT;
        space->negative_mask = ~SIGN_BIT;
        break;
    case PHYS_I128:
        space->kind = ORDERED_WIDE;
        space->flip = SIGN_BIT;
        break;
    case PHYS_U128: space->kind = ORDERED_WIDE; break;
    case PHYS_INTERVAL:
    case PHYS_STRING: space->kind = ORDERED_REF; break;
    case PHYS_COUNT: WEIR_ASSERT(false); break;
    }
    space->key_words = space->kind == ORDERED_WIDE ? 2 : 1;
    const uint32_t entry_bytes =
        space->key_words * 8 + (space->kind == ORDERED_REF ? 4 : 0) + (uint32_t)sizeof(int32_t);
    for (size_t i = 0; i < ORDERED_CLASS_COUNT; i++) {
        const uint32_t fits = class_granules[i] * (uint32_t)ROW_GRANULE_BYTES / entry_bytes;
        space->capacities[i] = (uint16_t)WEIR_MIN(fits, (uint32_t)ORDERED_BLOCK_MAX);
    }
    space->first_class = space->capacities[0] < 2 ? 1 : 0;
}

/* --- keys --------------------------------------------------------------------------------------- */

/* The value extended to a word. */
static uint64_t load_word(PhysType phys, const void *value)
{
    int8_t i8;
    int16_t i16;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (phys) {
    case PHYS_I8: memcpy(&i8, value, sizeof i8); return (uint64_t)(int64_t)i8;
    case PHYS_I16: memcpy(&i16, value, sizeof i16); return (uint64_t)(int64_t)i16;
    case PHYS_I32: return (uint64_t)(int64_t)(int32_t)weir_load_u32(value);
    case PHYS_U8: return *(const uint8_t *)value;
    case PHYS_U16: memcpy(&u16, value, sizeof u16); return u16;
    case PHYS_U32: return weir_load_u32(value);
    case PHYS_F32:
        u32 = weir_normal_f32(weir_load_u32(value));
        return (uint64_t)(int64_t)(int32_t)u32;
    case PHYS_F64: return weir_normal_f64(weir_load_u64(value));
    case PHYS_I64:
    case PHYS_U64:
    case PHYS_I128:
    case PHYS_U128:
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: break;
    }
    memcpy(&u64, value, sizeof u64);
    return u64;
}

/* A word such that smaller words mean smaller values. */
static uint64_t rough_order(const OrderedSpace *space, const void *value)
{
    if (space->type->phys == PHYS_INTERVAL) {
        Interval interval;
        memcpy(&interval, value, sizeof interval);
        return (uint64_t)weir_interval_normal(interval).months ^ SIGN_BIT;
    }
    if (weir_type_is_nested(space->type)) {
        return 0;
    }
    String string;
    memcpy(&string, value, sizeof string);
    return __builtin_bswap64(
        weir_load_u64(weir_string_data(&string))); /* short ones end in zeros */
}

void weir_ordered_key_load(const OrderedSpace *space, const void *value, OrderedKey *key)
{
    *key = (OrderedKey){.order.value = value};
    switch (space->kind) {
    case ORDERED_WORD:
        key->raw[0] = load_word(space->type->phys, value);
        key->order.words[0] = weir_ordered_order(key->raw[0], space->flip, space->negative_mask);
        return;
    case ORDERED_WIDE:
        memcpy(key->raw, value, sizeof key->raw);
        key->order.words[0] = key->raw[1] ^ space->flip;
        key->order.words[1] = key->raw[0];
        return;
    case ORDERED_REF:
        key->raw[0] = rough_order(space, value);
        key->order.words[0] = key->raw[0];
        return;
    }
}

void weir_ordered_key_decode(const OrderedSpace *space, const uint64_t *order, uint64_t *raw)
{
    switch (space->kind) {
    case ORDERED_WORD: {
        const uint64_t word = order[0] ^ space->flip;
        raw[0] = word ^ ((0 - (word >> 63)) & space->negative_mask);
        return;
    }
    case ORDERED_WIDE:
        raw[0] = order[1];
        raw[1] = order[0] ^ space->flip;
        return;
    case ORDERED_REF: raw[0] = order[0]; return;
    }
}

int weir_ordered_compare(const void *space, const void *value, uint32_t ref)
{
    const OrderedSpace *self = space;
    const void *copy = weir_row_at(&self->store, ref);
    const int order = weir_value_compare(self->type, value, copy);
    if (order != 0) {
        return order;
    }
    if (self->type->phys == PHYS_INTERVAL) {
        return memcmp(value, copy, sizeof(Interval));
    }
    if (!weir_type_is_nested(self->type)) {
        return 0;
    }
    String a;
    String b;
    memcpy(&a, value, sizeof a);
    memcpy(&b, copy, sizeof b);
    return weir_string_compare(&a, &b);
}

/* --- copies ------------------------------------------------------------------------------------- */

static size_t copy_size(const OrderedSpace *space, const void *value)
{
    String string;
    memcpy(&string, value, sizeof string);
    if (space->type->phys != PHYS_STRING || weir_string_is_inline(&string)) {
        return sizeof string;
    }
    return sizeof string + weir_string_size(&string);
}

Status weir_ordered_copy_new(OrderedSpace *space, const void *value, uint32_t *ref, Error *err)
{
    *ref = 0;
    if (space->kind != ORDERED_REF) {
        return WEIR_OK;
    }
    Row *row = NULL;
    const size_t size = copy_size(space, value);
    WEIR_TRY(weir_row_store_alloc(&space->store, NULL, size, 1, ref, &row, err));
    String copy;
    memcpy(&copy, value, sizeof copy);
    if (size > sizeof copy) {
        char *bytes = (char *)row + sizeof copy;
        memcpy(bytes, copy.remote.pointer, size - sizeof copy);
        copy.remote.pointer = bytes;
    }
    memcpy(row, &copy, sizeof copy);
    return WEIR_OK;
}

void weir_ordered_copy_free(OrderedSpace *space, uint32_t ref, bool at_once)
{
    if (ref == 0) {
        return;
    }
    const size_t size = copy_size(space, weir_row_at(&space->store, ref));
    if (at_once) {
        weir_row_store_cancel(&space->store, ref, size);
    } else {
        weir_row_store_free(&space->store, ref, size);
    }
}

/* --- blocks ------------------------------------------------------------------------------------- */

/* The first of count raw words whose order is not smaller. Branch-free: see count_before. */
static inline uint32_t find_word(const uint64_t *keys, uint32_t count, uint64_t order,
                                 uint64_t flip, uint64_t negative_mask)
{
    uint32_t base = 0;
    uint32_t left = count;
    while (left > 0) {
        const uint32_t half = (left + 1) / 2;
        const uint64_t probed = weir_ordered_order(keys[base + half - 1], flip, negative_mask);
        base = probed < order ? base + half : base;
        left -= half;
    }
    return base;
}

static uint32_t find_wide(const OrderedSpace *space, const OrderedBlock *block,
                          const OrderedKey *key)
{
    const u128 order = (u128)key->order.words[0] << 64 | key->order.words[1];
    uint32_t base = 0;
    uint32_t left = block->count;
    while (left > 0) {
        const uint32_t half = (left + 1) / 2;
        const uint64_t *at = block->keys + 2 * (size_t)(base + half - 1);
        const u128 probed = (u128)(at[1] ^ space->flip) << 64 | at[0];
        base = probed < order ? base + half : base;
        left -= half;
    }
    return base;
}

static uint32_t find_ref(const OrderedSpace *space, const OrderedBlock *block,
                         const OrderedKey *key, bool *is_there)
{
    uint32_t low = 0;
    uint32_t high = block->count;
    *is_there = false;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const uint64_t probed = block->keys[middle];
        int order = (key->raw[0] > probed) - (key->raw[0] < probed);
        if (order == 0) {
            order = weir_ordered_compare(space, key->order.value, block->refs[middle]);
        }
        if (order == 0) {
            *is_there = true;
            return middle;
        }
        if (order > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t weir_ordered_block_find(const OrderedSpace *space, const OrderedBlock *block,
                                 const OrderedKey *key, bool *is_there)
{
    uint32_t place = 0;
    switch (space->kind) {
    case ORDERED_WORD:
        place =
            space->negative_mask == 0
                ? find_word(block->keys, block->count, key->order.words[0], space->flip, 0)
                : find_word(block->keys, block->count, key->order.words[0], SIGN_BIT, ~SIGN_BIT);
        *is_there = place < block->count && block->keys[place] == key->raw[0];
        break;
    case ORDERED_WIDE:
        place = find_wide(space, block, key);
        *is_there = place < block->count && block->keys[2 * (size_t)place] == key->raw[0] &&
                    block->keys[2 * (size_t)place + 1] == key->raw[1];
        break;
    case ORDERED_REF: place = find_ref(space, block, key, is_there); break;
    }
    return place;
}

uint32_t weir_ordered_class_for(const OrderedSpace *space, size_t count)
{
    uint32_t class = space->first_class;
    while (space->capacities[class] < count) {
        class ++;
        WEIR_ASSERT(class < ORDERED_CLASS_COUNT);
    }
    return class;
}

Status weir_ordered_block_new(OrderedSpace *space, uint32_t class, OrderedSet *out, Error *err)
{
    RowRef ref = 0;
    Row *row = NULL;
    const size_t size = (size_t)class_granules[class] * ROW_GRANULE_BYTES;
    WEIR_TRY(weir_row_store_alloc(&space->store, NULL, size, 1, &ref, &row, err));
    *out = (OrderedSet){.words = {0, 0, weir_ordered_block_word(ref, class, 0)}};
    return WEIR_OK;
}

void weir_ordered_block_free(OrderedSpace *space, const OrderedSet *set)
{
    const size_t size = (size_t)class_granules[weir_ordered_class(set)] * ROW_GRANULE_BYTES;
    weir_row_store_cancel(&space->store, weir_ordered_ref(set), size);
}

static void set_count(OrderedSet *set, uint32_t count)
{
    set->words[2] = weir_ordered_block_word(weir_ordered_ref(set), weir_ordered_class(set), count);
}

/* Copies entries between blocks, or within one. */
static void block_move(const OrderedSpace *space, const OrderedBlock *to, uint32_t to_place,
                       const OrderedBlock *from, uint32_t from_place, uint32_t count)
{
    const size_t words = space->key_words;
    memmove(to->keys + to_place * words, from->keys + from_place * words,
            count * words * sizeof(uint64_t));
    memmove(to->weights + to_place, from->weights + from_place, count * sizeof(int32_t));
    if (space->kind == ORDERED_REF) {
        memmove(to->refs + to_place, from->refs + from_place, count * sizeof(uint32_t));
    }
}

/* Moves the entries to a block of another class. */
static Status block_resize(OrderedSpace *space, OrderedSet *set, uint32_t class, Error *err)
{
    OrderedSet resized;
    WEIR_TRY(weir_ordered_block_new(space, class, &resized, err));
    const OrderedBlock from = weir_ordered_block(space, set);
    const OrderedBlock to = weir_ordered_block(space, &resized);
    block_move(space, &to, 0, &from, 0, from.count);
    weir_ordered_block_free(space, set);
    set_count(&resized, from.count);
    *set = resized;
    return WEIR_OK;
}

Status weir_ordered_block_insert(OrderedSpace *space, OrderedSet *set, uint32_t place,
                                 const BTreeEntry *raw_entry, Error *err)
{
    OrderedBlock block = weir_ordered_block(space, set);
    if (block.count == block.capacity) {
        WEIR_TRY(block_resize(space, set, weir_ordered_class(set) + 1, err));
        block = weir_ordered_block(space, set);
    }
    block_move(space, &block, place + 1, &block, place, block.count - place);
    memcpy(block.keys + (size_t)place * space->key_words, raw_entry->words,
           space->key_words * sizeof(uint64_t));
    block.weights[place] = (int32_t)raw_entry->weight;
    if (space->kind == ORDERED_REF) {
        block.refs[place] = raw_entry->ref;
    }
    set_count(set, block.count + 1);
    return WEIR_OK;
}

void weir_ordered_block_remove(OrderedSpace *space, OrderedSet *set, uint32_t place)
{
    const OrderedBlock block = weir_ordered_block(space, set);
    const uint32_t count = block.count - 1;
    block_move(space, &block, place, &block, place + 1, count - place);
    set_count(set, count);
    const uint32_t wanted = WEIR_MIN(count + count / 4 + 1, (uint32_t)ORDERED_BLOCK_MAX);
    const uint32_t class = weir_ordered_class_for(space, wanted);
    if (class + 1 < weir_ordered_class(set)) {
        Error err;
        (void)!block_resize(space, set, class, &err);
    }
}
