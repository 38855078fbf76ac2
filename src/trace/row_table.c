/* row_table.c: find or insert, in passes over groups of 32 keys.
 *
 *   1. position in the index, prefetch the slot
 *   2. first slot with the key's hash, prefetch its row
 *   3. compare the keys of all candidates, column by column
 *   4. only for keys not found: pack them as rows of the store, then find or insert one by one;
 *      a packed row that turns out to be there already is given back
 *
 * Three groups are in flight: while one is at pass 3, the next is at 2 and the one behind at 1. A
 * row found stays found, since an upsert removes none; a key missed because an earlier group was
 * just about to insert it is found again in pass 4. */
#include "trace/row_table.h"

#include "trace/hash_index_inline.h"
#include "trace/row_match.h"

enum { EMPTY_BYTES_MAX = 1 << 20 }; /* kept by a table without rows */

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
    Row *row = NULL;
    const RowMatch match = {
        .layout = &table->layout,
        .columns = columns,
        .first = place,
        .rows = &row,
        .count = 1,
        .key_has_nulls = table->has_null_keys,
    };
    for (;;) {
        weir_hash_step(at);
        const uint32_t ref = weir_hash_seek(at, hash);
        if (ref == 0) {
            return NULL;
        }
        row = weir_row_at(&table->store, ref);
        if (weir_row_match_key(&match) == 0) {
            return row;
        }
    }
}

/* Keys [first, first + count) of a batch on their way through the passes; rows[i] is of key
 * first + i. */
typedef struct FindGroup {
    const Vector *const *columns;
    const uint32_t *hashes; /* of the batch */
    size_t first;
    size_t count;
    Row **rows;
    uint32_t missing; /* bit i: key first + i has no row */
    HashPlace at[HASH_GROUP];
} FindGroup;

/* Pass 1. */
static void find_slots(const RowTable *table, FindGroup *group)
{
    const HashIndex index = table->index; /* a copy: no store in the loop can change it */
    const uint32_t *hashes = group->hashes + group->first;
    for (size_t i = 0; i < group->count; i++) {
        group->at[i] = weir_hash_home(&index, hashes[i]);
        weir_hash_prefetch(&group->at[i]);
    }
}

/* Pass 2: the first row with the hash of each key. */
static void find_candidates(const RowTable *table, FindGroup *group)
{
    const RowStore store = table->store;
    const uint32_t *hashes = group->hashes + group->first;
    const size_t row_end = table->layout.fixed_bytes - 1;
    uint32_t missing = 0;
    if (table->row_count == 0) { /* nor is there a page */
        memset(group->rows, 0, group->count * sizeof(Row *));
        group->missing = (uint32_t)((UINT64_C(1) << group->count) - 1);
        return;
    }
    for (size_t i = group->count; i > 0; i--) {
        const uint32_t ref = weir_hash_seek(&group->at[i - 1], hashes[i - 1]);
        Row *row = weir_row_at(&store, ref);
        __builtin_prefetch(row, 1);
        __builtin_prefetch((const char *)row + row_end, 1);
        group->rows[i - 1] = ref == 0 ? NULL : row;
        missing = 2 * missing + (ref == 0);
    }
    group->missing = missing;
}

/* Compares the keys of the candidates. Bit i of the result: different. */
static uint32_t compare_candidates(const RowTable *table, const FindGroup *group)
{
    RowMatch match = {
        .layout = &table->layout,
        .columns = group->columns,
        .first = group->first,
        .rows = group->rows,
        .count = group->count,
        .key_has_nulls = table->has_null_keys,
    };
    const uint32_t missing = group->missing;
    if (missing == 0) {
        return weir_row_match_key(&match);
    }
    uint16_t places[HASH_GROUP];
    uint8_t members[HASH_GROUP] = {0};
    Row *rows[HASH_GROUP];
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        places[count] = (uint16_t)(group->first + i);
        members[count] = (uint8_t)i;
        rows[count] = group->rows[i];
        count += ((missing >> i) & 1) == 0;
    }
    match.places = places;
    match.rows = rows;
    match.count = count;
    uint32_t different = 0;
    uint32_t bits = weir_row_match_key(&match);
    while (bits != 0) {
        different |= UINT32_C(1) << members[__builtin_ctz(bits)];
        bits &= bits - 1;
    }
    return different;
}

/* Pass 3: candidates of another key give way to the next one of their hash. */
static void confirm_candidates(const RowTable *table, FindGroup *group)
{
    uint32_t different = compare_candidates(table, group);
    while (WEIR_UNLIKELY(different != 0)) {
        const uint32_t i = (uint32_t)__builtin_ctz(different);
        const size_t place = group->first + i;
        group->rows[i] = find_behind(table, group->columns, (uint16_t)place, group->hashes[place],
                                     &group->at[i]);
        group->missing |= (uint32_t)(group->rows[i] == NULL) << i;
        different &= different - 1;
    }
}

/* The groups of a batch in flight: passes 1, 2 and 3 work on three groups in turn, so that what one
 * prefetches has a whole round to arrive. */
