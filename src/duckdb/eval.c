/* eval.c: expressions evaluated by DuckDB (the contract is expr/evaluator.h).
 *
 * A program is a statement SELECT e0, e1, ... FROM dbsp_internal_batch(handle), prepared in a session
 * with the view's settings when it is first used after a begin, and forgotten at end. The batch
 * function runs in one thread and nothing in the statement reorders rows; that their number is right
 * is checked. */
#include "duckdb/chunk.h"
#include "duckdb/host_priv.h"
#include "duckdb/query.h"
#include "duckdb/type_map.h"

/* The ExprHost's context: one view. */
typedef struct ExprSession {
    DuckHost *host; /* borrowed */
    Arena arena;    /* the settings */
    ViewSettings settings;
} ExprSession;

struct HostProgram {
    ExprSession *session; /* borrowed */
    Arena arena;          /* schemas, text */
    Schema input;
    Schema output;
    const char *sql;
    uint64_t handle; /* of the slot of the batch function */
    bool has_handle;
    duckdb_prepared_statement statement; /* NULL = to be prepared */
    HostProgram *next;                   /* in the host's list, while it has a statement */
};

/* --- statements ------------------------------------------------------------------------------- */

static void forget_statement(HostProgram *program)
{
    HostProgram **link = &program->session->host->programs;
    while (*link != NULL && *link != program) {
        link = &(*link)->next;
    }
    if (*link == program) {
        *link = program->next;
        program->next = NULL;
        duckdb_destroy_prepare(&program->statement);
        program->statement = NULL;
    }
}

void weir_duck_host_forget_statements(DuckHost *host)
{
    while (host->programs != NULL) {
        forget_statement(host->programs);
    }
}

static Status prepare_statement(HostProgram *program, Status code, Error *err)
{
    DuckHost *const host = program->session->host;
    if (program->statement != NULL) {
        return WEIR_OK;
    }
    duckdb_connection connection = NULL;
    WEIR_TRY(weir_duck_host_session(host, &program->session->settings, false, &connection, err));
    if (duckdb_prepare(connection, program->sql, &program->statement) != DuckDBSuccess) {
        const Status status = weir_query_error(err, code, duckdb_prepare_error(program->statement));
        duckdb_destroy_prepare(&program->statement);
        program->statement = NULL;
        return status;
    }
    program->next = host->programs;
    host->programs = program;
    return WEIR_OK;
}

/* Runs the statement over a batch. */
static Status run_statement(HostProgram *program, const Batch *in, Status code,
                            duckdb_result *result, Error *err)
{
    BatchRegistry *const batches = weir_connector_batches(program->session->host->connector);
    weir_batch_slot_set(batches, program->handle, in);
    const Status status = weir_query_execute(program->statement, code, result, err);
    weir_batch_slot_set(batches, program->handle, NULL);
    return status;
}

/* --- results ---------------------------------------------------------------------------------- */

/* DuckDB gives an untyped NULL the type INTEGER when it leaves a query. */
static bool type_is_expected(const LogicalType *expected, const LogicalType *found)
{
    if (expected->id == TYPE_SQLNULL && found->id == TYPE_INTEGER) {
        return true;
    }
    return weir_type_equal(expected, found);
}

static Status check_types(HostProgram *program, duckdb_result *result, Error *err)
{
    const size_t count = program->output.count;
    WEIR_VERIFY(duckdb_column_count(result) == count, err);
    for (size_t i = 0; i < count; i++) {
        duckdb_logical_type theirs = duckdb_column_logical_type(result, i);
        const LogicalType *const type = weir_type_from_duckdb(&program->arena, theirs, err);
        duckdb_destroy_logical_type(&theirs);
        if (type == NULL) {
            return err->code;
        }
        if (!type_is_expected(program->output.types[i], type)) {
            return weir_error_set(err, WEIR_ERR_FUNCTION,
                                  "DuckDB evaluates an expression to %s instead of %s: %s",
                                  weir_type_name(type->id),
                                  weir_type_name(program->output.types[i]->id), program->sql);
        }
    }
    return WEIR_OK;
}

/* Copies count values to the place `first` of out. */
static Status append_values(const Vector *from, size_t count, size_t first, Arena *arena,
                            Vector *out, Error *err)
{
    Vector own = *from;
    if (from->phys == PHYS_STRING) {
        WEIR_TRY(weir_vector_own_strings(&own, count, arena, err));
    }
    const size_t width = weir_phys_width(out->phys);
    memcpy((char *)out->data + first * width, own.data, count * width);
    if (from->validity == NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(weir_vector_add_validity(out, VECTOR_CAPACITY, arena, err));
    for (size_t i = 0; i < count; i++) {
        if (!weir_validity_get(from->validity, i)) {
            weir_validity_set_null(out->validity, first + i);
        }
    }
    return WEIR_OK;
}

static Status append_chunk(HostProgram *program, duckdb_data_chunk chunk, size_t first,
                           Arena *arena, Vector *out, Error *err)
{
    Batch batch = {0};
    WEIR_TRY(weir_chunk_read(chunk, 0, &program->output, arena, &batch, err));
    for (size_t i = 0; i < program->output.count; i++) {
        WEIR_TRY(append_values(&batch.columns[i], batch.count, first, arena, &out[i], err));
    }
    return WEIR_OK;
}

/* Reads exactly count rows. */
static Status read_result(HostProgram *program, duckdb_result *result, size_t count, Arena *arena,
                          Vector *out, Error *err)
{
    size_t found = 0;
    for (size_t i = 0; i < program->output.count; i++) {
        WEIR_TRY(
            weir_vector_init(&out[i], program->output.types[i]->phys, VECTOR_CAPACITY, arena, err));
    }
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
        if (chunk == NULL) {
            break;
        }
        const size_t size = duckdb_data_chunk_get_size(chunk);
        Status status = WEIR_OK;
        if (found + size <= count) {
            status = append_chunk(program, chunk, found, arena, out, err);
        }
        found += size;
        duckdb_destroy_data_chunk(&chunk);
        WEIR_TRY(status);
    }
    WEIR_VERIFY(found == count, err);
    return WEIR_OK;
}

