/* fn_exec.c: dbsp_exec: statements in one transaction of their own, told to the views as they run.
 *
 *   BEGIN, and the snapshot is fixed        views are brought to it, or beyond
 *   the statements, captured                their rows are relative to the snapshot
 *   COMMIT                                  the views step in the same call
 *
 * The connection is Weir's: the caller's transaction is another one. */
#include "duckdb/sql_run.h"

#include "base/sql_lexer.h"
#include "duckdb/capture.h"
#include "duckdb/query.h"
#include "duckdb/write_shape.h"

typedef struct Execution {
    const SqlCall *call;
    Capture *capture;
    duckdb_connection connection;
    Arena scratch; /* the text of the statement in hand */
    size_t count;  /* statements begun */
} Execution;

/* Runs one statement that gives nothing. */
static Status run_plain(const Execution *execution, const char *sql, Error *err)
{
    CapturedResult result = {0};
    WEIR_TRY(weir_capture_execute(execution->capture, sql, &result, err));
    weir_captured_result_deinit(&result, execution->call->database->mem);
    return WEIR_OK;
}

/* The snapshot is fixed before the views are brought to it. */
static Status begin(const Execution *execution, Error *err)
{
    WEIR_TRY(run_plain(execution, "BEGIN", err));
    WEIR_TRY(weir_query_touch_databases(execution->connection, err));
    return weir_engine_prepare_commit(execution->call->database->engine, err);
}

/* The rows of a statement that returns them, without those that were counted already. */
static uint64_t count_returned(CapturedResult *result)
{
    uint64_t count = 0;
    for (size_t i = 0; i < result->chunk_count; i++) {
        count += duckdb_data_chunk_get_size(result->chunks[i]);
    }
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(result->result);
        if (chunk == NULL) {
            return count;
        }
        count += duckdb_data_chunk_get_size(chunk);
        duckdb_destroy_data_chunk(&chunk);
    }
}

static uint64_t count_changed(const WriteShape *shape, CapturedResult *result)
{
    if (shape->has_returning) {
        return count_returned(result);
    }
    if (result->is_counted) {
        return result->rows_changed;
    }
    return duckdb_result_return_type(result->result) == DUCKDB_RESULT_TYPE_CHANGED_ROWS
               ? duckdb_rows_changed(&result->result)
               : 0;
}

static Status run_statement(const Execution *execution, const char *sql, uint64_t *changed,
                            Error *err)
{
    const WriteShape shape = weir_write_shape(sql);
    CapturedResult result = {0};
    if (shape.kind == WRITE_BEGIN || shape.kind == WRITE_COMMIT || shape.kind == WRITE_ROLLBACK) {
        weir_error_set(err, WEIR_ERR_MISUSE, "it begins or ends a transaction");
        weir_error_hint(err, "dbsp_exec runs all of its statements in one transaction");
        return err->code;
    }
    WEIR_TRY(weir_capture_execute(execution->capture, sql, &result, err));
    *changed = count_changed(&shape, &result);
    weir_captured_result_deinit(&result, execution->call->database->mem);
    return WEIR_OK;
}

/* Runs the statement up to `end`; blank ones are passed over. */
static Status run_span(Execution *execution, const char *start, const char *end, SqlRun *run,
                       Error *err)
{
    uint64_t changed = 0;
    const char *const first = weir_sql_skip_blank(start);
    if (first == NULL || first >= end) {
        return WEIR_OK;
    }
    execution->count++;
    weir_arena_reset(&execution->scratch);
    const char *sql = weir_arena_strndup(&execution->scratch, first, (size_t)(end - first), err);
    if (sql == NULL) {
        return err->code;
    }
    WEIR_TRY(run_statement(execution, sql, &changed, err));
    weir_grid_number(&run->grid, execution->count);
    weir_grid_number(&run->grid, changed);
    return weir_grid_status(&run->grid, err);
}

static Status run_all(Execution *execution, const char *sql, SqlRun *run, Error *err)
{
    const char *start = sql;
    for (;;) {
        bool is_open = false;
        const char *const end = weir_sql_statement_end(start, &is_open);
        if (run_span(execution, start, end, run, err) != WEIR_OK) {
            return weir_error_wrap(err, "statement %zu of dbsp_exec", execution->count);
        }
        if (*end == '\0') {
            return WEIR_OK;
        }
        start = end + 1;
    }
}

/* statement, rows_changed */
Status sql_exec(const SqlCall *call, SqlRun *run, Error *err)
{
    WeirDatabase *const database = call->database;
    const ViewSettings settings = weir_sql_settings(call);
    Execution execution = {.call = call};
    Status status = WEIR_OK;
    weir_arena_init(&execution.scratch, database->mem, 0);
    WEIR_CHECK(
        weir_connector_connect_session(database->connector, &settings, &execution.connection, err));
    WEIR_CHECK(weir_capture_new(database, execution.connection, &execution.capture, err));
    WEIR_CHECK(begin(&execution, err));
    WEIR_CHECK(run_all(&execution, weir_sql_text(call, "sql"), run, err));
    WEIR_CHECK(run_plain(&execution, "COMMIT", err));
done:
    weir_capture_free(execution.capture);
    if (execution.connection != NULL) {
        duckdb_disconnect(&execution.connection); /* and rolls back what is not committed */
    }
    weir_arena_deinit(&execution.scratch);
    return status;
}
