/* arrangement_load.c: filling an arrangement.
 *
 * While rows are loaded they are only packed, and listed with the hashes of their keys. Settling
 * sorts the list by the hash, as far as it pays, and hangs row after row under its key: the rows of a
 * key meet, and what neighbouring keys touch of the key index and of their chains and vectors stays
 * in the cache. The rows themselves, and their places in the row index, are prefetched some entries
 * ahead.
 *
 * Equal rows take room until they are settled. So the list is settled early if it has become long and
 * many of its rows are equal, as an estimate says: the row hashes are spread over counters, each of
 * which keeps the longest row of leading zeros that it has met (HyperLogLog). */
#include "trace/arrangement_priv.h"

enum {
    LOADED_MIN = 4096,
    LOADED_CHECK = 1 << 20, /* rows at which equal ones are counted first */
    COUNTER_BITS = 10,
    COUNTER_COUNT = 1 << COUNTER_BITS,
    BUCKET_ROWS = 4096, /* of the first sorting */
    GROUP_ROWS = 4,     /* of the second one */
    SORT_BITS_MAX = 12,
    ROW_AHEAD = 24,  /* entries between fetching a row and hanging it */
    SLOT_AHEAD = 12, /* between fetching its slots in the indexes and hanging it */
};

void weir_arrangement_forget_loaded(Arrangement *arrangement)
{
    weir_mem_free(arrangement->mem, arrangement->loaded.entries);
    weir_mem_free(arrangement->mem, arrangement->loaded.counters);
    arrangement->loaded = (LoadedRows){0};
}

/* --- settling ----------------------------------------------------------------------------------- */

/* How many bits of the hash make parts of about `rows` entries; at least one. */
static uint32_t sort_bits(size_t count, size_t rows)
{
    uint32_t bits = 1;
    while (bits < SORT_BITS_MAX && count >> bits > rows) {
        bits++;
    }
    return bits;
}

/* Where the parts of a sorting end, and where their next entries go. */
typedef struct Sorting {
    size_t next[1 << SORT_BITS_MAX];
    size_t ends[1 << SORT_BITS_MAX];
} Sorting;

static size_t part_of(uint64_t entry, uint32_t shift, uint32_t bits)
{
    return (size_t)(entry >> shift) & (((size_t)1 << bits) - 1);
}

/* Sorts entries in place by `bits` bits from bit `shift` on: entry after entry goes to the next
 * unsorted place of its part, and the one that was there goes on. */
static void sort_entries(uint64_t *entries, size_t count, uint32_t shift, uint32_t bits,
                         Sorting *sorting)
{
    const size_t part_count = (size_t)1 << bits;
    size_t *next = sorting->next;
    size_t *ends = sorting->ends;
    memset(ends, 0, part_count * sizeof *ends);
    for (size_t i = 0; i < count; i++) {
        ends[part_of(entries[i], shift, bits)]++;
    }
    size_t end = 0;
    for (size_t part = 0; part < part_count; part++) {
        next[part] = end;
        end += ends[part];
        ends[part] = end;
    }
    for (size_t part = 0; part < part_count; part++) {
        while (next[part] < ends[part]) {
            uint64_t entry = entries[next[part]];
            size_t home = part_of(entry, shift, bits);
            while (home != part) {
                const uint64_t other = entries[next[home]];
                entries[next[home]++] = entry;
                entry = other;
                home = part_of(entry, shift, bits);
            }
            entries[next[part]++] = entry;
        }
    }
}

/* By the top bits, then each bucket by the next ones. */
static Status sort_loaded(Arrangement *arrangement, Error *err)
{
    uint64_t *entries = arrangement->loaded.entries;
    const size_t count = arrangement->loaded.count;
    const uint32_t bits = sort_bits(count, BUCKET_ROWS);
    Sorting *sortings = weir_mem_calloc(arrangement->mem, 2, sizeof *sortings, err);
    if (sortings == NULL) {
        return err->code;
    }
    sort_entries(entries, count, 64 - bits, bits, &sortings[0]);
    size_t first = 0;
    for (size_t bucket = 0; bucket < (size_t)1 << bits; bucket++) {
        const size_t end = sortings[0].ends[bucket];
        const uint32_t more = sort_bits(end - first, GROUP_ROWS);
        sort_entries(entries + first, end - first, 64 - bits - more, more, &sortings[1]);
        first = end;
    }
    weir_mem_free(arrangement->mem, sortings);
    return WEIR_OK;
}

