/* db.h: a DuckDB database and its connections, statements and results as text. */
#ifndef WEIR_TESTS_HARNESS_DB_H
#define WEIR_TESTS_HARNESS_DB_H

#include "duckdb.h"
#include "text.h"

#include <stdint.h>

enum { DB_CONNECTIONS_MAX = 8 };

typedef struct DbOptions {
    const char *path;      /* NULL: in memory */
    const char *extension; /* NULL: none is loaded */
} DbOptions;

typedef struct Db {
    duckdb_database handle;
    duckdb_connection connections[DB_CONNECTIONS_MAX]; /* opened on first use */
} Db;

/* A result, all values as text. */
typedef struct Rows {
    size_t column_count;
    size_t row_count;
    char **names; /* owned, one a column */
    char **cells; /* owned, row after row; NULL is SQL's NULL */
} Rows;

/* Opens the database and loads the extension. On failure `error` says why and nothing is open. */
bool db_open(Db *db, const DbOptions *options, Text *error);
void db_close(Db *db);
/* Connection number `index`, below DB_CONNECTIONS_MAX; NULL if it cannot be had. */
duckdb_connection db_connection(Db *db, size_t index);

/* Runs one or more statements; on failure replaces `error` by DuckDB's message. */
bool db_run(duckdb_connection connection, const char *sql, Text *error);
/* Runs a query; `rows` needs rows_free. */
bool db_fetch(duckdb_connection connection, const char *sql, Rows *rows, Text *error);
/* Runs a query whose first column of the first row is an integer; 0 for NULL and for no row. */
bool db_number(duckdb_connection connection, const char *sql, int64_t *value, Text *error);

void rows_free(Rows *rows);
const char *rows_cell(const Rows *rows, size_t row, size_t column);
/* Adds the rows, one a line, values separated by '|' and NULL written as NULL. */
void rows_print(const Rows *rows, Text *out);

/* Removes a database file and its log. */
void db_remove_file(const char *path);

#endif
