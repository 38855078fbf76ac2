/* hook_default.c: capture by default: a wish that is kept in the database.
 *
 * A row of turso_cdc_version with the name '*' holds what PRAGMA capture_data_changes_conn is to be set to
 * on every connection. A connection looks for it when it is about to compile its first statement that
 * writes, unless it has set capture itself by then. */
#include "sqlite/capture.h"

int weir_schema_loaded(sqlite3 *db)
{
    if (weir_find_table(db, WEIR_VERSION_TABLE) == NULL) {
        return SQLITE_OK;
    }
    Capture *const capture = weir_capture_get(db);
    if (capture == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    capture->may_have_default = !capture->is_set;
    return SQLITE_OK;
}

/* Reads the wish into *value, NULL if there is none; owned by the caller. */
static int read_default(sqlite3 *db, char **value)
{
    sqlite3_stmt *row = NULL;
    *value = NULL;
    int rc = sqlite3_prepare_v2(db,
                                "SELECT version FROM main." WEIR_VERSION_TABLE
                                " WHERE table_name='" WEIR_DEFAULT_NAME "'",
                                -1, &row, NULL);
    if (rc == SQLITE_OK) {
        if (sqlite3_step(row) == SQLITE_ROW) {
            const char *const text = (const char *)sqlite3_column_text(row, 0);
            *value = sqlite3_mprintf("%s", text == NULL ? "" : text);
            rc = *value == NULL ? SQLITE_NOMEM_BKPT : SQLITE_OK;
        }
        const int finalized = sqlite3_finalize(row);
        rc = rc != SQLITE_OK ? rc : finalized;
    }
    /* A table of that name that is not ours holds no wish. */
    return rc == SQLITE_ERROR ? SQLITE_OK : rc;
}

/* Makes the wish the connection's setting. */
static int adopt_wish(sqlite3 *db, const char *value, char **message)
{
    CaptureMode mode;
    const char *name;
    if (!weir_setting_parse(value, &mode, &name) || mode == CAPTURE_OFF) {
        *message =
            sqlite3_mprintf("the database asks for change capture '%s', which is no setting; "
                            "PRAGMA capture_data_changes_default('off') takes it back",
                            value);
        return *message == NULL ? SQLITE_NOMEM_BKPT : SQLITE_ERROR;
    }
    if (ENC(db) != SQLITE_UTF8) {
        *message = sqlite3_mprintf(WEIR_NEEDS_UTF8);
        return *message == NULL ? SQLITE_NOMEM_BKPT : SQLITE_ERROR;
    }
    const Table *const log = weir_find_table(db, name);
    Setting setting = {
        .mode = (u8)mode,
        .version = log != NULL && weir_log_shape(log) == 1 ? 1 : 2,
        .table_name = sqlite3_mprintf("%s", name),
    };
    if (setting.table_name == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    weir_setting_move(&db->weir->setting, &setting);
    db->weir->is_trusted = false;
    sqlite3ExpirePreparedStatements(db, 1);
    return SQLITE_OK;
}

int weir_default_adopt(sqlite3 *db, char **message)
{
    Capture *const capture = db->weir;
    char *value;
    *message = NULL;
    if (!capture->may_have_default || capture->suspend_count > 0) {
        return SQLITE_OK;
    }
    Suspended saved;
    weir_capture_suspend(db, &saved);
    /* Whoever compiles a statement holds on to its tables: an old schema is told, not replaced. */
    db->nSchemaLock++;
    int rc = read_default(db, &value);
    db->nSchemaLock--;
    weir_capture_resume(db, &saved);
    if (rc == SQLITE_OK) {
        if (value != NULL) {
            rc = adopt_wish(db, value, message);
        }
        capture->may_have_default = rc != SQLITE_OK;
    }
    sqlite3_free(value);
    return rc;
}
