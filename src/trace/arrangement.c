/* arrangement.c: adding a batch of weighted rows.
 *
 * In groups of 32, passes that change nothing:
 *   1. find the keys (arrangement_find.c, three groups in flight)
 *   2. find the rows: light keys walk their chains in lockstep, heavy ones look into the row index,
 *      by row hash; then all candidates are compared, column by column
 *   3. pack the rows that were not found
 * then one serial pass that adds, inserts and removes. Keys that the group before may have changed
 * are read again before pass 2. What the passes found is true for an entry unless an earlier entry
 * of its group touched the same key (the same row, for heavy keys): such conflicting entries are
 * found again, one by one, comparing packed rows. */
#include "trace/arrangement_priv.h"

#include "base/checked.h"

enum { EMPTY_BYTES_MAX = 1 << 20 }; /* kept by an arrangement without rows */

/* One call of apply. */
typedef struct Apply {
    Arrangement *arrangement;
    const Vector *const *columns;
    const uint16_t *selection;
    const int64_t *weights;
    size_t count;
    Row **rows;         /* out: the row of each entry; NULL = not wanted */
    size_t place_count; /* the places used are below it */
    bool has_sizes;
    uint32_t key_hashes[BATCH_CAPACITY]; /* by place, as the next ones */
    uint32_t row_hashes[BATCH_CAPACITY];
    uint32_t sizes[BATCH_CAPACITY];
} Apply;

/* A set of hashes that may say too much, not too little. */
typedef struct HashMarks {
    uint64_t words[8];
} HashMarks;

/* The rows in flight. */
typedef struct Group {
    KeyGroup *keys;
    size_t count;
    uint32_t row_hashes[HASH_GROUP];
    RowFound found[HASH_GROUP];
    bool is_conflicting[HASH_GROUP];
    uint32_t sizes[HASH_GROUP]; /* of the packed rows */
    RowRef refs[HASH_GROUP];    /* of the packed rows; 0 = none, or taken */
    uint32_t light_epoch;       /* of the arrangement when the group was looked up */
} Group;

Status weir_arrangement_new(Mem *mem, PagePool *pool, const RowLayoutSpec *spec, Arrangement **out,
                            Error *err)
{
    *out = NULL;
    Arrangement *arrangement = weir_mem_zalloc(mem, sizeof *arrangement, err);
    if (arrangement == NULL) {
        return err->code;
    }
    arrangement->mem = mem;
    Status status = WEIR_OK;
    WEIR_CHECK(weir_row_layout_init(&arrangement->layout, mem, spec, err));
    WEIR_CHECK(weir_row_store_init(&arrangement->store, mem, pool, err));
    WEIR_CHECK(weir_hash_index_init(&arrangement->keys, mem, pool, err));
    WEIR_CHECK(weir_hash_index_init(&arrangement->rows, mem, pool, err));
    *out = arrangement;
done:
    if (status != WEIR_OK) {
        weir_arrangement_free(arrangement);
    }
    return status;
}

void weir_arrangement_free(Arrangement *arrangement)
{
    if (arrangement == NULL) {
        return;
    }
    weir_arrangement_forget_loaded(arrangement);
    weir_heavy_deinit(arrangement);
    weir_hash_index_deinit(&arrangement->rows);
    weir_hash_index_deinit(&arrangement->keys);
    weir_row_store_deinit(&arrangement->store);
    weir_row_layout_deinit(&arrangement->layout, arrangement->mem);
    weir_mem_free(arrangement->mem, arrangement);
}

const RowLayout *weir_arrangement_layout(const Arrangement *arrangement)
{
    return &arrangement->layout;
}

Status weir_arrangement_reserve(Arrangement *arrangement, size_t key_count, Error *err)
{
    return weir_hash_index_reserve(&arrangement->keys, key_count, err);
}

void weir_arrangement_end_step(Arrangement *arrangement)
{
    weir_arrangement_forget_loaded(arrangement); /* of a step that has failed */
    if (arrangement->row_count == 0 && weir_arrangement_bytes(arrangement) > EMPTY_BYTES_MAX) {
        weir_hash_index_clear(&arrangement->keys);
        weir_hash_index_clear(&arrangement->rows);
        weir_row_store_clear(&arrangement->store);
    }
    weir_row_store_end_step(&arrangement->store);
}

