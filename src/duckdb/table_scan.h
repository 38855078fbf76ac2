/* table_scan.h: all rows of a table, as they are in the host's snapshot. */
#ifndef WEIR_DUCKDB_TABLE_SCAN_H
#define WEIR_DUCKDB_TABLE_SCAN_H

#include "duckdb/host_priv.h"

/* Calls visit with the columns of every row, weight 1. Nobody may renumber rows meanwhile: no other
 * connection commits or checkpoints. */
Status weir_table_scan(DuckHost *host, const TableName *name, const Schema *columns,
                       HostVisit visit, void *user, Error *err) WEIR_MUST_CHECK;

Status weir_table_count_rows(DuckHost *host, const TableName *name, uint64_t *out, Error *err)
    WEIR_MUST_CHECK;

/* Where rows are in a table. */
typedef struct TableExtent {
    uint64_t row_count;
    int64_t last_row; /* the largest row id; -1 = no rows */
} TableExtent;

Status weir_table_extent(DuckHost *host, const TableName *name, TableExtent *out, Error *err)
    WEIR_MUST_CHECK;

/* The same without a look at the row ids up to `last_row`, which is the answer if there are no others. */
Status weir_table_extent_behind(DuckHost *host, const TableName *name, int64_t last_row,
                                TableExtent *out, Error *err) WEIR_MUST_CHECK;

#endif
