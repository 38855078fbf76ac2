/* row_table.c: find or insert, in passes over groups of 32 keys.
 *
 *   1. position in the index, prefetch the slot
 *   2. first slot with the key's hash, prefetch its row
 *   3. compare the keys of all candidates, column by column
 *   4. only for keys not found: pack them as rows of the store, then find or insert one by one;
 *      a packed row that turns out to be a duplicate of an earlier one of the group is given back
 *
 * Passes 1 to 3 change nothing, so what they find stays true in pass 4. */
#include "trace/row_table.h"

#include "trace/hash_index_inline.h"
#include "trace/row_match.h"

/* What an upsert needs of the whole batch. */
typedef struct Upsert {
    RowTable *table;
    const Vector *const *columns;
    size_t count;
    bool has_sizes; /* sizes are filled, at the first new row of the batch */
    uint32_t hashes[BATCH_CAPACITY];
    uint32_t sizes[BATCH_CAPACITY];
} Upsert;

/* The keys of a group that were not found: places in the batch, and rows being made for them. */
typedef struct Missing {
    size_t count;
    uint16_t places[HASH_GROUP];
    uint32_t hashes[HASH_GROUP];
    uint32_t sizes[HASH_GROUP];
    RowRef refs[HASH_GROUP];
    Row *rows[HASH_GROUP];
} Missing;

Status weir_row_table_init(RowTable *table, Mem *mem, PagePool *pool, const RowLayoutSpec *spec,
                           Error *err)
{
    *table = (RowTable){0};
    Status status = WEIR_OK;
    WEIR_CHECK(weir_row_layout_init(&table->layout, mem, spec, err));
    WEIR_CHECK(weir_row_store_init(&table->store, mem, pool, err));
    WEIR_CHECK(weir_hash_index_init(&table->index, mem, pool, err));
done:
    if (status != WEIR_OK) {
        weir_row_store_deinit(&table->store);
        weir_row_layout_deinit(&table->layout, mem);
        *table = (RowTable){0};
    }
    return status;
}

void weir_row_table_deinit(RowTable *table)
{
    Mem *mem = table->store.mem;
    weir_hash_index_deinit(&table->index);
    weir_row_store_deinit(&table->store);
    if (mem != NULL) {
        weir_row_layout_deinit(&table->layout, mem);
    }
    *table = (RowTable){0};
}

/* Goes on behind a candidate whose hash is equal but whose key is not. */
static Row *find_behind(const RowTable *table, const Vector *const *columns, uint16_t place,
                        uint32_t hash, HashPlace *at)
{
    for (;;) {
        weir_hash_step(at);
        const uint32_t ref = weir_hash_seek(at, hash);
        if (ref == 0) {
            return NULL;
        }
        Row *row = weir_row_at(&table->store, ref);
        if (weir_row_matches(&table->layout, columns, table->layout.key.count, place, row)) {
            return row;
        }
    }
}

/* rows[i] = the row of key first + i, or NULL. */
static void find_group(const RowTable *table, const Vector *const *columns, const uint32_t *hashes,
                       size_t first, size_t count, Row **rows)
{
    HashPlace at[HASH_GROUP];
    uint16_t places[HASH_GROUP];
    uint8_t members[HASH_GROUP]; /* of the group, that have a candidate */
    Row *candidates[HASH_GROUP];
    bool is_equal[HASH_GROUP];
    const size_t row_end = table->layout.fixed_bytes - 1;
    for (size_t i = 0; i < count; i++) {
        at[i] = weir_hash_home(&table->index, hashes[first + i]);
        weir_hash_prefetch(&at[i]);
    }
    size_t candidate_count = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t ref = weir_hash_seek(&at[i], hashes[first + i]);
        rows[i] = NULL;
        if (ref != 0) {
            Row *row = weir_row_at(&table->store, ref);
            __builtin_prefetch(row, 1);
            __builtin_prefetch((const char *)row + row_end, 1);
            candidates[candidate_count] = row;
            members[candidate_count] = (uint8_t)i;
            places[candidate_count] = (uint16_t)(first + i);
            candidate_count++;
        }
    }
    if (candidate_count == 0) {
        return;
    }
    weir_row_match(&table->layout, columns, table->layout.key.count, places, candidates,
                   candidate_count, is_equal);
    for (size_t i = 0; i < candidate_count; i++) {
        const size_t member = members[i];
        rows[member] = is_equal[i] ? candidates[i]
                                   : find_behind(table, columns, places[i], hashes[first + member],
                                                 &at[member]);
    }
}

/* The row whose key equals the packed row's, or NULL. */
static Row *find_packed(const RowTable *table, const Row *packed)
{
    const uint32_t hash = weir_row_hash(packed);
    HashPlace at = weir_hash_home(&table->index, hash);
    for (;;) {
        const uint32_t ref = weir_hash_seek(&at, hash);
        if (ref == 0) {
            return NULL;
        }
        Row *row = weir_row_at(&table->store, ref);
        if (weir_row_key_equal(&table->layout, row, packed)) {
            return row;
        }
        weir_hash_step(&at);
    }
}