static Status eval_evaluate(void *context, HostProgram *program, const Batch *in, Arena *arena,
                            Vector *out, Error *err)
{
    ExprSession *const session = context;
    WEIR_ASSERT(program->session == session);
    WEIR_ASSERT(in->column_count == program->input.count);
    WEIR_TRY(weir_cancel_check(&session->host->cancel, err));
    WEIR_TRY(prepare_statement(program, WEIR_ERR_EVALUATION, err));
    duckdb_result result = {0};
    WEIR_TRY(run_statement(program, in, WEIR_ERR_EVALUATION, &result, err));
    const Status status = read_result(program, &result, in->count, arena, out, err);
    duckdb_destroy_result(&result);
    return status;
}

/* --- programs --------------------------------------------------------------------------------- */

static void eval_release(void *context, HostProgram *program)
{
    ExprSession *const session = context;
    if (program == NULL) {
        return;
    }
    forget_statement(program);
    if (program->has_handle) {
        weir_batch_slot_remove(weir_connector_batches(session->host->connector), program->handle);
    }
    weir_arena_deinit(&program->arena);
    weir_mem_free(session->host->mem, program);
}

static Status write_sql(HostProgram *program, const char *const *sql, size_t count, Error *err)
{
    Buf buf;
    weir_buf_init(&buf, program->session->host->mem, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        weir_buf_puts(&buf, i == 0 ? "SELECT " : ", ");
        weir_buf_puts(&buf, sql[i]);
    }
    weir_buf_puts(&buf, " FROM ");
    weir_batch_put_sql(&buf, program->handle);
    Status status = weir_buf_status(&buf, err);
    if (status == WEIR_OK) {
        program->sql = weir_arena_strndup(&program->arena, buf.data, buf.size, err);
        status = program->sql == NULL ? err->code : WEIR_OK;
    }
    weir_buf_deinit(&buf);
    return status;
}

/* Runs the statement over no rows, so that a text that DuckDB does not take, or takes for another
 * type, is found when the view is made. */
static Status try_program(HostProgram *program, Error *err)
{
    Vector *columns =
        weir_arena_calloc(&program->arena, program->input.count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < program->input.count; c++) {
        columns[c].phys = program->input.types[c]->phys;
    }
    const Batch empty = {.column_count = program->input.count, .columns = columns};
    duckdb_result result = {0};
    WEIR_TRY(prepare_statement(program, WEIR_ERR_FUNCTION, err));
    WEIR_TRY(run_statement(program, &empty, WEIR_ERR_FUNCTION, &result, err));
    const Status status = check_types(program, &result, err);
    duckdb_destroy_result(&result);
    return status;
}

static Status eval_prepare(void *context, const char *const *sql, size_t count, const Schema *input,
                           const Schema *output, HostProgram **out, Error *err)
{
    ExprSession *const session = context;
    WEIR_ASSERT(count > 0 && output->count == count);
    DuckHost *const host = session->host;
    HostProgram *program = weir_mem_zalloc(host->mem, sizeof *program, err);
    if (program == NULL) {
        return err->code;
    }
    Status status = WEIR_OK;
    program->session = session;
    weir_arena_init(&program->arena, host->mem, 1024);
    WEIR_CHECK(weir_schema_copy(&program->arena, input, &program->input, err));
    WEIR_CHECK(weir_schema_copy(&program->arena, output, &program->output, err));
    WEIR_CHECK(weir_batch_slot_add(weir_connector_batches(host->connector), &program->input,
                                   &program->handle, err));
    program->has_handle = true;
    WEIR_CHECK(write_sql(program, sql, count, err));
    WEIR_CHECK(try_program(program, err));
    *out = program;
done:
    if (status != WEIR_OK) {
        eval_release(session, program);
    }
    return status;
}

Status weir_duck_host_expr_open(void *context, const ViewSettings *settings, ExprHost *out,
                                Error *err)
{
    DuckHost *const host = context;
    ExprSession *session = weir_mem_zalloc(host->mem, sizeof *session, err);
    if (session == NULL) {
        return err->code;
    }
    session->host = host;
    weir_arena_init(&session->arena, host->mem, 1024);
    const Status status =
        weir_duck_settings_copy(&session->arena, settings, &session->settings, err);
    if (status != WEIR_OK) {
        weir_arena_deinit(&session->arena);
        weir_mem_free(host->mem, session);
        return status;
    }
    *out = (ExprHost){
        .context = session,
        .prepare = eval_prepare,
        .evaluate = eval_evaluate,
        .release = eval_release,
    };
    return WEIR_OK;
}

void weir_duck_host_expr_close(void *context, ExprHost *expr)
{
    DuckHost *const host = context;
    ExprSession *const session = expr->context;
    if (session != NULL) {
        weir_arena_deinit(&session->arena);
        weir_mem_free(host->mem, session);
    }
    *expr = (ExprHost){0};
}