size_t weir_arrangement_row_count(const Arrangement *arrangement)
{
    return arrangement->row_count;
}

size_t weir_arrangement_bytes(const Arrangement *arrangement)
{
    return sizeof *arrangement + weir_row_store_bytes(&arrangement->store) +
           weir_hash_index_bytes(&arrangement->keys) + weir_hash_index_bytes(&arrangement->rows) +
           arrangement->heavy_bytes + arrangement->loaded.capacity * sizeof(uint64_t) +
           arrangement->layout.column_count * sizeof *arrangement->layout.columns;
}

/* --- finding ------------------------------------------------------------------------------------ */

/* One step along every chain per round, until each entry has found its row hash or the end. */
static void walk_chains(const Arrangement *arrangement, Group *group)
{
    uint8_t live[HASH_GROUP];
    size_t live_count = 0;
    for (size_t i = 0; i < group->count; i++) {
        RowFound *found = &group->found[i];
        if (found->value != 0 && !weir_key_is_heavy(found->value)) {
            found->ref = found->value;
            live[live_count] = (uint8_t)i;
            live_count++;
        }
    }
    while (live_count > 0) {
        size_t kept = 0;
        for (size_t k = 0; k < live_count; k++) {
            const size_t i = live[k];
            RowFound *found = &group->found[i];
            const Row *row = weir_row_at(&arrangement->store, found->ref);
            if (weir_row_hash(row) != group->row_hashes[i]) {
                found->previous = found->ref;
                found->ref = weir_row_link(row);
                found->length++;
                if (found->ref != 0) {
                    weir_arrangement_prefetch(arrangement,
                                              weir_row_at(&arrangement->store, found->ref));
                    live[kept] = (uint8_t)i;
                    kept++;
                }
            }
        }
        live_count = kept;
    }
}

/* A removal will move one of the last rows of the vector; `nth` heavy entry of the group. */
static void prefetch_last_row(const Arrangement *arrangement, uint32_t value, size_t nth)
{
    const HeavyKey *key = weir_heavy_key(arrangement, value);
    if (nth < key->count) {
        __builtin_prefetch(weir_row_at(&arrangement->store, key->refs[key->count - 1 - nth]), 1);
    }
}

/* Heavy entries: the first row with the row hash. */
static void seek_heavy_rows(const Apply *apply, Group *group)
{
    const Arrangement *arrangement = apply->arrangement;
    uint8_t members[HASH_GROUP];
    HashPlace at[HASH_GROUP];
    size_t heavy_count = 0;
    for (size_t i = 0; i < group->count; i++) {
        if (weir_key_is_heavy(group->found[i].value)) {
            at[heavy_count] = weir_hash_home(&arrangement->rows, group->row_hashes[i]);
            weir_hash_prefetch(&at[heavy_count]);
            members[heavy_count] = (uint8_t)i;
            heavy_count++;
        }
    }
    for (size_t k = 0; k < heavy_count; k++) {
        const size_t i = members[k];
        const RowRef ref = weir_hash_seek(&at[k], group->row_hashes[i]);
        group->found[i].ref = ref;
        if (ref != 0) {
            weir_arrangement_prefetch(arrangement, weir_row_at(&arrangement->store, ref));
            if (apply->weights != NULL && apply->weights[group->keys->first + i] < 0) {
                prefetch_last_row(arrangement, group->found[i].value, k);
            }
        }
    }
}

