/* log.c: the changes of a log, in their order.
 *
 * They are read in batches, each in a short transaction of its own, and kept: whoever takes his time
 * with them must not hold a lock that writers wait for. What the columns are is found out in the same
 * transaction. */
#include "cdc/log.h"

#include <string.h>

#include "cdc/database.h"
#include "cdc/setting.h"

enum { BATCH_CHANGES = 256, BATCH_BYTES = 1 << 20 };

/* Of the query in read_batch. */
enum {
    AT_ID,
    AT_TIME,
    AT_TRANSACTION,
    AT_TYPE,
    AT_TABLE,
    AT_ROWID,
    AT_BEFORE,
    AT_AFTER,
    AT_UPDATES
};

struct CdcLog {
    sqlite3 *db; /* borrowed */
    char *table; /* owned */
    int version;
    CdcHistory *history; /* owned */
    CdcChange changes[BATCH_CHANGES];
    size_t change_count;
    size_t next;                /* of them to be given */
    sqlite3_int64 after;        /* the last change of the batch */
    sqlite3_int64 data_version; /* 0 = not asked yet */
};

static void clear_batch(CdcLog *log)
{
    for (size_t i = 0; i < log->change_count; i++) {
        sqlite3_free(log->changes[i].memory);
    }
    log->change_count = 0;
    log->next = 0;
}

/* ---- a batch -------------------------------------------------------------------------------- */

/* Copies a value to *memory, and moves that behind it; a NUL follows. */
static CdcBytes copy_value(sqlite3_stmt *row, int column, unsigned char **memory)
{
    const void *const data = sqlite3_column_blob(row, column);
    const size_t size = (size_t)sqlite3_column_bytes(row, column);
    CdcBytes bytes = {0};
    if (sqlite3_column_type(row, column) != SQLITE_NULL) {
        bytes = (CdcBytes){.data = *memory, .size = size};
        if (size > 0) {
            memcpy(*memory, data, size);
        }
        (*memory)[size] = '\0';
        *memory += size + 1;
    }
    return bytes;
}

static const int COPIED[] = {AT_TABLE, AT_BEFORE, AT_AFTER, AT_UPDATES};

/* A record without a type and without anything else is a COMMIT too. */
static WeirStatus read_type(sqlite3_stmt *row, CdcChangeType *out, WeirError *err)
{
    const sqlite3_int64 type = sqlite3_column_type(row, AT_TYPE) == SQLITE_NULL
                                   ? CDC_COMMIT
                                   : sqlite3_column_int64(row, AT_TYPE);
    if (type < CDC_DELETE || type > CDC_COMMIT ||
        (type != CDC_COMMIT && sqlite3_column_type(row, AT_TABLE) == SQLITE_NULL)) {
        return weir_cdc_fail(err, WEIR_ERR_HOST, "the log is damaged: change %lld is of type %lld",
                             sqlite3_column_int64(row, AT_ID), type);
    }
    /* A number would be copied as text, which takes memory that it may get now and not then. */
    for (size_t i = 0; i < sizeof COPIED / sizeof *COPIED; i++) {
        const int value = sqlite3_column_type(row, COPIED[i]);
        if (value == SQLITE_INTEGER || value == SQLITE_FLOAT) {
            return weir_cdc_fail(
                err, WEIR_ERR_HOST, "the log is damaged: change %lld has a number for its %s",
                sqlite3_column_int64(row, AT_ID), sqlite3_column_name(row, COPIED[i]));
        }
    }
    *out = (CdcChangeType)type;
    return WEIR_OK;
}

