/* setting.c: what the database asks of its connections, and what its log holds.
 *
 * The wish is a row of turso_cdc_version: its table_name is '*', its version "mode" or "mode,table". */
#include "cdc/setting.h"

#include <stdio.h>
#include <string.h>

#include "cdc/database.h"

#define DEFAULT_LOG "turso_cdc"

/* ---- the wish ------------------------------------------------------------------------------- */

static WeirStatus read_wish(sqlite3 *db, CdcSetting *out, WeirError *err)
{
    sqlite3_stmt *row = NULL;
    sqlite3_int64 table_count = 0;
    bool has_row = false;
    if (weir_cdc_query_integer(
            db, &table_count, err,
            "SELECT count(*) FROM pragma_table_info('turso_cdc_version', 'main') "
            "WHERE name IN ('table_name', 'version')") != WEIR_OK) {
        return err->code;
    }
    if (table_count < 2) {
        return WEIR_OK;
    }
    WeirStatus status = weir_cdc_prepare(
        db, &row, err, "SELECT version FROM main.turso_cdc_version WHERE table_name = '*'");
    if (status == WEIR_OK) {
        status = weir_cdc_step(row, &has_row, err);
    }
    const char *wish = NULL;
    if (status == WEIR_OK && has_row) {
        status = weir_cdc_text(row, 0, &wish, err);
    }
    if (wish != NULL) {
        const size_t mode_size = strcspn(wish, ",");
        (void)snprintf(out->mode, sizeof out->mode, "%.*s", (int)mode_size, wish);
        (void)snprintf(out->table, sizeof out->table, "%s",
                       wish[mode_size] == ',' ? wish + mode_size + 1 : DEFAULT_LOG);
    }
    sqlite3_finalize(row);
    return status;
}

/* ---- the log -------------------------------------------------------------------------------- */

/* A log has these columns, and one of version 2 change_txn_id too. */
static WeirStatus read_shape(sqlite3 *db, CdcSetting *out, WeirError *err)
{
    sqlite3_int64 table_count = 0;
    sqlite3_int64 column_count = 0;
    sqlite3_int64 transaction_count = 0;
    if (weir_cdc_query_integer(db, &table_count, err,
                               "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND "
                               "name = %Q COLLATE nocase",
                               out->table) != WEIR_OK ||
        weir_cdc_query_integer(db, &column_count, err,
                               "SELECT count(*) FROM pragma_table_info(%Q, 'main') WHERE name IN "
                               "('change_id', 'change_time', 'change_type', 'table_name', 'id', "
                               "'before', 'after', 'updates')",
                               out->table) != WEIR_OK ||
        weir_cdc_query_integer(db, &transaction_count, err,
                               "SELECT count(*) FROM pragma_table_info(%Q, 'main') WHERE name = "
                               "'change_txn_id'",
                               out->table) != WEIR_OK) {
        return err->code;
    }
    out->is_log = column_count == 8;
    out->version = table_count == 0 ? 0 : 1 + (transaction_count == 1);
    return WEIR_OK;
}

WeirStatus weir_cdc_setting_read(sqlite3 *db, const char *table, CdcSetting *out, WeirError *err)
{
    *out = (CdcSetting){.mode = "off", .table = DEFAULT_LOG};
    if (read_wish(db, out, err) != WEIR_OK) {
        return err->code;
    }
    if (table != NULL) {
        if (strlen(table) >= sizeof out->table) {
            return weir_cdc_fail(err, WEIR_ERR_ARGUMENT, "the name of the log is too long");
        }
        (void)snprintf(out->table, sizeof out->table, "%s", table);
    }
    return read_shape(db, out, err);
}

WeirStatus weir_cdc_setting_check(const CdcSetting *setting, WeirError *err)
{
    if (setting->version == 0) {
        (void)weir_cdc_fail(err, WEIR_ERR_ARGUMENT, "there is no change log %s", setting->table);
        return weir_cdc_hint(err, "weir cdc FILE enable full begins one");
    }
    if (!setting->is_log) {
        return weir_cdc_fail(err, WEIR_ERR_ARGUMENT, "the table %s is no change log",
                             setting->table);
    }
    return WEIR_OK;
}

