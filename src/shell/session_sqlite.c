/* session_sqlite.c: databases of SQLite, by our library, which can capture changes. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdc/database.h"
#include "shell/session.h"
#include "shell/sqlite_text.h"

/* ---- rows ----------------------------------------------------------------------------------- */

/* A statement that has been stepped once: an INSERT with RETURNING has done its work by then. */
typedef struct SqliteRows {
    sqlite3 *db;        /* borrowed */
    sqlite3_stmt *stmt; /* owned */
    int step;           /* what the last step said, if its row is still to be given */
    Text blob;          /* the value given last, if it was one */
} SqliteRows;

static void rows_free(void *handle)
{
    SqliteRows *const rows = handle;
    sqlite3_finalize(rows->stmt);
    weir_text_deinit(&rows->blob);
    free(rows);
}

static size_t rows_column_count(const void *handle)
{
    const SqliteRows *const rows = handle;
    return (size_t)sqlite3_column_count(rows->stmt);
}

static const char *rows_column_name(const void *handle, size_t column)
{
    const SqliteRows *const rows = handle;
    const char *const name = sqlite3_column_name(rows->stmt, (int)column);
    return name == NULL ? "" : name;
}

static const char *rows_column_type(const void *handle, size_t column)
{
    (void)handle;
    (void)column;
    return "";
}

