/* chunk.h: a data chunk of a log entry, taken apart but not yet copied.
 *
 * A vector is a tree of parts that point into the entry. A part stores `stored` values for `count`
 * rows: flat, as many; constant, one; dictionary, those that `selection` names; sequence, none. Every
 * length has been compared with what is there: stored values can be read without a check. */
#ifndef WEIR_WAL_CHUNK_H
#define WEIR_WAL_CHUNK_H

#include "types/batch.h"
#include "wal/cursor.h"

/* DuckDB's numbers. */
typedef enum PartEncoding {
    PART_FLAT = 0,
    PART_CONSTANT = 2,
    PART_DICTIONARY = 3,
    PART_SEQUENCE = 4,
} PartEncoding;

typedef enum PartLayout {
    PART_FIXED,
    PART_STRING,
    PART_STRUCT, /* STRUCT, UNION (first the tag), and the pairs of a MAP */
    PART_LIST,   /* LIST and MAP */
    PART_ARRAY,
} PartLayout;

typedef struct ListEntry {
    uint64_t offset;
    uint64_t length;
} ListEntry;

typedef struct Part {
    const LogicalType *type; /* of a value; of the MAP for its pairs */
    PartLayout layout;
    PartEncoding encoding;
    size_t count;
    size_t stored;
    size_t width;             /* FIXED: bytes of a value */
    const uint8_t *selection; /* DICTIONARY: u32 a row, below stored */
    const uint8_t *validity;  /* bit i set = value i is not NULL; NULL = none is */
    const uint8_t *data;      /* FIXED */
    const String *strings;    /* STRING; nothing is said of those that are NULL */
    const ListEntry *entries; /* LIST: within the child */
    uint64_t start;           /* SEQUENCE: value i is start + i * increment, wrapping */
    uint64_t increment;
    struct Part *children;
    size_t child_count;
} Part;

typedef struct Chunk {
    size_t row_count;
    size_t column_count;
    size_t value_count; /* columns that weir_wal_values gives; set by the entry's reader */
    const LogicalType **types;
    Part *columns;
    size_t nested_bytes_max; /* what all its nested values may take, written out */
} Chunk;

/* Takes a chunk, with its end, from the cursor; what cannot be is the cursor's fault, and then
 * `out` has the row count, if that was there, and no columns. Fails only for want of memory. */
Status weir_wal_take_chunk(Cursor *c, Arena *arena, Chunk *out, Error *err) WEIR_MUST_CHECK;

/* Takes a type; NULL with the cursor's fault, or err if memory is short. `depth` counts levels. */
const LogicalType *weir_wal_take_type(Cursor *c, unsigned depth, Arena *arena, Error *err);

/* The place among the stored values of row `row`. Not for sequences. */
static inline size_t weir_part_place(const Part *part, size_t row)
{
    if (part->encoding == PART_CONSTANT) {
        return 0;
    }
    if (part->encoding == PART_DICTIONARY) {
        uint32_t place;
        memcpy(&place, part->selection + row * sizeof place, sizeof place);
        return place;
    }
    return row;
}

/* Of a stored value. */
static inline bool weir_part_has_value(const Part *part, size_t place)
{
    return part->validity == NULL ||
           (((unsigned)part->validity[place / 8] >> (place % 8)) & 1u) != 0;
}

static inline bool weir_part_is_valid(const Part *part, size_t row)
{
    return part->encoding == PART_SEQUENCE || part->validity == NULL ||
           weir_part_has_value(part, weir_part_place(part, row));
}

/* The column as a vector in the arena. What proves undecodable is *fault. */
Status weir_wal_make_vector(const Part *part, size_t *nested_bytes_left, Arena *arena, Vector *out,
                            const char **fault, Error *err) WEIR_MUST_CHECK;

/* Appends the canonical bytes (types/nested.h) of a stored value of a nested part. */
void weir_wal_put_nested(const Part *part, size_t place, Buf *out, const char **fault);

#endif
