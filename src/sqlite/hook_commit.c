/* hook_commit.c: the end of transactions and statements: COMMIT records and sqlite_sequence. */
#include "sqlite/capture.h"

/* --- sqlite_sequence --- */

/* The row of sqlite_sequence for a log, under the open cursor. */
typedef struct Sequence {
    i64 rowid; /* 0: there is none */
    i64 highest_rowid;
    i64 value;
} Sequence;

static int sequence_check(sqlite3 *db, const char *name, Sequence *out)
{
    Capture *const capture = db->weir;
    Span record;
    int rc = weir_row_payload(capture->cursor, &capture->payload, &record);
    Mem field;
    if (rc == SQLITE_OK) {
        rc = weir_image_field(db, record, 0, &field);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    out->highest_rowid = sqlite3BtreeIntegerKey(capture->cursor);
    if ((field.flags & MEM_Str) == 0 || (size_t)field.n != strlen(name) ||
        memcmp(field.z, name, (size_t)field.n) != 0) {
        return SQLITE_OK;
    }
    rc = weir_image_field(db, record, 1, &field);
    if (rc == SQLITE_OK) {
        out->rowid = out->highest_rowid;
        out->value = sqlite3VdbeIntValue(&field);
    }
    return rc;
}

/* Opens sqlite_sequence, if the log is AUTOINCREMENT, and looks for its row. */
static int sequence_find(sqlite3 *db, const Table *log, Sequence *out)
{
    Capture *const capture = db->weir;
    *out = (Sequence){0};
    const Table *const sequence = db->aDb[0].pSchema->pSeqTab;
    if ((log->tabFlags & TF_Autoincrement) == 0 || sequence == NULL || !HasRowid(sequence) ||
        IsVirtual(sequence) || sequence->nCol != 2) {
        return SQLITE_OK;
    }
    int rc = weir_log_open_root(db, sequence->tnum);
    int is_empty = 0;
    if (rc == SQLITE_OK) {
        rc = sqlite3BtreeFirst(capture->cursor, &is_empty);
    }
    while (rc == SQLITE_OK && !is_empty && out->rowid == 0) {
        rc = sequence_check(db, log->zName, out);
        if (rc == SQLITE_OK && out->rowid == 0) {
            rc = sqlite3BtreeNext(capture->cursor, 0);
        }
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int weir_sequence_read(sqlite3 *db, const Table *log, i64 *out)
{
    Sequence sequence = {0};
    const int rc = sequence_find(db, log, &sequence);
    *out = MAX(sequence.value, 0);
    weir_log_close(db);
    return rc;
}

int weir_sequence_write(sqlite3 *db, i64 last)
{
    Capture *const capture = db->weir;
    const Table *const log = weir_log_find(db);
    if (log == NULL || (log->tabFlags & TF_Autoincrement) == 0) {
        return SQLITE_OK;
    }
    int rc = SQLITE_OK;
    if (last == 0) {
        int is_empty;
        rc = weir_log_last(db, &last, &is_empty);
    }
    weir_log_close(db);
    Sequence sequence = {0};
    if (rc == SQLITE_OK) {
        last = MAX(last, capture->floor);
        rc = sequence_find(db, log, &sequence);
    }
    if (rc == SQLITE_OK && capture->is_open && last > sequence.value) {
        const u64 name_size = strlen(log->zName);
        u32 size;
        u8 header[16] = {0};
        u32 header_size = 1 + (u32)sqlite3PutVarint(header + 1, name_size * 2 + 13);
        header[header_size++] = (u8)weir_integer_serial(last, &size);
        header[0] = (u8)header_size;
        rc = weir_bytes_reserve(&capture->record, header_size + name_size + size);
        if (rc == SQLITE_OK) {
            memcpy(capture->record.data, header, header_size);
            memcpy(capture->record.data + header_size, log->zName, name_size);
            weir_integer_put(capture->record.data + header_size + name_size, last, size);
            const BtreePayload payload = {
                .nKey = sequence.rowid != 0 ? sequence.rowid : sequence.highest_rowid + 1,
                .pData = capture->record.data,
                .nData = (int)(header_size + name_size + size),
            };
            rc = sqlite3BtreeInsert(capture->cursor, &payload, 0, 0);
            capture->sequence = last;
        }
    }
    weir_log_close(db);
    return rc;
}

/* --- transactions --- */

void weir_transaction_reset(sqlite3 *db)
{
    Capture *const capture = db->weir;
    capture->first_id = 0;
    capture->floor = 0;
    capture->has_sequence = false;
    capture->verify = false;
    capture->updating = NULL;
}

/* What rolled back the schema has left none: it is read again, without ending the transaction. */
static int load_schema(sqlite3 *db)
{
    if (DbHasProperty(db, 0, DB_SchemaLoaded)) {
        return SQLITE_OK;
    }
    char *message = NULL;
    const u8 auto_commit = db->autoCommit;
    db->autoCommit = 0;
    sqlite3BtreeEnterAll(db);
    const int rc = sqlite3Init(db, &message);
    sqlite3BtreeLeaveAll(db);
    db->autoCommit = auto_commit;
    sqlite3DbFree(db, message);
    return rc;
}

static int end_log(sqlite3 *db, Vdbe *vm)
{
    Capture *const capture = db->weir;
    const bool is_marked = (vm->weirFlags & STATEMENT_WRITES) != 0 && vm->weirMode != CAPTURE_OFF &&
                           vm->rc == SQLITE_OK;
    int rc = load_schema(db);
    if (rc != SQLITE_OK || weir_log_find(db) == NULL) {
        return rc;
    }
    i64 last = 0;
    if (capture->verify && capture->first_id != 0) {
        /* Opening the log verifies; it may turn out that there is nothing to close. */
        int is_empty;
        rc = weir_log_last(db, &last, &is_empty);
        last = 0;
    }
    if (rc == SQLITE_OK && capture->setting.version == 2 && (capture->first_id != 0 || is_marked)) {
        rc = weir_log_append(vm, &(Change){.type = CHANGE_COMMIT});
        last = capture->last_id;
    }
    if (rc == SQLITE_OK) {
        rc = weir_sequence_write(db, last);
    }
    return rc;
}

int weir_commit(sqlite3 *db, Vdbe *vm)
{
    Capture *const capture = db->weir;
    if (capture->suspend_count > 0) {
        return SQLITE_OK;
    }
    Btree *const btree = db->aDb[0].pBt;
    int rc = SQLITE_OK;
    weir_log_close(db);
    if (sqlite3BtreeTxnState(btree) == SQLITE_TXN_WRITE &&
        (capture->first_id != 0 || capture->floor != 0 || vm->weirMode != CAPTURE_OFF)) {
        sqlite3BtreeEnter(btree);
        rc = end_log(db, vm);
        weir_log_close(db);
        sqlite3BtreeLeave(btree);
    }
    if (rc == SQLITE_OK) {
        weir_transaction_reset(db);
        if (!capture->recheck) {
            capture->has_saved = false;
        }
    }
    return rc;
}

/* --- statements --- */

void weir_statement_end(Vdbe *vm)
{
    sqlite3 *const db = vm->db;
    Capture *const capture = db->weir;
    if (vm->rc == SQLITE_OK && capture->schema_changes != NULL) {
        vm->rc = weir_schema_flush(vm);
    }
    weir_schema_forget(db, vm);
    if (vm->rc != SQLITE_OK) {
        capture->verify = true;
        weir_log_close(db);
    } else if ((vm->weirFlags & (STATEMENT_ALTERS | STATEMENT_DROPS)) != 0) {
        weir_log_close(db);
    } else {
        weir_log_rest(db);
    }
    capture->updating = NULL;
}
