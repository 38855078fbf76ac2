/* capture_rows.c: running a statement so that it tells which rows it changes.
 *
 *   INSERT            RETURNING                                  +
 *   UPDATE            capture_update.c                           - and +
 *   UPSERT, MERGE     capture_upsert.c                           - and +
 *   DELETE            RETURNING; in a table that the transaction has changed before, a SELECT over its
 *                     condition first (DuckDB 1.4 does not return rows of the transaction itself)   -
 *   TRUNCATE          SELECT first                               -   as many as it says
 *   COPY, appender    the transaction's own rows afterwards, if it had none in the table  +   as many
 *   others            not known */
#include "duckdb/capture_priv.h"

#include "duckdb/chunk.h"
#include "duckdb/query.h"

/* Row ids of rows that the transaction has not committed are at least this. */
static const char OWN_ROWS[] = "rowid >= 36028797018960000";

/* ---- the transaction's tables ----------------------------------------------------------------- */

CapturedTable *weir_capture_find_table(const Capture *capture, const TableName *name)
{
    CapturedTable *table = capture->tables;
    while (table != NULL && !weir_name_equal(&table->name, name)) {
        table = table->next;
    }
    return table;
}

static void free_table(Capture *capture, CapturedTable *table)
{
    if (table->has_rows) {
        weir_row_table_deinit(&table->rows);
    }
    weir_arena_deinit(&table->arena);
    weir_mem_free(capture->mem, table);
}

static Status make_bag(Capture *capture, CapturedTable *table, Error *err)
{
    PhysType *key = weir_arena_calloc(&table->arena, table->schema.count, sizeof *key, err);
    if (key == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < table->schema.count; c++) {
        key[c] = table->schema.types[c]->phys;
    }
    const RowLayoutSpec spec = {.key = key, .key_count = table->schema.count};
    WEIR_TRY(weir_row_table_init(&table->rows, capture->mem, capture->pool, &spec, err));
    table->has_rows = true;
    return WEIR_OK;
}

CapturedTable *weir_capture_table(Capture *capture, const CaptureTarget *target)
{
    Error ignored = {0};
    CapturedTable *table = weir_capture_find_table(capture, &target->name);
    if (table != NULL) {
        table->is_known = table->is_known && table->follow_id == target->shape.follow_id;
        return table;
    }
    table = weir_mem_zalloc(capture->mem, sizeof *table, &ignored);
    if (table == NULL) {
        return NULL;
    }
    weir_arena_init(&table->arena, capture->mem, 0);
    table->follow_id = target->shape.follow_id;
    if (weir_name_copy(&table->arena, &target->name, &table->name, &ignored) != WEIR_OK ||
        weir_schema_copy(&table->arena, &target->shape.schema, &table->schema, &ignored) !=
            WEIR_OK ||
        make_bag(capture, table, &ignored) != WEIR_OK) {
        free_table(capture, table);
        return NULL;
    }
    table->is_known = target->shape.is_followed;
    table->next = capture->tables;
    capture->tables = table;
    return table;
}

void weir_capture_note_rewrites(CapturedTable *table, uint64_t kind)
{
    const bool is_same = table->rewrites == REWRITES_NONE || table->rewrites == kind;
    table->rewrites = is_same ? kind : REWRITES_MIXED;
}

void weir_capture_forget(Capture *capture)
{
    while (capture->tables != NULL) {
        CapturedTable *const table = capture->tables;
        capture->tables = table->next;
        free_table(capture, table);
    }
    capture->dropped = NULL;
    weir_arena_reset(&capture->dropped_arena);
    capture->is_unknown = false;
    capture->has_definitions = false;
    capture->has_failed = false;
    capture->is_doomed = false;
}

/* ---- results ---------------------------------------------------------------------------------- */