/* Allocates and packs the missing rows. */
static Status pack_missing(Upsert *upsert, Missing *missing, Error *err)
{
    RowTable *table = upsert->table;
    const RowLayout *layout = &table->layout;
    if (layout->has_strings && !upsert->has_sizes) {
        weir_row_sizes(layout, upsert->columns, upsert->count, upsert->sizes);
        upsert->has_sizes = true;
    }
    for (size_t i = 0; i < missing->count; i++) {
        missing->hashes[i] = upsert->hashes[missing->places[i]];
        missing->sizes[i] =
            layout->has_strings ? upsert->sizes[missing->places[i]] : layout->fixed_bytes;
    }
    WEIR_TRY(weir_row_store_alloc(&table->store, missing->sizes, 0, missing->count, missing->refs,
                                  missing->rows, err));
    weir_row_pack(layout, upsert->columns, missing->places, missing->count, missing->hashes,
                  missing->sizes, missing->rows);
    return WEIR_OK;
}

/* Makes rows for the keys of a group that were not found. */
static Status add_missing(Upsert *upsert, Missing *missing, size_t first, Row **rows, bool *is_new,
                          Error *err)
{
    RowTable *table = upsert->table;
    WEIR_TRY(pack_missing(upsert, missing, err));
    Status status = WEIR_OK;
    for (size_t i = 0; i < missing->count; i++) {
        Row *packed = missing->rows[i];
        Row *row = status == WEIR_OK ? find_packed(table, packed) : packed;
        if (row == NULL) {
            status =
                weir_hash_index_insert(&table->index, missing->hashes[i], missing->refs[i], err);
        }
        if (row != NULL || status != WEIR_OK) {
            weir_row_store_cancel(&table->store, missing->refs[i], missing->sizes[i]);
        } else {
            table->row_count++;
        }
        const size_t member = missing->places[i] - first;
        rows[member] = row == NULL ? packed : row;
        if (is_new != NULL) {
            is_new[member] = row == NULL;
        }
    }
    return status;
}

Status weir_row_table_upsert(RowTable *table, const Vector *const *columns, size_t count,
                             Row **rows, bool *is_new, Error *err)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY);
    Upsert upsert;
    upsert.table = table;
    upsert.columns = columns;
    upsert.count = count;
    upsert.has_sizes = false;
    weir_hash_columns(columns, table->layout.key.count, count, upsert.hashes);
    if (is_new != NULL) {
        memset(is_new, false, count);
    }
    for (size_t first = 0; first < count; first += HASH_GROUP) {
        const size_t group = WEIR_MIN(count - first, (size_t)HASH_GROUP);
        find_group(table, columns, upsert.hashes, first, group, rows + first);
        Missing missing;
        missing.count = 0;
        for (size_t i = 0; i < group; i++) {
            missing.places[missing.count] = (uint16_t)(first + i);
            missing.count += rows[first + i] == NULL;
        }
        if (missing.count > 0) {
            WEIR_TRY(add_missing(&upsert, &missing, first, rows + first,
                                 is_new == NULL ? NULL : is_new + first, err));
        }
    }
    return WEIR_OK;
}

void weir_row_table_find(RowTable *table, const Vector *const *columns, size_t count, Row **rows)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY);
    uint32_t hashes[BATCH_CAPACITY];
    weir_hash_columns(columns, table->layout.key.count, count, hashes);
    for (size_t first = 0; first < count; first += HASH_GROUP) {
        const size_t group = WEIR_MIN(count - first, (size_t)HASH_GROUP);
        find_group(table, columns, hashes, first, group, rows + first);
    }
}

void weir_row_table_remove(RowTable *table, Row *row)
{
    const uint32_t hash = weir_row_hash(row);
    HashPlace at = weir_hash_home(&table->index, hash);
    RowRef ref = weir_hash_seek(&at, hash);
    while (weir_row_at(&table->store, ref) != row) {
        WEIR_ASSERT(ref != 0);
        weir_hash_step(&at);
        ref = weir_hash_seek(&at, hash);
    }
    WEIR_ASSERT(table->row_count > 0);
    weir_hash_index_remove(&table->index, hash, ref);
    weir_row_store_free(&table->store, ref, weir_row_size(&table->layout, row));
    table->row_count--;
}

void weir_row_table_end_step(RowTable *table)
{
    weir_row_store_end_step(&table->store);
}

void weir_row_table_clear(RowTable *table)
{
    weir_hash_index_clear(&table->index);
    weir_row_store_clear(&table->store);
    table->row_count = 0;
}

Status weir_row_table_reserve(RowTable *table, size_t row_count, Error *err)
{
    return weir_hash_index_reserve(&table->index, row_count, err);
}

size_t weir_row_table_bytes(const RowTable *table)
{
    return weir_hash_index_bytes(&table->index) + weir_row_store_bytes(&table->store) +
           table->layout.column_count * sizeof *table->layout.columns;
}

size_t weir_row_table_scan(const RowTable *table, uint64_t *cursor, Row **rows, size_t capacity)
{
    RowRef refs[HASH_GROUP];
    size_t count = 0;
    while (count < capacity) {
        const size_t wanted = WEIR_MIN(capacity - count, (size_t)HASH_GROUP);
        const size_t found = weir_hash_index_scan(&table->index, cursor, refs, wanted);
        for (size_t i = 0; i < found; i++) {
            rows[count + i] = weir_row_at(&table->store, refs[i]);
            __builtin_prefetch(rows[count + i]);
        }
        count += found;
        if (found < wanted) {
            break;
        }
    }
    return count;
}
