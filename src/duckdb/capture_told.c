/* capture_told.c: statements that tell their rows from inside an assignment (told_function.h).
 *
 *   SET v = value   becomes   SET v = CASE WHEN told(handle, is_changed, rowid, old ..., new ...)
 *                                          THEN value END
 *
 * DuckDB evaluates it once for every row that the statement is about to change; UPSERT and MERGE also
 * evaluate it for new rows, which have no row id, and for rows that a condition of theirs leaves as
 * they are: is_changed is false there. What was told is believed if it is as many rows as DuckDB says
 * it has changed, each of them once. */
#include <stdlib.h>

#include "duckdb/capture_priv.h"
#include "duckdb/chunk.h"

enum { TOLD_IS_CHANGED = 1, TOLD_ROW_ID = 2, TOLD_FIRST = 3 };

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
        int64_t *const ids =
            weir_mem_realloc(telling->mem, telling->row_ids, capacity * sizeof *ids, err);
        if (ids == NULL) {
            return err->code;
        }
        telling->row_ids = ids;
        telling->row_id_capacity = capacity;
    }
    telling->row_ids[telling->row_id_count++] = row_id;
    return WEIR_OK;
}

/* The rows that change, and the counts of all. */
static Status select_rows(Telling *telling, duckdb_data_chunk chunk, uint16_t *selection,
                          size_t *count, Error *err)
{
    const size_t size = duckdb_data_chunk_get_size(chunk);
    const duckdb_vector changes = duckdb_data_chunk_get_vector(chunk, TOLD_IS_CHANGED);
    const duckdb_vector ids = duckdb_data_chunk_get_vector(chunk, TOLD_ROW_ID);
    const uint64_t *const has_id = duckdb_vector_get_validity(ids);
    for (size_t i = 0; i < size; i++) {
        if (!weir_validity_get(has_id, i)) {
            telling->new_count++;
        } else if (is_true(changes, i)) {
            const int64_t row_id = ((const int64_t *)duckdb_vector_get_data(ids))[i];
            WEIR_TRY(keep_row_id(telling, row_id, err));
            selection[(*count)++] = (uint16_t)i;
        }
    }
    return WEIR_OK;
}

static Status add_selected(Telling *telling, duckdb_data_chunk chunk, size_t first, int64_t sign,
                           const uint16_t *selection, size_t count, Error *err)
{
    Batch all;
    Batch some;
    weir_arena_reset(&telling->arena);
    WEIR_TRY(weir_chunk_read(chunk, first, &telling->table->schema, &telling->arena, &all, err));
    if (count == all.count) {
        return weir_bag_add(&telling->table->rows, &all, sign, err);
    }
    WEIR_TRY(weir_batch_gather(&all, selection, count, &telling->arena, &some, err));
    return weir_bag_add(&telling->table->rows, &some, sign, err);
}

static Status hear_rows(Telling *telling, duckdb_data_chunk chunk, Error *err)
{
    uint16_t selection[BATCH_CAPACITY];
    size_t count = 0;
    const size_t width = telling->table->schema.count;
    WEIR_VERIFY(duckdb_data_chunk_get_size(chunk) <= BATCH_CAPACITY, err);
    WEIR_TRY(select_rows(telling, chunk, selection, &count, err));
    if (count == 0) {
        return WEIR_OK;
    }
    WEIR_TRY(add_selected(telling, chunk, TOLD_FIRST, -1, selection, count, err));
    return telling->has_after
               ? add_selected(telling, chunk, TOLD_FIRST + width, 1, selection, count, err)
               : WEIR_OK;
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

void weir_telling_init(Telling *telling, const CaptureRun *run, bool has_after)
{
    *telling = (Telling){.mem = run->capture->mem, .table = run->table, .has_after = has_after};
    weir_arena_init(&telling->arena, telling->mem, 0);
}

void weir_telling_deinit(Telling *telling)
{
    weir_mem_free(telling->mem, telling->row_ids);
    weir_arena_deinit(&telling->arena);
}

Status weir_telling_run(Telling *telling, const CaptureRun *run, const char *sql,
                        CapturedResult *out, Error *err)
{
    const Capture *const capture = run->capture;
    weir_told_listen(capture->database->told, capture->told_handle, hear, telling);
    const Status status = weir_capture_run_changed(run, sql, out, err);
    weir_told_listen(capture->database->told, capture->told_handle, NULL, NULL);
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
    if (telling->has_failed || telling->row_id_count != changed_count) {
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

void weir_telling_put_old(Buf *sql, const WriteShape *shape, const char *column)
{
    weir_capture_put_span(sql, "", shape->alias);
    weir_buf_putc(sql, '.');
    weir_buf_put_sql_name(sql, column);
}

void weir_telling_put_call(Buf *sql, const CaptureRun *run, const char *is_changed)
{
    const Schema *const schema = &run->target->shape.schema;
    weir_told_put_call(sql, run->capture->told_handle);
    weir_buf_printf(sql, ", %s", is_changed);
    weir_capture_put_span(sql, ", ", run->shape->alias);
    weir_buf_puts(sql, ".rowid");
    for (size_t c = 0; c < schema->count; c++) {
        weir_buf_puts(sql, ", ");
        weir_telling_put_old(sql, run->shape, schema->names[c]);
    }
}
