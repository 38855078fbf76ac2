/* batch.h: a Z-set in flight: up to 2048 rows, by column, with signed weights.
 *
 * A batch pushed to an operator is borrowed until the push returns. The same row may stand in a
 * batch several times; the Z-set is the sum. */
#ifndef WEIR_TYPES_BATCH_H
#define WEIR_TYPES_BATCH_H

#include "types/vector.h"

enum { BATCH_CAPACITY = VECTOR_CAPACITY };

typedef struct Batch {
    size_t count;           /* rows, <= BATCH_CAPACITY */
    size_t column_count;    /* may be 0: rows without columns still count */
    Vector *columns;        /* borrowed */
    const int64_t *weights; /* borrowed; NULL = all +1; never 0 inside */
} Batch;

static inline int64_t weir_batch_weight(const Batch *batch, size_t row)
{
    return batch->weights == NULL ? 1 : batch->weights[row];
}

/* The types of a relation's columns; the shape of every batch on a stream. */
typedef struct Schema {
    size_t count;
    const LogicalType *const *types;
    const char *const *names; /* NULL where columns have no names */
} Schema;

/* A deep copy into the arena, with names if there are any. */
Status weir_schema_copy(Arena *arena, const Schema *from, Schema *out, Error *err) WEIR_MUST_CHECK;

/* A batch with room for BATCH_CAPACITY rows of the schema's physical types, weights included, from
 * the arena; count 0. Reusable: writers set count, and validity to NULL or an own mask. */
Status weir_batch_new(Arena *arena, const Schema *schema, Batch **out, Error *err) WEIR_MUST_CHECK;

/* The weights of a batch from weir_batch_new, to be written. */
static inline int64_t *weir_batch_borrow_weights(const Batch *batch)
{
    int64_t *weights;
    memcpy(&weights, &batch->weights, sizeof weights);
    return weights;
}

/* out = the selected rows of in, all columns flat, from the arena. */
Status weir_batch_gather(const Batch *in, const uint16_t *selection, size_t count, Arena *arena,
                         Batch *out, Error *err) WEIR_MUST_CHECK;

#endif
