/* arrangement_heavy.c: keys with many rows.
 *
 * A heavy key has a dense vector of row references, so that a probe streams it with prefetch however
 * often it was changed. Each row knows its place in the vector; removal moves the last row into the
 * hole. The row index finds a row by its hash. A key becomes heavy at ARRANGEMENT_HEAVY rows and a
 * chain again below a quarter of that. */
#include "trace/arrangement_priv.h"

#include "base/checked.h"

enum { HEAVY_LEAST = ARRANGEMENT_HEAVY / 4 };

static Status heavy_grow_records(Arrangement *arrangement, Error *err)
{
    const uint32_t old = arrangement->heavy_capacity;
    const uint32_t capacity = WEIR_MAX(2 * old, 8u);
    if (capacity > KEY_IS_HEAVY) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "more than %u keys with many rows", old);
    }
    HeavyKey *heavy = weir_mem_realloc(arrangement->mem, arrangement->heavy,
                                       (size_t)capacity * sizeof *heavy, err);
    if (heavy == NULL) {
        return err->code;
    }
    arrangement->heavy = heavy;
    arrangement->heavy_capacity = capacity;
    arrangement->heavy_bytes += (size_t)(capacity - old) * sizeof *heavy;
    return WEIR_OK;
}

static Status heavy_grow_refs(Arrangement *arrangement, HeavyKey *key, Error *err)
{
    const uint32_t old = key->capacity;
    const uint32_t capacity = WEIR_MAX(2 * old, 2u * ARRANGEMENT_HEAVY);
    RowRef *refs = weir_mem_realloc(arrangement->mem, key->refs, capacity * sizeof *refs, err);
    if (refs == NULL) {
        return err->code;
    }
    key->refs = refs;
    key->capacity = capacity;
    arrangement->heavy_bytes += (capacity - old) * sizeof *refs;
    return WEIR_OK;
}

/* A record with an empty vector. */
static Status heavy_new(Arrangement *arrangement, uint32_t *number, Error *err)
{
    if (arrangement->heavy_unused == 0 && arrangement->heavy_count == arrangement->heavy_capacity) {
        WEIR_TRY(heavy_grow_records(arrangement, err));
    }
    HeavyKey fresh = {0};
    WEIR_TRY(heavy_grow_refs(arrangement, &fresh, err));
    if (arrangement->heavy_unused != 0) {
        *number = arrangement->heavy_unused - 1;
        arrangement->heavy_unused = arrangement->heavy[*number].count;
    } else {
        *number = arrangement->heavy_count;
        arrangement->heavy_count++;
    }
    arrangement->heavy[*number] = fresh;
    return WEIR_OK;
}

static void heavy_free(Arrangement *arrangement, uint32_t number)
{
    HeavyKey *key = &arrangement->heavy[number];
    arrangement->heavy_bytes -= key->capacity * sizeof *key->refs;
    weir_mem_free(arrangement->mem, key->refs);
    *key = (HeavyKey){.count = arrangement->heavy_unused};
    arrangement->heavy_unused = number + 1;
}

/* Puts the rows of the chain into the record and the row index. On failure neither has them. */
static Status heavy_fill(Arrangement *arrangement, HeavyKey *key, RowRef head, Error *err)
{
    Status status = WEIR_OK;
    RowRef ref = head;
    while (ref != 0 && status == WEIR_OK) {
        const Row *row = weir_row_at(&arrangement->store, ref);
        if (weir_add_i64(key->weight, weir_row_weight(row), &key->weight)) {
            status = weir_error_set(err, WEIR_ERR_WEIGHT, "the rows of a key weigh too much");
            break;
        }
        WEIR_ASSERT(key->count < key->capacity);
        status = weir_hash_index_insert(&arrangement->rows, weir_row_hash(row), ref, err);
        if (status == WEIR_OK) {
            key->refs[key->count] = ref;
            key->count++;
            ref = weir_row_link(row);
        }
    }
    while (status != WEIR_OK && key->count > 0) {
        key->count--;
        ref = key->refs[key->count];
        const uint32_t hash = weir_row_hash(weir_row_at(&arrangement->store, ref));
        weir_hash_index_remove(&arrangement->rows, hash, ref);
    }
    return status;
}

