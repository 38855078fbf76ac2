/* law_duck.c: batches to DuckDB and results back. */
#include "law.h"

#include <stdio.h>

static const struct {
    TypeId id;
    duckdb_type duck;
} type_pairs[] = {
    {TYPE_BOOLEAN, DUCKDB_TYPE_BOOLEAN},
    {TYPE_TINYINT, DUCKDB_TYPE_TINYINT},
    {TYPE_SMALLINT, DUCKDB_TYPE_SMALLINT},
    {TYPE_INTEGER, DUCKDB_TYPE_INTEGER},
    {TYPE_BIGINT, DUCKDB_TYPE_BIGINT},
    {TYPE_HUGEINT, DUCKDB_TYPE_HUGEINT},
    {TYPE_UTINYINT, DUCKDB_TYPE_UTINYINT},
    {TYPE_USMALLINT, DUCKDB_TYPE_USMALLINT},
    {TYPE_UINTEGER, DUCKDB_TYPE_UINTEGER},
    {TYPE_UBIGINT, DUCKDB_TYPE_UBIGINT},
    {TYPE_UHUGEINT, DUCKDB_TYPE_UHUGEINT},
    {TYPE_FLOAT, DUCKDB_TYPE_FLOAT},
    {TYPE_DOUBLE, DUCKDB_TYPE_DOUBLE},
    {TYPE_VARCHAR, DUCKDB_TYPE_VARCHAR},
    {TYPE_BLOB, DUCKDB_TYPE_BLOB},
    {TYPE_DATE, DUCKDB_TYPE_DATE},
    {TYPE_TIME, DUCKDB_TYPE_TIME},
    {TYPE_TIME_TZ, DUCKDB_TYPE_TIME_TZ},
    {TYPE_TIMESTAMP, DUCKDB_TYPE_TIMESTAMP},
    {TYPE_TIMESTAMP_S, DUCKDB_TYPE_TIMESTAMP_S},
    {TYPE_TIMESTAMP_MS, DUCKDB_TYPE_TIMESTAMP_MS},
    {TYPE_TIMESTAMP_NS, DUCKDB_TYPE_TIMESTAMP_NS},
    {TYPE_TIMESTAMP_TZ, DUCKDB_TYPE_TIMESTAMP_TZ},
    {TYPE_INTERVAL, DUCKDB_TYPE_INTERVAL},
    {TYPE_UUID, DUCKDB_TYPE_UUID},
};

static const LogicalType *type_from_duck(Law *law, duckdb_logical_type duck)
{
    const duckdb_type id = duckdb_get_type_id(duck);
    if (id == DUCKDB_TYPE_DECIMAL) {
        return weir_type_decimal(&law->plan, duckdb_decimal_width(duck), duckdb_decimal_scale(duck),
                                 &law->err);
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(type_pairs); i++) {
        if (type_pairs[i].duck == id) {
            return weir_type_simple(type_pairs[i].id);
        }
    }
    return NULL;
}

static void run_buf(Law *law, Buf *buf)
{
    duckdb_result result;
    if (buf->status != WEIR_OK) {
        law_die("text", buf->err.message);
    }
    if (duckdb_query(law->connection, buf->data, &result) != DuckDBSuccess) {
        law_die(buf->data, duckdb_result_error(&result));
    }
    duckdb_destroy_result(&result);
}

static void fill_vector(duckdb_vector to, const Vector *from, size_t count)
{
    if (from->validity != NULL) {
        duckdb_vector_ensure_validity_writable(to);
        memcpy(duckdb_vector_get_validity(to), from->validity, (count + 63) / 64 * 8);
    }
    if (from->phys != PHYS_STRING) {
        memcpy(duckdb_vector_get_data(to), from->data, count * weir_phys_width(from->phys));
        return;
    }
    const String *strings = from->data;
    for (size_t i = 0; i < count; i++) {
        if (!weir_vector_is_null(from, i)) {
            duckdb_vector_assign_string_element_len(to, i, weir_string_data(&strings[i]),
                                                    weir_string_size(&strings[i]));
        }
    }
}

static void append_batch(Law *law, const char *table, const Batch *batch)
{
    duckdb_appender appender;
    if (duckdb_appender_create(law->connection, NULL, table, &appender) != DuckDBSuccess) {
        law_die("appender", duckdb_appender_error(appender));
    }
    duckdb_logical_type types[LAW_COLUMNS_MAX];
    for (size_t c = 0; c < batch->column_count; c++) {
        types[c] = duckdb_appender_column_type(appender, c);
    }
    duckdb_data_chunk chunk = duckdb_create_data_chunk(types, batch->column_count);
    for (size_t c = 0; c < batch->column_count; c++) {
        fill_vector(duckdb_data_chunk_get_vector(chunk, c), &batch->columns[c], batch->count);
        duckdb_destroy_logical_type(&types[c]);
    }
    duckdb_data_chunk_set_size(chunk, batch->count);
    if (duckdb_append_data_chunk(appender, chunk) != DuckDBSuccess ||
        duckdb_appender_close(appender) != DuckDBSuccess) {
        law_die("append", duckdb_appender_error(appender));
    }
    duckdb_destroy_data_chunk(&chunk);
    duckdb_appender_destroy(&appender);
}

