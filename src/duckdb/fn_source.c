/* fn_source.c: dbsp_sync, dbsp_track, dbsp_notify_*, dbsp_auto_sync: where changes come from. */
#include "duckdb/sql_run.h"

#include "duckdb/chunk.h"
#include "duckdb/poller.h"
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

static Status check_interval(bool is_on, int64_t every_ms, Error *err)
{
    if (!is_on) {
        return weir_error_set(err, WEIR_ERR_ARGUMENT, "every_ms is given, but auto-sync is off");
    }
    if (every_ms < 1 || every_ms > POLLER_EVERY_MS_MAX) {
        return weir_error_set(err, WEIR_ERR_ARGUMENT, "every_ms is %lld, not between 1 and %d",
                              (long long)every_ms, (int)POLLER_EVERY_MS_MAX);
    }
    return WEIR_OK;
}

Status sql_auto_sync(const SqlCall *call, SqlRun *run, Error *err)
{
    WeirDatabase *const database = call->database;
    const bool is_on = weir_sql_argument(call, "on")->flag;
    const SqlArgument *const every_ms = weir_sql_argument(call, "every_ms");
    weir_grid_flag(&run->grid, is_on);
    WEIR_TRY(weir_grid_status(&run->grid, err));
    if (!every_ms->is_set) {
        weir_poller_stop(database->poller);
    } else {
        WEIR_TRY(check_interval(is_on, every_ms->integer, err));
        WEIR_TRY(weir_poller_start(database->poller, (uint64_t)every_ms->integer, err));
    }
    weir_engine_set_auto_sync(database->engine, is_on);
    return WEIR_OK;
}

/* auto_sync, every_ms, looks, steps, failures, last_error */
Status sql_auto_sync_state(const SqlCall *call, SqlRun *run, Error *err)
{
    PollerState state;
    char text[sizeof(Error) + 64];
    weir_poller_state(call->database->poller, &state);
    weir_error_format(&state.error, text, sizeof text);
    weir_grid_flag(&run->grid, weir_engine_auto_sync(call->database->engine));
    weir_grid_number(&run->grid, state.every_ms);
    weir_grid_number(&run->grid, state.look_count);
    weir_grid_number(&run->grid, state.step_count);
    weir_grid_number(&run->grid, state.failure_count);
    weir_grid_text(&run->grid, state.error.code == WEIR_OK ? NULL : text);
    return weir_grid_status(&run->grid, err);
}

static bool is_given(const SqlCall *call, const char *flag)
{
    const SqlArgument *const argument = weir_sql_argument(call, flag);
    return argument->is_set && argument->flag;
}

/* table, row_count */
Status sql_track(const SqlCall *call, SqlRun *run, Error *err)
{
    uint64_t row_count = 0;
    const TrackSpec spec = {
        .name = weir_sql_text(call, "name"),
        .is_manual = is_given(call, "manual"),
        .is_append_only = is_given(call, "append_only"),
        .key = weir_sql_text(call, "key"),
    };
    if (spec.is_manual && spec.is_append_only) {
        return weir_error_set(err, WEIR_ERR_ARGUMENT,
                              "a manual table is not looked at: append_only has no meaning for it");
    }
    weir_grid_text(&run->grid, spec.name);
    WEIR_TRY(weir_grid_status(&run->grid, err));
    WEIR_TRY(weir_engine_track(call->database->engine, &spec, &row_count, err));
    weir_grid_number(&run->grid, row_count);
    return weir_grid_status(&run->grid, err);
}

/* SELECT CAST(struct_extract(r, 'a') AS T), ... FROM (SELECT $1 AS r), or unnest($1) for a list of
 * rows. */
