/* hook_log.c: writes the log table.
 *
 * A record goes straight into the log's b-tree, behind its last row: no statement is run for it, so no
 * hook, counter or trigger of the user sees it, and the only errors are those of memory, disk and
 * corruption, for which SQLite undoes the whole statement. If the user has put indexes or
 * constraints on the log, a prepared INSERT keeps them right; the gate has then asked for a statement journal. */
#include "sqlite/capture.h"

enum {
    COLUMNS_V1 = 8,
    COLUMNS_V2 = 9,
    HEADER_MAX = 32, /* of a record: four lengths of at most 5 bytes, the rest 1 */
    ROW_FIXED_MAX = HEADER_MAX + 4 * 8, /* header and integers */
};

/* --- shape --- */

const char *weir_log_column(int column_count, int index)
{
    static const char *const NAMES[COLUMNS_V2] = {
        "change_id", "change_time", "change_txn_id", "change_type", "table_name",
        "id",        "before",      "after",         "updates",
    };
    assert(index < column_count);
    return NAMES[column_count == COLUMNS_V1 && index >= 2 ? index + 1 : index];
}

static bool has_columns(const Table *table, int count)
{
    if (table->nCol < count) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        const Column *const column = &table->aCol[i];
        if (sqlite3StrICmp(column->zCnName, weir_log_column(count, i)) != 0 ||
            (column->colFlags & COLFLAG_GENERATED) != 0) {
            return false;
        }
    }
    return true;
}

int weir_log_shape(const Table *table)
{
    if (!IsOrdinaryTable(table) || !HasRowid(table) || table->iPKey != 0) {
        return 0;
    }
    if (has_columns(table, COLUMNS_V2)) {
        return 2;
    }
    return has_columns(table, COLUMNS_V1) ? 1 : 0;
}

bool weir_log_is_ruled(const Table *log)
{
    return log->pIndex != NULL || log->pCheck != NULL ||
           (log->tabFlags & (TF_HasStored | TF_HasNotNull)) != 0;
}

Table *weir_log_find(const sqlite3 *db)
{
    Capture *const capture = db->weir;
    const Setting *const setting = &capture->setting;
    const Schema *const schema = db->aDb[0].pSchema;
    if (setting->table_name == NULL) {
        return NULL;
    }
    Table *const table = weir_find_table(db, setting->table_name);
    if (table == NULL) {
        return NULL;
    }
    /* Looking at the columns takes longer than finding the table: not again in the same schema. */
    if (capture->checked != table || capture->checked_generation != schema->iGeneration ||
        capture->checked_cookie != schema->schema_cookie) {
        capture->checked = table;
        capture->checked_generation = schema->iGeneration;
        capture->checked_cookie = schema->schema_cookie;
        capture->checked_shape = weir_log_shape(table);
    }
    return capture->checked_shape == setting->version ? table : NULL;
}

/* --- opening --- */

int weir_log_open_root(sqlite3 *db, Pgno root, bool is_writing)
{
    Capture *const capture = db->weir;
    Btree *const btree = db->aDb[0].pBt;
    assert(!capture->is_open);
    /* In shared cache. The gate has asked for it where a failure would come too late. */
    int rc = sqlite3BtreeLockTable(btree, (int)root, is_writing);
    if (rc != SQLITE_OK) {
        return rc;
    }
    sqlite3BtreeCursorZero(capture->cursor);
    rc = sqlite3BtreeCursor(btree, root, is_writing ? BTREE_WRCSR : 0, NULL, capture->cursor);
    /* Also after a failure: a cursor that got no memory is linked all the same. */
    capture->is_open = capture->cursor->pBtree != NULL;
    return rc;
}

