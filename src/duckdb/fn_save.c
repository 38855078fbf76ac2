/* fn_save.c: dbsp_save, dbsp_load: the definitions of all views in a file. */
#include "duckdb/sql_run.h"

#include "duckdb/query.h"
#include "duckdb/safe_file.h"
#include "duckdb/view_list.h"

/* The database that a session begins in. Refused where DuckDB itself may not touch files. */
static Status ask_session(const SqlCall *call, Arena *arena, const char **home, Error *err)
{
    static const char SQL[] = "SELECT system.main.current_database(), "
                              "system.main.current_setting('enable_external_access')";
    duckdb_connection connection = NULL;
    duckdb_result result = {0};
    bool is_allowed = false;
    WEIR_TRY(weir_connector_connect(call->database->connector, &connection, err));
    Status status = weir_query(connection, SQL, WEIR_ERR_HOST, &result, err);
    if (status == WEIR_OK) {
        Rows rows = weir_rows(&result);
        WEIR_ASSERT(home != NULL);
        if (weir_rows_next(&rows)) {
            is_allowed = weir_rows_bool(&rows, 1);
            *home = weir_rows_text(&rows, 0, arena, err);
            status = *home == NULL ? err->code : WEIR_OK;
        }
        weir_rows_deinit(&rows);
        duckdb_destroy_result(&result);
    }
    duckdb_disconnect(&connection);
    WEIR_TRY(status);
    return is_allowed ? WEIR_OK
                      : weir_error_set(err, WEIR_ERR_MISUSE,
                                       "files are out of reach: enable_external_access is false");
}

static Status show(const SqlCall *call, SqlRun *run, size_t count, Error *err)
{
    weir_grid_text(&run->grid, weir_sql_text(call, "path"));
    weir_grid_number(&run->grid, count);
    return weir_grid_status(&run->grid, err);
}

/* path, views */
Status sql_save(const SqlCall *call, SqlRun *run, Error *err)
{
    Arena arena;
    Buf text;
    const char *home = NULL;
    ViewDefinition *views = NULL;
    size_t count = 0;
    Status status = WEIR_OK;
    weir_arena_init(&arena, call->database->mem, 0);
    weir_buf_init(&text, call->database->mem, VIEW_LIST_MAX_BYTES);
    WEIR_CHECK(ask_session(call, &arena, &home, err));
    WEIR_CHECK(weir_engine_definitions(call->database->engine, &arena, &views, &count, err));
    WEIR_CHECK(weir_view_list_write(views, count, home, &text, err));
    WEIR_CHECK(show(call, run, count, err));
    WEIR_CHECK(weir_safe_file_write(weir_sql_text(call, "path"), text.data, text.size, err));
done:
    weir_buf_deinit(&text);
    weir_arena_deinit(&arena);
    return status;
}

/* path, views */
Status sql_load(const SqlCall *call, SqlRun *run, Error *err)
{
    Arena arena;
    Buf text;
    const char *home = NULL;
    const char *const path = weir_sql_text(call, "path");
    CreateSpec *views = NULL;
    size_t count = 0;
    Status status = WEIR_OK;
    weir_arena_init(&arena, call->database->mem, 0);
    weir_buf_init(&text, call->database->mem, VIEW_LIST_MAX_BYTES);
    WEIR_CHECK(ask_session(call, &arena, &home, err));
    WEIR_CHECK(weir_safe_file_read(path, VIEW_LIST_MAX_BYTES, &text, err));
    status = weir_view_list_read(text.data, text.size, &arena, &views, &count, err);
    if (status != WEIR_OK) {
        status = weir_error_wrap(err, "%s cannot be loaded", path);
        goto done;
    }
    WEIR_CHECK(show(call, run, count, err));
    WEIR_CHECK(weir_engine_create_all(call->database->engine, views, count, err));
done:
    weir_buf_deinit(&text);
    weir_arena_deinit(&arena);
    return status;
}
