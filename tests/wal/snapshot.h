/* snapshot.h: the rows of a table with their row ids, as DuckDB gives them. */
#ifndef WEIR_TESTS_WAL_SNAPSHOT_H
#define WEIR_TESTS_WAL_SNAPSHOT_H

#include "db.h"

#include "types/batch.h"

typedef struct Snapshot {
    Mem *mem;
    Arena types;
    Arena arena; /* of the batch */
    duckdb_result result;
    duckdb_data_chunk chunk;
    size_t column_count; /* without the row id */
    const LogicalType **column_types;
    Batch batch;
    const int64_t *row_ids;
} Snapshot;

/* On failure adds to `error`, and there is nothing to close. */
bool snapshot_open(Snapshot *snapshot, duckdb_connection connection, const char *table,
                   Text *error);
/* One more than the largest row id that a row of the table has or had, as duckdb_tables() has it now:
 * rows of a commit that is under way count. */
bool snapshot_end(duckdb_connection connection, const char *table, size_t *end, Text *error);
/* The next rows; false behind the last. */
bool snapshot_next(Snapshot *snapshot);
void snapshot_close(Snapshot *snapshot);

/* A value that is not NULL, as bytes. */
const char *snapshot_value(const Vector *vector, size_t row, size_t *size);

#endif