void weir_log_close(sqlite3 *db)
{
    Capture *const capture = db->weir;
    if (capture->is_open) {
        sqlite3BtreeCloseCursor(capture->cursor);
        capture->is_open = false;
    }
    if (capture->insert != NULL) {
        sqlite3_stmt *const insert = capture->insert;
        capture->insert = NULL;
        sqlite3_finalize(insert);
    }
    capture->is_at_last = false;
    capture->log = NULL;
    capture->known = NULL;
    capture->planned = NULL;
}

/* Forgets a first record that was rolled back. */
static int verify_first(Capture *capture)
{
    capture->verify = false;
    if (capture->first_id == 0) {
        return SQLITE_OK;
    }
    int found;
    const int rc = sqlite3BtreeTableMoveto(capture->cursor, capture->first_id, 0, &found);
    if (rc == SQLITE_OK && found != 0) {
        capture->first_id = 0;
    }
    return rc;
}

void weir_log_rest(sqlite3 *db)
{
    if (db->autoCommit || !db->weir->may_rest) {
        weir_log_close(db);
    }
}

void weir_log_mind_schema(sqlite3 *db)
{
    Capture *const capture = db->weir;
    const Schema *const schema = db->aDb[0].pSchema;
    if (capture->schema_generation != schema->iGeneration ||
        capture->schema_cookie != schema->schema_cookie) {
        weir_log_close(db);
        capture->schema_generation = schema->iGeneration;
        capture->schema_cookie = schema->schema_cookie;
    }
}

static int open_log(sqlite3 *db)
{
    Capture *const capture = db->weir;
    weir_log_mind_schema(db);
    if (capture->is_open && capture->cursor->eState == CURSOR_FAULT) {
        weir_log_close(db);
    }
    if (!capture->is_open) {
        const Table *const log = weir_log_find(db);
        if (log == NULL) {
            return SQLITE_ERROR;
        }
        int rc = weir_sequence_look(db, log);
        if (rc == SQLITE_OK) {
            rc = weir_log_open_root(db, log->tnum, true);
        }
        if (rc != SQLITE_OK) {
            return rc;
        }
        capture->log = log;
        capture->is_ruled = weir_log_is_ruled(log);
        Btree *const btree = db->aDb[0].pBt;
        capture->may_rest =
            !capture->is_ruled && !sqlite3BtreeSharable(btree) && !btree->pBt->autoVacuum;
    }
    return capture->verify ? verify_first(capture) : SQLITE_OK;
}

int weir_log_last(sqlite3 *db, i64 *out, int *is_empty)
{
    Capture *const capture = db->weir;
    int rc = open_log(db);
    *out = 0;
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* After an append the cursor is on the record, as long as no other cursor has changed the log. */
    const BtCursor *const cursor = capture->cursor;
    if (capture->is_at_last && cursor->eState == CURSOR_VALID &&
        (cursor->curFlags & BTCF_AtLast) != 0) {
        *out = capture->last_id;
        *is_empty = 0;
        return SQLITE_OK;
    }
    capture->is_at_last = false;
    rc = sqlite3BtreeLast(capture->cursor, is_empty);
    if (rc == SQLITE_OK && !*is_empty) {
        *out = sqlite3BtreeIntegerKey(capture->cursor);
    }
    return rc;
}

/* --- writing --- */

/* A record of the log under construction: the header grows beside it, the bodies are where they stay. */
typedef struct LogRow {
    u8 *body; /* where the next one goes */
    u32 header_size;
    u8 header[HEADER_MAX];
} LogRow;

static inline void row_add_null(LogRow *row)
{
    row->header[row->header_size++] = 0;
}

static inline void row_add_integer(LogRow *row, i64 value)
{
    u32 size;
    row->header[row->header_size++] = (u8)weir_integer_serial(value, &size);
    weir_integer_put(row->body, value, size);
    row->body += size;
}

/* type: 12 for a blob, 13 for text. */
static inline void row_add_bytes(LogRow *row, Span span, u64 type)
{
    if (span.data == NULL) {
        row_add_null(row);
        return;
    }
    row->header_size += putVarint32(row->header + row->header_size, (u32)(span.size * 2 + type));
    memcpy(row->body, span.data, span.size);
    row->body += span.size;
}

