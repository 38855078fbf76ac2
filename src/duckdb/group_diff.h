/* group_diff.h: which rows of a group went and which came. */
#ifndef WEIR_DUCKDB_GROUP_DIFF_H
#define WEIR_DUCKDB_GROUP_DIFF_H

#include "duckdb/baseline.h"

typedef struct GroupDiff {
    size_t removed_count;
    size_t added_count;
    uint16_t removed[BASELINE_GROUP_ROWS]; /* rows of the old batch */
    uint16_t added[BASELINE_GROUP_ROWS];   /* rows of the new one */
} GroupDiff;

/* A row stays if the other batch has one at its place with the same bytes; NULL is like NULL. */
void weir_group_diff(const PlacedRows *old_rows, const PlacedRows *new_rows, GroupDiff *out);

#endif
