/* weir.h: the public C API of libweir.
 *
 * Weir keeps SQL views over DuckDB tables up to date in time proportional to the change. A WeirDb
 * embeds a DuckDB database: every DuckDB statement works, and beside them
 *
 *   CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name [(columns)] AS SELECT ...
 *   DROP MATERIALIZED VIEW [IF EXISTS] name [CASCADE]
 *   REFRESH MATERIALIZED VIEW name
 *   EXPLAIN MATERIALIZED VIEW name
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

/* Makes the connection's running statement fail with WEIR_ERR_INTERRUPTED as soon as it can. Any thread.
 * While that statement waits for another connection's, which fills views, it is that one that fails. */
WEIR_API void weir_interrupt(WeirDb *db);

/* How far the filling of a view has come: rows read of those expected, as far as that is known. It is
 * called after every few thousand rows, by the thread that runs the statement, whichever connection's,
 * while all views wait: it should be quick and must not call Weir, but for weir_interrupt. */
typedef void (*WeirProgress)(void *user, const char *view, uint64_t rows_done,
                             uint64_t rows_expected);

/* One callback for all connections of the database; NULL = none, as at first. */
WEIR_API void weir_set_progress(WeirDb *db, WeirProgress progress, void *user);

/* ---- results -------------------------------------------------------------------------------- */

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

/* ---- appending rows --------------------------------------------------------------------------
 *
 * Many rows faster than by INSERT, as DuckDB's own appender adds them:
 *
 *   weir_appender_open(db, "flights", &appender, &err);
 *   for (...) {
 *       weir_append_text(appender, "LH 454", 6);
 *       weir_append_int64(appender, passengers);
 *       weir_append_row(appender, &err);
 *   }
 *   weir_appender_close(appender, &err);
 *
 * The rows are added, and the views current, at flush and close, and now and then before, when many are
 * waiting: each time as one statement of the connection, in its transaction if it is in one. */
typedef struct WeirAppender WeirAppender;

/* The table by its name as in SQL. An appender is used by the thread that uses db, and must be closed
 * before db is. */
WEIR_API WeirStatus weir_appender_open(WeirDb *db, const char *table, WeirAppender **out,
                                       WeirError *err);

/* The next value of the row; it is converted to the type of its column as DuckDB casts it. Failures are
 * told by weir_append_row. */
WEIR_API void weir_append_null(WeirAppender *appender);
WEIR_API void weir_append_default(WeirAppender *appender);
WEIR_API void weir_append_bool(WeirAppender *appender, bool value);
WEIR_API void weir_append_int64(WeirAppender *appender, int64_t value);
WEIR_API void weir_append_double(WeirAppender *appender, double value);
WEIR_API void weir_append_text(WeirAppender *appender, const char *text, size_t size);
WEIR_API void weir_append_blob(WeirAppender *appender, const void *bytes, size_t size);

/* Ends a row. After a failure, here or at a flush, the rows that were not flushed are lost, and nothing can
 * be done with the appender but to close it. */
WEIR_API WeirStatus weir_append_row(WeirAppender *appender, WeirError *err);
WEIR_API WeirStatus weir_appender_flush(WeirAppender *appender, WeirError *err);

/* Flushes and frees, also on failure. A row that was begun is a failure (WEIR_ERR_MISUSE). NULL is
 * allowed. */
WEIR_API WeirStatus weir_appender_close(WeirAppender *appender, WeirError *err);

