/* overlay.h: single rows of a baseline that changed, by row id.
 *
 * They lie over the groups: a row of the overlay is there instead of the group's, or says that the
 * group's is gone. So a change costs what its rows cost, wherever they are. The groups are packed again
 * when the table is compared or scanned, or when the overlay has become large. */
#ifndef WEIR_DUCKDB_OVERLAY_H
#define WEIR_DUCKDB_OVERLAY_H

#include "duckdb/baseline.h"

/* Rows that were found, in no order. From the arena; long strings are copied into it. */
typedef struct FoundRows {
    Batch batch;
    int64_t *row_ids;
} FoundRows;

uint64_t weir_overlay_row_count(const Baseline *baseline); /* of groups and overlay */

/* The rows that are there of up to BATCH_CAPACITY different row ids. Every column of the batch has a
 * validity mask, and may be written. */
Status weir_overlay_find(Baseline *baseline, const int64_t *row_ids, size_t count, Arena *arena,
                         FoundRows *out, Error *err) WEIR_MUST_CHECK;

/* What put says of the rows. */
typedef enum OverlayKind { OVERLAY_ADDED, OVERLAY_CHANGED, OVERLAY_GONE } OverlayKind;

/* Rows with different row ids; of those that are gone, the values do not matter. The columns are
 * flat. After a failure the baseline is of no use. */
Status weir_overlay_put(Baseline *baseline, const FoundRows *rows, OverlayKind kind, Error *err)
    WEIR_MUST_CHECK;

/* True if packing the groups costs no more than what has been put. */
bool weir_overlay_is_large(const Baseline *baseline);

/* Packs the groups of the overlay's rows anew; then it is empty. After a failure all rows are there
 * still, and it may be tried again. */
Status weir_overlay_settle(Baseline *baseline, Error *err) WEIR_MUST_CHECK;

#endif
