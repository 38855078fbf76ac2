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

/* The schema's types as SQL spells them. */
static Status result_spell_types(WeirResult *result, Error *err)
{
    Status status = WEIR_OK;
    Buf text;
    const size_t count = result->schema.count;
    weir_buf_init(&text, result->mem, (size_t)1 << 24);
    result->type_texts = weir_arena_calloc(&result->arena, count, sizeof(char *), err);
    status = result->type_texts == NULL ? err->code : WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < count; i++) {
        weir_buf_clear(&text);
        weir_type_put_sql(&text, result->schema.types[i]);
        WEIR_CHECK(weir_buf_status(&text, err));
        result->type_texts[i] = weir_arena_strdup(&result->arena, text.data, err);
        status = result->type_texts[i] == NULL ? err->code : WEIR_OK;
    }
done:
    weir_buf_deinit(&text);
    return status;
}

/* Names and types. */
static Status result_describe(WeirResult *result, Error *err)
{
    const size_t count =
        (size_t)duckdb_column_count(&result->captured.result) - result->captured.hidden_columns;
    Arena *const arena = &result->arena;
    const LogicalType **types = weir_arena_calloc(arena, count, sizeof(const LogicalType *), err);
    const char **names = types == NULL ? NULL : weir_arena_calloc(arena, count, sizeof *names, err);
    if (names == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        duckdb_logical_type type = duckdb_column_logical_type(&result->captured.result, i);
        types[i] = weir_type_from_duckdb(arena, type, err);
        duckdb_destroy_logical_type(&type);
        names[i] =
            types[i] == NULL
                ? NULL
                : weir_arena_strdup(arena, duckdb_column_name(&result->captured.result, i), err);
        if (names[i] == NULL) {
            return err->code;
        }
    }
    result->schema = (Schema){.count = count, .types = types, .names = names};
    return result_spell_types(result, err);
}

/* Empty. NULL with err filled on failure. */
static WeirResult *result_alloc(Mem *mem, Error *err)
{
    WeirResult *result = weir_mem_zalloc(mem, sizeof *result, err);
    if (result != NULL) {
        result->mem = mem;
        weir_arena_init(&result->arena, mem, 0);
        weir_arena_init(&result->chunk_arena, mem, 0);
        weir_arena_init(&result->row_arena, mem, 0);
    }
    return result;
}

Status weir_result_new(WeirDb *db, CapturedResult *from, WeirResult **out, Error *err)
{
    WeirResult *result = result_alloc(db->mem, err);
    if (result == NULL) {
        weir_captured_result_deinit(from, db->mem);
        return err->code;
    }
    result->captured = *from;
    if (result->captured.is_counted) { /* there may be no result of DuckDB's */
        result->rows_changed = result->captured.rows_changed;
    } else {
        const duckdb_result_type type = duckdb_result_return_type(result->captured.result);
        result->has_rows = type == DUCKDB_RESULT_TYPE_QUERY_RESULT;
        result->rows_changed = type == DUCKDB_RESULT_TYPE_CHANGED_ROWS
                                   ? duckdb_rows_changed(&result->captured.result)
                                   : 0;
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

Status weir_result_new_rows(WeirDatabase *database, duckdb_connection connection,
                            const Schema *schema, WeirResult **out, Error *err)
{
    WeirResult *result = result_alloc(database->mem, err);
    if (result == NULL) {
        return err->code;
    }
    result->schema = *schema;
    Status status = result_spell_types(result, err);
    if (status == WEIR_OK) {
        status = weir_text_caster_new(database, connection, &result->schema, &result->caster, err);
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

Status weir_result_take_batch(WeirResult *result, const Batch *batch, Error *err)
{
    result->row = 0;
    result->chunk_count = 0;
    result->texts =
        weir_arena_calloc(&result->chunk_arena, result->schema.count, sizeof(Vector), err);
    if (result->texts == NULL) {
        return err->code;
    }
    WEIR_TRY(weir_text_caster_run(result->caster, batch, &result->chunk_arena, result->texts, err));
    result->chunk_count = batch->count;
    return WEIR_OK;
}

bool weir_result_step(WeirResult *result)
{
    const bool has_row = result->row < result->chunk_count;
    weir_arena_reset(&result->row_arena);
    result->row += has_row;
    return has_row;
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
    return weir_result_take_batch(result, &batch, err);
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
    *has_row = weir_result_step(result);
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
