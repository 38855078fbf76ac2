/* hook_pragma.c: PRAGMA capture_data_changes_conn. The mode is checked when the statement is compiled, the
 * rest happens when it runs. */
#include "sqlite/capture.h"

static const char *const MODE_NAMES[] = {
    [CAPTURE_OFF] = "off",     [CAPTURE_ID] = "id",     [CAPTURE_BEFORE] = "before",
    [CAPTURE_AFTER] = "after", [CAPTURE_FULL] = "full",
};

static const char BAD_MODE[] = "unexpected pragma value: expected '<mode>' or "
                               "'<mode>,<cdc-table-name>' parameter where mode is "
                               "one of off|id|before|after|full";

const char *weir_mode_name(CaptureMode mode)
{
    return MODE_NAMES[mode];
}

bool weir_setting_parse(const char *value, CaptureMode *mode, const char **table_name)
{
    const char *const comma = strchr(value, ',');
    const size_t size = comma != NULL ? (size_t)(comma - value) : strlen(value);
    *table_name = comma != NULL ? comma + 1 : WEIR_LOG_DEFAULT;
    for (int i = 0; i < ArraySize(MODE_NAMES); i++) {
        if (strlen(MODE_NAMES[i]) == size && memcmp(MODE_NAMES[i], value, size) == 0) {
            *mode = (CaptureMode)i;
            return true;
        }
    }
    return false;
}

static int switch_off(sqlite3 *db)
{
    Capture *const capture = db->weir;
    int rc = SQLITE_OK;
    if (capture->setting.mode == CAPTURE_OFF) {
        return SQLITE_OK;
    }
    weir_log_close(db);
    if (capture->first_id != 0) {
        /* The user may now empty the log: its ids are not to be given out again. */
        i64 last = 0;
        int is_empty;
        sqlite3BtreeEnter(db->aDb[0].pBt);
        rc = weir_schema_refresh(db);
        const Table *const log = rc == SQLITE_OK ? weir_log_find(db) : NULL;
        if (log != NULL) {
            rc = weir_log_last(db, &last, &is_empty);
        }
        if (rc == SQLITE_OK && log != NULL) {
            rc = weir_sequence_write(db, log, last, false);
        }
        weir_log_close(db);
        sqlite3BtreeLeave(db->aDb[0].pBt);
    }
    if (rc == SQLITE_OK) {
        capture->setting.mode = CAPTURE_OFF;
        capture->is_trusted = false;
        capture->was_switched_off = !db->autoCommit;
        capture->off_change_count = db->nTotalChange;
        capture->off_cookie = db->aDb[0].pSchema->schema_cookie;
        sqlite3ExpirePreparedStatements(db, 1);
    }
    return rc;
}

static int set_capture(sqlite3 *db, CaptureMode mode, const char *table_name, bool is_default,
                       char **message)
{
    Capture *const capture = weir_capture_get(db);
    if (capture == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    if (is_default) {
        return weir_setup_default(db, mode, table_name, message);
    }
    if (mode == CAPTURE_OFF) {
        return switch_off(db);
    }
    if (capture->setting.mode == CAPTURE_OFF || weir_log_find(db) == NULL ||
        sqlite3StrICmp(table_name, capture->setting.table_name) != 0) {
        return weir_setup_enable(db, mode, table_name, message);
    }
    char *const name = sqlite3_mprintf("%s", table_name);
    if (name == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    weir_log_close(db);
    sqlite3_free(capture->setting.table_name);
    capture->setting.table_name = name;
    capture->setting.mode = (u8)mode;
    sqlite3ExpirePreparedStatements(db, 1);
    return SQLITE_OK;
}

/* The instruction that does it. It is in no table of functions: SQL cannot call it. */
static void run_set(sqlite3_context *context, int argument_count, sqlite3_value **arguments)
{
    sqlite3 *const db = sqlite3_context_db_handle(context);
    const char *const value = (const char *)sqlite3_value_text(arguments[0]);
    CaptureMode mode;
    const char *table_name;
    UNUSED_PARAMETER(argument_count);
    if (value == NULL || !weir_setting_parse(value, &mode, &table_name)) {
        sqlite3_result_error_nomem(context);
        return;
    }
    char *message = NULL;
    const bool is_default = sqlite3_value_int(arguments[1]) != 0;
    sqlite3BtreeEnterAll(db); /* schemas may be shared with other connections */
    const int rc = set_capture(db, mode, table_name, is_default, &message);
    sqlite3BtreeLeaveAll(db);
    if (rc == SQLITE_OK && (!is_default || mode != CAPTURE_OFF)) {
        db->weir->is_set = true;
        db->weir->may_have_default = false;
    }
    if (message != NULL) {
        sqlite3_result_error(context, message, -1);
        sqlite3_free(message);
    }
    if (rc != SQLITE_OK) {
        sqlite3_result_error_code(context, rc);
    }
}

static void show(Parse *parse, Vdbe *vm)
{
    static const char *const VERSIONS[] = {NULL, "v1", "v2"};
    sqlite3 *const db = parse->db;
    if (sqlite3ReadSchema(parse) != SQLITE_OK) {
        return;
    }
    if (db->weir != NULL) {
        char *message;
        weir_capture_recheck(db);
        const int rc = weir_default_adopt(db, &message);
        if (rc != SQLITE_OK) {
            sqlite3ErrorMsg(parse, "%s", message == NULL ? sqlite3ErrStr(rc) : message);
            sqlite3_free(message);
            parse->rc = rc;
            return;
        }
    }
    const CaptureMode mode = weir_capture_mode(db);
    const Setting off = {0};
    const Setting *const setting = mode == CAPTURE_OFF ? &off : &db->weir->setting;
    parse->nMem = 3;
    sqlite3VdbeMultiLoad(vm, 1, "sss", MODE_NAMES[mode], setting->table_name,
                         VERSIONS[setting->version]);
}

void weir_pragma(Parse *parse, Vdbe *vm, const char *value, int which)
{
    static const FuncDef SET = {
        .nArg = 2,
        .funcFlags = SQLITE_UTF8 | SQLITE_DIRECTONLY,
        .xSFunc = run_set,
        .zName = "capture_data_changes_conn",
    };
    CaptureMode mode;
    const char *table_name;
    if (which == WEIR_PRAGMA_GAPS) {
        weir_pragma_gaps(parse, vm, value);
        return;
    }
    if (value == NULL) {
        show(parse, vm);
        return;
    }
    if (!weir_setting_parse(value, &mode, &table_name)) {
        sqlite3ErrorMsg(parse, "%s", BAD_MODE);
        return;
    }
    parse->nMem = 3;
    sqlite3VdbeAddOp4(vm, OP_String8, 0, 1, 0, value, 0);
    sqlite3VdbeAddOp2(vm, OP_Integer, which == WEIR_PRAGMA_DEFAULT, 2);
    sqlite3VdbeAddFunctionCall(parse, 0, 1, 3, 2, &SET, 0);
}
