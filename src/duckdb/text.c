/* text.c: printing values. One statement:
 * SELECT CAST(c0 AS VARCHAR), ... FROM the batch. */
#include "duckdb/text.h"

#include "duckdb/batch_function.h"
#include "duckdb/chunk.h"
#include "duckdb/query.h"

struct TextCaster {
    Mem *mem;
    BatchRegistry *registry; /* borrowed from the connector */
    const Schema *schema;    /* borrowed */
    uint64_t handle;
    bool has_slot;
    duckdb_prepared_statement statement;
};

void weir_text_caster_free(TextCaster *caster)
{
    if (caster == NULL) {
        return;
    }
    if (caster->statement != NULL) {
        duckdb_destroy_prepare(&caster->statement);
    }
    if (caster->has_slot) {
        weir_batch_slot_remove(caster->registry, caster->handle);
    }
    weir_mem_free(caster->mem, caster);
}

static Status caster_prepare(TextCaster *caster, duckdb_connection connection, Error *err)
{
    Status status = WEIR_OK;
    Buf sql;
    weir_buf_init(&sql, caster->mem, (size_t)1 << 20);
    weir_buf_puts(&sql, "SELECT ");
    for (size_t i = 0; i < caster->schema->count; i++) {
        weir_buf_printf(&sql, "%sCAST(c%zu AS VARCHAR)", i == 0 ? "" : ", ", i);
    }
    weir_buf_puts(&sql, " FROM ");
    weir_batch_put_sql(&sql, caster->handle);
    WEIR_CHECK(weir_buf_status(&sql, err));
    if (duckdb_prepare(connection, sql.data, &caster->statement) != DuckDBSuccess) {
        status = weir_query_error(err, WEIR_ERR_HOST, duckdb_prepare_error(caster->statement));
    }
done:
    weir_buf_deinit(&sql);
    return status;
}

Status weir_text_caster_new(WeirDatabase *database, duckdb_connection connection,
                            const Schema *schema, TextCaster **out, Error *err)
{
    Status status = WEIR_OK;
    TextCaster *caster = weir_mem_zalloc(database->mem, sizeof *caster, err);
    if (caster == NULL) {
        return err->code;
    }
    caster->mem = database->mem;
    caster->registry = weir_connector_batches(database->connector);
    caster->schema = schema;
    WEIR_CHECK(weir_batch_slot_add(caster->registry, schema, &caster->handle, err));
    caster->has_slot = true;
    WEIR_CHECK(caster_prepare(caster, connection, err));
    *out = caster;
done:
    if (status != WEIR_OK) {
        weir_text_caster_free(caster);
    }
    return status;
}

/* The rows of one result chunk, copied to place `first` of the vectors. */
static Status take_chunk(const TextCaster *caster, duckdb_data_chunk chunk, size_t first,
                         size_t room, Arena *arena, Vector *out, Error *err)
{
    const size_t count = (size_t)duckdb_data_chunk_get_size(chunk);
    WEIR_VERIFY(first + count <= room, err);
    for (size_t i = 0; i < caster->schema->count; i++) {
        Vector texts;
        WEIR_TRY(weir_chunk_read_vector(duckdb_data_chunk_get_vector(chunk, i),
                                        weir_type_simple(TYPE_VARCHAR), count, arena, &texts, err));
        WEIR_TRY(weir_vector_own_strings(&texts, count, arena, err));
        memcpy((String *)out[i].data + first, texts.data, count * sizeof(String));
        for (size_t k = 0; k < count; k++) {
            if (weir_vector_is_null(&texts, k)) {
                weir_validity_set_null(out[i].validity, first + k);
            }
        }
    }
    return WEIR_OK;
}

static Status take_result(const TextCaster *caster, duckdb_result *result, size_t row_count,
                          Arena *arena, Vector *out, Error *err)
{
    Status status = WEIR_OK;
    size_t first = 0;
    while (status == WEIR_OK) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
        if (chunk == NULL) {
            break;
        }
        status = take_chunk(caster, chunk, first, row_count, arena, out, err);
        first += (size_t)duckdb_data_chunk_get_size(chunk);
        duckdb_destroy_data_chunk(&chunk);
    }
    WEIR_TRY(status);
    WEIR_VERIFY(first == row_count, err);
    return WEIR_OK;
}

Status weir_text_caster_run(TextCaster *caster, const Batch *batch, Arena *arena, Vector *out,
                            Error *err)
{
    duckdb_result result;
    for (size_t i = 0; i < caster->schema->count; i++) {
        WEIR_TRY(weir_vector_init(&out[i], PHYS_STRING, batch->count, arena, err));
        WEIR_TRY(weir_vector_add_validity(&out[i], batch->count, arena, err));
    }
    weir_batch_slot_set(caster->registry, caster->handle, batch);
    Status status = weir_query_execute(caster->statement, WEIR_ERR_HOST, &result, err);
    weir_batch_slot_set(caster->registry, caster->handle, NULL);
    if (status == WEIR_OK) {
        status = take_result(caster, &result, batch->count, arena, out, err);
        duckdb_destroy_result(&result);
    }
    return status;
}