/* Where a record goes, and what is not the change itself. */
typedef struct Stamp {
    i64 id;
    i64 transaction_id;
    i64 seconds;
    bool is_first; /* the log is empty */
} Stamp;

static Span span_of_text(const char *text)
{
    return (Span){.data = (const u8 *)text, .size = text == NULL ? 0 : strlen(text)};
}

/* Builds the record in capture->record, behind room for its header; *out is the record. */
static int build_row(sqlite3 *db, const Change *change, const Stamp *stamp, Span *out)
{
    Capture *const capture = db->weir;
    const Span name = span_of_text(change->table_name);
    const u64 size =
        ROW_FIXED_MAX + name.size + change->before.size + change->after.size + change->updates.size;
    /* Too long is reported as full: for that SQLite undoes the statement whatever it has written. */
    if (size > (u64)db->aLimit[SQLITE_LIMIT_LENGTH]) {
        return SQLITE_FULL;
    }
    const int rc = weir_bytes_reserve(&capture->record, size);
    if (rc != SQLITE_OK) {
        return rc;
    }
    LogRow row; /* filled as far as it is used: this runs for every change */
    u8 *const first_body = capture->record.data + HEADER_MAX;
    row.body = first_body;
    row.header_size = 1;
    row_add_null(&row);
    row_add_integer(&row, stamp->seconds);
    if (capture->setting.version == 2) {
        row_add_integer(&row, stamp->transaction_id);
    }
    row_add_integer(&row, change->type);
    row_add_bytes(&row, name, 13);
    if (change->has_id) {
        row_add_integer(&row, change->id);
    } else {
        row_add_null(&row);
    }
    row_add_bytes(&row, change->before, 12);
    row_add_bytes(&row, change->after, 12);
    row_add_bytes(&row, change->updates, 12);
    assert(row.header_size <= HEADER_MAX);
    row.header[0] = (u8)row.header_size;
    memcpy(first_body - row.header_size, row.header, row.header_size);
    *out = (Span){
        .data = first_body - row.header_size,
        .size = (u64)(row.body - first_body) + row.header_size,
    };
    return SQLITE_OK;
}

static int append_directly(Vdbe *vm, const Change *change, const Stamp *stamp)
{
    sqlite3 *const db = vm->db;
    Capture *const capture = db->weir;
    Span row;
    int rc = build_row(db, change, stamp, &row);
    if (rc == SQLITE_OK) {
        const BtreePayload payload = {
            .nKey = stamp->id,
            .pData = row.data,
            .nData = (int)row.size,
        };
        rc = sqlite3BtreeInsert(capture->cursor, &payload, BTREE_APPEND, stamp->is_first ? 0 : -1);
        capture->is_at_last = rc == SQLITE_OK;
    }
    return rc;
}

