/* hook_state.c: the capture state of a connection: its lifetime, its setting, and how our own SQL runs
 * beside the user's. */
#include "sqlite/capture.h"

/* --- lifetime --- */

Capture *weir_capture_get(sqlite3 *db)
{
    if (db->weir == NULL) {
        Capture *const capture = sqlite3MallocZero(sizeof *capture);
        if (capture == NULL) {
            return NULL;
        }
        capture->cursor = sqlite3MallocZero((u64)sqlite3BtreeCursorSize());
        if (capture->cursor == NULL) {
            sqlite3_free(capture);
            return NULL;
        }
        db->weir = capture;
    }
    return db->weir;
}

void weir_close(sqlite3 *db)
{
    Capture *const capture = db->weir;
    if (capture == NULL) {
        return;
    }
    assert(!capture->is_open && capture->insert == NULL && capture->schema_changes == NULL);
    db->weir = NULL;
    sqlite3_free(capture->setting.table_name);
    sqlite3_free(capture->saved.table_name);
    sqlite3_free(capture->cursor);
    weir_bytes_free(&capture->kinds);
    weir_bytes_free(&capture->record);
    weir_bytes_free(&capture->payload);
    weir_bytes_free(&capture->values);
    weir_bytes_free(&capture->replaced.image);
    sqlite3_free(capture);
}

/* --- the setting --- */

CaptureMode weir_capture_mode(const sqlite3 *db)
{
    const Capture *const capture = db->weir;
    if (capture == NULL || capture->suspend_count > 0) {
        return CAPTURE_OFF;
    }
    return (CaptureMode)capture->setting.mode;
}

void weir_setting_move(Setting *to, Setting *from)
{
    sqlite3_free(to->table_name);
    *to = *from;
    *from = (Setting){0};
}

static bool is_schema_current(const sqlite3 *db)
{
    u32 cookie;
    if (!DbHasProperty(db, 0, DB_SchemaLoaded)) {
        return false;
    }
    sqlite3BtreeGetMeta(db->aDb[0].pBt, BTREE_SCHEMA_VERSION, &cookie);
    return (int)cookie == db->aDb[0].pSchema->schema_cookie;
}

int weir_schema_refresh(sqlite3 *db)
{
    char *message = NULL;
    if (is_schema_current(db)) {
        return SQLITE_OK;
    }
    const u8 auto_commit = db->autoCommit;
    weir_log_close(db);
    sqlite3BtreeEnterAll(db);
    sqlite3ResetOneSchema(db, 0);
    db->autoCommit = 0; /* reading it must not end the transaction */
    const int rc = sqlite3Init(db, &message);
    db->autoCommit = auto_commit;
    sqlite3BtreeLeaveAll(db);
    sqlite3DbFree(db, message);
    return rc;
}

Table *weir_find_table(const sqlite3 *db, const char *name)
{
    return sqlite3HashFind(&db->aDb[0].pSchema->tblHash, name);
}

TableClass weir_classify(const Capture *capture, const Table *table)
{
    if (sqlite3StrICmp(table->zName, capture->setting.table_name) == 0) {
        return TABLE_LOG;
    }
    if ((table->tabFlags & TF_Shadow) != 0 || sqlite3StrNICmp(table->zName, "sqlite_", 7) == 0 ||
        sqlite3StrICmp(table->zName, WEIR_VERSION_TABLE) == 0) {
        return TABLE_SKIPPED;
    }
    return TABLE_CAPTURED;
}

void weir_capture_recheck(sqlite3 *db)
{
    Capture *const capture = db->weir;
    if (capture == NULL || !capture->recheck || capture->suspend_count > 0) {
        return;
    }
    capture->recheck = false;
    if (weir_find_table(db, capture->setting.table_name) == NULL) {
        weir_setting_move(&capture->setting, &capture->saved);
        capture->has_saved = false;
        sqlite3ExpirePreparedStatements(db, 1);
    } else if (db->autoCommit) {
        capture->has_saved = false;
    }
}

/* --- rollbacks --- */

void weir_rollback(sqlite3 *db)
{
    Capture *const capture = db->weir;
    if (capture == NULL || capture->suspend_count > 0) {
        return;
    }
    weir_log_close(db);
    weir_transaction_reset(db);
    capture->is_trusted = false;
    capture->recheck = capture->has_saved;
}

void weir_rollback_to(sqlite3 *db)
{
    Capture *const capture = db->weir;
    if (capture == NULL || capture->suspend_count > 0) {
        return;
    }
    weir_log_close(db);
    capture->verify = true;
    capture->recheck = capture->has_saved;
}

/* --- our own SQL --- */

void weir_capture_suspend(sqlite3 *db, Suspended *saved)
{
    *saved = (Suspended){
        .last_rowid = db->lastRowid,
        .change_count = db->nChange,
        .total_change_count = db->nTotalChange,
        .flags = db->flags,
        .authorizer = db->xAuth,
        .on_update = db->xUpdateCallback,
        .on_preupdate = db->xPreUpdateCallback,
        .trace = db->mTrace,
    };
    db->weir->suspend_count++;
    db->flags &= ~(u64)(SQLITE_EnableTrigger | SQLITE_ForeignKeys | SQLITE_CountRows);
    db->xAuth = NULL;
    db->xUpdateCallback = NULL;
    db->xPreUpdateCallback = NULL;
    db->mTrace = 0;
}

void weir_capture_resume(sqlite3 *db, const Suspended *saved)
{
    static const u64 OWN_FLAGS = SQLITE_EnableTrigger | SQLITE_ForeignKeys | SQLITE_CountRows;
    assert(db->weir->suspend_count > 0);
    db->weir->suspend_count--;
    db->flags = (db->flags & ~OWN_FLAGS) | (saved->flags & OWN_FLAGS);
    db->lastRowid = saved->last_rowid;
    db->nChange = saved->change_count;
    db->nTotalChange = saved->total_change_count;
    db->xAuth = saved->authorizer;
    db->xUpdateCallback = saved->on_update;
    db->xPreUpdateCallback = saved->on_preupdate;
    db->mTrace = saved->trace;
}