/* Pass 2. */
static void find_rows(const Apply *apply, Group *group)
{
    const Arrangement *arrangement = apply->arrangement;
    uint16_t places[HASH_GROUP];
    uint8_t members[HASH_GROUP];
    Row *candidates[HASH_GROUP];
    if (arrangement->layout.payload.count == 0) {
        for (size_t i = 0; i < group->count; i++) {
            group->found[i].ref = group->found[i].value; /* a key has one row */
        }
        return;
    }
    seek_heavy_rows(apply, group);
    walk_chains(arrangement, group);
    size_t candidate_count = 0;
    for (size_t i = 0; i < group->count; i++) {
        if (group->found[i].ref != 0) {
            candidates[candidate_count] = weir_row_at(&arrangement->store, group->found[i].ref);
            places[candidate_count] = group->keys->places[i];
            members[candidate_count] = (uint8_t)i;
            candidate_count++;
        }
    }
    if (candidate_count == 0) {
        return;
    }
    const RowMatch match =
        weir_arrangement_match(arrangement, apply->columns, places, candidates, candidate_count);
    uint32_t different = weir_row_match_all(&match);
    while (WEIR_UNLIKELY(different != 0)) {
        const size_t k = (size_t)__builtin_ctz(different);
        const size_t i = members[k];
        const RowImage image = {.columns = apply->columns, .place = places[k]};
        group->found[i] =
            weir_row_find(arrangement, &image, group->found[i].value, group->row_hashes[i]);
        different &= different - 1;
    }
}

/* --- changing ----------------------------------------------------------------------------------- */

/* Allocates and packs the entries members[0..count) of the group. */
static Status pack_members(Apply *apply, Group *group, const uint8_t *members, size_t count,
                           Error *err)
{
    Arrangement *arrangement = apply->arrangement;
    const RowLayout *layout = &arrangement->layout;
    uint16_t places[HASH_GROUP];
    uint32_t hashes[HASH_GROUP];
    uint32_t sizes[HASH_GROUP];
    RowRef refs[HASH_GROUP];
    Row *rows[HASH_GROUP];
    if (layout->has_strings && !apply->has_sizes) {
        weir_row_sizes(layout, apply->columns, apply->place_count, apply->sizes);
        apply->has_sizes = true;
    }
    for (size_t k = 0; k < count; k++) {
        const size_t i = members[k];
        places[k] = group->keys->places[i];
        hashes[k] = group->row_hashes[i];
        sizes[k] = layout->has_strings ? apply->sizes[places[k]] : layout->fixed_bytes;
    }
    WEIR_TRY(weir_row_store_alloc(&arrangement->store, layout->has_strings ? sizes : NULL,
                                  layout->fixed_bytes, count, refs, rows, err));
    weir_row_pack(layout, apply->columns, places, count, hashes, sizes, rows);
    weir_arrangement_note_nulls(arrangement, apply->columns, rows, count);
    for (size_t k = 0; k < count; k++) {
        group->refs[members[k]] = refs[k];
        group->sizes[members[k]] = sizes[k];
    }
    return WEIR_OK;
}

/* Pass 3. */
static Status pack_missing(Apply *apply, Group *group, Error *err)
{
    uint8_t members[HASH_GROUP] = {0};
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        group->refs[i] = 0;
        members[count] = (uint8_t)i;
        count += group->found[i].ref == 0;
    }
    return count == 0 ? WEIR_OK : pack_members(apply, group, members, count, err);
}

Status weir_row_hang(Arrangement *arrangement, uint32_t key_hash, const RowFound *found, RowRef ref,
                     Error *err)
{
    uint32_t value = found->value;
    WEIR_ASSERT(found->ref == 0);
    if (value == 0) {
        WEIR_TRY(weir_hash_index_insert(&arrangement->keys, key_hash, ref, err));
    } else if (!weir_key_is_heavy(value) && found->length < ARRANGEMENT_HEAVY) {
        weir_row_set_link(weir_row_at(&arrangement->store, ref), value);
        weir_hash_index_replace(&arrangement->keys, key_hash, value, ref);
    } else {
        if (!weir_key_is_heavy(value)) {
            WEIR_TRY(weir_heavy_from_chain(arrangement, key_hash, value, &value, err));
        }
        WEIR_TRY(weir_heavy_add(arrangement, value, ref, err));
    }
    arrangement->row_count++;
    return WEIR_OK;
}

/* Hangs the packed row of entry i under its key, which is there or not. */
static Status insert_row(Arrangement *arrangement, Group *group, size_t i, const RowFound *found,
                         Error *err)
{
    const RowRef ref = group->refs[i];
    const uint32_t key_hash = group->keys->hashes[i];
    if (found->value == 0 && group->keys->epoch == arrangement->keys.epoch) {
        WEIR_TRY(
            weir_hash_index_insert_at(&arrangement->keys, &group->keys->at[i], key_hash, ref, err));
        arrangement->row_count++;
    } else {
        WEIR_TRY(weir_row_hang(arrangement, key_hash, found, ref, err));
    }
    group->refs[i] = 0;
    return WEIR_OK;
}

