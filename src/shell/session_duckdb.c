/* session_duckdb.c: databases of DuckDB, with Weir's views. */
#include "shell/progress.h"
#include "shell/relations.h"
#include "shell/session.h"

/* ---- rows ----------------------------------------------------------------------------------- */

static void rows_free(void *handle)
{
    weir_result_free(handle);
}

static size_t rows_column_count(const void *handle)
{
    return weir_result_column_count(handle);
}

static const char *rows_column_name(const void *handle, size_t column)
{
    return weir_result_column_name(handle, column);
}

static const char *rows_column_type(const void *handle, size_t column)
{
    return weir_result_column_type(handle, column);
}

static bool rows_is_numeric(const void *handle, size_t column)
{
    return weir_result_is_numeric(handle, column);
}

static WeirStatus rows_next(void *handle, bool *has_row, WeirError *err)
{
    return weir_result_next(handle, has_row, err);
}

static const char *rows_text(void *handle, size_t column, size_t *size)
{
    return weir_result_text(handle, column, size);
}

static const RowsType RESULT_ROWS = {
    .free = rows_free,
    .column_count = rows_column_count,
    .column_name = rows_column_name,
    .column_type = rows_column_type,
    .is_numeric = rows_is_numeric,
    .next = rows_next,
    .text = rows_text,
};

Rows weir_rows_of_result(WeirResult *result)
{
    return (Rows){.type = &RESULT_ROWS, .handle = result};
}

/* ---- the session ---------------------------------------------------------------------------- */

static WeirStatus session_open(const char *path, void **handle, WeirError *err)
{
    WeirDb *db = NULL;
    const WeirStatus status = weir_open(path, &db, err);
    if (status == WEIR_OK) {
        weir_progress_set_up(db);
        *handle = db;
    }
    return status;
}

static void session_close(void *handle)
{
    weir_close(handle);
}

static WeirStatus session_execute(void *handle, const char *sql, const char **tail, Rows *rows,
                                  WeirError *err)
{
    WeirResult *result = NULL;
    *rows = (Rows){0};
    weir_progress_begin();
    const WeirStatus status = weir_execute(handle, sql, tail, &result, err);
    weir_progress_end();
    if (status == WEIR_OK && result != NULL && weir_result_has_rows(result)) {
        *rows = weir_rows_of_result(result);
    } else {
        weir_result_free(result);
    }
    return status;
}

static void session_interrupt(void *handle)
{
    weir_interrupt(handle);
}

static bool session_take_warning(void *handle, WeirError *out)
{
    return weir_take_warning(handle, out);
}

static void session_put_version(void *handle, Text *text)
{
    WeirError err;
    WeirResult *result = NULL;
    bool has_row = false;
    if (weir_execute(handle, "SELECT system.main.version()", NULL, &result, &err) == WEIR_OK &&
        weir_result_next(result, &has_row, &err) == WEIR_OK && has_row) {
        weir_text_printf(text, "DuckDB %s", weir_result_text(result, 0, NULL));
    }
    weir_result_free(result);
}

static void session_put_choices(Text *sql, const char *word, bool is_lower, size_t most)
{
    weir_text_printf(
        sql,
        "SELECT DISTINCT name FROM (SELECT system.main.%s(unnest(system.main.list_concat((SELECT "
        "system.main.\"list\"(keyword_name) FROM system.main.duckdb_keywords()), "
        "system.main.list_value('materialized', 'refresh', 'replace')))) AS name UNION ALL SELECT "
        "name FROM ",
        is_lower ? "lower" : "upper");
    weir_relations_put(sql);
    weir_text_puts(sql,
                   " UNION ALL SELECT column_name FROM system.main.duckdb_columns() WHERE NOT "
                   "internal AND table_name <> '_dbsp_views') "
                   "WHERE system.main.starts_with(system.main.lower(name), system.main.lower(");
    weir_text_put_literal(sql, word);
    weir_text_printf(sql, ")) ORDER BY name LIMIT %zu", most);
}

const SessionType WEIR_SESSION_DUCKDB = {
    .kind = SESSION_DUCKDB,
    .open = session_open,
    .close = session_close,
    .execute = session_execute,
    .interrupt = session_interrupt,
    .take_warning = session_take_warning,
    .next_statement = weir_next_statement,
    .is_complete = weir_is_complete,
    .put_version = session_put_version,
    .put_relations = weir_relations_put,
    .put_choices = session_put_choices,
};

WeirDb *weir_session_duckdb(const Session *session)
{
    return session->type == &WEIR_SESSION_DUCKDB ? session->handle : NULL;
}
