/* hook_commit.c: the end of transactions and statements: COMMIT records, and the log's row of
 * sqlite_sequence with its mark. */
#include "sqlite/capture.h"

/* --- sqlite_sequence --- */

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
        out->page = capture->cursor->pPage->pgno;
        out->value = MAX(sqlite3VdbeIntValue(&field), 0);
        /* A row that SQLite wrote has no third field. */
        if (weir_image_field(db, record, 2, &field) == SQLITE_OK && (field.flags & MEM_Blob) != 0 &&
            field.n == WEIR_MARK_SIZE) {
            out->has_mark = true;
            memcpy(out->mark, field.z, WEIR_MARK_SIZE);
        }
    }
    return rc;
}

int weir_sequence_find(sqlite3 *db, const Table *log, bool is_writing, Sequence *out)
{
    Capture *const capture = db->weir;
    *out = (Sequence){0};
    const Table *const sequence = db->aDb[0].pSchema->pSeqTab;
    if ((log->tabFlags & TF_Autoincrement) == 0 || sequence == NULL || !HasRowid(sequence) ||
        IsVirtual(sequence) || sequence->nCol != 2) {
        return SQLITE_OK;
    }
    int rc = weir_log_open_root(db, sequence->tnum, is_writing);
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

/* The last record that the row knows of. */
static i64 sequence_end(const Sequence *sequence)
{
    return sequence->has_mark ? weir_mark_last_id(sequence->mark) : sequence->value;
}

int weir_sequence_look(sqlite3 *db, const Table *log)
{
    Capture *const capture = db->weir;
    if (capture->has_sequence) {
        return SQLITE_OK;
    }
    Sequence sequence = {0};
    weir_log_close(db);
    int rc = weir_sequence_find(db, log, true, &sequence);
    if (rc == SQLITE_OK) {
        rc = weir_gap_check(db, &sequence, &capture->found_reason);
    }
    weir_log_close(db);
    capture->sequence = sequence.value;
    capture->found_after = sequence_end(&sequence);
    capture->has_sequence = rc == SQLITE_OK;
    capture->has_looked = rc == SQLITE_OK;
    return rc;
}

/* Puts the row under the cursor that weir_sequence_find has opened. */
static int sequence_put(sqlite3 *db, const char *name, const Sequence *sequence)
{
    Capture *const capture = db->weir;
    const Span text = {.data = (const u8 *)name, .size = strlen(name)};
    const u64 mark_size = sequence->has_mark ? WEIR_MARK_SIZE : 0;
    u32 size;
    u8 header[16] = {0};
    u32 header_size = 1 + (u32)sqlite3PutVarint(header + 1, text.size * 2 + 13);
    header[header_size++] = (u8)weir_integer_serial(sequence->value, &size);
    if (sequence->has_mark) {
        header[header_size++] = WEIR_MARK_SIZE * 2 + 12;
    }
    header[0] = (u8)header_size;
    const u64 total = header_size + text.size + size + mark_size;
    const int rc = weir_bytes_reserve(&capture->record, total + WEIR_WORD_SIZE);
    if (rc != SQLITE_OK) {
        return rc;
    }
    u8 *at = capture->record.data;
    memcpy(at, header, header_size);
    at += header_size;
    memcpy(at, text.data, text.size);
    at += text.size;
    weir_integer_put(at, sequence->value, size);
    memcpy(at + size, sequence->mark, mark_size);
    const BtreePayload payload = {
        .nKey = sequence->rowid != 0 ? sequence->rowid : sequence->highest_rowid + 1,
        .pData = capture->record.data,
        .nData = (int)total,
    };
    return sqlite3BtreeInsert(capture->cursor, &payload, 0, 0);
}

/* Looks whether something was written before this transaction that is not in the log, keeps that, and
 * makes a new mark. */
static int settle_mark(sqlite3 *db, const Table *log, i64 last, Sequence *sequence, bool *is_new)
{
    const Capture *const capture = db->weir;
    const char *reason = capture->found_reason;
    i64 after = capture->found_after;
    int rc = SQLITE_OK;
    *is_new = false;
    if (!weir_mark_is_possible(db)) {
        return SQLITE_OK;
    }
    if (!capture->has_looked || capture->has_uncaptured) {
        rc = weir_gap_check(db, sequence, &reason);
        after = sequence_end(sequence);
    }
    if (rc == SQLITE_OK && reason != NULL) {
        bool is_kept;
        weir_log_close(db);
        rc = weir_gap_keep(db, log->zName, after, reason, &is_kept);
        if (rc == SQLITE_OK) {
            rc = weir_sequence_find(db, log, true, sequence);
        }
        if (rc != SQLITE_OK || !is_kept) {
            return rc;
        }
    }
    if (rc == SQLITE_OK) {
        sequence->has_mark = true;
        weir_mark_make(db, MAX(last, sequence->value), sequence->mark);
        weir_gap_trust(db);
        *is_new = true;
    }
    return rc;
}

int weir_sequence_write(sqlite3 *db, const Table *log, i64 last, bool is_marking)
{
    Capture *const capture = db->weir;
    Sequence sequence;
    bool is_new = false;
    last = MAX(last, capture->floor);
    weir_log_close(db);
    int rc = weir_sequence_find(db, log, true, &sequence);
    if (rc == SQLITE_OK && capture->is_open && is_marking) {
        rc = settle_mark(db, log, last, &sequence, &is_new);
    }
    if (rc == SQLITE_OK && capture->is_open && (is_new || last > sequence.value)) {
        sequence.value = MAX(last, sequence.value);
        rc = sequence_put(db, log->zName, &sequence);
        capture->sequence = sequence.value;
    }
    weir_log_close(db);
    return rc;
}

/* --- transactions --- */

/* A large row is no reason to hold its memory for ever. */
static void trim_buffers(Capture *capture)
{
    enum { KEPT_BYTES = 1 << 20 };
    Bytes *const buffers[] = {&capture->record, &capture->payload, &capture->values,
                              &capture->replaced.image};
    for (int i = 0; i < ArraySize(buffers); i++) {
        if (buffers[i]->capacity > KEPT_BYTES) {
            weir_bytes_free(buffers[i]);
        }
    }
}

void weir_transaction_reset(sqlite3 *db)
{
    Capture *const capture = db->weir;
    trim_buffers(capture);
    capture->first_id = 0;
    capture->floor = 0;
    capture->has_sequence = false;
    capture->has_looked = false;
    capture->found_reason = NULL;
    capture->verify = false;
    capture->updating = NULL;
    capture->has_uncaptured = false;
    capture->was_switched_off = false;
}

/* Whether the transaction wrote nothing after capture was switched off. */
bool weir_is_all_captured(const sqlite3 *db)
{
    const Capture *const capture = db->weir;
    return !capture->was_switched_off || (capture->off_change_count == db->nTotalChange &&
                                          capture->off_cookie == db->aDb[0].pSchema->schema_cookie);
}

static int end_log(sqlite3 *db, Vdbe *vm)
{
    Capture *const capture = db->weir;
    const bool is_marked = (vm->weirFlags & STATEMENT_WRITES) != 0 && vm->weirMode != CAPTURE_OFF &&
                           vm->rc == SQLITE_OK;
    int rc = weir_schema_refresh(db);
    const Table *const log = rc == SQLITE_OK ? weir_log_find(db) : NULL;
    if (log == NULL) {
        return rc;
    }
    i64 last = 0;
    int is_empty;
    if (capture->verify && capture->first_id != 0) {
        /* Opening the log verifies; it may turn out that there is nothing to close. */
        rc = weir_log_last(db, &last, &is_empty);
    }
    if (rc == SQLITE_OK && capture->setting.version == 2 && (capture->first_id != 0 || is_marked)) {
        rc = weir_log_start(db, NULL);
        if (rc == SQLITE_OK) {
            rc = weir_log_append(vm, &(Change){.type = CHANGE_COMMIT});
        }
        last = capture->last_id;
    } else if (rc == SQLITE_OK) {
        rc = weir_log_last(db, &last, &is_empty);
    }
    if (rc == SQLITE_OK) {
        rc = weir_sequence_write(db, log, last, weir_is_all_captured(db));
    }
    /* In shared cache somebody may be reading the log: that is no reason to refuse a commit of no records. */
    const bool is_recorded =
        capture->first_id != 0 || capture->floor != 0 || vm->weirMode != CAPTURE_OFF;
    return !is_recorded && (rc & 0xff) == SQLITE_LOCKED ? SQLITE_OK : rc;
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
    /* Also what leaves no record is marked as ours. */
    if (sqlite3BtreeTxnState(btree) == SQLITE_TXN_WRITE &&
        (capture->first_id != 0 || capture->floor != 0 || vm->weirMode != CAPTURE_OFF ||
         (capture->setting.mode != CAPTURE_OFF && weir_mark_has_writes(db)))) {
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
    if (capture->replaced.vm == vm) {
        capture->replaced.vm = NULL;
    }
}
