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
    ROW_FIXED_MAX = HEADER_MAX + 4 * WEIR_WORD_SIZE, /* header and integers */
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

static SQLITE_NOINLINE int open_anew(sqlite3 *db)
{
    Capture *const capture = db->weir;
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
    return SQLITE_OK;
}

static SQLITE_NOINLINE int find_last(Capture *capture, i64 *out, int *is_empty)
{
    *out = 0;
    capture->is_at_last = false;
    const int rc = sqlite3BtreeLast(capture->cursor, is_empty);
    if (rc == SQLITE_OK && !*is_empty) {
        *out = sqlite3BtreeIntegerKey(capture->cursor);
    }
    return rc;
}

int weir_log_last(sqlite3 *db, i64 *out, int *is_empty)
{
    Capture *const capture = db->weir;
    const BtCursor *const cursor = capture->cursor;
    int rc = SQLITE_OK;
    *out = 0;
    weir_log_mind_schema(db);
    if (capture->is_open && cursor->eState == CURSOR_FAULT) {
        weir_log_close(db);
    }
    if (!capture->is_open) {
        rc = open_anew(db);
    }
    if (rc == SQLITE_OK && capture->verify) {
        rc = verify_first(capture);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* After an append the cursor is on the record, as long as no other cursor has changed the log. */
    if (capture->is_at_last && cursor->eState == CURSOR_VALID &&
        (cursor->curFlags & BTCF_AtLast) != 0) {
        *out = capture->last_id;
        *is_empty = 0;
        return SQLITE_OK;
    }
    return find_last(capture, out, is_empty);
}

/* --- the record --- */

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

int weir_log_start(sqlite3 *db, const char *table_name)
{
    Capture *const capture = db->weir;
    capture->room = ROW_FIXED_MAX + span_of_text(table_name).size;
    capture->record.size = capture->room;
    return weir_bytes_reserve(&capture->record, capture->room);
}

/* Each of these puts something before `at` and returns where it begins. An integer writes a whole word: what is before
 * it must be written later. */

static inline u8 *put_integer_before(u8 *at, i64 value, u64 *type)
{
    u32 size;
    *type = weir_integer_serial(value, &size);
    weir_word_put(at - WEIR_WORD_SIZE, (u64)value);
    return at - size;
}

static inline u8 *put_type_before(u8 *at, u64 type)
{
    if (type < 0x80) {
        *--at = (u8)type;
        return at;
    }
    at -= sqlite3VarintLen(type);
    (void)sqlite3PutVarint(at, type);
    return at;
}

static inline u8 *put_image_type_before(u8 *at, u64 size)
{
    return put_type_before(at, size == 0 ? 0 : size * 2 + 12);
}

/* Puts what comes before the images, from its end to its start; returns where the row begins. */
static u8 *put_head(const Capture *capture, const Change *change, const Stamp *stamp)
{
    const u64 name_size = capture->room - ROW_FIXED_MAX;
    const bool has_transaction = capture->setting.version == 2;
    u8 *at = capture->record.data + capture->room;
    u64 id = 0;
    u64 transaction = 0;
    u64 type;
    u64 seconds;
    if (change->has_id) {
        at = put_integer_before(at, change->id, &id);
    }
    if (name_size > 0) {
        at -= name_size;
        memcpy(at, change->table_name, name_size);
    }
    at = put_integer_before(at, change->type, &type);
    if (has_transaction) {
        at = put_integer_before(at, stamp->transaction_id, &transaction);
    }
    at = put_integer_before(at, stamp->seconds, &seconds);
    const u8 *const header_end = at;
    at = put_image_type_before(at, change->updates_size);
    at = put_image_type_before(at, change->after_size);
    at = put_image_type_before(at, change->before_size);
    *--at = (u8)id;
    at = put_type_before(at, change->table_name == NULL ? 0 : name_size * 2 + 13);
    *--at = (u8)type;
    if (has_transaction) {
        *--at = (u8)transaction;
    }
    *--at = (u8)seconds;
    *--at = 0; /* the id of the record is its rowid */
    at--;
    assert(header_end - at <= HEADER_MAX);
    *at = (u8)(header_end - at);
    return at;
}

/* --- writing ---
 *
 * A row that is longer than SQLITE_LIMIT_LENGTH is reported as full: for that SQLite undoes the statement whatever it
 * has written. */

static int append_directly(Vdbe *vm, const Change *change, const Stamp *stamp)
{
    sqlite3 *const db = vm->db;
    Capture *const capture = db->weir;
    const u8 *const row = put_head(capture, change, stamp);
    const u64 size = (u64)(capture->record.data + capture->record.size - row);
    if (size > (u64)db->aLimit[SQLITE_LIMIT_LENGTH]) {
        return SQLITE_FULL;
    }
    const BtreePayload payload = {
        .nKey = stamp->id,
        .pData = row,
        .nData = (int)size,
    };
    const int rc =
        sqlite3BtreeInsert(capture->cursor, &payload, BTREE_APPEND, stamp->is_first ? 0 : -1);
    capture->is_at_last = rc == SQLITE_OK;
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

static int bind_image(sqlite3_stmt *statement, int index, const u8 *image, u64 size)
{
    return size == 0 ? sqlite3_bind_null(statement, index)
                     : sqlite3_bind_blob64(statement, index, image, size, SQLITE_STATIC);
}

static int run_insert(const Capture *capture, const Change *change, const Stamp *stamp)
{
    sqlite3_stmt *const insert = capture->insert;
    const bool has_transaction = capture->setting.version == 2;
    const u8 *const before = capture->record.data + capture->room;
    const u8 *const after = before + change->before_size;
    const u8 *const updates = after + change->after_size;
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
    rc = rc != SQLITE_OK ? rc : bind_image(insert, 7, before, change->before_size);
    rc = rc != SQLITE_OK ? rc : bind_image(insert, 8, after, change->after_size);
    rc = rc != SQLITE_OK ? rc : bind_image(insert, 9, updates, change->updates_size);
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
        rc = run_insert(capture, change, stamp);
    }
    if (rc == SQLITE_TOOBIG) {
        rc = SQLITE_FULL;
    } else if (rc != SQLITE_OK && !db->mallocFailed) {
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
