/* weir.h: the public C API of libweir.
 *
 * Weir keeps SQL views over DuckDB tables up to date in time proportional to the change. A WeirDb
 * embeds a DuckDB database: every DuckDB statement works, and beside them
 *
 *   CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name AS SELECT ...
 *   DROP MATERIALIZED VIEW [IF EXISTS] name [CASCADE]
 *   REFRESH MATERIALIZED VIEW name
 *
 * After every statement or COMMIT that wrote, all views are current: they were stepped by exactly the
 * rows that it changed. Rows must be written through a WeirDb, by whatever statement.
 *
 * Ownership: what a function opens, the caller closes with the matching close or free. Text that a
 * function returns is borrowed until the object it came from is changed or freed.
 * Threads: one WeirDb and its results are used by one thread at a time; weir_interrupt may be
 * called from any thread. Several threads take a WeirDb each, by weir_connect.
 * Errors: a function that can fail returns WeirStatus and fills *err (never NULL). */
#ifndef WEIR_H
#define WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_API __attribute__((visibility("default")))

/* 0 is success; a failure is the number in DBSP-E<number> (docs/errors). */
typedef int WeirStatus;

enum {
    WEIR_OK = 0,
#define X(name, number, summary) WEIR_ERR_##name = (number),
#include "weir/errors.def"
#undef X
};

/* An error owns no memory. */
typedef struct WeirError {
    WeirStatus code;    /* WEIR_OK = none */
    char message[1024]; /* what happened, with the names */
    char hint[512];     /* what the user can do; may be empty */
} WeirError;

typedef struct WeirDb WeirDb;
typedef struct WeirResult WeirResult;

/* The version of the library, "major.minor.patch". */
WEIR_API const char *weir_version(void);

/* Opens (or creates) the DuckDB database file; NULL or ":memory:" is a database in memory. */
WEIR_API WeirStatus weir_open(const char *path, WeirDb **out, WeirError *err);

/* Another connection to the same database: transactions of its own, the same views. Views see the
 * commits of all connections one after another, in the order in which they succeed. */
WEIR_API WeirStatus weir_connect(WeirDb *db, WeirDb **out, WeirError *err);

/* Interrupts what runs on the connection and closes it. The last one closes the database and releases
 * its file. NULL is allowed. */
WEIR_API void weir_close(WeirDb *db);

/* Runs the first statement of sql. *tail (may be NULL) is set behind it: to the next statement, or
 * to the final NUL. *out (may be NULL) receives the result, also of a statement without rows.
 * An empty statement gives WEIR_OK and *out = NULL. */
WEIR_API WeirStatus weir_execute(WeirDb *db, const char *sql, const char **tail, WeirResult **out,
                                 WeirError *err);

/* Where the first statement of sql begins: behind blanks and comments; at the final NUL if there is
 * none. NULL if sql ends in a comment that more text would go on with. */
WEIR_API const char *weir_next_statement(const char *sql);

/* True if sql holds at least one complete statement (shells use it to ask for more lines). */
WEIR_API bool weir_is_complete(const char *sql);

/* True, and *out filled, if a view has become broken since the last call: a statement that succeeded
 * left rows on which a definition fails. */
WEIR_API bool weir_take_warning(WeirDb *db, WeirError *out);

/* Makes the running statement fail with WEIR_ERR_INTERRUPTED as soon as it can. Any thread. */
WEIR_API void weir_interrupt(WeirDb *db);

WEIR_API void weir_result_free(WeirResult *result); /* NULL is allowed */
WEIR_API size_t weir_result_column_count(const WeirResult *result);
WEIR_API const char *weir_result_column_name(const WeirResult *result, size_t column);
WEIR_API const char *weir_result_column_type(const WeirResult *result, size_t column); /* as SQL */
WEIR_API bool weir_result_is_numeric(const WeirResult *result, size_t column);

/* True if the statement produced rows (a SELECT, a RETURNING, a CALL), false for DDL and DML. */
WEIR_API bool weir_result_has_rows(const WeirResult *result);

/* Rows changed by a DML statement; 0 otherwise. */
WEIR_API uint64_t weir_result_rows_changed(const WeirResult *result);

/* Steps to the next row; *has_row is false after the last one. */
WEIR_API WeirStatus weir_result_next(WeirResult *result, bool *has_row, WeirError *err);

/* The current row's value as DuckDB prints it, NUL-terminated; NULL for SQL NULL. *size (may be
 * NULL) receives its bytes, since text may hold NUL bytes. Borrowed until the next step. */
WEIR_API const char *weir_result_text(WeirResult *result, size_t column, size_t *size);

#ifdef __cplusplus
}
#endif

#endif