/* Makes room in the indexes of an empty arrangement, as far as the hashes tell how much it takes. */
static Status reserve_indexes(Arrangement *arrangement, Error *err)
{
    const LoadedRows *loaded = &arrangement->loaded;
    size_t key_count = 0;
    size_t heavy_row_count = 0;
    size_t first = 0;
    if (arrangement->row_count > 0) {
        return WEIR_OK;
    }
    while (first < loaded->count) {
        size_t end = first + 1;
        while (end < loaded->count && loaded->entries[end] >> 32 == loaded->entries[first] >> 32) {
            end++;
        }
        key_count++;
        heavy_row_count += end - first > ARRANGEMENT_HEAVY ? end - first : 0;
        first = end;
    }
    WEIR_TRY(weir_hash_index_reserve(&arrangement->keys, key_count, err));
    return weir_hash_index_reserve(&arrangement->rows, heavy_row_count, err);
}

/* Fetches what hanging later entries will touch. Inlined, since to gcc a function that only fetches
 * does nothing, and a call of it can be left out. */
static inline __attribute__((always_inline)) void prefetch_ahead(const Arrangement *arrangement,
                                                                 size_t i)
{
    const LoadedRows *loaded = &arrangement->loaded;
    if (i + ROW_AHEAD < loaded->count) {
        const RowRef ref = (RowRef)loaded->entries[i + ROW_AHEAD];
        weir_arrangement_prefetch(arrangement, weir_row_at(&arrangement->store, ref));
    }
    if (i + SLOT_AHEAD < loaded->count) {
        const uint64_t entry = loaded->entries[i + SLOT_AHEAD];
        const HashPlace key_at = weir_hash_home(&arrangement->keys, (uint32_t)(entry >> 32));
        weir_hash_prefetch(&key_at);
        if (arrangement->heavy_count > 0) {
            const Row *row = weir_row_at(&arrangement->store, (RowRef)entry);
            const HashPlace row_at = weir_hash_home(&arrangement->rows, weir_row_hash(row));
            weir_hash_prefetch(&row_at);
        }
    }
}

/* Hangs the row, or adds its weight to an equal one. */
static Status settle_row(Arrangement *arrangement, uint32_t key_hash, RowRef ref, Error *err)
{
    Row *row = weir_row_at(&arrangement->store, ref);
    const RowFound found = weir_row_find_packed(arrangement, row, key_hash, weir_row_hash(row));
    if (found.ref == 0) {
        return weir_row_hang(arrangement, key_hash, &found, ref, err);
    }
    const int64_t weight = weir_row_weight(row);
    weir_row_store_cancel(&arrangement->store, ref, weir_row_size(&arrangement->layout, row));
    return weir_row_add_weight(arrangement, key_hash, &found, weight, err);
}

/* Leaves the list empty. */
static Status settle_loaded(Arrangement *arrangement, Error *err)
{
    LoadedRows *loaded = &arrangement->loaded;
    WEIR_TRY(sort_loaded(arrangement, err));
    WEIR_TRY(reserve_indexes(arrangement, err));
    for (size_t i = 0; i < loaded->count; i++) {
        prefetch_ahead(arrangement, i);
        const uint64_t entry = loaded->entries[i];
        WEIR_TRY(settle_row(arrangement, (uint32_t)(entry >> 32), (RowRef)entry, err));
    }
    loaded->count = 0;
    return WEIR_OK;
}

