/* hook_gap.c: gaps: places in the log where changes are missing, because somebody wrote without capture.
 *
 * A capturing transaction compares the mark of the one before (hook_mark.c) with the file as it found it. A gap
 * is kept in turso_cdc_version, in a row with the name "gap:LOG:AFTER" and the text "BEFORE REASON": changes
 * are missing behind the record AFTER and before BEFORE. What cannot be kept stays in sight, because then the
 * mark stays as it was. PRAGMA capture_data_changes_gaps lists the kept ones, and one that no transaction
 * has met yet. */
#include "sqlite/capture.h"

static const char NO_MARK[] = "the log has no mark: another SQLite has written it";
static const char IN_TRANSACTION[] = "capture was switched within a transaction";

/* --- finding --- */

static u32 data_version(const sqlite3 *db)
{
    u32 version;
    sqlite3BtreeGetMeta(db->aDb[0].pBt, BTREE_DATA_VERSION, &version);
    return version;
}

void weir_gap_trust(sqlite3 *db)
{
    db->weir->is_trusted = true;
    db->weir->trusted_version = data_version(db);
}

int weir_gap_check(const sqlite3 *db, const Sequence *sequence, const char **reason)
{
    const Capture *const capture = db->weir;
    *reason = NULL;
    /* A log that never held a record begins with its first one. */
    if (!weir_mark_is_possible(db) || sequence->value == 0) {
        return SQLITE_OK;
    }
    if (capture->has_uncaptured) {
        *reason = IN_TRANSACTION;
        return SQLITE_OK;
    }
    if (capture->is_trusted && capture->trusted_version == data_version(db)) {
        return SQLITE_OK;
    }
    if (!sequence->has_mark) {
        *reason = NO_MARK;
        return SQLITE_OK;
    }
    return weir_mark_check(db, sequence->mark, sequence->page, reason);
}

/* --- keeping --- */

