/* fn_verify.c: dbsp_verify: a view against its definition re-run.
 *
 * Columns that do not come from sums of doubles must be equal. DuckDB adds doubles in the order of
 * its scan, so a column computed from such a sum may differ in its last digits: rows are paired by
 * their other columns, and within those in the order of the rounded ones, and each pair may differ
 * by VERIFY_TOLERANCE relative to the larger value. */
#include "duckdb/sql_run.h"
#include "duckdb/view_refs.h"

#include "duckdb/query.h"

#define VERIFY_TOLERANCE "1e-9"
#define DEFINITION_TABLE "dbsp_internal_definition"

enum { VERIFY_MAX_ROWS = 100, VERIFY_MAX_ATTEMPTS = 8 };

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
    if (name.status == WEIR_OK) {
        weir_buf_puts(sql, "SELECT * FROM system.main.dbsp_query(");
        weir_buf_put_sql_string(sql, name.data, name.size);
        weir_buf_putc(sql, ')');
    } else {
        weir_buf_fail(sql, &name.err);
    }
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

/* What both comparisons begin with: the definition's rows, and the view's. */
static void put_both(Buf *sql, const ViewShape *shape)
{
    weir_buf_puts(sql, "WITH definition");
    put_column_names(sql, shape->schema.count);
    weir_buf_puts(sql, " AS (FROM temp.main." DEFINITION_TABLE "), found");
    put_column_names(sql, shape->schema.count);
    weir_buf_puts(sql, " AS MATERIALIZED (");
    put_view(sql, shape);
    weir_buf_putc(sql, ')');
}

/* The row of a table as text. CAST(table AS VARCHAR) would call struct_pack by its short name. */
static void put_row_text(Buf *sql, const ViewShape *shape, const char *table)
{
    weir_buf_puts(sql, "CAST(system.main.struct_pack(");
    for (size_t i = 0; i < shape->schema.count; i++) {
        weir_buf_printf(sql, "%sc%zu := %s.c%zu", i == 0 ? "" : ", ", i, table, i);
    }
    weir_buf_puts(sql, ") AS VARCHAR)");
}

static void put_exact(Buf *sql, const ViewShape *shape)
{
    put_both(sql, shape);
    weir_buf_puts(sql, " SELECT 'missing', ");
    put_row_text(sql, shape, "t");
    weir_buf_puts(sql, " FROM (FROM definition EXCEPT ALL FROM found) t UNION ALL SELECT "
                       "'unexpected', ");
    put_row_text(sql, shape, "t");
    weir_buf_printf(sql, " FROM (FROM found EXCEPT ALL FROM definition) t LIMIT %d",
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
    weir_buf_puts(sql, "SELECT *, system.main.row_number() OVER (");
    put_columns(sql, shape, false, "PARTITION BY ", " ");
    put_columns(sql, shape, true, "ORDER BY ", "");
    weir_buf_printf(sql, ") AS n FROM %s", name);
}

static void put_rounded(Buf *sql, const ViewShape *shape)
{
    put_both(sql, shape);
    weir_buf_puts(sql, ", d AS MATERIALIZED (");
    put_numbered(sql, shape, "definition");
    weir_buf_puts(sql, "), f AS MATERIALIZED (");
    put_numbered(sql, shape, "found");
    weir_buf_puts(sql, ") SELECT CASE WHEN f.n IS NULL THEN 'missing' WHEN d.n IS NULL THEN "
                       "'unexpected' ELSE 'different' END, CASE WHEN d.n IS NULL THEN ");
    put_row_text(sql, shape, "f");
    weir_buf_puts(sql, " ELSE ");
    put_row_text(sql, shape, "d");
    weir_buf_puts(sql, " END FROM d FULL JOIN f ON d.n = f.n");
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
            weir_buf_printf(sql,
                            " AND NOT coalesce(system.main.abs(system.main.\"-\"(CAST(d.c%zu AS "
                            "DOUBLE), f.c%zu)) <= system.main.\"*\"(" VERIFY_TOLERANCE
                            ", system.main.greatest(system.main.abs(d.c%zu), "
                            "system.main.abs(f.c%zu))), false)",
                            i, i, i, i);
        }
        weir_buf_putc(sql, ')');
    }
    weir_buf_printf(sql, " LIMIT %d", VERIFY_MAX_ROWS);
}

