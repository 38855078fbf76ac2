/* database.c: opening a database file of SQLite, and its failures as ours. */
#include "cdc/database.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { BUSY_MS = 5000 };

/* ---- failures ------------------------------------------------------------------------------- */

WeirStatus weir_cdc_fail(WeirError *err, WeirStatus code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *err = (WeirError){.code = code};
    (void)vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    return code;
}

WeirStatus weir_cdc_out_of_memory(WeirError *err)
{
    return weir_cdc_fail(err, WEIR_ERR_NOMEM, "out of memory");
}

WeirStatus weir_cdc_hint(WeirError *err, const char *hint)
{
    (void)snprintf(err->hint, sizeof err->hint, "%s", hint);
    return err->code;
}

WeirStatus weir_cdc_error(sqlite3 *db, WeirError *err)
{
    switch (sqlite3_errcode(db)) {
    case SQLITE_INTERRUPT: return weir_cdc_fail(err, WEIR_ERR_INTERRUPTED, "interrupted");
    case SQLITE_NOMEM: return weir_cdc_out_of_memory(err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        (void)weir_cdc_fail(err, WEIR_ERR_HOST, "%s", sqlite3_errmsg(db));
        return weir_cdc_hint(err, "another connection holds a lock; try again when it is done");
    default: return weir_cdc_fail(err, WEIR_ERR_HOST, "%s", sqlite3_errmsg(db));
    }
}

/* ---- opening -------------------------------------------------------------------------------- */

WeirStatus weir_cdc_check_file(const char *path, WeirError *err)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        const bool is_missing = errno == ENOENT;
        (void)weir_cdc_fail(err, WEIR_ERR_IO, "cannot open %s: %s", path, strerror(errno));
        return is_missing
                   ? weir_cdc_hint(err, "check the name; a new database is made by weir FILE")
                   : err->code;
    }
    if (S_ISDIR(status.st_mode)) {
        return weir_cdc_fail(err, WEIR_ERR_IO, "cannot open %s: it is a directory", path);
    }
    return WEIR_OK;
}

static WeirStatus fail_to_open(sqlite3 *db, const char *path, WeirError *err)
{
    const int reason = sqlite3_system_errno(db);
    return weir_cdc_fail(err, WEIR_ERR_IO, "cannot open %s: %s", path,
                         reason == 0 ? sqlite3_errmsg(db) : strerror(reason));
}

/* Why the first reading failed, in words that name the file. */
static WeirStatus explain_failure(sqlite3 *db, const char *path, WeirError *err)
{
    switch (sqlite3_errcode(db)) {
    case SQLITE_NOTADB:
        (void)weir_cdc_fail(err, WEIR_ERR_IO, "%s is no database of SQLite, or is encrypted", path);
        return weir_cdc_hint(err, "encrypted databases cannot be read; a DuckDB database is opened "
                                  "by weir FILE");
    case SQLITE_BUSY:
        (void)weir_cdc_fail(err, WEIR_ERR_HOST, "%s is locked by another connection", path);
        return weir_cdc_hint(err, "try again when it is done");
    case SQLITE_READONLY:
        (void)weir_cdc_fail(err, WEIR_ERR_IO, "cannot read %s: its directory is read-only", path);
        return weir_cdc_hint(err, "a database in WAL mode, or one that a killed writer has left, "
                                  "needs files beside it; copy it elsewhere");
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: return fail_to_open(db, path, err);
    default: return weir_cdc_error(db, err);
    }
}

WeirStatus weir_cdc_open(const char *path, CdcOpen how, sqlite3 **out, WeirError *err)
{
    sqlite3 *db = NULL;
    const char *const name = path == NULL ? ":memory:" : path;
    const int create = how == CDC_OPEN_CREATE ? SQLITE_OPEN_CREATE : 0;
    *out = NULL;
    if (how != CDC_OPEN_CREATE && weir_cdc_check_file(name, err) != WEIR_OK) {
        return err->code;
    }
    WeirStatus status = WEIR_OK;
    int opened = sqlite3_open_v2(name, &db, SQLITE_OPEN_READWRITE | create, NULL);
    if (opened == SQLITE_OK) {
        (void)sqlite3_busy_timeout(db, BUSY_MS);
        /* A reader may write too: what a writer that was killed has left is put in order. */
        opened = sqlite3_exec(db,
                              how == CDC_OPEN_READ ? "PRAGMA query_only = 1; PRAGMA schema_version"
                                                   : "PRAGMA schema_version",
                              NULL, NULL, NULL);
    }
    if (opened != SQLITE_OK) {
        status = explain_failure(db, name, err);
    } else if (how == CDC_OPEN_WRITE && sqlite3_db_readonly(db, "main") == 1) {
        status = weir_cdc_fail(err, WEIR_ERR_IO, "%s is read-only", name);
    }
    if (status != WEIR_OK) {
        sqlite3_close_v2(db);
        return status;
    }
    *out = db;
    return WEIR_OK;
}

/* ---- statements ----------------------------------------------------------------------------- */

/* The format is sqlite3_vmprintf's. */
static WeirStatus prepare(sqlite3 *db, sqlite3_stmt **out, WeirError *err, const char *format,
                          va_list arguments)
{
    char *const sql = sqlite3_vmprintf(format, arguments);
    *out = NULL;
    if (sql == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    const int rc = sqlite3_prepare_v2(db, sql, -1, out, NULL);
    sqlite3_free(sql);
    return rc == SQLITE_OK ? WEIR_OK : weir_cdc_error(db, err);
}

WeirStatus weir_cdc_prepare(sqlite3 *db, sqlite3_stmt **out, WeirError *err, const char *format,
                            ...)
{
    va_list arguments;
    va_start(arguments, format);
    const WeirStatus status = prepare(db, out, err, format, arguments);
    va_end(arguments);
    return status;
}

WeirStatus weir_cdc_step(sqlite3_stmt *stmt, bool *has_row, WeirError *err)
{
    const int rc = sqlite3_step(stmt);
    *has_row = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? WEIR_OK
                                                 : weir_cdc_error(sqlite3_db_handle(stmt), err);
}

WeirStatus weir_cdc_text(sqlite3_stmt *row, int column, const char **out, WeirError *err)
{
    const bool is_null = sqlite3_column_type(row, column) == SQLITE_NULL;
    *out = is_null ? NULL : (const char *)sqlite3_column_text(row, column);
    return *out == NULL && !is_null ? weir_cdc_out_of_memory(err) : WEIR_OK;
}

WeirStatus weir_cdc_query_integer(sqlite3 *db, sqlite3_int64 *out, WeirError *err,
                                  const char *format, ...)
{
    sqlite3_stmt *row = NULL;
    bool has_row = false;
    va_list arguments;
    va_start(arguments, format);
    WeirStatus status = prepare(db, &row, err, format, arguments);
    va_end(arguments);
    if (status == WEIR_OK) {
        status = weir_cdc_step(row, &has_row, err);
    }
    *out = has_row ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return status;
}

WeirStatus weir_cdc_run(sqlite3 *db, WeirError *err, const char *format, ...)
{
    sqlite3_stmt *stmt = NULL;
    bool has_row = true;
    va_list arguments;
    va_start(arguments, format);
    WeirStatus status = prepare(db, &stmt, err, format, arguments);
    va_end(arguments);
    while (status == WEIR_OK && has_row) {
        status = weir_cdc_step(stmt, &has_row, err);
    }
    sqlite3_finalize(stmt);
    return status;
}
