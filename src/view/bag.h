/* bag.h: a Z-set kept in a RowTable: all columns are the key, the weight is in the row header. */
#ifndef WEIR_VIEW_BAG_H
#define WEIR_VIEW_BAG_H

#include "trace/row_table.h"

typedef Status (*BagVisit)(void *user, const Batch *batch, Error *err);

/* Adds sign * weight of every row of the batch. On failure no weight has changed. */
Status weir_bag_add(RowTable *bag, const Batch *batch, int64_t sign, Error *err) WEIR_MUST_CHECK;

/* Forgets the rows of weight 0. */
void weir_bag_compact(RowTable *bag);

/* The rows with a weight other than 0, the given columns of them (NULL = all), as batches with
 * weights. */
Status weir_bag_visit(const RowTable *bag, const size_t *columns, size_t column_count, Mem *mem,
                      BagVisit visit, void *user, Error *err) WEIR_MUST_CHECK;

/* after - before, as batches with weights. */
Status weir_bag_visit_difference(RowTable *before, RowTable *after, Mem *mem, BagVisit visit,
                                 void *user, Error *err) WEIR_MUST_CHECK;

/* Up to BATCH_CAPACITY rows, and the columns that are wanted of them. */
typedef struct RowPick {
    const RowLayout *layout;
    Row *const *rows;
    size_t count;
    const size_t *columns; /* NULL = all */
    size_t column_count;
} RowPick;

/* The rows as vectors: batch->columns and validity come from the arena. */
Status weir_bag_unpack(const RowPick *pick, Arena *arena, Batch *out, Error *err) WEIR_MUST_CHECK;

#endif