/* ---- the changes of a view ------------------------------------------------------------------
 *
 * Every commit that changes a view is a generation: rows with a weight, n > 0 for n equal rows more
 * and n < 0 for fewer. A subscription hands them out in order, each generation once and whole. It is
 * pulled: no code of the user runs in a commit, and a commit never waits for a subscriber. What has
 * not been handed out stays in the feed of the view, which keeps 64 MB; who is further behind gets
 * WEIR_ERR_TOO_OLD, and begins again with WEIR_SINCE_SNAPSHOT.
 *
 *   weir_subscribe(db, "totals", WEIR_SINCE_SNAPSHOT, &changes, &err);
 *   while (weir_changes_next(changes, -1, &event, &err) == WEIR_OK) {
 *       if (event == WEIR_EVENT_ROW) {
 *           add(weir_result_text(weir_changes_row(changes), 0, NULL), weir_changes_weight(changes));
 *       } else if (event == WEIR_EVENT_COMPLETE) {
 *           save_place(weir_changes_generation(changes));
 *       }
 *   }
 *   weir_changes_close(changes);
 *
 * Threads: a subscription is used by one thread at a time, which need not be the one that uses the
 * WeirDb; weir_changes_interrupt may be called from any. */
typedef struct WeirChanges WeirChanges;

/* Instead of a generation. Views are filled again when a database is opened, so a generation of an
 * earlier opening is WEIR_ERR_TOO_OLD: begin with a snapshot. */
enum {
    WEIR_SINCE_SNAPSHOT =
        -1,              /* the rows of the view as they are, each with weight 1, as if they had
                                 all come in its present generation; then its changes */
    WEIR_SINCE_NOW = -2, /* the changes from now on */
};

typedef enum WeirEvent {
    WEIR_EVENT_NONE,     /* nothing came in time */
    WEIR_EVENT_ROW,      /* one row of a generation, or of the snapshot */
    WEIR_EVENT_COMPLETE, /* all rows of the generation, or of the snapshot, have been handed out: a
                            subscription since that generation goes on from there */
} WeirEvent;

/* Subscribes to the changes of a view after generation `since`. It keeps the database open, and may
 * outlive the WeirDb. Values are printed by the settings that the session of db has now. A generation
 * that is still to come: WEIR_ERR_ARGUMENT. */
WEIR_API WeirStatus weir_subscribe(WeirDb *db, const char *view, int64_t since, WeirChanges **out,
                                   WeirError *err);
WEIR_API void weir_changes_close(WeirChanges *changes); /* NULL is allowed */

/* The next event; waits for it, at most timeout_ms (0 = does not wait, < 0 = as long as it takes).
 * WEIR_ERR_BROKEN while the view is broken: when it works again, the difference comes as one
 * generation. WEIR_ERR_UNKNOWN_VIEW if it was dropped, WEIR_ERR_TOO_OLD also if another view has its
 * name. A failure within a generation ends the subscription: it is given again and again. */
WEIR_API WeirStatus weir_changes_next(WeirChanges *changes, int64_t timeout_ms, WeirEvent *event,
                                      WeirError *err);

/* Makes the call that waits, or if none does the next that would, fail with WEIR_ERR_INTERRUPTED.
 * Nothing is lost by it. */
WEIR_API void weir_changes_interrupt(WeirChanges *changes);

/* Of the last event. */
WEIR_API uint64_t weir_changes_generation(const WeirChanges *changes);
WEIR_API int64_t weir_changes_weight(const WeirChanges *changes); /* of a WEIR_EVENT_ROW */
WEIR_API bool weir_changes_is_snapshot(const WeirChanges *changes);

/* The columns of the view, and after a WEIR_EVENT_ROW their values: weir_result_text and
 * weir_result_column_* are for it, weir_result_next is not. Belongs to the subscription. */
WEIR_API WeirResult *weir_changes_row(WeirChanges *changes);

/* Gets events for a callback, in the calling thread, until there is none: it waits for the first one
 * as weir_changes_next does, and for no other. Ends too when the callback returns false. */
typedef bool (*WeirChangesVisit)(void *user, WeirChanges *changes, WeirEvent event);
WEIR_API WeirStatus weir_changes_deliver(WeirChanges *changes, int64_t timeout_ms,
                                         WeirChangesVisit visit, void *user, WeirError *err);

#ifdef __cplusplus
}
#endif

#endif
