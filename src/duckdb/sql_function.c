/* sql_function.c: from sql_functions.def to DuckDB table functions. */
#include "duckdb/sql_function.h"

#include <string.h>

#include "duckdb/chunk.h"
#include "duckdb/poller.h"
#include "duckdb/sql_run.h"
#include "duckdb/type_map.h"
#include "view/names.h"

static const SqlFunction FUNCTIONS[] = {
#define X(name_, parameters_, columns_, bind_, run_, threads_, doc_) \
    {.name = (name_),                                                \
     .parameters = (parameters_),                                    \
     .columns = (columns_),                                          \
     .bind = (bind_),                                                \
     .run = (run_),                                                  \
     .max_threads = (threads_),                                      \
     .doc = (doc_)},
#include "duckdb/sql_functions.def"
#undef X
};

/* What DuckDB keeps for a registered function. */
typedef struct FunctionInfo {
    const SqlFunction *function;
    WeirDatabase *database; /* one reference */
} FunctionInfo;

/* Of one execution. */
typedef struct RunData {
    const SqlCall *call; /* the bind data, which outlives the run */
    SqlRun run;
    Mem *mem;
    Arena arena; /* for the chunks of a grid, which one thread reads */
} RunData;

/* ---- parameters ----------------------------------------------------------------------------- */

typedef struct SqlParameter {
    char name[32];
    SqlParameterType type;
    bool is_named;
} SqlParameter;

/* Reads "name TYPE" or "[name TYPE]" at *cursor; false at the end. */
static bool parameter_read(const char **cursor, SqlParameter *out)
{
    const char *c = *cursor + strspn(*cursor, ", ");
    if (*c == '\0') {
        return false;
    }
    out->is_named = *c == '[';
    c += *c == '[' || *c == '"';
    const bool is_quoted = c[-(c != *cursor)] == '"';
    const size_t size = strcspn(c, is_quoted ? "\"" : " ");
    WEIR_ASSERT(size < sizeof out->name);
    memcpy(out->name, c, size);
    out->name[size] = '\0';
    c += size + is_quoted;
    c += strspn(c, " ");
    out->type = *c == 'V' ? SQL_TEXT : (c[0] == 'B' && c[1] == 'I') ? SQL_INTEGER : SQL_ANY;
    out->type = c[0] == 'B' && c[1] == 'O' ? SQL_BOOLEAN : out->type;
    c += strcspn(c, ",]");
    *cursor = c + (*c == ']');
    return true;
}

const SqlArgument *weir_sql_argument(const SqlCall *call, const char *name)
{
    static const SqlArgument NONE = {0};
    const char *cursor = call->function->parameters;
    SqlParameter parameter;
    for (size_t i = 0; parameter_read(&cursor, &parameter); i++) {
        if (strcmp(parameter.name, name) == 0) {
            return &call->arguments[i];
        }
    }
    WEIR_ASSERT(false); /* the function has no such parameter */
    return &NONE;
}

const char *weir_sql_text(const SqlCall *call, const char *name)
{
    return weir_sql_argument(call, name)->text;
}

ViewSettings weir_sql_settings(const SqlCall *call)
{
    return (ViewSettings){.search_path = weir_sql_text(call, "search_path"),
                          .time_zone = weir_sql_text(call, "time_zone")};
}

static Status argument_set(SqlCall *call, const SqlParameter *parameter, duckdb_value value,
                           SqlArgument *out, Error *err)
{
    out->is_set = value != NULL && !duckdb_is_null_value(value);
    if (!out->is_set) {
        if (parameter->is_named) {
            return WEIR_OK;
        }
        return weir_error_set(err, WEIR_ERR_ARGUMENT, "%s of %s is NULL", parameter->name,
                              call->function->name);
    }
    switch (parameter->type) {
    case SQL_TEXT: {
        char *text = duckdb_get_varchar(value);
        out->text = weir_arena_strdup(&call->arena, text, err);
        duckdb_free(text);
        return out->text == NULL ? err->code : WEIR_OK;
    }
    case SQL_INTEGER: out->integer = duckdb_get_int64(value); return WEIR_OK;
    case SQL_BOOLEAN: out->flag = duckdb_get_bool(value); return WEIR_OK;
    case SQL_ANY: return WEIR_OK;
    }
    return WEIR_OK;
}

static Status arguments_read(SqlCall *call, duckdb_bind_info info, Error *err)
{
    const char *cursor = call->function->parameters;
    SqlParameter parameter;
    idx_t position = 0;
    for (size_t i = 0; parameter_read(&cursor, &parameter); i++) {
        WEIR_VERIFY(i < SQL_MAX_PARAMETERS, err);
        duckdb_value value = parameter.is_named
                                 ? duckdb_bind_get_named_parameter(info, parameter.name)
                                 : duckdb_bind_get_parameter(info, position++);
        const Status status = argument_set(call, &parameter, value, &call->arguments[i], err);
        if (status == WEIR_OK && parameter.type == SQL_ANY) {
            call->arguments[i].value = value;
        } else if (value != NULL) {
            duckdb_destroy_value(&value);
        }
        WEIR_TRY(status);
    }
    return WEIR_OK;
}

