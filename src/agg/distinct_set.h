/* distinct_set.h: which values each group has, for aggregates with DISTINCT.
 *
 * One set serves all groups: it counts each pair (group, value). A value enters the group when its
 * count rises above 0 and leaves it when it falls back; only that reaches the aggregate, with weight
 * 1 or -1. Values are equal as in GROUP BY. Groups are told apart by a number the user gives. */
#ifndef WEIR_AGG_DISTINCT_SET_H
#define WEIR_AGG_DISTINCT_SET_H

#include "trace/row_table.h"
#include "trace/touched.h"

typedef struct DistinctSet {
    const LogicalType *arg; /* borrowed */
    RowTable table;         /* key: group number, value; a row's weight is the count */
    TouchedList touched;    /* of Row *: rows whose link is 1 */
} DistinctSet;

Status weir_distinct_set_init(DistinctSet *set, Mem *mem, PagePool *pool, const LogicalType *arg,
                              Error *err) WEIR_MUST_CHECK;
void weir_distinct_set_deinit(DistinctSet *set); /* also of the zeroed struct */

typedef struct DistinctInput {
    const Vector *arg;         /* flat; the selected rows are valid */
    const uint64_t *groups;    /* number of the group of selected row i, > 0 */
    const uint16_t *selection; /* NULL = places 0 .. count - 1 */
    size_t count;
    const int64_t *weights; /* by place */
} DistinctInput;

/* The places of the rows that make a value enter or leave, in order; weights[place] = 1 or -1. Both
 * arrays hold BATCH_CAPACITY entries. */
typedef struct DistinctOutput {
    uint16_t *selection;
    int64_t *weights;
    size_t count;
} DistinctOutput;

Status weir_distinct_set_apply(DistinctSet *set, const DistinctInput *in, Arena *arena,
                               DistinctOutput *out, Error *err) WEIR_MUST_CHECK;

/* The end of the input of a step: fails with WEIR_ERR_NEGATIVE if a count is negative. */
Status weir_distinct_set_check(const DistinctSet *set, Error *err) WEIR_MUST_CHECK;
void weir_distinct_set_end_step(DistinctSet *set);
size_t weir_distinct_set_bytes(const DistinctSet *set);

#endif
