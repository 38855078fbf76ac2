/* result.c: the rows of a statement, as text. */
#include "api/db_priv.h"

#include <string.h>

#include "duckdb/chunk.h"
#include "duckdb/type_map.h"

void weir_result_free(WeirResult *result)
{
    if (result == NULL) {
        return;
    }
    if (result->chunk != NULL) {
        duckdb_destroy_data_chunk(&result->chunk);
    }
    weir_captured_result_deinit(&result->captured, result->mem);
    weir_text_caster_free(result->caster);
    weir_arena_deinit(&result->row_arena);
    weir_arena_deinit(&result->chunk_arena);
    weir_arena_deinit(&result->arena);
    weir_mem_free(result->mem, result);
}

/* Names, types, and the types' SQL spelling. */
static Status result_describe(WeirResult *result, Error *err)
{
    const size_t count =
        (size_t)duckdb_column_count(&result->captured.result) - result->captured.hidden_columns;
    Arena *const arena = &result->arena;
    const LogicalType **types = weir_arena_calloc(arena, count, sizeof(const LogicalType *), err);
    const char **names = types == NULL ? NULL : weir_arena_calloc(arena, count, sizeof *names, err);
    result->type_texts =
        names == NULL ? NULL : weir_arena_calloc(arena, count, sizeof(char *), err);
    if (result->type_texts == NULL) {
        return err->code;
    }
    Buf text;
    Status status = WEIR_OK;
    weir_buf_init(&text, result->mem, (size_t)1 << 24);
    for (size_t i = 0; i < count; i++) {
        duckdb_logical_type type = duckdb_column_logical_type(&result->captured.result, i);
        types[i] = weir_type_from_duckdb(arena, type, err);
        duckdb_destroy_logical_type(&type);
        status = types[i] == NULL ? err->code : WEIR_OK;
        WEIR_CHECK(status);
        names[i] = weir_arena_strdup(arena, duckdb_column_name(&result->captured.result, i), err);
        status = names[i] == NULL ? err->code : WEIR_OK;
        WEIR_CHECK(status);
        weir_buf_clear(&text);
        weir_type_put_sql(&text, types[i]);
        WEIR_CHECK(weir_buf_status(&text, err));
        result->type_texts[i] = weir_arena_strdup(arena, text.data, err);
        status = result->type_texts[i] == NULL ? err->code : WEIR_OK;
        WEIR_CHECK(status);
    }
    result->schema = (Schema){.count = count, .types = types, .names = names};
done:
    weir_buf_deinit(&text);
    return status;
}

Status weir_result_new(WeirDb *db, CapturedResult *from, WeirResult **out, Error *err)
{
    WeirResult *result = weir_mem_zalloc(db->mem, sizeof *result, err);
    if (result == NULL) {
        weir_captured_result_deinit(from, db->mem);
        return err->code;
    }
    result->db = db;
    result->mem = db->mem;
    result->captured = *from;
    weir_arena_init(&result->arena, db->mem, 0);
    weir_arena_init(&result->chunk_arena, db->mem, 0);
    weir_arena_init(&result->row_arena, db->mem, 0);
    const duckdb_result_type type = duckdb_result_return_type(result->captured.result);
    result->has_rows = type == DUCKDB_RESULT_TYPE_QUERY_RESULT && !result->captured.is_counted;
    if (result->captured.is_counted) {
        result->rows_changed = result->captured.rows_changed;
    } else if (type == DUCKDB_RESULT_TYPE_CHANGED_ROWS) {
        result->rows_changed = duckdb_rows_changed(&result->captured.result);
    }
    Status status = WEIR_OK;
    if (result->has_rows) {
        status = result_describe(result, err);
    }
    if (status == WEIR_OK && result->has_rows) {
        status = weir_text_caster_new(db->database, db->connection, &result->schema,
                                      &result->caster, err);
    }
    if (status != WEIR_OK) {
        weir_result_free(result);
        return status;
    }
    *out = result;
    return WEIR_OK;
}

size_t weir_result_column_count(const WeirResult *result)
{
    return result->schema.count;
}

const char *weir_result_column_name(const WeirResult *result, size_t column)
{
    return result->schema.names[column];
}

const char *weir_result_column_type(const WeirResult *result, size_t column)
{
    return result->type_texts[column];
}

bool weir_result_is_numeric(const WeirResult *result, size_t column)
{
    return weir_type_is_numeric(result->schema.types[column]);
}

bool weir_result_has_rows(const WeirResult *result)
{
    return result->has_rows;
}

uint64_t weir_result_rows_changed(const WeirResult *result)
{
    return result->rows_changed;
}

static duckdb_data_chunk next_chunk(CapturedResult *captured, size_t *used)
{
    if (*used == captured->chunk_count) {
        return duckdb_fetch_chunk(captured->result);
    }
    duckdb_data_chunk chunk = captured->chunks[*used];
    captured->chunks[(*used)++] = NULL;
    return chunk;
}

/* Fetches the next chunk and turns its values into texts; chunk_count 0 at the end. */
static Status result_fetch(WeirResult *result, Error *err)
{
    if (result->chunk != NULL) {
        duckdb_destroy_data_chunk(&result->chunk);
    }
    result->row = 0;
    result->chunk_count = 0;
    result->chunk = next_chunk(&result->captured, &result->chunks_used);
    if (result->chunk == NULL) {
        return WEIR_OK;
    }
    Batch batch;
    weir_arena_reset(&result->chunk_arena);
    WEIR_TRY(weir_chunk_read(result->chunk, 0, &result->schema, &result->chunk_arena, &batch, err));
    result->texts =
        weir_arena_calloc(&result->chunk_arena, result->schema.count, sizeof(Vector), err);
    if (result->texts == NULL) {
        return err->code;
    }
    WEIR_TRY(
        weir_text_caster_run(result->caster, &batch, &result->chunk_arena, result->texts, err));
    result->chunk_count = batch.count;
    return WEIR_OK;
}

WeirStatus weir_result_next(WeirResult *result, bool *has_row, WeirError *err)
{
    *has_row = false;
    weir_error_clear(err);
    if (!result->has_rows) {
        return WEIR_OK;
    }
    if (result->row == result->chunk_count) {
        WEIR_TRY(result_fetch(result, err));
    }
    weir_arena_reset(&result->row_arena);
    *has_row = result->chunk_count > 0;
    result->row += *has_row;
    return WEIR_OK;
}

const char *weir_result_text(WeirResult *result, size_t column, size_t *size)
{
    const Vector *const texts = &result->texts[column];
    const size_t row = result->row - 1;
    if (weir_vector_is_null(texts, row)) {
        return NULL;
    }
    const String *const text = (const String *)texts->data + weir_vector_place(texts, row);
    Error err = {0};
    const char *copy = weir_arena_strndup(&result->row_arena, weir_string_data(text),
                                          weir_string_size(text), &err);
    if (size != NULL) {
        *size = copy == NULL ? 0 : weir_string_size(text);
    }
    return copy == NULL ? "" : copy;
}