static int run_keep(sqlite3 *db, const char *log_name, i64 after, const char *reason)
{
    const i64 first = db->weir->first_id;
    sqlite3_stmt *insert = NULL;
    int rc =
        sqlite3_prepare_v2(db,
                           "INSERT OR IGNORE INTO main." WEIR_VERSION_TABLE "(table_name,version)"
                           "VALUES(printf('gap:%s:%lld',?1,?2),printf('%lld %s',?3,?4))",
                           -1, &insert, NULL);
    if (rc == SQLITE_OK) {
        (void)sqlite3_bind_text(insert, 1, log_name, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(insert, 2, after);
        (void)sqlite3_bind_int64(insert, 3, first != 0 ? first : after + 1);
        (void)sqlite3_bind_text(insert, 4, reason, -1, SQLITE_STATIC);
        (void)sqlite3_step(insert);
        rc = sqlite3_finalize(insert);
    }
    return rc;
}

int weir_gap_keep(sqlite3 *db, const char *log_name, i64 after, const char *reason, bool *is_kept)
{
    Suspended saved;
    *is_kept = false;
    weir_capture_suspend(db, &saved);
    const u8 auto_commit = db->autoCommit;
    db->autoCommit = 0;
    const int rc = run_keep(db, log_name, after, reason);
    if (sqlite3BtreeTxnState(db->aDb[0].pBt) == SQLITE_TXN_WRITE) {
        db->autoCommit = auto_commit;
    }
    weir_capture_resume(db, &saved);
    switch (rc & 0xff) {
    case SQLITE_OK:
        sqlite3_log(SQLITE_WARNING, "%s: changes after record %lld were not captured: %s", log_name,
                    after, reason);
        *is_kept = true;
        return SQLITE_OK;
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
        /* turso_cdc_version is gone, or not ours: that is no reason to refuse a commit. */
        return SQLITE_OK;
    default: return rc;
    }
}

/* --- listing --- */

typedef struct Gap {
    bool is_there;
    bool has_before;
    i64 after;
    i64 before;
    char *reason; /* owned */
} Gap;

/* The kept gap with that index; *count is how many there are if it is none of them. */
static int read_kept(sqlite3 *db, const char *log_name, i64 index, Gap *out, i64 *count)
{
    sqlite3_stmt *row = NULL;
    *count = 0;
    int rc = sqlite3_prepare_v2(
        db,
        "SELECT cast(substr(table_name,length(?1)+6) AS INTEGER) AS a, cast(version AS INTEGER),"
        "substr(version,instr(version,' ')+1) FROM main." WEIR_VERSION_TABLE
        " WHERE " WEIR_IS_GAP_OF("?1") " ORDER BY a",
        -1, &row, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_text(row, 1, log_name, -1, SQLITE_STATIC);
    }
    while (rc == SQLITE_OK && !out->is_there && sqlite3_step(row) == SQLITE_ROW) {
        if ((*count)++ == index) {
            out->is_there = true;
            out->has_before = true;
            out->after = sqlite3_column_int64(row, 0);
            out->before = sqlite3_column_int64(row, 1);
            out->reason = sqlite3_mprintf("%s", sqlite3_column_text(row, 2));
            rc = out->reason == NULL ? SQLITE_NOMEM_BKPT : SQLITE_OK;
        }
    }
    const int finalized = sqlite3_finalize(row);
    rc = rc != SQLITE_OK ? rc : finalized;
    return rc == SQLITE_ERROR ? SQLITE_OK : rc;
}

/* The gap behind the last record, if somebody wrote since. */
static int read_open(sqlite3 *db, const char *log_name, Gap *out)
{
    sqlite3_stmt *reading = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT 1 FROM main.sqlite_schema", -1, &reading, NULL);
    if (rc == SQLITE_OK && sqlite3_step(reading) == SQLITE_ROW) {
        /* The database is locked for reading now, and its schema is known. */
        const Table *const log = weir_find_table(db, log_name);
        Sequence sequence = {0};
        const char *reason = NULL;
        sqlite3BtreeEnter(db->aDb[0].pBt);
        if (log != NULL && weir_log_shape(log) != 0) {
            rc = weir_sequence_find(db, log, false, &sequence);
        }
        weir_log_close(db);
        if (rc == SQLITE_OK && sequence.rowid != 0) {
            rc = weir_gap_check(db, &sequence, &reason);
        }
        sqlite3BtreeLeave(db->aDb[0].pBt);
        if (rc == SQLITE_OK && reason != NULL) {
            out->is_there = true;
            out->after = sequence.has_mark ? weir_mark_last_id(sequence.mark) : sequence.value;
            out->reason = sqlite3_mprintf("%s", reason);
            rc = out->reason == NULL ? SQLITE_NOMEM_BKPT : SQLITE_OK;
        }
    }
    const int finalized = sqlite3_finalize(reading);
    return rc != SQLITE_OK ? rc : finalized;
}

static int read_gap(sqlite3 *db, const char *log_name, i64 index, Gap *out)
{
    Capture *const capture = weir_capture_get(db);
    if (capture == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    if (log_name == NULL) {
        log_name =
            capture->setting.mode == CAPTURE_OFF ? WEIR_LOG_DEFAULT : capture->setting.table_name;
    }
    i64 kept_count;
    Suspended saved;
    weir_log_close(db);
    weir_capture_suspend(db, &saved);
    int rc = read_kept(db, log_name, index, out, &kept_count);
    if (rc == SQLITE_OK && !out->is_there && index == kept_count) {
        rc = read_open(db, log_name, out);
    }
    weir_capture_resume(db, &saved);
    return rc;
}

/* gap(log, index, column): NULL in column 2 if there is no such gap. */
static void run_gap(sqlite3_context *context, int argument_count, sqlite3_value **arguments)
{
    sqlite3 *const db = sqlite3_context_db_handle(context);
    const char *const log_name = (const char *)sqlite3_value_text(arguments[0]);
    const int column = sqlite3_value_int(arguments[2]);
    Gap gap = {0};
    UNUSED_PARAMETER(argument_count);
    const int rc = read_gap(db, log_name, sqlite3_value_int64(arguments[1]), &gap);
    if (rc != SQLITE_OK) {
        sqlite3_result_error_code(context, rc);
    } else if (!gap.is_there || (column == 1 && !gap.has_before)) {
        sqlite3_result_null(context);
    } else if (column < 2) {
        sqlite3_result_int64(context, column == 0 ? gap.after : gap.before);
    } else {
        sqlite3_result_text(context, gap.reason, -1, SQLITE_TRANSIENT);
    }
    sqlite3_free(gap.reason);
}

void weir_pragma_gaps(Parse *parse, Vdbe *vm, const char *log_name)
{
    static const FuncDef GAP = {
        .nArg = 3,
        .funcFlags = SQLITE_UTF8 | SQLITE_DIRECTONLY,
        .xSFunc = run_gap,
        .zName = "capture_data_changes_gaps",
    };
    enum { INDEX = 1, ARGUMENTS = 2, RESULT = 5, REGISTERS = 7 };
    parse->nMem = REGISTERS;
    sqlite3VdbeAddOp2(vm, OP_Integer, 0, INDEX);
    const int top = sqlite3VdbeCurrentAddr(vm);
    for (int column = 0; column < 3; column++) {
        if (log_name == NULL) {
            sqlite3VdbeAddOp2(vm, OP_Null, 0, ARGUMENTS);
        } else {
            sqlite3VdbeAddOp4(vm, OP_String8, 0, ARGUMENTS, 0, log_name, 0);
        }
        sqlite3VdbeAddOp2(vm, OP_Copy, INDEX, ARGUMENTS + 1);
        sqlite3VdbeAddOp2(vm, OP_Integer, column, ARGUMENTS + 2);
        sqlite3VdbeAddFunctionCall(parse, 0, ARGUMENTS, RESULT + column, 3, &GAP, 0);
    }
    const int end = sqlite3VdbeAddOp2(vm, OP_IsNull, RESULT + 2, 0);
    sqlite3VdbeAddOp2(vm, OP_ResultRow, RESULT, 3);
    sqlite3VdbeAddOp2(vm, OP_AddImm, INDEX, 1);
    sqlite3VdbeAddOp2(vm, OP_Goto, 0, top);
    sqlite3VdbeJumpHere(vm, end);
}