Status weir_heavy_from_chain(Arrangement *arrangement, uint32_t key_hash, RowRef head,
                             uint32_t *value, Error *err)
{
    uint32_t number = 0;
    WEIR_TRY(heavy_new(arrangement, &number, err));
    HeavyKey *key = &arrangement->heavy[number];
    const Status status = heavy_fill(arrangement, key, head, err);
    if (status != WEIR_OK) {
        heavy_free(arrangement, number);
        return status;
    }
    for (uint32_t place = 0; place < key->count; place++) {
        weir_row_set_link(weir_row_at(&arrangement->store, key->refs[place]), place);
    }
    *value = KEY_IS_HEAVY | number;
    weir_hash_index_replace(&arrangement->keys, key_hash, head, *value);
    return WEIR_OK;
}

Status weir_heavy_add(Arrangement *arrangement, uint32_t value, RowRef ref, Error *err)
{
    HeavyKey *key = weir_heavy_key(arrangement, value);
    Row *row = weir_row_at(&arrangement->store, ref);
    if (key->count == key->capacity) {
        WEIR_TRY(heavy_grow_refs(arrangement, key, err));
    }
    int64_t weight = 0;
    if (weir_add_i64(key->weight, weir_row_weight(row), &weight)) {
        return weir_error_set(err, WEIR_ERR_WEIGHT, "the rows of a key weigh too much");
    }
    WEIR_TRY(weir_hash_index_insert(&arrangement->rows, weir_row_hash(row), ref, err));
    weir_row_set_link(row, key->count);
    key->refs[key->count] = ref;
    key->count++;
    key->weight = weight;
    return WEIR_OK;
}

/* Makes a chain of the few rows that are left. */
static void heavy_to_chain(Arrangement *arrangement, uint32_t value, uint32_t key_hash)
{
    const HeavyKey *key = weir_heavy_key(arrangement, value);
    RowRef head = 0;
    for (uint32_t i = 0; i < key->count; i++) {
        Row *row = weir_row_at(&arrangement->store, key->refs[i]);
        weir_row_set_link(row, head);
        head = key->refs[i];
        weir_hash_index_remove(&arrangement->rows, weir_row_hash(row), head);
    }
    WEIR_ASSERT(head != 0);
    weir_hash_index_replace(&arrangement->keys, key_hash, value, head);
    heavy_free(arrangement, value & ~KEY_IS_HEAVY);
    arrangement->light_epoch++;
}

void weir_heavy_remove(Arrangement *arrangement, uint32_t value, uint32_t key_hash, RowRef ref)
{
    HeavyKey *key = weir_heavy_key(arrangement, value);
    const Row *row = weir_row_at(&arrangement->store, ref);
    const uint32_t place = weir_row_link(row);
    WEIR_ASSERT(key->refs[place] == ref);
    weir_hash_index_remove(&arrangement->rows, weir_row_hash(row), ref);
    key->count--;
    const RowRef last = key->refs[key->count];
    key->refs[place] = last;
    weir_row_set_link(weir_row_at(&arrangement->store, last), place);
    if (key->count < HEAVY_LEAST) {
        heavy_to_chain(arrangement, value, key_hash);
    }
}

void weir_heavy_deinit(Arrangement *arrangement)
{
    for (uint32_t i = 0; i < arrangement->heavy_count; i++) {
        weir_mem_free(arrangement->mem, arrangement->heavy[i].refs);
    }
    weir_mem_free(arrangement->mem, arrangement->heavy);
    arrangement->heavy = NULL;
    arrangement->heavy_count = 0;
}
