/* fn_source.c: dbsp_sync, dbsp_track, dbsp_notify_*, dbsp_auto_sync: where changes come from. */
#include "duckdb/sql_run.h"

#include "duckdb/chunk.h"
#include "duckdb/query.h"

/* changed_rows, generation */
Status sql_sync(const SqlCall *call, SqlRun *run, Error *err)
{
    Engine *const engine = call->database->engine;
    uint64_t changed_rows = 0;
    WEIR_TRY(weir_engine_sync(engine, weir_sql_text(call, "name"), &changed_rows, err));
    weir_grid_number(&run->grid, changed_rows);
    weir_grid_number(&run->grid, weir_engine_generation(engine));
    return weir_grid_status(&run->grid, err);
}

Status sql_auto_sync(const SqlCall *call, SqlRun *run, Error *err)
{
    const bool on = weir_sql_argument(call, "on")->flag;
    weir_engine_set_auto_sync(call->database->engine, on);
    weir_grid_flag(&run->grid, on);
    return weir_grid_status(&run->grid, err);
}

/* table, row_count */
Status sql_track(const SqlCall *call, SqlRun *run, Error *err)
{
    const char *const name = weir_sql_text(call, "name");
    const SqlArgument *const manual = weir_sql_argument(call, "manual");
    uint64_t row_count = 0;
    WEIR_TRY(weir_engine_track(call->database->engine, name, manual->is_set && manual->flag,
                               &row_count, err));
    weir_grid_text(&run->grid, name);
    weir_grid_number(&run->grid, row_count);
    return weir_grid_status(&run->grid, err);
}

/* SELECT CAST(r."a" AS T), ... FROM (SELECT $1 AS r), or unnest($1) for a list of rows. */
static void put_rows_sql(Buf *sql, const Schema *schema, bool is_list)
{
    weir_buf_puts(sql, "SELECT ");
    for (size_t i = 0; i < schema->count; i++) {
        weir_buf_puts(sql, i == 0 ? "CAST(r." : ", CAST(r.");
        weir_buf_put_sql_name(sql, schema->names[i]);
        weir_buf_puts(sql, " AS ");
        weir_type_put_sql(sql, schema->types[i]);
        weir_buf_putc(sql, ')');
    }
    weir_buf_puts(sql, is_list ? " FROM (SELECT unnest($1) AS r)" : " FROM (SELECT $1 AS r)");
}

static bool value_is_list(duckdb_value value)
{
    const duckdb_logical_type type = duckdb_get_value_type(value); /* borrowed from the value */
    return duckdb_get_type_id(type) == DUCKDB_TYPE_LIST;
}

typedef struct NotifyTarget {
    Engine *engine;
    const char *table;
    int64_t sign;
    uint64_t row_count;
} NotifyTarget;

/* Every chunk of the result is one commit of the table's columns. */
static Status notify_result(duckdb_result *result, const Schema *schema, NotifyTarget *target,
                            Arena *arena, Error *err)
{
    Status status = WEIR_OK;
    while (status == WEIR_OK) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
        if (chunk == NULL) {
            break;
        }
        Batch batch;
        status = weir_chunk_read(chunk, 0, schema, arena, &batch, err);
        if (status == WEIR_OK) {
            target->row_count += batch.count;
            status = weir_engine_notify(target->engine, target->table, &batch, target->sign, err);
        }
        duckdb_destroy_data_chunk(&chunk);
    }
    return status;
}

/* Runs the cast of the rows to the table's columns, and tells the engine of them. */
static Status cast_rows(const SqlCall *call, const char *sql, duckdb_value rows,
                        const Schema *schema, NotifyTarget *target, Error *err)
{
    Status status = WEIR_OK;
    duckdb_connection connection = NULL;
    duckdb_prepared_statement statement = NULL;
    duckdb_result result;
    Arena arena;
    weir_arena_init(&arena, call->database->mem, 0);
    WEIR_CHECK(weir_connector_connect(call->database->connector, &connection, err));
    if (duckdb_prepare(connection, sql, &statement) != DuckDBSuccess) {
        status = weir_query_error(err, WEIR_ERR_ARGUMENT, duckdb_prepare_error(statement));
        weir_error_hint(err, "give a struct with the table's columns, or a list of such structs");
        goto done;
    }
    if (duckdb_bind_value(statement, 1, rows) != DuckDBSuccess) {
        status = weir_error_set(err, WEIR_ERR_ARGUMENT, "the rows cannot be passed on");
        goto done;
    }
    WEIR_CHECK(weir_query_execute(statement, WEIR_ERR_ARGUMENT, &result, err));
    status = notify_result(&result, schema, target, &arena, err);
    duckdb_destroy_result(&result);
done:
    if (statement != NULL) {
        duckdb_destroy_prepare(&statement);
    }
    if (connection != NULL) {
        duckdb_disconnect(&connection);
    }
    weir_arena_deinit(&arena);
    return status;
}

/* rows, generation */
static Status notify(const SqlCall *call, SqlRun *run, int64_t sign, Error *err)
{
    Status status = WEIR_OK;
    Engine *const engine = call->database->engine;
    NotifyTarget target = {.engine = engine, .table = weir_sql_text(call, "name"), .sign = sign};
    const duckdb_value rows = weir_sql_argument(call, "rows")->value;
    Schema schema = {0};
    Buf sql;
    weir_buf_init(&sql, call->database->mem, (size_t)1 << 24);
    WEIR_CHECK(weir_engine_followed(engine, target.table, &run->grid.arena, &schema, err));
    put_rows_sql(&sql, &schema, value_is_list(rows));
    WEIR_CHECK(weir_buf_status(&sql, err));
    WEIR_CHECK(cast_rows(call, sql.data, rows, &schema, &target, err));
    weir_grid_number(&run->grid, target.row_count);
    weir_grid_number(&run->grid, weir_engine_generation(engine));
    status = weir_grid_status(&run->grid, err);
done:
    weir_buf_deinit(&sql);
    return status;
}

Status sql_notify_insert(const SqlCall *call, SqlRun *run, Error *err)
{
    return notify(call, run, 1, err);
}

Status sql_notify_delete(const SqlCall *call, SqlRun *run, Error *err)
{
    return notify(call, run, -1, err);
}