void weir_captured_result_deinit(CapturedResult *result, Mem *mem)
{
    for (size_t i = 0; i < result->chunk_count; i++) {
        if (result->chunks[i] != NULL) {
            duckdb_destroy_data_chunk(&result->chunks[i]);
        }
    }
    weir_mem_free(mem, result->chunks);
    duckdb_destroy_result(&result->result);
    *result = (CapturedResult){0};
}

Status weir_capture_plain(Capture *capture, const char *sql, CapturedResult *out, Error *err)
{
    *out = (CapturedResult){0};
    if (duckdb_query(capture->connection, sql, &out->result) == DuckDBSuccess) {
        return WEIR_OK;
    }
    const char *const message = duckdb_result_error(&out->result);
    capture->has_failed = true;
    const bool is_interrupt = duckdb_result_error_type(&out->result) == DUCKDB_ERROR_INTERRUPT;
    weir_error_set(err, is_interrupt ? WEIR_ERR_INTERRUPTED : WEIR_ERR_HOST, "%s",
                   message == NULL ? "the statement failed" : message);
    duckdb_destroy_result(&out->result);
    *out = (CapturedResult){0};
    return err->code;
}

static Status keep_chunk(Capture *capture, CapturedResult *result, duckdb_data_chunk chunk,
                         Error *err)
{
    const size_t count = result->chunk_count;
    if ((count & (count + 1)) == 0) { /* 0, 1, 3, 7, ... are full */
        duckdb_data_chunk *chunks = weir_mem_realloc(
            capture->mem, result->chunks, (2 * count + 1) * sizeof(duckdb_data_chunk), err);
        if (chunks == NULL) {
            return err->code;
        }
        result->chunks = chunks;
    }
    result->chunks[result->chunk_count++] = chunk;
    return WEIR_OK;
}

/* Adds the rows of a result, whose last columns are the followed ones, with that sign. */
typedef struct Gathering {
    Capture *capture;
    CapturedTable *table;
    int64_t sign;
    bool keeps_chunks;
    bool has_actions; /* before them stands what MERGE did; the rows that it deleted are left out */
    uint64_t row_count;
    uint64_t rewritten_count; /* rows that MERGE updated or deleted */
} Gathering;

static bool is_action(duckdb_vector actions, size_t row, const char *action)
{
    const String *const text = &((const String *)duckdb_vector_get_data(actions))[row];
    return weir_string_size(text) == strlen(action) &&
           memcmp(weir_string_data(text), action, strlen(action)) == 0;
}

/* The rows that are there after MERGE. */
static Status drop_deleted(Gathering *gathering, duckdb_vector actions, Arena *arena, Batch *batch,
                           Error *err)
{
    uint16_t selection[BATCH_CAPACITY];
    size_t count = 0;
    const Batch all = *batch;
    WEIR_VERIFY(all.count <= BATCH_CAPACITY, err);
    for (size_t i = 0; i < all.count; i++) {
        const bool is_deleted = is_action(actions, i, "DELETE");
        gathering->rewritten_count += is_deleted || is_action(actions, i, "UPDATE");
        selection[count] = (uint16_t)i;
        count += !is_deleted;
    }
    return count == all.count ? WEIR_OK
                              : weir_batch_gather(&all, selection, count, arena, batch, err);
}

static Status gather_chunk(Gathering *gathering, duckdb_data_chunk chunk, Arena *arena, Error *err)
{
    CapturedTable *const table = gathering->table;
    const size_t hidden = WEIR_MAX(table->schema.count, (size_t)1);
    const size_t first = (size_t)duckdb_data_chunk_get_column_count(chunk) - hidden;
    Batch batch;
    gathering->row_count += duckdb_data_chunk_get_size(chunk);
    weir_arena_reset(arena);
    WEIR_TRY(weir_chunk_read(chunk, first, &table->schema, arena, &batch, err));
    if (gathering->has_actions) {
        WEIR_TRY(drop_deleted(gathering, duckdb_data_chunk_get_vector(chunk, first - 1), arena,
                              &batch, err));
    }
    return batch.count == 0 ? WEIR_OK : weir_bag_add(&table->rows, &batch, gathering->sign, err);
}