static bool rows_is_numeric(const void *handle, size_t column)
{
    const SqliteRows *const rows = handle;
    const int type = sqlite3_column_type(rows->stmt, (int)column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_NULL;
}

static WeirStatus rows_next(void *handle, bool *has_row, WeirError *err)
{
    SqliteRows *const rows = handle;
    const int step = rows->step == SQLITE_OK ? sqlite3_step(rows->stmt) : rows->step;
    rows->step = step == SQLITE_DONE ? SQLITE_DONE : SQLITE_OK;
    *has_row = step == SQLITE_ROW;
    return step == SQLITE_ROW || step == SQLITE_DONE ? WEIR_OK : weir_cdc_error(rows->db, err);
}

/* A blob is shown as SQL writes it: x'00ff'. */
static const char *blob_text(SqliteRows *rows, int column, size_t *size)
{
    const unsigned char *const bytes = sqlite3_column_blob(rows->stmt, column);
    const int count = sqlite3_column_bytes(rows->stmt, column);
    weir_text_clear(&rows->blob);
    weir_text_puts(&rows->blob, "x'");
    for (int i = 0; i < count; i++) {
        weir_text_printf(&rows->blob, "%02x", bytes[i]);
    }
    weir_text_putc(&rows->blob, '\'');
    if (size != NULL) {
        *size = rows->blob.size;
    }
    return rows->blob.data;
}

static const char *rows_text(void *handle, size_t column, size_t *size)
{
    SqliteRows *const rows = handle;
    if (sqlite3_column_type(rows->stmt, (int)column) == SQLITE_BLOB) {
        return blob_text(rows, (int)column, size);
    }
    const bool is_null = sqlite3_column_type(rows->stmt, (int)column) == SQLITE_NULL;
    const unsigned char *const text = sqlite3_column_text(rows->stmt, (int)column);
    if (text == NULL && !is_null) {
        weir_shell_no_memory();
    }
    if (size != NULL) {
        *size = (size_t)sqlite3_column_bytes(rows->stmt, (int)column);
    }
    return (const char *)text;
}

static const RowsType SQLITE_ROWS = {
    .free = rows_free,
    .column_count = rows_column_count,
    .column_name = rows_column_name,
    .column_type = rows_column_type,
    .is_numeric = rows_is_numeric,
    .next = rows_next,
    .text = rows_text,
};

/* ---- the session ---------------------------------------------------------------------------- */

static WeirStatus session_open(const char *path, void **handle, WeirError *err)
{
    sqlite3 *db = NULL;
    const WeirStatus status = weir_cdc_open(path, CDC_OPEN_CREATE, &db, err);
    *handle = db;
    return status;
}

static void session_close(void *handle)
{
    sqlite3_close_v2(handle);
}

/* Where a statement that could not be compiled ends. */
static const char *find_tail(const char *sql)
{
    const char *const end = weir_sqlite_statement_end(sql);
    return end == NULL ? sql + strlen(sql) : end;
}

static WeirStatus session_execute(void *handle, const char *sql, const char **tail, Rows *rows,
                                  WeirError *err)
{
    sqlite3_stmt *stmt = NULL;
    const char *end = NULL;
    *rows = (Rows){0};
    if (sqlite3_prepare_v2(handle, sql, -1, &stmt, &end) != SQLITE_OK) {
        end = find_tail(sql);
    }
    if (tail != NULL) {
        *tail = end;
    }
    if (stmt == NULL) {
        return sqlite3_errcode(handle) == SQLITE_OK ? WEIR_OK : weir_cdc_error(handle, err);
    }
    const int step = sqlite3_step(stmt);
    if (step != SQLITE_ROW && step != SQLITE_DONE) {
        const WeirStatus status = weir_cdc_error(handle, err);
        sqlite3_finalize(stmt);
        return status;
    }
    if (sqlite3_column_count(stmt) == 0) {
        sqlite3_finalize(stmt);
        return WEIR_OK;
    }
    SqliteRows *const made = weir_shell_alloc(sizeof *made);
    *made = (SqliteRows){.db = handle, .stmt = stmt, .step = step};
    *rows = (Rows){.type = &SQLITE_ROWS, .handle = made};
    return WEIR_OK;
}

static void session_interrupt(void *handle)
{
    sqlite3_interrupt(handle);
}

static bool session_take_warning(void *handle, WeirError *out)
{
    (void)handle;
    (void)out;
    return false;
}

static void session_put_version(void *handle, Text *text)
{
    (void)handle;
    weir_text_printf(text, "SQLite %s", sqlite3_libversion());
}

/* What SQLite itself keeps (sqlite_sequence, automatic indexes) is left out. */
static void session_put_relations(Text *sql)
{
    weir_text_puts(
        sql, "(SELECT name, CASE type WHEN 'table' THEN 1 WHEN 'view' THEN 2 WHEN 'index' THEN 4 "
             "ELSE 5 END AS kind, rowid AS place, sql FROM main.sqlite_schema "
             "WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' UNION ALL SELECT 'temp.' || name, CASE "
             "type WHEN 'table' THEN 1 WHEN 'view' THEN 2 WHEN 'index' THEN 4 ELSE 5 END, rowid, "
             "sql FROM temp.sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\')");
}

static void session_put_choices(Text *sql, const char *word, bool is_lower, size_t most)
{
    weir_text_puts(sql, "SELECT DISTINCT name FROM (");
    for (int i = 0; i < sqlite3_keyword_count(); i++) {
        const char *name = NULL;
        int size = 0;
        if (sqlite3_keyword_name(i, &name, &size) == SQLITE_OK) {
            weir_text_printf(sql, "%s %s('%.*s')%s", i == 0 ? "SELECT" : "UNION ALL SELECT",
                             is_lower ? "lower" : "upper", size, name, i == 0 ? " AS name " : " ");
        }
    }
    weir_text_puts(sql, " UNION ALL SELECT name FROM ");
    session_put_relations(sql);
    weir_text_puts(sql, " UNION ALL SELECT c.name FROM sqlite_schema AS s, "
                        "pragma_table_xinfo(s.name) AS c WHERE s.type IN ('table', 'view')) "
                        "WHERE lower(substr(name, 1, length(");
    weir_text_put_literal(sql, word);
    weir_text_puts(sql, "))) = lower(");
    weir_text_put_literal(sql, word);
    weir_text_printf(sql, ") ORDER BY name LIMIT %zu", most);
}

const SessionType WEIR_SESSION_SQLITE = {
    .kind = SESSION_SQLITE,
    .open = session_open,
    .close = session_close,
    .execute = session_execute,
    .interrupt = session_interrupt,
    .take_warning = session_take_warning,
    .next_statement = weir_sqlite_next_statement,
    .is_complete = weir_sqlite_is_complete,
    .put_version = session_put_version,
    .put_relations = session_put_relations,
    .put_choices = session_put_choices,
};