/* Keeps a row. *size grows by what it takes. */
static WeirStatus read_change(CdcLog *log, sqlite3_stmt *row, size_t *size, WeirError *err)
{
    CdcChange change = {
        .change_id = sqlite3_column_int64(row, AT_ID),
        .time = sqlite3_column_int64(row, AT_TIME),
        .transaction_id = sqlite3_column_int64(row, AT_TRANSACTION),
        .has_id = sqlite3_column_type(row, AT_ROWID) != SQLITE_NULL,
        .id = sqlite3_column_int64(row, AT_ROWID),
        .table = "",
    };
    size_t needed = 1;
    if (read_type(row, &change.type, err) != WEIR_OK) {
        return err->code;
    }
    for (size_t i = 0; i < sizeof COPIED / sizeof *COPIED; i++) {
        needed += (size_t)sqlite3_column_bytes(row, COPIED[i]) + 1;
    }
    unsigned char *memory = sqlite3_malloc64(needed);
    if (memory == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    change.memory = memory;
    const CdcBytes table = copy_value(row, AT_TABLE, &memory);
    change.table = table.data == NULL ? "" : (const char *)table.data;
    change.before = copy_value(row, AT_BEFORE, &memory);
    change.after = copy_value(row, AT_AFTER, &memory);
    change.updates = copy_value(row, AT_UPDATES, &memory);
    log->changes[log->change_count++] = change;
    *size += needed;
    return WEIR_OK;
}

static WeirStatus find_columns(CdcLog *log, WeirError *err)
{
    WeirStatus status = WEIR_OK;
    for (size_t i = 0; i < log->change_count && status == WEIR_OK; i++) {
        CdcChange *const change = &log->changes[i];
        if (change->type != CDC_COMMIT) {
            status = weir_cdc_history_find(log->history, change->table, change->change_id,
                                           &change->columns, err);
            change->before_columns = change->columns;
        }
    }
    return status;
}

static WeirStatus read_rows(CdcLog *log, WeirError *err)
{
    sqlite3_stmt *rows = NULL;
    bool has_row = true;
    size_t size = 0;
    WeirStatus status = weir_cdc_prepare(
        log->db, &rows, err,
        "SELECT change_id, change_time, %s, change_type, table_name, id, before, after, updates "
        "FROM main.\"%w\" WHERE change_id > %lld ORDER BY change_id LIMIT %d",
        log->version == 1 ? "0" : "change_txn_id", log->table, log->after, (int)BATCH_CHANGES);
    while (status == WEIR_OK && has_row && size < BATCH_BYTES) {
        status = weir_cdc_step(rows, &has_row, err);
        if (status == WEIR_OK && has_row) {
            status = read_change(log, rows, &size, err);
        }
    }
    sqlite3_finalize(rows);
    return status;
}

static WeirStatus read_batch(CdcLog *log, WeirError *err)
{
    clear_batch(log);
    WeirStatus status = weir_cdc_run(log->db, err, "BEGIN");
    if (status != WEIR_OK) {
        return status;
    }
    status = read_rows(log, err);
    if (status == WEIR_OK && log->change_count > 0) {
        status = weir_cdc_history_refresh(log->history, err);
    }
    if (status == WEIR_OK) {
        status = find_columns(log, err);
    }
    WeirError ignored;
    (void)weir_cdc_run(log->db, &ignored, "COMMIT");
    if (status != WEIR_OK) {
        clear_batch(log);
    } else if (log->change_count > 0) {
        log->after = log->changes[log->change_count - 1].change_id;
    }
    return status;
}

WeirStatus weir_cdc_log_next(CdcLog *log, const CdcChange **out, WeirError *err)
{
    *out = NULL;
    if (log->next == log->change_count && read_batch(log, err) != WEIR_OK) {
        return err->code;
    }
    if (log->next < log->change_count) {
        *out = &log->changes[log->next++];
    }
    return WEIR_OK;
}

void weir_cdc_log_seek(CdcLog *log, sqlite3_int64 after)
{
    clear_batch(log);
    log->after = after;
}

WeirStatus weir_cdc_log_is_changed(CdcLog *log, bool *is_changed, WeirError *err)
{
    sqlite3_int64 data_version = 0;
    if (weir_cdc_query_integer(log->db, &data_version, err, "PRAGMA main.data_version") !=
        WEIR_OK) {
        return err->code;
    }
    *is_changed = data_version != log->data_version;
    log->data_version = data_version;
    return WEIR_OK;
}

/* ---- opening -------------------------------------------------------------------------------- */

WeirStatus weir_cdc_log_open(sqlite3 *db, const char *table, CdcLog **out, WeirError *err)
{
    CdcSetting setting;
    *out = NULL;
    if (weir_cdc_setting_read(db, table, &setting, err) != WEIR_OK ||
        weir_cdc_setting_check(&setting, err) != WEIR_OK) {
        return err->code;
    }
    CdcLog *const log = sqlite3_malloc64(sizeof *log);
    if (log == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    *log = (CdcLog){.db = db, .version = setting.version, .after = -1};
    log->table = sqlite3_mprintf("%s", setting.table);
    WeirStatus status = log->table == NULL ? weir_cdc_out_of_memory(err) : WEIR_OK;
    if (status == WEIR_OK) {
        status = weir_cdc_history_open(db, log->table, &log->history, err);
    }
    if (status != WEIR_OK) {
        weir_cdc_log_close(log);
        return status;
    }
    *out = log;
    return WEIR_OK;
}

void weir_cdc_log_close(CdcLog *log)
{
    if (log != NULL) {
        clear_batch(log);
        weir_cdc_history_close(log->history);
        sqlite3_free(log->table);
        sqlite3_free(log);
    }
}

const char *weir_cdc_log_table(const CdcLog *log)
{
    return log->table;
}

int weir_cdc_log_version(const CdcLog *log)
{
    return log->version;
}

CdcHistory *weir_cdc_log_history(CdcLog *log)
{
    return log->history;
}