static void remove_row(Arrangement *arrangement, uint32_t key_hash, const RowFound *found)
{
    const RowRef ref = found->ref;
    const Row *row = weir_row_at(&arrangement->store, ref);
    if (weir_key_is_heavy(found->value)) {
        weir_heavy_remove(arrangement, found->value, key_hash, ref);
    } else if (found->previous != 0) {
        Row *previous = weir_row_at(&arrangement->store, found->previous);
        weir_row_set_link(previous, weir_row_link(row));
    } else if (weir_row_link(row) != 0) {
        weir_hash_index_replace(&arrangement->keys, key_hash, ref, weir_row_link(row));
    } else {
        weir_hash_index_remove(&arrangement->keys, key_hash, ref);
    }
    weir_row_store_free(&arrangement->store, ref, weir_row_size(&arrangement->layout, row));
    WEIR_ASSERT(arrangement->row_count > 0);
    arrangement->row_count--;
}

Status weir_row_add_weight(Arrangement *arrangement, uint32_t key_hash, const RowFound *found,
                           int64_t weight, Error *err)
{
    Row *row = weir_row_at(&arrangement->store, found->ref);
    int64_t sum = 0;
    bool overflows = weir_add_i64(weir_row_weight(row), weight, &sum);
    if (weir_key_is_heavy(found->value)) {
        HeavyKey *key = weir_heavy_key(arrangement, found->value);
        overflows |= weir_add_i64(key->weight, weight, &key->weight);
    }
    if (overflows) {
        return weir_error_set(err, WEIR_ERR_WEIGHT, "the weight of a row leaves its range");
    }
    weir_row_set_weight(row, sum);
    if (sum == 0) {
        remove_row(arrangement, key_hash, found);
    }
    return WEIR_OK;
}

/* The serial pass on entry i; *out = its row. */
static Status apply_entry(Apply *apply, Group *group, size_t i, int64_t weight, Row **out,
                          Error *err)
{
    Arrangement *arrangement = apply->arrangement;
    RowFound found = group->found[i];
    if (group->is_conflicting[i] || group->light_epoch != arrangement->light_epoch) {
        /* The row found before may be gone, but its bytes stay readable during the step. */
        const RowRef image = found.ref != 0 ? found.ref : group->refs[i];
        const Row *packed = weir_row_at(&arrangement->store, image);
        found =
            weir_row_find_packed(arrangement, packed, group->keys->hashes[i], group->row_hashes[i]);
    }
    if (found.ref != 0) {
        *out = weir_row_at(&arrangement->store, found.ref);
        return weir_row_add_weight(arrangement, group->keys->hashes[i], &found, weight, err);
    }
    if (group->refs[i] == 0) {
        const uint8_t member = (uint8_t)i;
        WEIR_TRY(pack_members(apply, group, &member, 1, err));
    }
    *out = weir_row_at(&arrangement->store, group->refs[i]);
    weir_row_set_weight(*out, weight);
    return insert_row(arrangement, group, i, &found, err);
}

/* True if the hash may have been marked before. */
static bool mark_hash(HashMarks *marks, uint32_t hash)
{
    const uint64_t bit = UINT64_C(1) << (hash & 63);
    uint64_t *word = &marks->words[(hash >> 6) & 7];
    const bool was_marked = (*word & bit) != 0;
    *word |= bit;
    return was_marked;
}

static bool is_marked(const HashMarks *marks, uint32_t hash)
{
    return ((marks->words[(hash >> 6) & 7] >> (hash & 63)) & 1) != 0;
}

/* Marks the entries that an earlier entry of the group may affect: same key, or same row of a heavy
 * key. */
static void mark_conflicts(Group *group)
{
    HashMarks seen = {{0}};
    for (size_t i = 0; i < group->count; i++) {
        const bool is_heavy = weir_key_is_heavy(group->found[i].value);
        group->is_conflicting[i] =
            mark_hash(&seen, is_heavy ? group->row_hashes[i] : group->keys->hashes[i]);
    }
}

