/* group_rows.h: the rows of one group while they come in, chunk by chunk. */
#ifndef WEIR_DUCKDB_GROUP_ROWS_H
#define WEIR_DUCKDB_GROUP_ROWS_H

#include "duckdb/baseline.h"

typedef struct GroupRows {
    PlacedRows rows;
    Batch *batch;        /* of the rows; its columns are ours */
    uint64_t **validity; /* a mask for each column, used from the first NULL on */
    Arena strings;       /* the bytes of long ones */
} GroupRows;

/* Buffers come from the arena. */
Status weir_group_rows_init(GroupRows *group, const Schema *schema, Arena *arena, Error *err)
    WEIR_MUST_CHECK;
void weir_group_rows_deinit(GroupRows *group);
void weir_group_rows_clear(GroupRows *group);

/* Copies rows [first, first + count) of the batch, at places behind those that are there. */
Status weir_group_rows_add(GroupRows *group, const Batch *batch, size_t first, size_t count,
                           const uint16_t *places, Error *err) WEIR_MUST_CHECK;

#endif
