/* appender.c: rows for DuckDB's appender, flushed as statements that tell what they add.
 *
 * DuckDB flushes by itself when many rows are waiting, which nobody would be told of: so they are flushed
 * here before. Should it do so all the same, the rows are fewer than were counted, and the table is
 * read anew. */
#include "api/db_priv.h"
#include "view/names.h"

enum { FLUSH_ROWS = 1 << 16, FLUSH_BYTES = 16 << 20 };

struct WeirAppender {
    WeirDb *db;  /* borrowed */
    char *table; /* owned: as in SQL */
    duckdb_appender appender;
    size_t value_count; /* of the row in hand */
    uint64_t row_count; /* since the last flush */
    size_t bytes;       /* of their texts */
    Error failure;      /* of the row in hand, or for good; code 0 = none */
};

static Status create(WeirAppender *appender, Error *err)
{
    Arena arena;
    const char *parts[NAME_MAX_PARTS] = {NULL};
    size_t count = 0;
    weir_arena_init(&arena, appender->db->mem, 0);
    Status status = weir_name_split(&arena, appender->table, parts, &count, err);
    if (status == WEIR_OK) {
        const char *const catalog = count > 2 ? parts[0] : NULL;
        const char *const schema = count > 1 ? parts[count - 2] : NULL;
        if (duckdb_appender_create_ext(appender->db->connection, catalog, schema, parts[count - 1],
                                       &appender->appender) != DuckDBSuccess) {
            const char *const message = duckdb_appender_error(appender->appender);
            status = weir_error_set(err, WEIR_ERR_HOST, "%s",
                                    message == NULL ? "the table cannot be appended to" : message);
        }
    }
    weir_arena_deinit(&arena);
    return status;
}

static void appender_free(WeirAppender *appender)
{
    Mem *const mem = appender->db->mem;
    if (appender->appender != NULL) {
        (void)duckdb_appender_destroy(&appender->appender);
    }
    weir_mem_free(mem, appender->table);
    weir_mem_free(mem, appender);
}

WeirStatus weir_appender_open(WeirDb *db, const char *table, WeirAppender **out, WeirError *err)
{
    *out = NULL;
    weir_error_clear(err);
    WeirAppender *appender = weir_mem_zalloc(db->mem, sizeof *appender, err);
    if (appender == NULL) {
        return err->code;
    }
    appender->db = db;
    appender->table = weir_mem_strdup(db->mem, table, err);
    if (appender->table == NULL || create(appender, err) != WEIR_OK) {
        appender_free(appender);
        return err->code;
    }
    *out = appender;
    return WEIR_OK;
}

/* ---- values ----------------------------------------------------------------------------------- */

static void note(WeirAppender *appender, duckdb_state state)
{
    appender->value_count++;
    if (state == DuckDBSuccess || appender->failure.code != WEIR_OK) {
        return;
    }
    const char *const message = duckdb_appender_error(appender->appender);
    weir_error_set(&appender->failure, WEIR_ERR_HOST, "value %zu of a row for %s: %s",
                   appender->value_count, appender->table,
                   message == NULL ? "it does not fit" : message);
}

void weir_append_null(WeirAppender *appender)
{
    note(appender, duckdb_append_null(appender->appender));
}

void weir_append_default(WeirAppender *appender)
{
    note(appender, duckdb_append_default(appender->appender));
}

void weir_append_bool(WeirAppender *appender, bool value)
{
    note(appender, duckdb_append_bool(appender->appender, value));
}

void weir_append_int64(WeirAppender *appender, int64_t value)
{
    note(appender, duckdb_append_int64(appender->appender, value));
}

void weir_append_double(WeirAppender *appender, double value)
{
    note(appender, duckdb_append_double(appender->appender, value));
}

void weir_append_text(WeirAppender *appender, const char *text, size_t size)
{
    appender->bytes += size;
    note(appender, duckdb_append_varchar_length(appender->appender, text, size));
}

void weir_append_blob(WeirAppender *appender, const void *bytes, size_t size)
{
    appender->bytes += size;
    note(appender, duckdb_append_blob(appender->appender, bytes, size));
}

/* ---- rows ------------------------------------------------------------------------------------- */

static Status tell_failure(const WeirAppender *appender, Error *err)
{
    *err = appender->failure;
    return err->code;
}

WeirStatus weir_appender_flush(WeirAppender *appender, WeirError *err)
{
    weir_error_clear(err);
    if (appender->failure.code != WEIR_OK) {
        return tell_failure(appender, err);
    }
    if (appender->value_count > 0) {
        return weir_error_set(err, WEIR_ERR_MISUSE, "a row for %s is not complete",
                              appender->table);
    }
    if (appender->row_count == 0) {
        return WEIR_OK;
    }
    atomic_fetch_add(&appender->db->running, 1);
    const Status status = weir_capture_flush(appender->db->capture, appender->table,
                                             appender->appender, appender->row_count, err);
    atomic_fetch_sub(&appender->db->running, 1);
    appender->row_count = 0;
    appender->bytes = 0;
    if (status != WEIR_OK) {
        appender->failure = *err;
    }
    return status;
}

WeirStatus weir_append_row(WeirAppender *appender, WeirError *err)
{
    weir_error_clear(err);
    if (appender->failure.code == WEIR_OK &&
        duckdb_appender_end_row(appender->appender) != DuckDBSuccess) {
        note(appender, DuckDBError);
    }
    if (appender->failure.code != WEIR_OK) {
        return tell_failure(appender, err);
    }
    appender->value_count = 0;
    appender->row_count++;
    return appender->row_count < FLUSH_ROWS && appender->bytes < FLUSH_BYTES
               ? WEIR_OK
               : weir_appender_flush(appender, err);
}

WeirStatus weir_appender_close(WeirAppender *appender, WeirError *err)
{
    weir_error_clear(err);
    if (appender == NULL) {
        return WEIR_OK;
    }
    const Status status = weir_appender_flush(appender, err);
    if (status != WEIR_OK) {
        weir_capture_discard(appender->db->capture, &appender->appender);
    }
    appender_free(appender);
    return status;
}
