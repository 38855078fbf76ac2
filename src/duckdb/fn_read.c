/* fn_read.c: dbsp_query and dbsp_changes: the rows of views and of their change feeds. */
#include "duckdb/sql_run.h"

static Status bind_shape(SqlCall *call, Error *err)
{
    WEIR_TRY(
        weir_engine_shape(call->database->engine, weir_sql_text(call, "name"), &call->shape, err));
    call->has_shape = true;
    return WEIR_OK;
}

Status sql_bind_query(SqlCall *call, Error *err)
{
    WEIR_TRY(bind_shape(call, err));
    call->schema = call->shape.schema;
    return WEIR_OK;
}

Status sql_query(const SqlCall *call, SqlRun *run, Error *err)
{
    return weir_engine_read(call->database->engine, weir_sql_text(call, "name"), &run->reader, err);
}

/* The view's columns, weight, generation. */
Status sql_bind_changes(SqlCall *call, Error *err)
{
    WEIR_TRY(bind_shape(call, err));
    const Schema *const view = &call->shape.schema;
    const LogicalType **types =
        weir_arena_calloc(&call->arena, view->count + 2, sizeof(const LogicalType *), err);
    const char **names =
        types == NULL ? NULL : weir_arena_calloc(&call->arena, view->count + 2, sizeof *names, err);
    if (names == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < view->count; i++) {
        types[i] = view->types[i];
        names[i] = view->names[i];
    }
    types[view->count] = types[view->count + 1] = weir_type_simple(TYPE_BIGINT);
    names[view->count] = "weight";
    names[view->count + 1] = "generation";
    call->schema = (Schema){.count = view->count + 2, .types = types, .names = names};
    return WEIR_OK;
}

Status sql_changes(const SqlCall *call, SqlRun *run, Error *err)
{
    const SqlArgument *const since = weir_sql_argument(call, "since");
    return weir_engine_read_changes(call->database->engine, weir_sql_text(call, "name"),
                                    since->is_set ? since->integer : -1, &run->reader, err);
}
