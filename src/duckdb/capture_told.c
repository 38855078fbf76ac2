/* capture_told.c: statements that tell their rows from inside an expression (told_function.h).
 *
 *   SET v = value   becomes   SET v = told(handle, value, row id, old values, other new values)
 *                   or        SET v = CASE WHEN told(handle, is changed, ...) THEN value END
 *
 *   WHERE condition becomes   WHERE told(handle, condition, row id, old values)
 *
 * DuckDB evaluates it once for every row that the statement is about to change, or may change if the
 * condition is true. What was told is believed if it is as many rows as DuckDB says it has changed,
 * each of them once: what is a join tells row ids for that. */
#include <stdlib.h>

#include "duckdb/capture_priv.h"
#include "duckdb/chunk.h"

static bool is_true(duckdb_vector vector, size_t row)
{
    return weir_validity_get(duckdb_vector_get_validity(vector), row) &&
           ((const uint8_t *)duckdb_vector_get_data(vector))[row] != 0;
}

/* ---- listening -------------------------------------------------------------------------------- */

static Status keep_row_id(Telling *telling, int64_t row_id, Error *err)
{
    if (telling->row_id_count == telling->row_id_capacity) {
        const size_t capacity = WEIR_MAX(2 * telling->row_id_capacity, (size_t)64);
        int64_t *const ids = weir_mem_realloc(telling->run->capture->mem, telling->row_ids,
                                              capacity * sizeof *ids, err);
        if (ids == NULL) {
            return err->code;
        }
        telling->row_ids = ids;
        telling->row_id_capacity = capacity;
    }
    telling->row_ids[telling->row_id_count++] = row_id;
    return WEIR_OK;
}

/* The rows that change. */
static Status select_rows(Telling *telling, duckdb_data_chunk chunk, uint16_t *selection,
                          size_t *count, Error *err)
{
    const size_t size = duckdb_data_chunk_get_size(chunk);
    const duckdb_vector value = duckdb_data_chunk_get_vector(chunk, TOLD_VALUE);
    const duckdb_vector ids = duckdb_data_chunk_get_vector(chunk, telling->row_id_argument);
    const uint64_t *const has_id = duckdb_vector_get_validity(ids);
    for (size_t i = 0; i < size; i++) {
        if (weir_validity_get(has_id, i) && (!telling->is_conditional || is_true(value, i))) {
            const int64_t row_id = ((const int64_t *)duckdb_vector_get_data(ids))[i];
            WEIR_TRY(keep_row_id(telling, row_id, err));
            selection[(*count)++] = (uint16_t)i;
        }
    }
    return WEIR_OK;
}

/* The rows after the statement: the old ones with the new values in their places. */
static Status read_after(Telling *telling, duckdb_data_chunk chunk, const Batch *before, Batch *out,
                         Error *err)
{
    const Schema *const schema = &telling->run->table->schema;
    *out = *before;
    out->columns = weir_arena_calloc(&telling->arena, schema->count, sizeof *out->columns, err);
    if (out->columns == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < schema->count; c++) {
        const size_t argument = telling->new_arguments[c];
        out->columns[c] = before->columns[c];
        if (argument > 0) {
            WEIR_TRY(weir_chunk_read_vector(duckdb_data_chunk_get_vector(chunk, argument),
                                            schema->types[c], before->count, &telling->arena,
                                            &out->columns[c], err));
        }
    }
    return WEIR_OK;
}

static Status hear_rows(Telling *telling, duckdb_data_chunk chunk, Error *err)
{
    CapturedTable *const table = telling->run->table;
    uint16_t selection[BATCH_CAPACITY];
    size_t count = duckdb_data_chunk_get_size(chunk);
    Batch before;
    Batch after;
    WEIR_VERIFY(count <= BATCH_CAPACITY, err);
    weir_arena_reset(&telling->arena);
    WEIR_TRY(weir_chunk_read(chunk, telling->old_argument, &table->schema, &telling->arena, &before,
                             err));
    if (telling->row_id_argument > 0) {
        count = 0;
        WEIR_TRY(select_rows(telling, chunk, selection, &count, err));
    }
    telling->changed_count += count;
    if (telling->new_arguments != NULL) {
        WEIR_ASSERT(count == before.count);
        WEIR_TRY(read_after(telling, chunk, &before, &after, err));
        WEIR_TRY(weir_bag_add(&table->rows, &after, 1, err));
    }
    if (count < before.count) {
        const Batch all = before;
        WEIR_TRY(weir_batch_gather(&all, selection, count, &telling->arena, &before, err));
    }
    return count == 0 ? WEIR_OK : weir_bag_add(&table->rows, &before, -1, err);
}

/* A failure leaves the table unknown: the statement goes on. */
static void hear(void *user, duckdb_data_chunk chunk)
{
    Telling *const telling = user;
    Error ignored = {0};
    if (!telling->has_failed) {
        telling->has_failed = hear_rows(telling, chunk, &ignored) != WEIR_OK;
    }
}

void weir_telling_init(Telling *telling, const CaptureRun *run)
{
    *telling = (Telling){.run = run};
    weir_arena_init(&telling->arena, run->capture->mem, 0);
}

void weir_telling_deinit(Telling *telling)
{
    weir_mem_free(telling->run->capture->mem, telling->row_ids);
    weir_arena_deinit(&telling->arena);
}

void weir_telling_begin(Telling *telling)
{
    const Capture *const capture = telling->run->capture;
    weir_told_listen(capture->database->told, capture->told_handle, hear, telling);
}

void weir_telling_end(Telling *telling)
{
    const Capture *const capture = telling->run->capture;
    weir_told_listen(capture->database->told, capture->told_handle, NULL, NULL);
}

Status weir_telling_run(Telling *telling, const char *sql, CapturedResult *out, Error *err)
{
    weir_telling_begin(telling);
    const Status status = weir_capture_run_changed(telling->run, sql, out, err);
    weir_telling_end(telling);
    return status;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Each row once, and that many. */
bool weir_telling_is_whole(Telling *telling, uint64_t changed_count)
{
    if (telling->has_failed || telling->changed_count != changed_count) {
        return false;
    }
    if (telling->row_id_count > 1) {
        qsort(telling->row_ids, telling->row_id_count, sizeof *telling->row_ids, compare_ids);
    }
    for (size_t i = 1; i < telling->row_id_count; i++) {
        if (telling->row_ids[i] == telling->row_ids[i - 1]) {
            return false;
        }
    }
    return true;
}

/* ---- writing ---------------------------------------------------------------------------------- */

void weir_telling_put_call(const Telling *telling, Buf *sql)
{
    weir_told_put_call(sql, telling->run->capture->told_handle);
    weir_buf_puts(sql, ", ");
}

void weir_telling_put_old_values(Telling *telling, bool has_row_id, Buf *sql, size_t *next)
{
    const CaptureRun *const run = telling->run;
    const Schema *const schema = &run->target->shape.schema;
    *next = TOLD_FIRST;
    if (has_row_id) {
        telling->row_id_argument = (*next)++;
        weir_capture_put_span(sql, ", ", run->shape->alias);
        weir_buf_puts(sql, ".rowid");
    }
    telling->old_argument = *next;
    for (size_t c = 0; c < schema->count; c++) {
        weir_capture_put_span(sql, ", ", run->shape->alias);
        weir_buf_putc(sql, '.');
        weir_buf_put_sql_name(sql, schema->names[c]);
    }
    *next += schema->count;
}
