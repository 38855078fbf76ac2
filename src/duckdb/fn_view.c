/* fn_view.c: dbsp_create_view and what else makes or removes views. */
#include "duckdb/sql_run.h"

/* view, row_count: the first before the work is done, so that nothing can fail after it. */
static Status show_name(const SqlCall *call, SqlRun *run, Error *err)
{
    weir_grid_text(&run->grid, weir_sql_text(call, "name"));
    return weir_grid_status(&run->grid, err);
}

static Status show_row_count(uint64_t row_count, SqlRun *run, Error *err)
{
    weir_grid_number(&run->grid, row_count);
    return weir_grid_status(&run->grid, err);
}

static Status create_with_mode(const SqlCall *call, SqlRun *run, CreateMode mode, Error *err)
{
    const CreateSpec spec = {.name = weir_sql_text(call, "name"),
                             .sql = weir_sql_text(call, "sql"),
                             .settings = weir_sql_settings(call),
                             .mode = mode};
    CreateResult result;
    WEIR_TRY(show_name(call, run, err));
    weir_engine_restore_new(call->database->engine); /* it may keep a view of this name */
    WEIR_TRY(weir_engine_create(call->database->engine, &spec, &result, err));
    return show_row_count(result.row_count, run, err);
}

Status sql_create_view(const SqlCall *call, SqlRun *run, Error *err)
{
    return create_with_mode(call, run, CREATE_NEW, err);
}

Status sql_replace_view(const SqlCall *call, SqlRun *run, Error *err)
{
    return create_with_mode(call, run, CREATE_OR_REPLACE, err);
}

Status sql_refresh(const SqlCall *call, SqlRun *run, Error *err)
{
    uint64_t row_count = 0;
    WEIR_TRY(show_name(call, run, err));
    WEIR_TRY(
        weir_engine_refresh(call->database->engine, weir_sql_text(call, "name"), &row_count, err));
    return show_row_count(row_count, run, err);
}

static Status drop_with(const SqlCall *call, SqlRun *run, bool cascade, Error *err)
{
    Engine *const engine = call->database->engine;
    const SqlArgument *const if_exists = weir_sql_argument(call, "if_exists");
    size_t dropped = 0;
    const Status status =
        weir_engine_drop(engine, weir_sql_text(call, "name"), cascade, &dropped, err);
    const bool is_forgiven =
        status == WEIR_ERR_UNKNOWN_VIEW && if_exists->is_set && if_exists->flag;
    if (status != WEIR_OK && !is_forgiven) {
        return status;
    }
    weir_grid_number(&run->grid, dropped);
    return weir_grid_status(&run->grid, err);
}

Status sql_drop(const SqlCall *call, SqlRun *run, Error *err)
{
    return drop_with(call, run, false, err);
}

Status sql_drop_cascade(const SqlCall *call, SqlRun *run, Error *err)
{
    return drop_with(call, run, true, err);
}
