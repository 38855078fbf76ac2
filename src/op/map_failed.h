/* map_failed.h: rows of a filter and projection on which an expression failed, held back until the
 * end of the step.
 *
 * Within a step a row may come and go; only what is there at the end counts. So a failing row is
 * put aside with its weight, by the columns the expressions read, and the step fails only if a
 * weight other than 0 is left at its end. */
#ifndef WEIR_OP_MAP_FAILED_H
#define WEIR_OP_MAP_FAILED_H

#include "op/op.h"
#include "trace/row_table.h"

typedef struct MapFailed {
    const CircuitEnv *env;      /* borrowed */
    const Schema *input;        /* borrowed */
    const MapSpec *spec;        /* borrowed */
    const size_t *read_columns; /* borrowed: the input columns that an expression reads */
    size_t read_count;
    RowTable *table; /* owned; NULL until the first failing row */
} MapFailed;

/* Puts the one row of the batch aside. */
Status weir_map_failed_add(MapFailed *failed, const Batch *row, Arena *arena, Error *err)
    WEIR_MUST_CHECK;

/* The end of the step: fails with the error of a row that is still there; else forgets all rows. */
Status weir_map_failed_check(MapFailed *failed, Arena *arena, Error *err) WEIR_MUST_CHECK;

void weir_map_failed_deinit(MapFailed *failed);

#endif