typedef struct FindPipe {
    const RowTable *table;
    const uint32_t *hashes;
    const Vector *const *columns;
    Row **rows;
    size_t count;
    size_t next;    /* key to enter the pipe next */
    size_t stage;   /* of the oldest group */
    uint32_t epoch; /* of the index when the groups were looked up */
    FindGroup groups[3];
} FindPipe;

static FindGroup *pipe_group(FindPipe *pipe, size_t age)
{
    return &pipe->groups[(pipe->stage + age) % 3];
}

static void pipe_enter(FindPipe *pipe, FindGroup *group)
{
    group->columns = pipe->columns;
    group->hashes = pipe->hashes;
    group->first = pipe->next;
    group->count = WEIR_MIN(pipe->count - pipe->next, (size_t)HASH_GROUP);
    group->rows = pipe->rows + pipe->next;
    pipe->next += group->count;
    find_slots(pipe->table, group);
}

static void pipe_start(FindPipe *pipe)
{
    pipe->next = 0;
    pipe->stage = 0;
    pipe->epoch = pipe->table->index.epoch;
    pipe_enter(pipe, pipe_group(pipe, 0));
    pipe_enter(pipe, pipe_group(pipe, 1));
    find_candidates(pipe->table, pipe_group(pipe, 0));
}

/* The next group with its rows found, or NULL. */
static FindGroup *pipe_next(FindPipe *pipe)
{
    FindGroup *oldest = pipe_group(pipe, 0);
    if (oldest->count == 0) {
        return NULL;
    }
    if (WEIR_UNLIKELY(pipe->epoch != pipe->table->index.epoch)) { /* the index has grown */
        pipe->epoch = pipe->table->index.epoch;
        find_slots(pipe->table, oldest);
        find_candidates(pipe->table, oldest);
        find_slots(pipe->table, pipe_group(pipe, 1));
    }
    pipe_enter(pipe, pipe_group(pipe, 2));
    find_candidates(pipe->table, pipe_group(pipe, 1));
    confirm_candidates(pipe->table, oldest);
    pipe->stage = (pipe->stage + 1) % 3;
    return oldest;
}

/* The row whose key equals the packed row's, or NULL: then *at is where its slot belongs. */
static Row *find_packed(const RowTable *table, const Row *packed, HashPlace *at)
{
    const uint32_t hash = weir_row_hash(packed);
    *at = weir_hash_home(&table->index, hash);
    for (;;) {
        const uint32_t ref = weir_hash_seek(at, hash);
        if (ref == 0) {
            return NULL;
        }
        Row *row = weir_row_at(&table->store, ref);
        if (weir_row_key_equal(&table->layout, row, packed)) {
            return row;
        }
        weir_hash_step(at);
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
    WEIR_TRY(weir_row_store_alloc(&table->store, layout->has_strings ? missing->sizes : NULL,
                                  layout->fixed_bytes, missing->count, missing->refs, missing->rows,
                                  err));
    weir_row_pack(layout, upsert->columns, missing->places, missing->count, missing->hashes,
                  missing->sizes, missing->rows);
    table->has_null_keys =
        table->has_null_keys ||
        weir_rows_have_nulls(&layout->key, upsert->columns, missing->rows, missing->count);
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
        HashPlace at;
        Row *row = status == WEIR_OK ? find_packed(table, packed, &at) : packed;
        if (row == NULL) {
            status = weir_hash_index_insert_at(&table->index, &at, missing->hashes[i],
                                               missing->refs[i], err);
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
    FindPipe pipe;
    pipe.table = table;
    pipe.hashes = upsert.hashes;
    pipe.columns = columns;
    pipe.rows = rows;
    pipe.count = count;
    pipe_start(&pipe);
    Missing missing = {0};
    for (FindGroup *group = pipe_next(&pipe); group != NULL; group = pipe_next(&pipe)) {
        uint32_t bits = group->missing;
        if (bits == 0) {
            continue;
        }
        missing.count = 0;
        while (bits != 0) {
            missing.places[missing.count] = (uint16_t)(group->first + (size_t)__builtin_ctz(bits));
            missing.count++;
            bits &= bits - 1;
        }
        WEIR_TRY(add_missing(&upsert, &missing, group->first, group->rows,
                             is_new == NULL ? NULL : is_new + group->first, err));
    }
    return WEIR_OK;
}

void weir_row_table_find(RowTable *table, const Vector *const *columns, size_t count, Row **rows)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY);
    uint32_t hashes[BATCH_CAPACITY];
    weir_hash_columns(columns, table->layout.key.count, count, hashes);
    FindPipe pipe;
    pipe.table = table;
    pipe.hashes = hashes;
    pipe.columns = columns;
    pipe.rows = rows;
    pipe.count = count;
    pipe_start(&pipe);
    while (pipe_next(&pipe) != NULL) {
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
    if (table->row_count == 0 && weir_row_table_bytes(table) > EMPTY_BYTES_MAX) {
        weir_row_table_clear(table);
    }
    weir_row_store_end_step(&table->store);
}

void weir_row_table_clear(RowTable *table)
{
    weir_hash_index_clear(&table->index);
    weir_row_store_clear(&table->store);
    table->row_count = 0;
    table->has_null_keys = false;
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
