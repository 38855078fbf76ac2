/* row.h: packed rows, the form in which state is kept.
 *
 * offsets from the row's start (8-byte aligned, little endian):
 *   0   i64 weight
 *   8   u32 hash      upper half of the key hash (step stamp in group rows)
 *   12  u32 link      next row of a chain, place in a vector, touched index: the user's
 *   16  key section      key columns by falling width, then the key null bits
 *   ..  payload section  other columns by falling width, then their null bits
 *   ..  state section    raw bytes of the user (aggregate states), 16-byte aligned
 *   ..  tail             bytes of strings over 12 bytes: keys first, in column order; zero pad to 8
 *
 * A string slot is DuckDB's 16 bytes; a long one has the offset from the row's start in the
 * pointer's place, so rows can be moved and copied as bytes. NULL: slot zero, null bit set (1 =
 * NULL). Equal keys <=> equal key sections and equal key tails; equal rows <=> equal bytes from 16
 * on (without state). Key columns must be normalised by the caller (weir_vector_normalise). */
#ifndef WEIR_TYPES_ROW_H
#define WEIR_TYPES_ROW_H

#include "types/batch.h"

typedef struct Row Row; /* opaque: bytes */

enum { ROW_HEADER_BYTES = 16, ROW_MAX_COLUMNS = 4096 };

typedef struct RowColumn {
    PhysType phys;
    uint32_t offset; /* of the value, from the row's start */
} RowColumn;

typedef struct RowSection {
    size_t first, count;  /* columns [first, first + count) */
    uint32_t begin, end;  /* bytes, null bits included */
    uint32_t null_offset; /* of the null bits, ((count + 7) / 8 rounded to 1, 2, 4, 8n) bytes */
    uint32_t null_bytes;
    bool has_strings;
} RowSection;

typedef struct RowLayout {
    size_t column_count;
    RowColumn *columns; /* owned: key columns, then payload columns, in the given order */
    RowSection key;
    RowSection payload;
    uint32_t state_offset;
    uint32_t state_bytes;
    uint32_t
        fixed_bytes; /* where the tail begins = size of a row without long strings; 8-aligned */
    bool has_strings;
    size_t string_count;
    size_t key_string_count;
    uint32_t *string_offsets; /* owned: of the string slots, in column order */
} RowLayout;

typedef struct RowLayoutSpec {
    const PhysType *key;
    size_t key_count;
    const PhysType *payload;
    size_t payload_count;
    size_t state_bytes;
} RowLayoutSpec;

Status weir_row_layout_init(RowLayout *layout, Mem *mem, const RowLayoutSpec *spec, Error *err)
    WEIR_MUST_CHECK;
void weir_row_layout_deinit(RowLayout *layout, Mem *mem);

static inline int64_t weir_row_weight(const Row *row)
{
    int64_t weight;
    memcpy(&weight, row, sizeof weight);
    return weight;
}

static inline void weir_row_set_weight(Row *row, int64_t weight)
{
    memcpy(row, &weight, sizeof weight);
}

static inline uint32_t weir_row_hash(const Row *row)
{
    uint32_t hash;
    memcpy(&hash, (const char *)row + 8, sizeof hash);
    return hash;
}

static inline void weir_row_set_hash(Row *row, uint32_t hash)
{
    memcpy((char *)row + 8, &hash, sizeof hash);
}

static inline uint32_t weir_row_link(const Row *row)
{
    uint32_t link;
    memcpy(&link, (const char *)row + 12, sizeof link);
    return link;
}

static inline void weir_row_set_link(Row *row, uint32_t link)
{
    memcpy((char *)row + 12, &link, sizeof link);
}

static inline void *weir_row_state(const RowLayout *layout, Row *row)
{
    return (char *)row + layout->state_offset;
}

/* Bytes of an existing row, tail included. */
size_t weir_row_size(const RowLayout *layout, const Row *row);

/* sizes[i] = bytes that row i of the columns will need. All columns: keys, then payload. UINT32_MAX:
 * longer than a row can be; it must not be packed. count <= VECTOR_CAPACITY, here and below. */
void weir_row_sizes(const RowLayout *layout, const Vector *const *columns, size_t count,
                    uint32_t *sizes);

/* Writes row i to rows[i] (8-aligned, sizes[i] bytes): header zeroed except hash from hashes (may be
 * NULL = 0); state zeroed. sizes may be NULL if the layout has no strings. selection may be NULL;
 * otherwise row i is taken from place selection[i] of the columns: hashes, sizes and rows are
 * indexed by i, columns by place. */
void weir_row_pack(const RowLayout *layout, const Vector *const *columns, const uint16_t *selection,
                   size_t count, const uint32_t *hashes, const uint32_t *sizes, Row **rows);

/* Column `column` of the rows as a flat vector: data must hold count values. Long strings point
 * into the rows. validity_buffer (>= VECTOR_VALIDITY_WORDS words) is used, and out->validity set,
 * only if there is a NULL. */
void weir_row_unpack(const RowLayout *layout, Row *const *rows, size_t count, size_t column,
                     Vector *out, uint64_t *validity_buffer);

/* The same for columns [first, first + column_count), with a buffer of VECTOR_VALIDITY_WORDS words
 * for each of them; out[c].data must hold count values. Faster than one by one. */
void weir_row_unpack_columns(const RowLayout *layout, Row *const *rows, size_t count, size_t first,
                             size_t column_count, Vector *out, uint64_t *validity_buffers);

/* Equality of the key part / of key and payload (not header, not state). */
bool weir_row_key_equal(const RowLayout *layout, const Row *a, const Row *b);
bool weir_row_equal(const RowLayout *layout, const Row *a, const Row *b);

bool weir_row_is_null(const RowLayout *layout, const Row *row, size_t column);

/* out[i] = 32-bit hash of row i of the (normalised) columns, the same in every process. The 64-bit
 * hash's upper half. */
void weir_hash_columns(const Vector *const *columns, size_t column_count, size_t count,
                       uint32_t *out);

#endif
