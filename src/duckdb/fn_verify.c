/* fn_verify.c: dbsp_verify: a view against its definition re-run.
 *
 * Columns that do not come from sums of doubles must be equal. DuckDB adds doubles in the order of
 * its scan, so a column computed from such a sum may differ in its last digits: rows are paired by
 * their other columns, and within those in the order of the rounded ones, and each pair may differ
 * by VERIFY_TOLERANCE relative to the larger value. */
#include "duckdb/sql_run.h"

#include "duckdb/query.h"

#define VERIFY_TOLERANCE "1e-9"

enum { VERIFY_MAX_ROWS = 100 };

static bool shape_is_rounded(const ViewShape *shape)
{
    for (size_t i = 0; i < shape->schema.count; i++) {
        if (shape->is_rounded[i]) {
            return true;
        }
    }
    return false;
}

static void put_view(Buf *sql, const ViewShape *shape)
{
    Buf name;
    weir_buf_init(&name, sql->mem, (size_t)1 << 16);
    weir_buf_put_sql_name(&name, shape->name.catalog);
    weir_buf_putc(&name, '.');
    weir_buf_put_sql_name(&name, shape->name.schema);
    weir_buf_putc(&name, '.');
    weir_buf_put_sql_name(&name, shape->name.name);
    weir_buf_puts(sql, "SELECT * FROM dbsp_query(");
    weir_buf_put_sql_string(sql, name.data == NULL ? "" : name.data, name.size);
    weir_buf_putc(sql, ')');
    weir_buf_deinit(&name);
}

/* Columns renamed c0.. so that definition and view go by the same names. */
static void put_column_names(Buf *sql, size_t count)
{
    weir_buf_putc(sql, '(');
    for (size_t i = 0; i < count; i++) {
        weir_buf_printf(sql, i == 0 ? "c%zu" : ", c%zu", i);
    }
    weir_buf_putc(sql, ')');
}

static void put_exact(Buf *sql, const ViewShape *shape)
{
    weir_buf_puts(sql, "WITH definition");
    put_column_names(sql, shape->schema.count);
    weir_buf_printf(sql, " AS MATERIALIZED (%s\n), found", shape->sql);
    put_column_names(sql, shape->schema.count);
    weir_buf_puts(sql, " AS MATERIALIZED (");
    put_view(sql, shape);
    weir_buf_printf(sql,
                    ") SELECT 'missing', CAST(t AS VARCHAR) FROM (FROM definition EXCEPT ALL FROM "
                    "found) t UNION ALL SELECT 'unexpected', CAST(t AS VARCHAR) FROM (FROM found "
                    "EXCEPT ALL FROM definition) t LIMIT %d",
                    VERIFY_MAX_ROWS);
}

/* c0, c3, ... : the columns that are (not) rounded. */
static void put_columns(Buf *sql, const ViewShape *shape, bool rounded, const char *first,
                        const char *last)
{
    bool is_any = false;
    for (size_t i = 0; i < shape->schema.count; i++) {
        if (shape->is_rounded[i] == rounded) {
            weir_buf_printf(sql, "%sc%zu", is_any ? ", " : first, i);
            is_any = true;
        }
    }
    weir_buf_puts(sql, is_any ? last : "");
}

static void put_numbered(Buf *sql, const ViewShape *shape, const char *name)
{
    weir_buf_printf(sql, "SELECT *, row_number() OVER (");
    put_columns(sql, shape, false, "PARTITION BY ", " ");
    put_columns(sql, shape, true, "ORDER BY ", "");
    weir_buf_printf(sql, ") AS n FROM %s", name);
}

