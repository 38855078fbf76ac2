/* fn_info.c: dbsp_views, dbsp_tables, dbsp_deps, dbsp_explain and their like. */
#include "duckdb/sql_run.h"

/* catalog, schema, view, state, reason, row_count, generation, sql */
Status sql_views(const SqlCall *call, SqlRun *run, Error *err)
{
    ViewInfo *infos = NULL;
    size_t count = 0;
    WEIR_TRY(weir_engine_views(call->database->engine, &run->grid.arena, &infos, &count, err));
    for (size_t i = 0; i < count; i++) {
        weir_grid_text(&run->grid, infos[i].name.catalog);
        weir_grid_text(&run->grid, infos[i].name.schema);
        weir_grid_text(&run->grid, infos[i].name.name);
        weir_grid_text(&run->grid, infos[i].state);
        weir_grid_text(&run->grid, infos[i].reason);
        weir_grid_number(&run->grid, infos[i].row_count);
        weir_grid_number(&run->grid, infos[i].generation);
        weir_grid_text(&run->grid, infos[i].sql);
    }
    return weir_grid_status(&run->grid, err);
}

/* view, state_bytes, feed_bytes, steps, changed_rows, populate_ms, last_step_ms */
Status sql_view_state(const SqlCall *call, SqlRun *run, Error *err)
{
    ViewInfo *infos = NULL;
    size_t count = 0;
    WEIR_TRY(weir_engine_views(call->database->engine, &run->grid.arena, &infos, &count, err));
    for (size_t i = 0; i < count; i++) {
        weir_grid_text(&run->grid, infos[i].name.name);
        weir_grid_number(&run->grid, infos[i].state_bytes);
        weir_grid_number(&run->grid, infos[i].feed_bytes);
        weir_grid_number(&run->grid, infos[i].step_count);
        weir_grid_number(&run->grid, infos[i].changed_rows);
        weir_grid_real(&run->grid, infos[i].populate_ms);
        weir_grid_real(&run->grid, infos[i].last_step_ms);
    }
    return weir_grid_status(&run->grid, err);
}

/* catalog, schema, table, columns, method, last_sync, row_count, generation, promise,
 * promise_error */
Status sql_tables(const SqlCall *call, SqlRun *run, Error *err)
{
    TableInfo *infos = NULL;
    size_t count = 0;
    WEIR_TRY(weir_engine_tables(call->database->engine, &run->grid.arena, &infos, &count, err));
    for (size_t i = 0; i < count; i++) {
        weir_grid_text(&run->grid, infos[i].name.catalog);
        weir_grid_text(&run->grid, infos[i].name.schema);
        weir_grid_text(&run->grid, infos[i].name.name);
        weir_grid_text(&run->grid, infos[i].columns);
        weir_grid_text(&run->grid, infos[i].method);
        weir_grid_text(&run->grid, infos[i].last_sync);
        weir_grid_number(&run->grid, infos[i].row_count);
        weir_grid_number(&run->grid, infos[i].generation);
        weir_grid_text(&run->grid, infos[i].promise);
        weir_grid_text(&run->grid, infos[i].promise_error);
    }
    return weir_grid_status(&run->grid, err);
}

/* table, state_bytes, syncs, diffs, fall_backs, last_sync_ms */
Status sql_table_state(const SqlCall *call, SqlRun *run, Error *err)
{
    TableInfo *infos = NULL;
    size_t count = 0;
    WEIR_TRY(weir_engine_tables(call->database->engine, &run->grid.arena, &infos, &count, err));
    for (size_t i = 0; i < count; i++) {
        weir_grid_text(&run->grid, infos[i].name.name);
        weir_grid_number(&run->grid, infos[i].state_bytes);
        weir_grid_number(&run->grid, infos[i].sync_count);
        weir_grid_number(&run->grid, infos[i].diff_count);
        weir_grid_number(&run->grid, infos[i].fall_back_count);
        weir_grid_real(&run->grid, infos[i].last_sync_ms);
    }
    return weir_grid_status(&run->grid, err);
}

/* name, kind, depth */
Status sql_deps(const SqlCall *call, SqlRun *run, Error *err)
{
    DependencyInfo *infos = NULL;
    size_t count = 0;
    WEIR_TRY(weir_engine_dependencies(call->database->engine, weir_sql_text(call, "name"),
                                      &run->grid.arena, &infos, &count, err));
    for (size_t i = 0; i < count; i++) {
        weir_grid_text(&run->grid, infos[i].name.name);
        weir_grid_text(&run->grid, infos[i].kind);
        weir_grid_number(&run->grid, infos[i].depth);
    }
    return weir_grid_status(&run->grid, err);
}

/* One row a line. */
Status sql_explain(const SqlCall *call, SqlRun *run, Error *err)
{
    Status status = WEIR_OK;
    Buf text;
    const ViewSettings settings = weir_sql_settings(call);
    weir_buf_init(&text, call->database->mem, (size_t)1 << 28);
    WEIR_CHECK(weir_engine_explain(call->database->engine, weir_sql_text(call, "name_or_sql"),
                                   &settings, &text, err));
    for (char *line = text.data; line != NULL && *line != '\0';) {
        char *const end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        weir_grid_text(&run->grid, line);
        line = end == NULL ? NULL : end + 1;
    }
    WEIR_CHECK(weir_grid_status(&run->grid, err));
done:
    weir_buf_deinit(&text);
    return status;
}