/* Reads the values of the keys again that the group before may have changed, and notes the keys of
 * this one for the next. */
static void refresh_keys(const Arrangement *arrangement, KeyGroup *keys, HashMarks *changed)
{
    const bool all = keys->light_epoch != arrangement->light_epoch;
    const HashMarks before = *changed;
    *changed = (HashMarks){{0}};
    for (size_t i = 0; i < keys->count; i++) {
        if (all || is_marked(&before, keys->hashes[i])) {
            weir_key_group_seek_again(arrangement, keys, i);
        }
        (void)mark_hash(changed, keys->hashes[i]);
    }
}

static Status apply_group(Apply *apply, KeyGroup *keys, Error *err)
{
    Arrangement *arrangement = apply->arrangement;
    Group group;
    group.keys = keys;
    group.count = keys->count;
    group.light_epoch = arrangement->light_epoch;
    weir_key_group_confirm(arrangement, apply->columns, keys);
    for (size_t i = 0; i < group.count; i++) {
        group.row_hashes[i] = apply->row_hashes[keys->places[i]];
        group.found[i] = (RowFound){.value = keys->values[i]};
    }
    find_rows(apply, &group);
    WEIR_TRY(pack_missing(apply, &group, err));
    mark_conflicts(&group);
    Status status = WEIR_OK;
    for (size_t i = 0; i < group.count; i++) {
        const size_t k = keys->first + i;
        const int64_t weight = apply->weights == NULL ? 1 : apply->weights[k];
        Row *row = NULL;
        if (status == WEIR_OK && weight != 0) {
            status = apply_entry(apply, &group, i, weight, &row, err);
        }
        if (apply->rows != NULL) {
            apply->rows[k] = row;
        }
    }
    /* Only now: a packed row may be what a later conflicting entry is compared by. */
    for (size_t i = 0; i < group.count; i++) {
        if (group.refs[i] != 0) {
            weir_row_store_cancel(&arrangement->store, group.refs[i], group.sizes[i]);
        }
    }
    return status;
}

void weir_arrangement_hash(const Arrangement *arrangement, const Vector *const *columns,
                           size_t count, uint32_t *key_hashes, uint32_t *row_hashes)
{
    const RowLayout *layout = &arrangement->layout;
    weir_hash_columns(columns, layout->key.count, count, key_hashes);
    if (layout->payload.count == 0) {
        memcpy(row_hashes, key_hashes, count * sizeof *key_hashes);
        return;
    }
    weir_hash_columns(columns + layout->payload.first, layout->payload.count, count, row_hashes);
    for (size_t i = 0; i < count; i++) {
        const uint64_t both = (uint64_t)key_hashes[i] << 32 | row_hashes[i];
        row_hashes[i] = (uint32_t)((both * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
    }
}

Status weir_arrangement_apply(Arrangement *arrangement, const Vector *const *columns,
                              const uint16_t *selection, const int64_t *weights, size_t count,
                              Error *err)
{
    return weir_arrangement_apply_rows(arrangement, columns, selection, weights, count, NULL, err);
}

Status weir_arrangement_apply_rows(Arrangement *arrangement, const Vector *const *columns,
                                   const uint16_t *selection, const int64_t *weights, size_t count,
                                   Row **rows, Error *err)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY && arrangement->loaded.count == 0);
    Apply apply;
    apply.arrangement = arrangement;
    apply.columns = columns;
    apply.selection = selection;
    apply.weights = weights;
    apply.count = count;
    apply.rows = rows;
    apply.has_sizes = false;
    apply.place_count = weir_selection_end(selection, count);
    weir_arrangement_hash(arrangement, columns, apply.place_count, apply.key_hashes,
                          apply.row_hashes);
    KeyPipe pipe;
    HashMarks changed = {{0}};
    weir_key_pipe_start(&pipe, arrangement, selection, apply.key_hashes, count);
    for (KeyGroup *keys = weir_key_pipe_next(&pipe); keys != NULL;
         keys = weir_key_pipe_next(&pipe)) {
        refresh_keys(arrangement, keys, &changed);
        WEIR_TRY(apply_group(&apply, keys, err));
    }
    return WEIR_OK;
}
