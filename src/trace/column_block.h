/* column_block.h: up to 2048 rows by column, in as few bytes as their values need.
 *
 * For rows that are read together and replaced together: nothing is found in a block, and nothing in
 * it changes. The bytes of values are kept as they are (-0.0, 30 days); what stands under a NULL is
 * not. Numbers of up to 8 bytes are differences from the smallest one of the column, in 0, 1, 2, 4
 * or 8 bytes; strings stand end to end. A block's memory is pieces of a row store. */
#ifndef WEIR_TRACE_COLUMN_BLOCK_H
#define WEIR_TRACE_COLUMN_BLOCK_H

#include "trace/row_store.h"

typedef struct ColumnPiece {
    RowRef values;   /* 0 = none: every value is base, or every string is empty */
    RowRef validity; /* 0 = no NULL */
    uint32_t size;   /* bytes of values */
    uint8_t width;   /* of a value; of a string's end */
    uint64_t base;   /* the smallest number; it is added to every value */
} ColumnPiece;

/* All zero = no rows. */
typedef struct ColumnBlock {
    ColumnPiece *pieces; /* owned, one a column; NULL = no columns */
    uint32_t count;
} ColumnBlock;

/* A block of the batch's rows; weights are not looked at. All or nothing. */
Status weir_column_block_pack(RowStore *store, const Batch *batch, ColumnBlock *out, Error *err)
    WEIR_MUST_CHECK;

/* Gives the block's memory back at once; nobody may point into it. */
void weir_column_block_free(RowStore *store, ColumnBlock *block, size_t column_count);

/* Bytes beside those of the store. */
size_t weir_column_block_bytes(size_t column_count);

/* Buffers in which blocks become batches. */
typedef struct ColumnReader {
    Batch *batch;
    void **values; /* of each column; a batch may point into the store instead */
} ColumnReader;

Status weir_column_reader_init(ColumnReader *reader, const Schema *schema, Arena *arena, Error *err)
    WEIR_MUST_CHECK;

/* The block's rows, without weights. Borrowed until the next read, and while the block lives. */
const Batch *weir_column_block_read(ColumnReader *reader, const RowStore *store,
                                    const ColumnBlock *block);

/* Writes one value, in as many bytes as the type has; the bytes of a long string are borrowed while
 * the block lives. False: it is NULL, and nothing is written. */
bool weir_column_block_pick(const RowStore *store, const ColumnPiece *piece, PhysType phys,
                            const ColumnBlock *block, size_t row, void *value) WEIR_MUST_CHECK;

#endif