Status weir_arrangement_settle(Arrangement *arrangement, Error *err)
{
    arrangement->is_read =
        arrangement->is_read || arrangement->row_count + arrangement->loaded.count > 0;
    if (arrangement->loaded.entries == NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(settle_loaded(arrangement, err));
    weir_arrangement_forget_loaded(arrangement);
    return WEIR_OK;
}

/* --- loading ------------------------------------------------------------------------------------ */

static Status reserve_loaded(Arrangement *arrangement, size_t more, Error *err)
{
    LoadedRows *loaded = &arrangement->loaded;
    if (loaded->counters == NULL) {
        loaded->counters = weir_mem_zalloc(arrangement->mem, COUNTER_COUNT, err);
        if (loaded->counters == NULL) {
            return err->code;
        }
        loaded->next_check = LOADED_CHECK;
    }
    if (loaded->capacity - loaded->count >= more) {
        return WEIR_OK;
    }
    const size_t wanted = loaded->count + WEIR_MAX(more, loaded->count / 4);
    const size_t capacity = WEIR_MAX(wanted, (size_t)LOADED_MIN);
    uint64_t *entries =
        weir_mem_realloc(arrangement->mem, loaded->entries, capacity * sizeof *entries, err);
    if (entries == NULL) {
        return err->code;
    }
    loaded->entries = entries;
    loaded->capacity = capacity;
    return WEIR_OK;
}

/* One call of load: the rows that have a weight. */
typedef struct Load {
    size_t count;
    uint16_t places[BATCH_CAPACITY];
    RowRef refs[BATCH_CAPACITY];
    Row *rows[BATCH_CAPACITY];
    uint32_t key_hashes[BATCH_CAPACITY]; /* by place */
    uint32_t row_hashes[BATCH_CAPACITY]; /* by place, then by row */
    uint32_t sizes[BATCH_CAPACITY];      /* likewise */
} Load;

static Status load_pack(Arrangement *arrangement, Load *load, const Vector *const *columns,
                        size_t count, Error *err)
{
    const RowLayout *layout = &arrangement->layout;
    if (layout->has_strings) {
        weir_row_sizes(layout, columns, count, load->sizes);
    }
    for (size_t i = 0; i < load->count; i++) {
        const uint16_t place = load->places[i];
        load->row_hashes[i] = load->row_hashes[place];
        load->sizes[i] = layout->has_strings ? load->sizes[place] : layout->fixed_bytes;
    }
    WEIR_TRY(weir_row_store_alloc(&arrangement->store, layout->has_strings ? load->sizes : NULL,
                                  layout->fixed_bytes, load->count, load->refs, load->rows, err));
    weir_row_pack(layout, columns, load->places, load->count, load->row_hashes, load->sizes,
                  load->rows);
    weir_arrangement_note_nulls(arrangement, columns, load->rows, load->count);
    return WEIR_OK;
}

static void count_hashes(LoadedRows *loaded, const uint32_t *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t *counter = &loaded->counters[hashes[i] >> (32 - COUNTER_BITS)];
        const uint32_t rest = hashes[i] << COUNTER_BITS | UINT32_C(1) << (COUNTER_BITS - 1);
        *counter = (uint8_t)WEIR_MAX((int)*counter, __builtin_clz(rest) + 1);
    }
}

/* True if more than about a quarter of the rows are equal to others. */
static bool has_many_equal(const LoadedRows *loaded)
{
    const double scale = 0.7213 / (1 + 1.079 / COUNTER_COUNT) * COUNTER_COUNT * COUNTER_COUNT;
    double sum = 0;
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        sum += 1 / (double)(UINT64_C(1) << loaded->counters[i]);
    }
    return scale / sum < 0.75 * (double)loaded->count;
}

/* Settles rows of which many are equal, or may be equal to settled ones. */
static Status check_loaded(Arrangement *arrangement, Error *err)
{
    LoadedRows *loaded = &arrangement->loaded;
    if (loaded->count < loaded->next_check) {
        return WEIR_OK;
    }
    if (arrangement->row_count == 0 && !has_many_equal(loaded)) {
        loaded->next_check = 2 * loaded->count;
        return WEIR_OK;
    }
    loaded->next_check = LOADED_CHECK;
    return settle_loaded(arrangement, err);
}

Status weir_arrangement_load(Arrangement *arrangement, const Vector *const *columns,
                             const int64_t *weights, size_t count, Error *err)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY);
    if (arrangement->is_read) {
        return weir_arrangement_apply(arrangement, columns, NULL, weights, count, err);
    }
    Load load;
    load.count = 0;
    for (size_t i = 0; i < count; i++) {
        load.places[load.count] = (uint16_t)i;
        load.count += weights == NULL || weights[i] != 0;
    }
    WEIR_TRY(reserve_loaded(arrangement, load.count, err));
    weir_arrangement_hash(arrangement, columns, count, load.key_hashes, load.row_hashes);
    WEIR_TRY(load_pack(arrangement, &load, columns, count, err));
    LoadedRows *loaded = &arrangement->loaded;
    for (size_t i = 0; i < load.count; i++) {
        const uint16_t place = load.places[i];
        weir_row_set_weight(load.rows[i], weights == NULL ? 1 : weights[place]);
        loaded->entries[loaded->count + i] = (uint64_t)load.key_hashes[place] << 32 | load.refs[i];
    }
    loaded->count += load.count;
    count_hashes(loaded, load.row_hashes, load.count);
    return check_loaded(arrangement, err);
}