static int prepare_insert(sqlite3 *db)
{
    const bool has_transaction = db->weir->setting.version == 2;
    char *const sql = sqlite3_mprintf(
        "INSERT INTO main.\"%w\"(change_id,change_time,%schange_type,table_name,id,before,after,"
        "updates)VALUES(?1,?2,%s?4,?5,?6,?7,?8,?9)",
        db->weir->log->zName, has_transaction ? "change_txn_id," : "",
        has_transaction ? "?3," : "");
    if (sql == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    const int rc = sqlite3_prepare_v2(db, sql, -1, &db->weir->insert, NULL);
    sqlite3_free(sql);
    return rc;
}

static int bind_span(sqlite3_stmt *statement, int index, Span span)
{
    return span.data == NULL
               ? sqlite3_bind_null(statement, index)
               : sqlite3_bind_blob64(statement, index, span.data, span.size, SQLITE_STATIC);
}

static int run_insert(sqlite3_stmt *insert, const Change *change, const Stamp *stamp,
                      bool has_transaction)
{
    int rc = sqlite3_bind_int64(insert, 1, stamp->id);
    rc = rc != SQLITE_OK ? rc : sqlite3_bind_int64(insert, 2, stamp->seconds);
    if (has_transaction) {
        rc = rc != SQLITE_OK ? rc : sqlite3_bind_int64(insert, 3, stamp->transaction_id);
    }
    rc = rc != SQLITE_OK ? rc : sqlite3_bind_int(insert, 4, change->type);
    rc = rc != SQLITE_OK ? rc : sqlite3_bind_text(insert, 5, change->table_name, -1, SQLITE_STATIC);
    if (change->has_id) {
        rc = rc != SQLITE_OK ? rc : sqlite3_bind_int64(insert, 6, change->id);
    } else {
        rc = rc != SQLITE_OK ? rc : sqlite3_bind_null(insert, 6);
    }
    rc = rc != SQLITE_OK ? rc : bind_span(insert, 7, change->before);
    rc = rc != SQLITE_OK ? rc : bind_span(insert, 8, change->after);
    rc = rc != SQLITE_OK ? rc : bind_span(insert, 9, change->updates);
    if (rc == SQLITE_OK) {
        (void)sqlite3_step(insert);
        rc = sqlite3_reset(insert);
    }
    return rc;
}

static int append_by_statement(Vdbe *vm, const Change *change, const Stamp *stamp)
{
    sqlite3 *const db = vm->db;
    Capture *const capture = db->weir;
    Suspended saved;
    weir_capture_suspend(db, &saved);
    /* In a transaction of the user's statement: the INSERT must not commit it when it ends. */
    const u8 auto_commit = db->autoCommit;
    db->autoCommit = 0;
    int rc = capture->insert == NULL ? prepare_insert(db) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = run_insert(capture->insert, change, stamp, capture->setting.version == 2);
    }
    if (rc != SQLITE_OK && !db->mallocFailed) {
        sqlite3VdbeError(vm, "%s", sqlite3_errmsg(db));
    }
    /* A failure that rolled everything back has ended the transaction. */
    if (sqlite3BtreeTxnState(db->aDb[0].pBt) == SQLITE_TXN_WRITE || rc == SQLITE_OK) {
        db->autoCommit = auto_commit;
    }
    weir_capture_resume(db, &saved);
    return rc;
}

static i64 now_in_seconds(Vdbe *vm)
{
    static const i64 EPOCH_MS = (i64)210866760 * 1000000;
    if (vm->iCurrentTime == 0 &&
        sqlite3OsCurrentTimeInt64(vm->db->pVfs, &vm->iCurrentTime) != SQLITE_OK) {
        vm->iCurrentTime = 0;
        return 0;
    }
    return (vm->iCurrentTime - EPOCH_MS) / 1000;
}

int weir_log_append(Vdbe *vm, const Change *change)
{
    sqlite3 *const db = vm->db;
    Capture *const capture = db->weir;
    i64 last;
    int is_empty;
    int rc = weir_log_last(db, &last, &is_empty);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const i64 promised = MAX(capture->sequence, capture->floor);
    const i64 highest = MAX(last, promised);
    if (highest == LARGEST_INT64) {
        return SQLITE_FULL;
    }
    Stamp stamp = {
        .id = MAX(highest, 0) + 1,
        .seconds = now_in_seconds(vm),
        .is_first = is_empty != 0,
    };
    stamp.transaction_id = capture->first_id;
    if (capture->first_id == 0) {
        stamp.transaction_id = change->type == CHANGE_COMMIT ? -1 : stamp.id;
    }
    rc = capture->is_ruled ? append_by_statement(vm, change, &stamp)
                           : append_directly(vm, change, &stamp);
    if (rc == SQLITE_OK) {
        capture->last_id = stamp.id;
        if (capture->first_id == 0 && change->type != CHANGE_COMMIT) {
            capture->first_id = stamp.id;
        }
    }
    return rc;
}
