/* database.h: opening a database file of SQLite, and its failures as ours. */
#ifndef WEIR_CDC_DATABASE_H
#define WEIR_CDC_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "weir.h"

/* Ends the function with the failure of a call, while nothing needs cleaning. */
#define WEIR_CDC_TRY(call)                 \
    do {                                   \
        const WeirStatus status_ = (call); \
        if (status_ != WEIR_OK) {          \
            return status_;                \
        }                                  \
    } while (0)

typedef enum CdcOpen {
    CDC_OPEN_READ,   /* the file must be there; statements cannot write */
    CDC_OPEN_WRITE,  /* the file must be there */
    CDC_OPEN_CREATE, /* it is made if it is missing; NULL is a database in memory */
} CdcOpen;

/* What is wrong with a path that must be a file that is there. */
WeirStatus weir_cdc_check_file(const char *path, WeirError *err);

/* Opens the file and reads from it, so that what is no database is told now. Waits some seconds for
 * the locks of others. */
WeirStatus weir_cdc_open(const char *path, CdcOpen how, sqlite3 **out, WeirError *err);

/* Fills err with the last failure of the connection; returns its code. */
WeirStatus weir_cdc_error(sqlite3 *db, WeirError *err);

/* Fills err with a failure of our own: printf's format. */
WeirStatus weir_cdc_fail(WeirError *err, WeirStatus code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
WeirStatus weir_cdc_out_of_memory(WeirError *err);

/* Says what the user can do; returns err's code. */
WeirStatus weir_cdc_hint(WeirError *err, const char *hint);

/* Compiles a statement: the format is sqlite3_mprintf's, with %Q and %w. */
WeirStatus weir_cdc_prepare(sqlite3 *db, sqlite3_stmt **out, WeirError *err, const char *format,
                            ...);

/* Steps; *has_row is false at the end. */
WeirStatus weir_cdc_step(sqlite3_stmt *stmt, bool *has_row, WeirError *err);

/* The text of a column, borrowed until the next step; NULL for SQL's NULL. */
WeirStatus weir_cdc_text(sqlite3_stmt *row, int column, const char **out, WeirError *err);

/* The first column of a query's first row, as an integer; 0 if it has none. */
WeirStatus weir_cdc_query_integer(sqlite3 *db, sqlite3_int64 *out, WeirError *err,
                                  const char *format, ...);

/* Runs a statement to its end. */
WeirStatus weir_cdc_run(sqlite3 *db, WeirError *err, const char *format, ...);

#endif
