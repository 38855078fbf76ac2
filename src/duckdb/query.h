/* query.h: statements on an internal connection, their errors, and reading small answers.
 *
 * Functions in our own statements are qualified: a user's macro of the name would go first. */
#ifndef WEIR_DUCKDB_QUERY_H
#define WEIR_DUCKDB_QUERY_H

#include "base/arena.h"
#include "duckdb/api.h"
#include "types/vector.h"

/* err = code and DuckDB's message without doubled prefixes and stack traces; or the error of a
 * function of Weir that the statement called, as it was. */
Status weir_query_error(Error *err, Status code, const char *message);

/* Runs one statement. On success the result is the caller's, to be destroyed; on failure there is
 * none. A failure is `code`, or WEIR_ERR_INTERRUPTED. */
Status weir_query(duckdb_connection connection, const char *sql, Status code, duckdb_result *out,
                  Error *err) WEIR_MUST_CHECK;

/* The same with $1, $2, ... bound to texts (NULL = SQL NULL). */
Status weir_query_bound(duckdb_connection connection, const char *sql, const char *const *texts,
                        size_t count, Status code, duckdb_result *out, Error *err) WEIR_MUST_CHECK;

/* A statement whose rows nobody wants; a failure is WEIR_ERR_HOST. */
Status weir_query_run(duckdb_connection connection, const char *sql, Error *err) WEIR_MUST_CHECK;

/* Begins the connection's transaction in every database: DuckDB begins it in one when that is first asked
 * about it, and here all are. */
Status weir_query_touch_databases(duckdb_connection connection, Error *err) WEIR_MUST_CHECK;

/* Executes a prepared statement, as weir_query. */
Status weir_query_execute(duckdb_prepared_statement statement, Status code, duckdb_result *out,
                          Error *err) WEIR_MUST_CHECK;

/* The rows of a result, one at a time. Zero is a valid state: no rows. */
typedef struct Rows {
    duckdb_result *result;   /* borrowed */
    duckdb_data_chunk chunk; /* owned */
    size_t row;
    size_t count; /* of the chunk */
} Rows;

Rows weir_rows(duckdb_result *result);

/* Steps to the first or next row; false after the last one. */
bool weir_rows_next(Rows *rows);
void weir_rows_deinit(Rows *rows);
bool weir_rows_is_null(const Rows *rows, size_t column);

/* Of a column of exactly this type, not NULL. */
int64_t weir_rows_i64(const Rows *rows, size_t column);
uint64_t weir_rows_u64(const Rows *rows, size_t column);
bool weir_rows_bool(const Rows *rows, size_t column);

/* A copy of a VARCHAR in the arena; a SQL NULL gives "". NULL if there is no memory. */
char *weir_rows_text(const Rows *rows, size_t column, Arena *arena, Error *err) WEIR_MUST_CHECK;

#endif