/* A failure leaves the table unknown: the statement has been run, and that stands. */
static void gather(Gathering *gathering, CapturedResult *from)
{
    Error ignored = {0};
    Status status = WEIR_OK;
    Arena arena;
    weir_arena_init(&arena, gathering->capture->mem, 0);
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(from->result);
        if (chunk == NULL) {
            break;
        }
        if (status == WEIR_OK) {
            status = gather_chunk(gathering, chunk, &arena, &ignored);
        }
        if (!gathering->keeps_chunks ||
            keep_chunk(gathering->capture, from, chunk, &ignored) != WEIR_OK) {
            duckdb_destroy_data_chunk(&chunk);
        }
    }
    gathering->table->is_known = gathering->table->is_known && status == WEIR_OK;
    weir_arena_deinit(&arena);
}

/* ---- statements ------------------------------------------------------------------------------- */

/* A failure that does not end the transaction, and may quote the text. */
static bool is_about_text(const Error *err)
{
    return strncmp(err->message, "Parser Error", 12) == 0 ||
           strncmp(err->message, "Binder Error", 12) == 0;
}

static Status flush_appender(const CaptureRun *run, CapturedResult *out, Error *err)
{
    *out = (CapturedResult){.is_counted = true, .rows_changed = run->appended_count};
    if (duckdb_appender_flush(run->appender) == DuckDBSuccess) {
        return WEIR_OK;
    }
    const char *const message = duckdb_appender_error(run->appender);
    run->capture->has_failed = true;
    return weir_error_set(err, WEIR_ERR_HOST, "%s",
                          message == NULL ? "the rows cannot be appended" : message);
}

Status weir_capture_run_unchanged(const CaptureRun *run, CapturedResult *out, Error *err)
{
    if (run->appender != NULL) {
        return flush_appender(run, out, err);
    }
    return weir_capture_plain(run->capture, run->call == NULL ? run->sql : run->call, out, err);
}

void weir_capture_cut_quotation(Error *err)
{
    char *const quoted = strstr(err->message, "\n\nLINE ");
    if (quoted != NULL) {
        *quoted = '\0';
    }
}

Status weir_capture_run_changed(const CaptureRun *run, const char *sql, CapturedResult *out,
                                Error *err)
{
    const Status status = run->prepared == NULL ? weir_capture_plain(run->capture, sql, out, err)
                                                : weir_capture_run_prepared(run, sql, out, err);
    if (status == WEIR_OK) {
        return WEIR_OK;
    }
    run->table->is_known = false;
    if (is_about_text(err)) {
        return weir_capture_run_unchanged(run, out, err);
    }
    weir_capture_cut_quotation(err); /* it would be of our text */
    return status;
}

Status weir_capture_run_returning(const CaptureRun *run, Returning *returning, CapturedResult *out,
                                  Error *err)
{
    Gathering gathering = {.capture = run->capture,
                           .table = run->table,
                           .sign = returning->sign,
                           .keeps_chunks = run->shape->has_returning,
                           .has_actions = returning->has_actions};
    Buf text;
    weir_buf_init(&text, run->capture->mem, SIZE_MAX);
    weir_buf_printf(&text, "%s\n%s %s%s", returning->sql,
                    run->shape->has_returning ? "," : "RETURNING",
                    returning->has_actions ? "merge_action, " : "", run->target->columns);
    Status status = weir_buf_status(&text, err);
    if (status == WEIR_OK) {
        status = weir_capture_run_changed(run, text.data, out, err);
    }
    weir_buf_deinit(&text);
    if (status != WEIR_OK || !run->table->is_known) {
        run->table->is_known = false;
        return status;
    }
    gather(&gathering, out);
    out->hidden_columns =
        WEIR_MAX(run->target->shape.schema.count, (size_t)1) + returning->has_actions;
    out->is_counted = !run->shape->has_returning;
    out->rows_changed = gathering.row_count;
    returning->rewritten_count = gathering.rewritten_count;
    return WEIR_OK;
}