/* ---- bind ----------------------------------------------------------------------------------- */

static void call_free(void *data)
{
    SqlCall *const call = data;
    WeirDatabase *const database = call->database;
    for (size_t i = 0; i < SQL_MAX_PARAMETERS; i++) {
        if (call->arguments[i].value != NULL) {
            duckdb_destroy_value(&call->arguments[i].value);
        }
    }
    if (call->has_shape) {
        weir_view_shape_deinit(&call->shape);
    }
    weir_arena_deinit(&call->arena);
    weir_mem_free(database->mem, call);
    weir_database_unref(database);
}

static Status call_bind(SqlCall *call, duckdb_bind_info info, Error *err)
{
    WEIR_TRY(arguments_read(call, info, err));
    if (call->function->columns != NULL) {
        WEIR_TRY(weir_grid_schema(&call->arena, call->function->columns, &call->schema, err));
    }
    if (call->function->bind != NULL) {
        WEIR_TRY(call->function->bind(call, err));
    }
    for (size_t i = 0; i < call->schema.count; i++) {
        duckdb_logical_type type = NULL;
        WEIR_TRY(weir_type_to_duckdb(call->schema.types[i], &type, err));
        duckdb_bind_add_result_column(info, call->schema.names[i], type);
        duckdb_destroy_logical_type(&type);
    }
    return WEIR_OK;
}

/* "DBSP-E110: message (hint)" */
static void report(const Error *err, char *out, size_t size)
{
    weir_error_format(err, out, size);
}

static void function_bind(duckdb_bind_info info)
{
    const FunctionInfo *const function_info = duckdb_bind_get_extra_info(info);
    WeirDatabase *const database = function_info->database;
    char text[sizeof(Error) + 64];
    Error err = {0};
    SqlCall *call = weir_mem_zalloc(database->mem, sizeof *call, &err);
    if (call == NULL) {
        report(&err, text, sizeof text);
        duckdb_bind_set_error(info, text);
        return;
    }
    call->function = function_info->function;
    call->database = weir_database_ref(database);
    weir_arena_init(&call->arena, database->mem, 0);
    if (call_bind(call, info, &err) != WEIR_OK) {
        report(&err, text, sizeof text);
        call_free(call);
        duckdb_bind_set_error(info, text);
        return;
    }
    duckdb_bind_set_bind_data(info, call, call_free);
}

/* ---- run ------------------------------------------------------------------------------------ */

static void run_free(void *data)
{
    RunData *const run_data = data;
    weir_view_reader_free(run_data->run.reader);
    weir_grid_deinit(&run_data->run.grid);
    weir_arena_deinit(&run_data->arena);
    weir_mem_free(run_data->mem, run_data);
}

/* A view may have been replaced since the statement was bound. */
static Status check_shape(const SqlCall *call, const SqlRun *run, Error *err)
{
    if (run->reader == NULL) {
        return WEIR_OK;
    }
    const Schema *const now = weir_view_reader_schema(run->reader);
    bool is_same = now->count == call->schema.count;
    for (size_t i = 0; is_same && i < now->count; i++) {
        is_same = weir_type_equal(now->types[i], call->schema.types[i]) &&
                  weir_name_part_equal(now->names[i], call->schema.names[i]);
    }
    if (!is_same) {
        weir_error_set(err, WEIR_ERR_MISUSE,
                       "view %s has other columns now than when this "
                       "statement was prepared",
                       weir_sql_text(call, "name"));
        weir_error_hint(err, "prepare the statement again");
        return err->code;
    }
    return WEIR_OK;
}

/* The columns of a reader are the view's. */
static bool reads_view(const SqlFunction *function)
{
    return function->columns == NULL;
}

/* What showing one row takes is taken first: a call that has done its work must not fail after it. */
static Status run_reserve(RunData *run_data, Error *err)
{
    WEIR_TRY(weir_grid_reserve(&run_data->run.grid, err));
    return weir_arena_alloc(&run_data->arena, 1, err) == NULL ? err->code : WEIR_OK;
}

/* Runs the call; on failure there is no run. */
static Status run_new(const SqlCall *call, RunData **out, Error *err)
{
    Mem *const mem = call->database->mem;
    RunData *run_data = weir_mem_zalloc(mem, sizeof *run_data, err);
    if (run_data == NULL) {
        return err->code;
    }
    run_data->call = call;
    run_data->mem = mem;
    weir_grid_init(&run_data->run.grid, mem, &call->schema);
    weir_arena_init(&run_data->arena, mem, 0);
    Status status = reads_view(call->function) ? WEIR_OK : run_reserve(run_data, err);
    if (status == WEIR_OK) {
        status = call->function->run(call, &run_data->run, err);
    }
    if (status == WEIR_OK) {
        status = check_shape(call, &run_data->run, err);
    }
    if (status != WEIR_OK) {
        run_free(run_data);
        return status;
    }
    *out = run_data;
    return WEIR_OK;
}

