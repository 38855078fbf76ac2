/* arrangement_priv.h: the parts of an arrangement, for arrangement*.c.
 *
 * Key index: key hash -> head of the key's chain (a RowRef), or KEY_IS_HEAVY | heavy number.
 * Row index: row hash -> RowRef, for the rows of heavy keys only.
 * A row's hash field is its row hash (key and payload); its link is the next row of the chain (0 =
 * end), or its place in the heavy key's vector. */
#ifndef WEIR_TRACE_ARRANGEMENT_PRIV_H
#define WEIR_TRACE_ARRANGEMENT_PRIV_H

#include "trace/arrangement.h"
#include "trace/hash_index_inline.h"
#include "trace/row_match.h"

#define KEY_IS_HEAVY (UINT32_C(1) << ROW_REF_BITS)

typedef struct HeavyKey {
    RowRef *refs;   /* owned; NULL = an unused record */
    uint32_t count; /* in refs; of an unused record: the next unused one + 1 */
    uint32_t capacity;
    int64_t weight; /* summed over the rows */
} HeavyKey;

/* Rows that are packed but not found by their keys yet. */
typedef struct LoadedRows {
    uint64_t *entries; /* owned: key hash << 32 | RowRef */
    size_t count;
    size_t capacity;
    uint8_t *counters; /* owned: by the first bits of a row hash, the rank of the rest */
    size_t next_check; /* count at which equal rows are looked for */
} LoadedRows;

struct Arrangement {
    Mem *mem; /* borrowed */
    RowLayout layout;
    RowStore store;
    HashIndex keys;
    HashIndex rows;
    HeavyKey *heavy; /* owned, by number */
    uint32_t heavy_count;
    uint32_t heavy_capacity;
    uint32_t heavy_unused; /* the first unused record + 1; 0 = none */
    uint32_t light_epoch;  /* conversions from heavy to light */
    size_t heavy_bytes;    /* records and vectors */
    bool has_null_keys;    /* there may be a row with a NULL key column */
    bool has_null_payloads;
    size_t row_count; /* without the loaded ones */
    LoadedRows loaded;
    bool is_read; /* somebody has wanted to see rows: no more are loaded */
};

static inline bool weir_key_is_heavy(uint32_t value)
{
    return (value & KEY_IS_HEAVY) != 0;
}

static inline HeavyKey *weir_heavy_key(const Arrangement *arrangement, uint32_t value)
{
    WEIR_ASSERT(weir_key_is_heavy(value));
    return &arrangement->heavy[value & ~KEY_IS_HEAVY];
}

/* A row of the key that an index value stands for. */
static inline Row *weir_key_first_row(const Arrangement *arrangement, uint32_t value)
{
    const RowRef ref =
        weir_key_is_heavy(value) ? weir_heavy_key(arrangement, value)->refs[0] : value;
    return weir_row_at(&arrangement->store, ref);
}

static inline void weir_arrangement_prefetch(const Arrangement *arrangement, const Row *row)
{
    __builtin_prefetch(row, 1);
    __builtin_prefetch((const char *)row + arrangement->layout.fixed_bytes - 1, 1);
}

/* The places of the selection (NULL: 0..count-1) are below it. */
static inline size_t weir_selection_end(const uint16_t *selection, size_t count)
{
    if (selection == NULL) {
        return count;
    }
    uint16_t last = 0;
    for (size_t i = 0; i < count; i++) {
        last = WEIR_MAX(last, selection[i]);
    }
    return count == 0 ? 0 : (size_t)last + 1;
}

/* A comparison of `count` rows at places of the columns with packed rows. */
static inline RowMatch weir_arrangement_match(const Arrangement *arrangement,
                                              const Vector *const *columns, const uint16_t *places,
                                              Row *const *rows, size_t count)
{
    return (RowMatch){
        .layout = &arrangement->layout,
        .columns = columns,
        .places = places,
        .rows = rows,
        .count = count,
        .key_has_nulls = arrangement->has_null_keys,
        .payload_has_nulls = arrangement->has_null_payloads,
    };
}

/* Takes notice of NULLs in rows that were just packed from the columns. */
static inline void weir_arrangement_note_nulls(Arrangement *arrangement,
                                               const Vector *const *columns, Row *const *rows,
                                               size_t count)
{
    const RowLayout *layout = &arrangement->layout;
    arrangement->has_null_keys =
        arrangement->has_null_keys || weir_rows_have_nulls(&layout->key, columns, rows, count);
    arrangement->has_null_payloads = arrangement->has_null_payloads ||
                                     weir_rows_have_nulls(&layout->payload, columns, rows, count);
}