void law_load(Law *law, const char *table, const Schema *schema, const Batch *batch)
{
    Buf buf;
    weir_buf_init(&buf, law->mem, SIZE_MAX);
    weir_buf_printf(&buf, "CREATE OR REPLACE TEMP TABLE %s(", table);
    for (size_t c = 0; c < schema->count; c++) {
        weir_buf_printf(&buf, "%sc%zu ", c == 0 ? "" : ", ", c);
        weir_type_put_sql(&buf, schema->types[c]);
    }
    weir_buf_puts(&buf, schema->count == 0 ? "c0 INTEGER)" : ")");
    run_buf(law, &buf);
    if (schema->count > 0) {
        append_batch(law, table, batch);
    } else {
        weir_buf_clear(&buf);
        weir_buf_printf(&buf, "INSERT INTO %s SELECT 0 FROM range(%zu)", table, batch->count);
        run_buf(law, &buf);
    }
    weir_buf_deinit(&buf);
}

/* --- results ------------------------------------------------------------------------------------- */

static Status copy_vector(duckdb_vector from, const LogicalType *type, size_t count, Arena *arena,
                          Vector *out, Error *err)
{
    WEIR_TRY(weir_vector_init(out, type->phys, count, arena, err));
    const uint64_t *validity = duckdb_vector_get_validity(from);
    if (validity != NULL) {
        WEIR_TRY(weir_vector_add_validity(out, count, arena, err));
        memcpy(out->validity, validity, (count + 63) / 64 * 8);
    }
    memcpy(out->data, duckdb_vector_get_data(from), count * weir_phys_width(type->phys));
    return weir_vector_own_strings(out, count, arena, err);
}

static Status copy_result(Law *law, duckdb_result *result, size_t count, size_t rows, Arena *arena,
                          Vector *out, Error *err)
{
    duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
    if (chunk == NULL || duckdb_data_chunk_get_size(chunk) != rows) {
        law_die("result", "not one chunk of all rows");
    }
    for (size_t i = 0; i < count; i++) {
        duckdb_logical_type duck = duckdb_column_logical_type(result, i);
        const LogicalType *type = type_from_duck(law, duck);
        duckdb_destroy_logical_type(&duck);
        if (type == NULL) {
            law_die("result", "unknown type");
        }
        WEIR_TRY(
            copy_vector(duckdb_data_chunk_get_vector(chunk, i), type, rows, arena, &out[i], err));
    }
    duckdb_destroy_data_chunk(&chunk);
    return WEIR_OK;
}

Status law_query(Law *law, const LawQuery *query, Arena *arena, Vector *out, Error *err)
{
    Buf buf;
    weir_buf_init(&buf, law->mem, SIZE_MAX);
    weir_buf_puts(&buf, "SELECT ");
    for (size_t i = 0; i < query->count; i++) {
        weir_buf_puts(&buf, i == 0 ? "" : ", ");
        weir_buf_puts(&buf, query->sql[i]);
    }
    weir_buf_printf(&buf, " FROM %s", query->table);
    duckdb_result result;
    Status status;
    if (duckdb_query(law->connection, buf.data, &result) == DuckDBSuccess) {
        status = copy_result(law, &result, query->count, query->rows, arena, out, err);
    } else {
        status = weir_error_set(err, WEIR_ERR_EVALUATION, "%s", duckdb_result_error(&result));
    }
    duckdb_destroy_result(&result);
    weir_buf_deinit(&buf);
    return status;
}

const LogicalType *law_type_of(Law *law, const char *sql)
{
    Buf buf;
    weir_buf_init(&buf, law->mem, SIZE_MAX);
    weir_buf_printf(&buf, "SELECT %s FROM b", sql);
    duckdb_prepared_statement prepared = NULL;
    const LogicalType *type = NULL;
    if (duckdb_prepare(law->connection, buf.data, &prepared) == DuckDBSuccess) {
        duckdb_logical_type duck = duckdb_prepared_statement_column_logical_type(prepared, 0);
        type = type_from_duck(law, duck);
        duckdb_destroy_logical_type(&duck);
    }
    duckdb_destroy_prepare(&prepared);
    weir_buf_deinit(&buf);
    return type;
}

/* --- the host of evaluators ---------------------------------------------------------------------- */

struct HostProgram {
    const char **sql; /* owned, with its texts */
    size_t count;
    const Schema *input; /* borrowed */
};

static void host_release(void *context, HostProgram *program)
{
    Law *law = context;
    if (program == NULL) {
        return;
    }
    for (size_t i = 0; i < program->count; i++) {
        weir_mem_free(law->mem, (void *)(uintptr_t)program->sql[i]);
    }
    weir_mem_free(law->mem, program->sql);
    weir_mem_free(law->mem, program);
}

static Status host_prepare(void *context, const char *const *sql, size_t count, const Schema *input,
                           const Schema *output, HostProgram **out, Error *err)
{
    Law *law = context;
    WEIR_UNUSED(output);
    HostProgram *program = weir_mem_zalloc(law->mem, sizeof *program, err);
    if (program == NULL) {
        return err->code;
    }
    *program = (HostProgram){.count = count, .input = input};
    program->sql = weir_mem_calloc(law->mem, count, sizeof *program->sql, err);
    for (size_t i = 0; i < count; i++) {
        program->sql[i] = weir_mem_strdup(law->mem, sql[i], err);
    }
    *out = program;
    return WEIR_OK;
}

static Status host_evaluate(void *context, HostProgram *program, const Batch *in, Arena *arena,
                            Vector *out, Error *err)
{
    Law *law = context;
    law->host_rows += in->count;
    law_load(law, "h", program->input, in);
    const LawQuery query = {
        .table = "h", .sql = program->sql, .count = program->count, .rows = in->count};
    return law_query(law, &query, arena, out, err);
}

ExprHost law_host(Law *law)
{
    return (ExprHost){
        .context = law,
        .prepare = host_prepare,
        .evaluate = host_evaluate,
        .release = host_release,
    };
}