WeirStatus weir_cdc_setting_write(sqlite3 *db, const char *mode, const char *table, WeirError *err)
{
    char *const value =
        table == NULL ? sqlite3_mprintf("%s", mode) : sqlite3_mprintf("%s,%s", mode, table);
    if (value == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    const WeirStatus status =
        weir_cdc_run(db, err, "PRAGMA capture_data_changes_default(%Q)", value);
    sqlite3_free(value);
    return status;
}

/* ---- status --------------------------------------------------------------------------------- */

static WeirStatus read_ends(sqlite3 *db, const CdcSetting *setting, CdcStatus *out, WeirError *err)
{
    sqlite3_stmt *row = NULL;
    bool has_row = false;
    WeirStatus status = weir_cdc_prepare(
        db, &row, err,
        "SELECT count(*) FILTER (WHERE change_type <> 2), count(*) FILTER (WHERE change_type = 2), "
        "coalesce(min(change_id), 0), coalesce(max(change_id), 0) FROM main.\"%w\"",
        setting->table);
    if (status == WEIR_OK) {
        status = weir_cdc_step(row, &has_row, err);
    }
    if (status == WEIR_OK && has_row) {
        out->change_count = sqlite3_column_int64(row, 0);
        out->transaction_count = sqlite3_column_int64(row, 1);
        out->first_id = sqlite3_column_int64(row, 2);
        out->last_id = sqlite3_column_int64(row, 3);
    }
    sqlite3_finalize(row);
    return status;
}

static WeirStatus read_time(sqlite3 *db, const CdcSetting *setting, sqlite3_int64 change_id,
                            sqlite3_int64 *out, WeirError *err)
{
    return weir_cdc_query_integer(db, out, err,
                                  "SELECT change_time FROM main.\"%w\" WHERE change_id = %lld",
                                  setting->table, change_id);
}

WeirStatus weir_cdc_status_read(sqlite3 *db, const CdcSetting *setting, CdcStatus *out,
                                WeirError *err)
{
    *out = (CdcStatus){0};
    WeirStatus status = weir_cdc_run(db, err, "BEGIN");
    if (status != WEIR_OK) {
        return status;
    }
    status = read_ends(db, setting, out, err);
    if (status == WEIR_OK) {
        status = read_time(db, setting, out->first_id, &out->first_time, err);
    }
    if (status == WEIR_OK) {
        status = read_time(db, setting, out->last_id, &out->last_time, err);
    }
    if (status == WEIR_OK) {
        status = weir_cdc_query_integer(
            db, &out->size_bytes, err,
            "SELECT pgsize FROM dbstat WHERE aggregate = 1 AND schema = 'main' AND name = %Q",
            setting->table);
    }
    WeirError ignored;
    (void)weir_cdc_run(db, &ignored, "COMMIT");
    return status;
}

WeirStatus weir_cdc_gaps(sqlite3 *db, const CdcSetting *setting, CdcGapVisit visit, void *user,
                         WeirError *err)
{
    sqlite3_stmt *rows = NULL;
    bool has_row = true;
    WeirStatus status = weir_cdc_prepare(
        db, &rows, err,
        "SELECT after_id, coalesce(before_id, 0), reason FROM pragma_capture_data_changes_gaps(%Q)",
        setting->table);
    while (status == WEIR_OK && has_row) {
        const char *reason = NULL;
        status = weir_cdc_step(rows, &has_row, err);
        if (status == WEIR_OK && has_row) {
            status = weir_cdc_text(rows, 2, &reason, err);
        }
        if (reason != NULL) {
            has_row =
                visit(user, sqlite3_column_int64(rows, 0), sqlite3_column_int64(rows, 1), reason);
        }
    }
    sqlite3_finalize(rows);
    return status;
}

/* ---- pruning -------------------------------------------------------------------------------- */

/* The first change that stays, before transactions are looked at. */
static WeirStatus find_first_kept(sqlite3 *db, const CdcSetting *setting, CdcPruneKind kind,
                                  sqlite3_int64 value, sqlite3_int64 *out, WeirError *err)
{
    const char *const table = setting->table;
    switch (kind) {
    case CDC_PRUNE_BEFORE: *out = value; break;
    case CDC_PRUNE_KEEP:
        if (value == 0) {
            return weir_cdc_query_integer(
                db, out, err, "SELECT coalesce(max(change_id), 0) + 1 FROM main.\"%w\"", table);
        }
        return weir_cdc_query_integer(
            db, out, err,
            "SELECT change_id FROM main.\"%w\" WHERE change_type <> 2 ORDER BY change_id DESC "
            "LIMIT 1 OFFSET %lld",
            table, value - 1);
    case CDC_PRUNE_OLDER:
        return weir_cdc_query_integer(
            db, out, err,
            "SELECT coalesce((SELECT min(change_id) FROM main.\"%w\" WHERE change_time >= %lld), "
            "(SELECT max(change_id) + 1 FROM main.\"%w\"), 0)",
            table, value, table);
    }
    return WEIR_OK;
}

static WeirStatus prune(sqlite3 *db, const CdcSetting *setting, CdcPruneKind kind,
                        sqlite3_int64 value, sqlite3_int64 *removed, sqlite3_int64 *kept,
                        WeirError *err)
{
    sqlite3_int64 first_kept = 0;
    WEIR_CDC_TRY(find_first_kept(db, setting, kind, value, &first_kept, err));
    /* The transaction in which that change is stays as a whole. */
    if (setting->version > 1) {
        WEIR_CDC_TRY(weir_cdc_query_integer(
            db, &first_kept, err,
            "SELECT coalesce(max(change_id), -1) + 1 FROM main.\"%w\" WHERE change_type = 2 AND "
            "change_id < %lld",
            setting->table, first_kept));
    }
    WEIR_CDC_TRY(weir_cdc_query_integer(
        db, removed, err,
        "SELECT count(*) FROM main.\"%w\" WHERE change_id < %lld AND change_type <> 2",
        setting->table, first_kept));
    WEIR_CDC_TRY(weir_cdc_run(db, err, "DELETE FROM main.\"%w\" WHERE change_id < %lld",
                              setting->table, first_kept));
    return weir_cdc_query_integer(
        db, kept, err, "SELECT count(*) FROM main.\"%w\" WHERE change_type <> 2", setting->table);
}

/* Makes ours a connection that captures into this log: then a transaction is known to have changed
 * nothing that is not recorded. The log's own rows are not, and a transaction without records ends
 * without one. */
static WeirStatus capture(sqlite3 *db, const CdcSetting *setting, WeirError *err)
{
    char *const wish = sqlite3_mprintf("id,%s", setting->table);
    if (wish == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    const WeirStatus status = weir_cdc_run(db, err, "PRAGMA capture_data_changes_conn(%Q)", wish);
    sqlite3_free(wish);
    return status;
}

WeirStatus weir_cdc_prune(sqlite3 *db, const CdcSetting *setting, CdcPruneKind kind,
                          sqlite3_int64 value, sqlite3_int64 *removed, sqlite3_int64 *kept,
                          WeirError *err)
{
    *removed = 0;
    *kept = 0;
    WEIR_CDC_TRY(capture(db, setting, err));
    WEIR_CDC_TRY(weir_cdc_run(db, err, "BEGIN IMMEDIATE"));
    WeirStatus status = prune(db, setting, kind, value, removed, kept, err);
    if (status == WEIR_OK) {
        status = weir_cdc_run(db, err, "COMMIT");
    }
    if (status != WEIR_OK) {
        WeirError ignored;
        (void)weir_cdc_run(db, &ignored, "ROLLBACK");
    }
    return status;
}
