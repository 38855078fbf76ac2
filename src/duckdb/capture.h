/* capture.h: a connection whose statements reach the views exactly, commit by commit.
 *
 * For a database that only Weir's own connections write. A statement that changes rows of a followed
 * table is run so that it tells which rows: INSERT and DELETE with a RETURNING clause of ours, UPDATE
 * from inside an assignment. What does not add up, or has another shape, is known to have changed and
 * no more: the table is read anew at the commit. docs/capture.md has the table of what is captured how.
 *
 * One thread at a time uses a Capture; several of one database may run at once. */
#ifndef WEIR_DUCKDB_CAPTURE_H
#define WEIR_DUCKDB_CAPTURE_H

#include "duckdb/api.h"
#include "duckdb/database.h"

typedef struct Capture Capture;

/* The connection is borrowed. */
Status weir_capture_new(WeirDatabase *database, duckdb_connection connection, Capture **out,
                        Error *err) WEIR_MUST_CHECK;
void weir_capture_free(Capture *capture); /* NULL is allowed */

/* What a statement gave. */
typedef struct CapturedResult {
    duckdb_result result;      /* owned */
    duckdb_data_chunk *chunks; /* owned: what was fetched already, before all others; NULL = none */
    size_t chunk_count;
    size_t hidden_columns; /* at the end of the rows: not the user's */
    bool is_counted;       /* the rows are not the user's at all, but this: */
    uint64_t rows_changed;
} CapturedResult;

void weir_captured_result_deinit(CapturedResult *result, Mem *mem);

/* Runs one statement, BEGIN, COMMIT and ROLLBACK included. If it commits, the views are there when
 * this returns. A failure is DuckDB's, with its message. */
Status weir_capture_execute(Capture *capture, const char *sql, CapturedResult *out, Error *err)
    WEIR_MUST_CHECK;

/* Flushes an appender of the connection to the table, as named in SQL, like a statement that inserts
 * row_count rows: all that were appended since the last flush. After a failure the appender is of no use. */
Status weir_capture_flush(Capture *capture, const char *table, duckdb_appender appender,
                          uint64_t row_count, Error *err) WEIR_MUST_CHECK;

/* Destroys an appender of the connection that was not flushed, with its rows: DuckDB may flush them then,
 * which in a transaction of the user's is not taken back. */
void weir_capture_discard(Capture *capture, duckdb_appender *appender);

/* Between BEGIN and COMMIT or ROLLBACK. */
bool weir_capture_is_in_transaction(const Capture *capture);

#endif