static void put_rows_sql(Buf *sql, const Schema *schema, bool is_list)
{
    weir_buf_puts(sql, "SELECT ");
    for (size_t i = 0; i < schema->count; i++) {
        const char *const name = schema->names[i];
        weir_buf_puts(sql, i == 0 ? "" : ", ");
        weir_buf_puts(sql, "CAST(system.main.struct_extract(r, ");
        weir_buf_put_sql_string(sql, name, strlen(name));
        weir_buf_puts(sql, ") AS ");
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

/* The rows of a result, of the table's columns. */
typedef struct NotifyRows {
    Mem *mem;
    const Schema *schema;
    duckdb_result *result;
    uint64_t row_count;
} NotifyRows;

static Status notify_visit_rows(void *context, HostVisit visit, void *user, Error *err)
{
    NotifyRows *const rows = context;
    Status status = WEIR_OK;
    Arena arena;
    weir_arena_init(&arena, rows->mem, 0);
    while (status == WEIR_OK) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(*rows->result);
        if (chunk == NULL) {
            break;
        }
        Batch batch;
        weir_arena_reset(&arena);
        status = weir_chunk_read(chunk, 0, rows->schema, &arena, &batch, err);
        if (status == WEIR_OK) {
            rows->row_count += batch.count;
            status = visit(user, &batch, err);
        }
        duckdb_destroy_data_chunk(&chunk);
    }
    weir_arena_deinit(&arena);
    return status;
}

typedef struct NotifyCall {
    const SqlCall *call;
    int64_t sign;
    Schema schema; /* the table's columns */
    uint64_t row_count;
} NotifyCall;

static Status notify_result(NotifyCall *notify, duckdb_result *result, Error *err)
{
    WeirDatabase *const database = notify->call->database;
    NotifyRows rows = {.mem = database->mem, .schema = &notify->schema, .result = result};
    const RowSource source = {.context = &rows, .visit_rows = notify_visit_rows};
    const Status status = weir_engine_notify(database->engine, weir_sql_text(notify->call, "name"),
                                             notify->sign, &source, err);
    notify->row_count = rows.row_count;
    return status;
}

/* Runs the cast of the rows to the table's columns, and tells the engine of them. */
static Status cast_rows(NotifyCall *notify, const char *sql, duckdb_value rows, Error *err)
{
    Status status = WEIR_OK;
    duckdb_connection connection = NULL;
    duckdb_prepared_statement statement = NULL;
    duckdb_result result;
    WEIR_CHECK(weir_connector_connect(notify->call->database->connector, &connection, err));
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
    status = notify_result(notify, &result, err);
    duckdb_destroy_result(&result);
done:
    if (statement != NULL) {
        duckdb_destroy_prepare(&statement);
    }
    if (connection != NULL) {
        duckdb_disconnect(&connection);
    }
    return status;
}

/* rows, generation */
static Status notify_with(const SqlCall *call, SqlRun *run, int64_t sign, Error *err)
{
    Status status = WEIR_OK;
    Engine *const engine = call->database->engine;
    NotifyCall notify = {.call = call, .sign = sign};
    const duckdb_value rows = weir_sql_argument(call, "rows")->value;
    Buf sql;
    weir_buf_init(&sql, call->database->mem, (size_t)1 << 24);
    WEIR_CHECK(weir_engine_followed(engine, weir_sql_text(call, "name"), &run->grid.arena,
                                    &notify.schema, err));
    put_rows_sql(&sql, &notify.schema, value_is_list(rows));
    WEIR_CHECK(weir_buf_status(&sql, err));
    WEIR_CHECK(cast_rows(&notify, sql.data, rows, err));
    weir_grid_number(&run->grid, notify.row_count);
    weir_grid_number(&run->grid, weir_engine_generation(engine));
    status = weir_grid_status(&run->grid, err);
done:
    weir_buf_deinit(&sql);
    return status;
}

Status sql_notify_insert(const SqlCall *call, SqlRun *run, Error *err)
{
    return notify_with(call, run, 1, err);
}

Status sql_notify_delete(const SqlCall *call, SqlRun *run, Error *err)
{
    return notify_with(call, run, -1, err);
}