/* Keys in flight. */
typedef struct KeyGroup {
    size_t first; /* key of the batch */
    size_t count;
    uint16_t places[HASH_GROUP]; /* in the columns */
    uint32_t hashes[HASH_GROUP];
    HashPlace at[HASH_GROUP];
    uint32_t values[HASH_GROUP]; /* of the key index; 0 = no such key */
    uint32_t light_epoch;        /* of the arrangement when values were read */
    uint32_t epoch;              /* of the key index then */
} KeyGroup;

typedef struct KeyPipe {
    const Arrangement *arrangement;
    const uint16_t *selection;
    const uint32_t *hashes; /* by place */
    size_t count;           /* keys */
    size_t next;            /* key to enter the pipe next */
    size_t turn;            /* which group is the oldest */
    uint32_t epoch;         /* of the key index when positions were taken */
    KeyGroup groups[3];
} KeyPipe;

/* Everything is borrowed until the pipe is empty. */
void weir_key_pipe_start(KeyPipe *pipe, const Arrangement *arrangement, const uint16_t *selection,
                         const uint32_t *hashes, size_t count);

/* The next group, its values read but keys not compared; NULL at the end. Values were read one call
 * earlier: what a user changed since then he reads again. */
KeyGroup *weir_key_pipe_next(KeyPipe *pipe);
void weir_key_group_seek_again(const Arrangement *arrangement, KeyGroup *group, size_t i);

/* Compares the keys; values become right. */
void weir_key_group_confirm(const Arrangement *arrangement, const Vector *const *columns,
                            KeyGroup *group);

/* Where a row is, or would be. */
typedef struct RowFound {
    uint32_t value;  /* of the key index; 0 = no such key */
    RowRef ref;      /* 0 = no such row */
    RowRef previous; /* before it in the chain; 0 = it is the head */
    uint32_t length; /* of the chain, if the row was not found */
} RowFound;

/* A row to be found: one of the columns, or a packed one. */
typedef struct RowImage {
    const Vector *const *columns; /* NULL: packed */
    uint16_t place;
    const Row *packed;
} RowImage;

/* Finds a row as things stand now: under a key that is there, or key and row. */
RowFound weir_row_find(const Arrangement *arrangement, const RowImage *image, uint32_t value,
                       uint32_t row_hash);
RowFound weir_row_find_packed(const Arrangement *arrangement, const Row *packed, uint32_t key_hash,
                              uint32_t row_hash);

/* Hangs a packed row that was looked for and not found under its key, which is there or not. */
Status weir_row_hang(Arrangement *arrangement, uint32_t key_hash, const RowFound *found, RowRef ref,
                     Error *err) WEIR_MUST_CHECK;

/* Adds weight to the row that was found. */
Status weir_row_add_weight(Arrangement *arrangement, uint32_t key_hash, const RowFound *found,
                           int64_t weight, Error *err) WEIR_MUST_CHECK;

/* Hashes of the rows 0..count-1: of the key; of key and payload. */
void weir_arrangement_hash(const Arrangement *arrangement, const Vector *const *columns,
                           size_t count, uint32_t *key_hashes, uint32_t *row_hashes);

/* Gives up the rows that were loaded and not settled; their places in the store stay taken. */
void weir_arrangement_forget_loaded(Arrangement *arrangement);

/* Makes the chain from `head` heavy; *value becomes the key's new index value (the index itself is
 * changed). On failure nothing has changed. */
Status weir_heavy_from_chain(Arrangement *arrangement, uint32_t key_hash, RowRef head,
                             uint32_t *value, Error *err) WEIR_MUST_CHECK;

/* Adds a row to a heavy key; its weight and hash are set. On failure nothing has changed. */
Status weir_heavy_add(Arrangement *arrangement, uint32_t value, RowRef ref, Error *err)
    WEIR_MUST_CHECK;

/* Takes the row out of the heavy key, which becomes a chain again if it is left with few. */
void weir_heavy_remove(Arrangement *arrangement, uint32_t value, uint32_t key_hash, RowRef ref);

/* Frees the vectors. */
void weir_heavy_deinit(Arrangement *arrangement);

#endif
