/* capture_upsert.c: statements that add rows or change those that are there.
 *
 *   INSERT INTO t ... ON CONFLICT (id) DO UPDATE SET v = excluded.v
 *                     WHERE told(handle, true, t.rowid, t.k, t.v) RETURNING k, v
 *   MERGE INTO t USING ... WHEN MATCHED AND told(handle, true, t.rowid, t.k, t.v) THEN UPDATE ...
 *                          WHEN NOT MATCHED THEN INSERT ... RETURNING merge_action, k, v
 *
 * DuckDB evaluates such a condition once for every row of the table that is met, and tells by it which
 * rows change: their old values are taken out, and what is returned comes in. INSERT OR REPLACE is
 * written as the ON CONFLICT clause that DuckDB makes of it. */
#include "duckdb/capture_priv.h"

/* told(handle, condition, row id, old values) */
static void put_call(Telling *telling, SqlSpan condition, Buf *sql)
{
    size_t next = 0;
    weir_telling_put_call(telling, sql);
    if (condition.size > 0) {
        weir_capture_put_span(sql, "(", condition);
        weir_buf_putc(sql, ')');
    } else {
        weir_buf_puts(sql, "true");
    }
    weir_telling_put_old_values(telling, true, sql, &next);
    weir_buf_putc(sql, ')');
}

static bool is_listed(SqlSpan list, const char *column)
{
    SqlToken token = {.end = list.start};
    while (token.end < list.start + list.size && weir_sql_token_next(&token)) {
        if (weir_sql_token_is_name(&token) &&
            weir_name_is_written(token.start, (size_t)(token.end - token.start), column)) {
            return true;
        }
    }
    return false;
}

/* ON CONFLICT DO UPDATE SET v = excluded.v, ...: of all columns that are no key, or of those that the
 * statement lists. False: there is none, or it is not known. */
static bool put_conflict_clause(const CaptureRun *run, Buf *sql)
{
    const SqlSpan list = run->shape->columns;
    const char *const *columns = weir_capture_replaced_columns(run->capture, run->target);
    bool has_some = false;
    for (size_t i = 0; columns != NULL && columns[i] != NULL; i++) {
        if (list.start == NULL || is_listed(list, columns[i])) {
            weir_buf_puts(sql, has_some ? ", " : "\nON CONFLICT DO UPDATE SET ");
            weir_buf_put_sql_name(sql, columns[i]);
            weir_buf_puts(sql, " = excluded.");
            weir_buf_put_sql_name(sql, columns[i]);
            has_some = true;
        }
    }
    return has_some;
}

/* The statement with a call in each of its places. False: it cannot be told. */
static bool put_statement(Telling *telling, Buf *sql)
{
    const CaptureRun *const run = telling->run;
    const SqlSpan replace = run->shape->replace;
    const char *from = run->sql;
    if (replace.start != NULL) {
        weir_buf_printf(sql, "%.*s", (int)(replace.start - from), from);
        from = replace.start + replace.size;
    }
    for (size_t i = 0; i < run->shape->place_count; i++) {
        const ConditionPlace *const place = &run->shape->places[i];
        weir_buf_printf(sql, "%.*s", (int)(place->condition.start - from), from);
        if (replace.start != NULL && !put_conflict_clause(run, sql)) {
            return false;
        }
        if (place->condition.size == 0) {
            weir_buf_printf(sql, " %s", place->keyword);
        }
        weir_buf_putc(sql, ' ');
        put_call(telling, place->condition, sql);
        weir_buf_putc(sql, ' ');
        from = place->condition.start + place->condition.size;
    }
    weir_buf_puts(sql, from);
    return true;
}

static Status run_telling(Telling *telling, const char *sql, CapturedResult *out, Error *err)
{
    const CaptureRun *const run = telling->run;
    const bool is_merge = run->shape->kind == WRITE_MERGE;
    Returning returning = {.sql = sql, .sign = 1, .has_actions = is_merge};
    telling->is_conditional = true;
    weir_telling_begin(telling);
    const Status status = weir_capture_run_returning(run, &returning, out, err);
    weir_telling_end(telling);
    const uint64_t changed_count = is_merge ? returning.rewritten_count : telling->changed_count;
    run->table->is_known = run->table->is_known && weir_telling_is_whole(telling, changed_count);
    if (status == WEIR_OK && is_merge && out->is_counted) { /* a row met twice is returned once */
        out->rows_changed += telling->changed_count - returning.rewritten_count;
    }
    return status;
}

Status weir_capture_upsert(const CaptureRun *run, CapturedResult *out, Error *err)
{
    Buf sql;
    Telling telling;
    Error ignored = {0};
    weir_buf_init(&sql, run->capture->mem, SIZE_MAX);
    weir_telling_init(&telling, run);
    const bool is_told = !run->target->is_special && put_statement(&telling, &sql) &&
                         weir_buf_status(&sql, &ignored) == WEIR_OK;
    run->table->is_known = run->table->is_known && is_told;
    const Status status = is_told ? run_telling(&telling, sql.data, out, err)
                                  : weir_capture_run_unchanged(run, out, err);
    weir_telling_deinit(&telling);
    weir_buf_deinit(&sql);
    return status;
}