/* The statement, telling its rows. */
static Status run_returning(const CaptureRun *run, int64_t sign, CapturedResult *out, Error *err)
{
    Returning returning = {.sql = run->sql, .sign = sign};
    return weir_capture_run_returning(run, &returning, out, err);
}

void weir_capture_put_span(Buf *buf, const char *before, SqlSpan span)
{
    if (span.start != NULL) {
        weir_buf_printf(buf, "%s%.*s\n", before, (int)span.size, span.start);
    }
}

/* The followed columns of the rows that the statement is about to change, each once. */
static void put_select(Buf *sql, const WriteShape *shape, const CaptureTarget *target)
{
    const bool is_join = shape->others.start != NULL;
    weir_capture_put_span(sql, "", shape->with);
    weir_buf_printf(sql, "SELECT %s FROM (SELECT", target->columns);
    weir_capture_put_span(sql, is_join ? " DISTINCT " : " ", shape->alias);
    weir_buf_puts(sql, ".rowid");
    for (size_t c = 0; c < target->shape.schema.count; c++) {
        weir_capture_put_span(sql, ", ", shape->alias);
        weir_buf_putc(sql, '.');
        weir_buf_put_sql_name(sql, target->shape.schema.names[c]);
    }
    weir_capture_put_span(sql, " FROM ", shape->relation);
    weir_capture_put_span(sql, ", ", shape->others);
    weir_capture_put_span(sql, " WHERE ", shape->condition);
    weir_buf_puts(sql, ") AS changed");
}

/* A SELECT of ours that fails aborts the user's transaction, as his statement would have: then err,
 * which says only that, becomes what the SELECT said. */
static void prefer(const Error *why, Error *err)
{
    if (why->code != WEIR_OK && strstr(err->message, "transaction is aborted") != NULL) {
        *err = *why;
        weir_capture_cut_quotation(err);
    }
}

/* Runs a SELECT over what the statement is about to change, if it would give the same when it is run
 * again. False: it would not, or it failed for the reason in *why. */
static bool run_select(const CaptureRun *run, const char *select, CapturedResult *out, Error *why)
{
    return (run->shape->is_plain || weir_capture_is_repeatable(run->capture, select)) &&
           weir_capture_plain(run->capture, select, out, why) == WEIR_OK;
}

/* Takes the rows out of the table's change that the statement is about to change. False: not known,
 * and nothing was taken, or the table is not known any more. why = the failure of the SELECT. */
static bool take_old_rows(const CaptureRun *run, uint64_t *row_count, Error *why)
{
    Error ignored = {0};
    CapturedResult rows = {0};
    Gathering old = {.capture = run->capture, .table = run->table, .sign = -1};
    Buf sql;
    weir_buf_init(&sql, run->capture->mem, SIZE_MAX);
    put_select(&sql, run->shape, run->target);
    const bool is_taken =
        weir_buf_status(&sql, &ignored) == WEIR_OK && run_select(run, sql.data, &rows, why);
    if (is_taken) {
        gather(&old, &rows);
        weir_captured_result_deinit(&rows, run->capture->mem);
    }
    weir_buf_deinit(&sql);
    *row_count = old.row_count;
    return is_taken;
}

/* What a statement without RETURNING says; it has no rows of the user's. */
static uint64_t count_changed(CapturedResult *out)
{
    return duckdb_result_return_type(out->result) == DUCKDB_RESULT_TYPE_CHANGED_ROWS
               ? duckdb_rows_changed(&out->result)
               : UINT64_MAX;
}

