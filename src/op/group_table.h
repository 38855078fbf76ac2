/* group_table.h: the group rows of an aggregate and the groups a step has touched.
 *
 * Group row: weight = number of input rows; key = the group columns, normalised; payload = the first
 * seen original of those group columns whose equal values may look different (floats, intervals);
 * state = whatever the user wants. Without group columns there is one row for all input.
 *
 * When a group is first touched in a step, its weight and the first shown_bytes of its state are
 * copied to an entry of the touched list. */
#ifndef WEIR_OP_GROUP_TABLE_H
#define WEIR_OP_GROUP_TABLE_H

#include "op/op.h"
#include "trace/row_table.h"
#include "trace/touched.h"

typedef struct GroupTableSpec {
    const Schema *input;         /* borrowed for the table's life */
    const size_t *group_columns; /* borrowed for the table's life */
    size_t group_count;
    size_t shown_bytes; /* multiple of 8 */
    size_t state_bytes; /* shown part included */
} GroupTableSpec;

typedef struct GroupTable {
    GroupTableSpec spec;
    Mem *mem;            /* borrowed */
    RowTable table;      /* not used if there are no group columns, but for its layout */
    Row *lone;           /* owned: the one row if there are no group columns */
    size_t *display;     /* owned: by group column, the column of the layout that is shown */
    TouchedList touched; /* of GroupEntry */
} GroupTable;

typedef struct GroupEntry {
    Row *row;
    int64_t weight; /* before the step */
    char shown[];   /* the shown part of the state before the step */
} GroupEntry;

Status weir_group_table_init(GroupTable *groups, const CircuitEnv *env, const GroupTableSpec *spec,
                             Error *err) WEIR_MUST_CHECK;
void weir_group_table_deinit(GroupTable *groups); /* also of the zeroed struct */

static inline const RowLayout *weir_group_table_layout(const GroupTable *groups)
{
    return &groups->table.layout;
}

/* rows[i] = the group row of input row i, touched, the row's weight added to it. */
Status weir_group_table_apply(GroupTable *groups, const Batch *batch, Arena *arena, Row **rows,
                              Error *err) WEIR_MUST_CHECK;

/* Touches the lone row without input. */
Status weir_group_table_touch_lone(GroupTable *groups, Error *err) WEIR_MUST_CHECK;

/* Group column `column` of the rows, as displayed; see weir_row_unpack. */
void weir_group_table_unpack(const GroupTable *groups, Row *const *rows, size_t count,
                             size_t column, Vector *out, uint64_t *validity);

/* The row is no longer touched; without input rows it leaves the table. */
void weir_group_table_release(GroupTable *groups, Row *row);

void weir_group_table_end_step(GroupTable *groups);
size_t weir_group_table_row_count(const GroupTable *groups);
size_t weir_group_table_bytes(const GroupTable *groups);

#endif