/* Adds the rows (kind of difference, row) of the comparison. */
static Status read_differences(duckdb_connection connection, const char *sql, SqlRun *run,
                               Error *err)
{
    duckdb_result result;
    WEIR_TRY(weir_query(connection, sql, WEIR_ERR_HOST, &result, err));
    Status status = WEIR_OK;
    Rows rows = weir_rows(&result);
    while (status == WEIR_OK && weir_rows_next(&rows)) {
        for (size_t i = 0; i < 2; i++) {
            weir_grid_text(&run->grid, weir_rows_text(&rows, i, &run->grid.arena, err));
        }
        status = weir_grid_status(&run->grid, err);
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status;
}

/* Runs the definition in a session as the view was made in. It is a statement of its own: whatever
 * it ends with (a semicolon, a comment), it cannot be taken for part of the comparison. */
static Status run_definition(WeirDatabase *database, duckdb_connection connection,
                             const ViewShape *shape, Buf *sql, Error *err)
{
    Arena arena;
    duckdb_result result;
    WEIR_TRY(weir_query_run(connection, "BEGIN TRANSACTION", err));
    weir_buf_clear(sql);
    weir_arena_init(&arena, database->mem, 0);
    weir_buf_printf(sql, "CREATE TEMP TABLE " DEFINITION_TABLE " AS %s",
                    weir_view_refs_write(database->engine, connection, shape->sql, &arena));
    weir_arena_deinit(&arena);
    WEIR_TRY(weir_buf_status(sql, err));
    if (weir_query(connection, sql->data, WEIR_ERR_HOST, &result, err) != WEIR_OK) {
        return weir_error_wrap(err, "the definition cannot be run");
    }
    duckdb_destroy_result(&result);
    return WEIR_OK;
}

/* One comparison, in a transaction that is rolled back. */
static Status compare(const SqlCall *call, const ViewShape *shape, Buf *sql, SqlRun *run,
                      Error *err)
{
    Status status = WEIR_OK;
    duckdb_connection connection = NULL;
    WEIR_TRY(weir_connector_connect_session(call->database->connector, &shape->settings,
                                            &connection, err));
    WEIR_CHECK(run_definition(call->database, connection, shape, sql, err));
    weir_buf_clear(sql);
    if (shape_is_rounded(shape)) {
        put_rounded(sql, shape);
    } else {
        put_exact(sql, shape);
    }
    WEIR_CHECK(weir_buf_status(sql, err));
    status = read_differences(connection, sql->data, run, err);
done:
    duckdb_disconnect(&connection);
    return status;
}

/* Brings the view up to date and tells why it cannot be read if it cannot. */
static Status check_readable(const SqlCall *call, uint64_t *generation, Error *err)
{
    Engine *const engine = call->database->engine;
    ViewReader *reader = NULL;
    WEIR_TRY(weir_engine_read(engine, weir_sql_text(call, "name"), &reader, err));
    weir_view_reader_free(reader);
    *generation = weir_engine_generation(engine);
    return WEIR_OK;
}

/* A difference found while something was committed may be no more than that commit. */
static Status verify(const SqlCall *call, const ViewShape *shape, Buf *sql, SqlRun *run, Error *err)
{
    for (size_t i = 0; i < VERIFY_MAX_ATTEMPTS; i++) {
        uint64_t generation = 0;
        weir_grid_clear(&run->grid);
        WEIR_TRY(check_readable(call, &generation, err));
        WEIR_TRY(compare(call, shape, sql, run, err));
        if (run->grid.cell_count == 0 ||
            weir_engine_generation(call->database->engine) == generation) {
            return WEIR_OK;
        }
    }
    weir_error_set(err, WEIR_ERR_MISUSE, "the tables change while view %s is compared",
                   shape->name.name);
    weir_error_hint(err, "verify it when nothing is written");
    return err->code;
}

/* result, row: one row "ok", or the differences. */
Status sql_verify(const SqlCall *call, SqlRun *run, Error *err)
{
    Status status = WEIR_OK;
    ViewShape shape = {0};
    Buf sql;
    weir_buf_init(&sql, call->database->mem, (size_t)1 << 26);
    WEIR_CHECK(weir_engine_shape(call->database->engine, weir_sql_text(call, "name"), &shape, err));
    WEIR_CHECK(verify(call, &shape, &sql, run, err));
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