bool weir_capture_count(Capture *capture, const WriteShape *shape, CapturedResult *out,
                        uint64_t *count)
{
    Error ignored = {0};
    if (!shape->has_returning) {
        *count = count_changed(out);
        return true;
    }
    *count = 0;
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(out->result);
        if (chunk == NULL) {
            return true;
        }
        *count += duckdb_data_chunk_get_size(chunk);
        if (keep_chunk(capture, out, chunk, &ignored) != WEIR_OK) {
            duckdb_destroy_data_chunk(&chunk);
            return false;
        }
    }
}

static Status run_delete(const CaptureRun *run, CapturedResult *out, Error *err)
{
    Error why = {0};
    uint64_t expected = 0;
    if (!run->was_touched && run->shape->kind == WRITE_DELETE) {
        return run_returning(run, -1, out, err);
    }
    const bool is_taken =
        !run->shape->has_returning && run->prepared == NULL && take_old_rows(run, &expected, &why);
    const Status status = weir_capture_run_unchanged(run, out, err);
    if (status != WEIR_OK) {
        prefer(&why, err);
    }
    run->table->is_known =
        run->table->is_known && is_taken && status == WEIR_OK && count_changed(out) == expected;
    return status;
}

static Status run_copy(const CaptureRun *run, CapturedResult *out, Error *err)
{
    Error ignored = {0};
    CapturedResult rows = {0};
    Gathering new = {.capture = run->capture, .table = run->table, .sign = 1};
    WEIR_TRY(weir_capture_run_unchanged(run, out, err));
    Buf select;
    weir_buf_init(&select, run->capture->mem, SIZE_MAX);
    weir_buf_printf(&select, "SELECT %s FROM %.*s WHERE %s", run->target->columns,
                    (int)run->shape->target.size, run->shape->target.start, OWN_ROWS);
    const bool is_taken = !run->was_touched && weir_buf_status(&select, &ignored) == WEIR_OK &&
                          weir_capture_plain(run->capture, select.data, &rows, &ignored) == WEIR_OK;
    weir_buf_deinit(&select);
    if (is_taken) {
        gather(&new, &rows);
        weir_captured_result_deinit(&rows, run->capture->mem);
    }
    const uint64_t expected = run->appender == NULL ? count_changed(out) : run->appended_count;
    run->table->is_known = run->table->is_known && is_taken && expected == new.row_count;
    return WEIR_OK;
}

/* What an UPDATE does is noted where its assignments are read. */
static void note_kind(const CaptureRun *run)
{
    switch (run->shape->kind) {
    case WRITE_INSERT:
    case WRITE_COPY:
    case WRITE_UPDATE: return;
    case WRITE_DELETE:
    case WRITE_TRUNCATE: weir_capture_note_rewrites(run->table, REWRITES_DELETE); return;
    default: weir_capture_note_rewrites(run->table, REWRITES_MIXED);
    }
}

Status weir_capture_run(CaptureRun run, CapturedResult *out, Error *err)
{
    const WriteKind kind = run.shape->kind;
    run.was_touched = weir_capture_find_table(run.capture, &run.target->name) != NULL;
    run.table = weir_capture_table(run.capture, run.target);
    if (run.table == NULL) {
        run.capture->is_unknown = true;
        return weir_capture_run_unchanged(&run, out, err);
    }
    if (!run.table->is_known) {
        weir_capture_note_rewrites(run.table, REWRITES_MIXED);
        return weir_capture_run_unchanged(&run, out, err);
    }
    note_kind(&run);
    switch (kind) {
    case WRITE_INSERT: return run_returning(&run, 1, out, err);
    case WRITE_UPDATE: return weir_capture_update(&run, out, err);
    case WRITE_UPSERT:
    case WRITE_MERGE: return weir_capture_upsert(&run, out, err);
    case WRITE_DELETE:
    case WRITE_TRUNCATE: return run_delete(&run, out, err);
    case WRITE_COPY: return run_copy(&run, out, err);
    default: run.table->is_known = false; return weir_capture_run_unchanged(&run, out, err);
    }
}