static void put_rounded(Buf *sql, const ViewShape *shape)
{
    weir_buf_puts(sql, "WITH definition");
    put_column_names(sql, shape->schema.count);
    weir_buf_printf(sql, " AS (%s\n), found", shape->sql);
    put_column_names(sql, shape->schema.count);
    weir_buf_puts(sql, " AS (");
    put_view(sql, shape);
    weir_buf_puts(sql, "), d AS MATERIALIZED (");
    put_numbered(sql, shape, "definition");
    weir_buf_puts(sql, "), f AS MATERIALIZED (");
    put_numbered(sql, shape, "found");
    weir_buf_puts(sql, ") SELECT CASE WHEN f.n IS NULL THEN 'missing' WHEN d.n IS NULL THEN "
                       "'unexpected' ELSE 'different' END, CASE WHEN d.n IS NULL THEN CAST(f AS "
                       "VARCHAR) ELSE CAST(d AS VARCHAR) END FROM d FULL JOIN f ON d.n = f.n");
    for (size_t i = 0; i < shape->schema.count; i++) {
        if (!shape->is_rounded[i]) {
            weir_buf_printf(sql, " AND d.c%zu IS NOT DISTINCT FROM f.c%zu", i, i);
        }
    }
    weir_buf_puts(sql, " WHERE d.n IS NULL OR f.n IS NULL");
    for (size_t i = 0; i < shape->schema.count; i++) {
        if (!shape->is_rounded[i]) {
            continue;
        }
        weir_buf_printf(sql, " OR (d.c%zu IS DISTINCT FROM f.c%zu", i, i);
        if (weir_type_is_numeric(shape->schema.types[i])) {
            weir_buf_printf(
                sql,
                " AND NOT coalesce(abs(CAST(d.c%zu AS DOUBLE) - f.c%zu) <= " VERIFY_TOLERANCE
                " * greatest(abs(d.c%zu), abs(f.c%zu)), false)",
                i, i, i, i);
        }
        weir_buf_putc(sql, ')');
    }
    weir_buf_printf(sql, " LIMIT %d", VERIFY_MAX_ROWS);
}

/* The rows (kind of difference, row) of the comparison, in a session as the view was made in. */
static Status collect_differences(const SqlCall *call, const ViewSettings *settings,
                                  const char *sql, SqlRun *run, Error *err)
{
    Status status = WEIR_OK;
    duckdb_connection connection = NULL;
    duckdb_result result;
    Rows rows = {0};
    WEIR_TRY(weir_connector_connect_session(call->database->connector, settings, &connection, err));
    status = weir_query(connection, sql, WEIR_ERR_HOST, &result, err);
    if (status == WEIR_OK) {
        rows = weir_rows(&result);
        while (status == WEIR_OK && weir_rows_next(&rows)) {
            for (size_t i = 0; i < 2; i++) {
                weir_grid_text(&run->grid, weir_rows_text(&rows, i, &run->grid.arena, err));
            }
            status = weir_grid_status(&run->grid, err);
        }
        weir_rows_deinit(&rows);
        duckdb_destroy_result(&result);
    }
    duckdb_disconnect(&connection);
    return status;
}

/* result, row: one row "ok", or the differences. */
Status sql_verify(const SqlCall *call, SqlRun *run, Error *err)
{
    Status status = WEIR_OK;
    ViewShape shape = {0};
    Buf sql;
    weir_buf_init(&sql, call->database->mem, (size_t)1 << 26);
    WEIR_CHECK(weir_engine_shape(call->database->engine, weir_sql_text(call, "name"), &shape, err));
    if (shape_is_rounded(&shape)) {
        put_rounded(&sql, &shape);
    } else {
        put_exact(&sql, &shape);
    }
    WEIR_CHECK(weir_buf_status(&sql, err));
    WEIR_CHECK(collect_differences(call, &shape.settings, sql.data, run, err));
    if (run->grid.cell_count == 0) {
        weir_grid_text(&run->grid, "ok");
        weir_grid_text(&run->grid, NULL);
    }
    status = weir_grid_status(&run->grid, err);
done:
    weir_buf_deinit(&sql);
    weir_view_shape_deinit(&shape);
    return status;
}