static void function_init(duckdb_init_info info)
{
    const SqlCall *const call = duckdb_init_get_bind_data(info);
    char text[sizeof(Error) + 64];
    Error err = {0};
    RunData *run_data = NULL;
    if (run_new(call, &run_data, &err) != WEIR_OK) {
        report(&err, text, sizeof text);
        duckdb_init_set_error(info, text);
        return;
    }
    duckdb_init_set_init_data(info, run_data, run_free);
    duckdb_init_set_max_threads(info, call->function->max_threads);
}

/* Each thread that reads a view has an arena for the chunk it fills. */
static void arena_free(void *data)
{
    Arena *const arena = data;
    Mem *const mem = arena->mem;
    weir_arena_deinit(arena);
    weir_mem_free(mem, arena);
}

static void function_init_local(duckdb_init_info info)
{
    const SqlCall *const call = duckdb_init_get_bind_data(info);
    char text[sizeof(Error) + 64];
    Error err = {0};
    if (!reads_view(call->function)) {
        return;
    }
    Arena *arena = weir_mem_zalloc(call->database->mem, sizeof *arena, &err);
    if (arena == NULL) {
        report(&err, text, sizeof text);
        duckdb_init_set_error(info, text);
        return;
    }
    weir_arena_init(arena, call->database->mem, 0);
    duckdb_init_set_init_data(info, arena, arena_free);
}

static void function_main(duckdb_function_info info, duckdb_data_chunk output)
{
    RunData *const run_data = duckdb_function_get_init_data(info);
    Arena *const arena = reads_view(run_data->call->function)
                             ? duckdb_function_get_local_init_data(info)
                             : &run_data->arena;
    char text[sizeof(Error) + 64];
    Error err = {0};
    Batch batch = {0};
    weir_arena_reset(arena);
    Status status = run_data->run.reader != NULL
                        ? weir_view_reader_next(run_data->run.reader, arena, &batch, &err)
                        : weir_grid_next(&run_data->run.grid, arena, &batch, &err);
    if (status == WEIR_OK) {
        status =
            weir_chunk_write(&batch, &run_data->call->schema, CHUNK_COPIES, arena, output, &err);
    }
    if (status != WEIR_OK) {
        report(&err, text, sizeof text);
        duckdb_function_set_error(info, text);
    }
}

/* ---- registration --------------------------------------------------------------------------- */

static void info_free(void *data)
{
    FunctionInfo *const info = data;
    WeirDatabase *const database = info->database;
    weir_poller_close(database->poller); /* functions go when the database does */
    weir_mem_free(database->mem, info);
    weir_database_unref(database);
}

static void function_add_parameters(duckdb_table_function table_function,
                                    const SqlFunction *function)
{
    static const duckdb_type TYPES[] = {[SQL_TEXT] = DUCKDB_TYPE_VARCHAR,
                                        [SQL_INTEGER] = DUCKDB_TYPE_BIGINT,
                                        [SQL_BOOLEAN] = DUCKDB_TYPE_BOOLEAN,
                                        [SQL_ANY] = DUCKDB_TYPE_ANY};
    const char *cursor = function->parameters;
    SqlParameter parameter;
    while (parameter_read(&cursor, &parameter)) {
        duckdb_logical_type type = duckdb_create_logical_type(TYPES[parameter.type]);
        if (parameter.is_named) {
            duckdb_table_function_add_named_parameter(table_function, parameter.name, type);
        } else {
            duckdb_table_function_add_parameter(table_function, type);
        }
        duckdb_destroy_logical_type(&type);
    }
}

static Status function_register(WeirDatabase *database, duckdb_connection connection,
                                const SqlFunction *function, Error *err)
{
    FunctionInfo *info = weir_mem_zalloc(database->mem, sizeof *info, err);
    if (info == NULL) {
        return err->code;
    }
    *info = (FunctionInfo){.function = function, .database = weir_database_ref(database)};
    duckdb_table_function table_function = duckdb_create_table_function();
    duckdb_table_function_set_name(table_function, function->name);
    duckdb_table_function_set_extra_info(table_function, info, info_free);
    function_add_parameters(table_function, function);
    duckdb_table_function_set_bind(table_function, function_bind);
    duckdb_table_function_set_init(table_function, function_init);
    duckdb_table_function_set_local_init(table_function, function_init_local);
    duckdb_table_function_set_function(table_function, function_main);
    const duckdb_state state = duckdb_register_table_function(connection, table_function);
    duckdb_destroy_table_function(&table_function);
    if (state != DuckDBSuccess) {
        return weir_error_set(err, WEIR_ERR_HOST, "cannot register the function %s",
                              function->name);
    }
    return WEIR_OK;
}

Status weir_sql_functions_register(WeirDatabase *database, duckdb_connection connection, Error *err)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(FUNCTIONS); i++) {
        WEIR_TRY(function_register(database, connection, &FUNCTIONS[i], err));
    }
    return WEIR_OK;
}
