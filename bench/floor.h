/* floor.h: what the operators' work costs when it is written by hand for one query.
 *
 * Open addressing with linear probing over arrays of structs with the key, the sums and the row in
 * the slot: no types, no NULLs, no growth, no error is looked for. Each comes as a plain loop and in
 * groups of 32 keys whose slots are prefetched. */
#ifndef WEIR_BENCH_FLOOR_H
#define WEIR_BENCH_FLOOR_H

#include "base/base.h"

enum { FLOOR_GROUP = 32, FLOOR_OUTPUT = 2048 };

/* A change of rows (key, value) with weights, by column. */
typedef struct FloorDelta {
    size_t count;
    const int32_t *keys;
    const int64_t *values;
    const int64_t *weights;
} FloorDelta;

/* --- filter and projection: a, b, c, d, e -> a + b, c + d, e WHERE a < b AND c < d ------------- */

typedef struct FloorColumns {
    const int64_t *in[5];
    int64_t *out[3];
    int64_t *out_weights;
    const int64_t *weights;
} FloorColumns;

/* Returns the number of rows that passed. Sums are checked for overflow, like the engine's. */
size_t floor_map(const FloorColumns *columns, size_t count);

/* --- GROUP BY key: sum(value), count(*) ------------------------------------------------------- */

typedef struct FloorGroups FloorGroups;

/* Receives the changed groups in parts: key, sum, count, weight. */
typedef struct FloorGroupBatch {
    size_t count;
    int32_t keys[FLOOR_OUTPUT];
    i128 sums[FLOOR_OUTPUT];
    int64_t counts[FLOOR_OUTPUT];
    int64_t weights[FLOOR_OUTPUT];
} FloorGroupBatch;

typedef void (*FloorGroupVisit)(void *user, const FloorGroupBatch *batch);

FloorGroups *floor_groups_new(size_t group_count);
void floor_groups_free(FloorGroups *groups);

/* Sums only. */
void floor_groups_plain(FloorGroups *groups, const FloorDelta *delta);
void floor_groups_prefetch(FloorGroups *groups, const FloorDelta *delta);

/* With prefetches, and the old and the new row of every touched group as output: everything that a
 * step must do. */
void floor_groups_step(FloorGroups *groups, const FloorDelta *delta, FloorGroupVisit visit,
                       void *user);

/* --- a Z-set of rows (key, value), found by key or by row -------------------------------------- */

typedef struct FloorRows FloorRows;

FloorRows *floor_rows_new(size_t row_count);
void floor_rows_free(FloorRows *rows);

/* Adds the delta, rows of weight 0 leave. */
void floor_rows_plain(FloorRows *rows, const FloorDelta *delta);
void floor_rows_prefetch(FloorRows *rows, const FloorDelta *delta);

/* The delta joined with the rows of `others` by key, then added to `rows`. Output: key, both values,
 * weight, in batches that are counted and dropped; returns the number of output rows. */
size_t floor_join_plain(FloorRows *rows, const FloorRows *others, const FloorDelta *delta);
size_t floor_join_prefetch(FloorRows *rows, const FloorRows *others, const FloorDelta *delta);

#endif
