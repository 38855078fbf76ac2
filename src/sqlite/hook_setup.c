/* hook_setup.c: makes and checks the log table and turso_cdc_version, in one savepoint. */
#include "sqlite/capture.h"

#define SETUP_SAVEPOINT "weir capture setup"

typedef struct Setup {
    sqlite3 *db;
    const char *table_name; /* borrowed */
    char *message;          /* owned; what went wrong */
    u8 version;
    const char *wish; /* borrowed; what to keep in the database, NULL for nothing */
} Setup;

static int fail(Setup *setup, int rc, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    sqlite3_free(setup->message);
    setup->message = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    return setup->message == NULL ? SQLITE_NOMEM_BKPT : rc;
}

/* Runs SQL made of `format` and the table's name, twice if the format asks for it. */
static int run(Setup *setup, const char *format)
{
    char *const sql = sqlite3_mprintf(format, setup->table_name, setup->table_name);
    if (sql == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    const int rc = sqlite3_exec(setup->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc == SQLITE_OK ? SQLITE_OK : fail(setup, rc, "%s", sqlite3_errmsg(setup->db));
}

/* --- checks --- */

static int check_name(Setup *setup)
{
    const char *const name = setup->table_name;
    const Schema *const schema = setup->db->aDb[0].pSchema;
    if (name[0] == 0) {
        return fail(setup, SQLITE_ERROR, "the name of the change log is empty");
    }
    if (sqlite3StrNICmp(name, "sqlite_", 7) == 0 || strcmp(name, WEIR_DEFAULT_NAME) == 0 ||
        sqlite3StrICmp(name, WEIR_VERSION_TABLE) == 0) {
        return fail(setup, SQLITE_ERROR, "\"%w\" is reserved and cannot be the change log", name);
    }
    if (sqlite3HashFind(&schema->idxHash, name) != NULL) {
        return fail(setup, SQLITE_ERROR, "there is already an index named %s", name);
    }
    if (sqlite3HashFind(&schema->trigHash, name) != NULL) {
        return fail(setup, SQLITE_ERROR, "there is already a trigger named %s", name);
    }
    return SQLITE_OK;
}

/* The version that turso_cdc_version has for the log: 1, 2, or 0 for none. */
static int read_version(Setup *setup, u8 *out)
{
    sqlite3_stmt *statement = NULL;
    *out = 0;
    int rc = sqlite3_prepare_v2(setup->db,
                                "SELECT version FROM main." WEIR_VERSION_TABLE
                                " WHERE table_name=?1 COLLATE nocase",
                                -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_text(statement, 1, setup->table_name, -1, SQLITE_STATIC);
    }
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const char *const text = (const char *)sqlite3_column_text(statement, 0);
        const bool is_text = sqlite3_column_type(statement, 0) == SQLITE_TEXT;
        if (is_text && strcmp(text, "v1") == 0) {
            *out = 1;
        } else if (is_text && strcmp(text, "v2") == 0) {
            *out = 2;
        } else {
            rc = fail(setup, SQLITE_ERROR, "unexpected CDC version: %s",
                      text == NULL ? "NULL" : text);
        }
    }
    const int finalized = sqlite3_finalize(statement);
    if (rc == SQLITE_OK) {
        rc = finalized;
    }
    if (rc != SQLITE_OK && setup->message == NULL) {
        rc = fail(setup, rc, "%s", sqlite3_errmsg(setup->db));
    }
    return rc;
}

/* --- steps --- */

static int make_log(Setup *setup, u8 *shape)
{
    const Table *const existing = weir_find_table(setup->db, setup->table_name);
    *shape = 0;
    if (existing != NULL) {
        *shape = (u8)weir_log_shape(existing);
        if (*shape == 0) {
            return fail(setup, SQLITE_ERROR, "%s exists and is not a change log",
                        setup->table_name);
        }
        return SQLITE_OK;
    }
    return run(setup, "CREATE TABLE main.\"%w\"(change_id INTEGER PRIMARY KEY AUTOINCREMENT, "
                      "change_time INTEGER, change_txn_id INTEGER, change_type INTEGER, "
                      "table_name TEXT, id, before BLOB, after BLOB, updates BLOB)");
}

static int settle_version(Setup *setup, u8 shape)
{
    u8 stated;
    const int rc = read_version(setup, &stated);
    if (rc != SQLITE_OK) {
        return rc;
    }
    setup->version = shape == 0 ? 2 : shape;
    if (stated == setup->version) {
        return SQLITE_OK;
    }
    if (stated != 0 && shape != 0) {
        return fail(setup, SQLITE_ERROR,
                    "%s has the columns of version v%d, but " WEIR_VERSION_TABLE " says v%d",
                    setup->table_name, shape, stated);
    }
    if (stated != 0) {
        return run(setup, "UPDATE main." WEIR_VERSION_TABLE
                          " SET version='v2' WHERE table_name=%Q COLLATE nocase");
    }
    return run(setup, setup->version == 1 ? "INSERT INTO main." WEIR_VERSION_TABLE
                                            "(table_name,version)VALUES(%Q,'v1')"
                                          : "INSERT INTO main." WEIR_VERSION_TABLE
                                            "(table_name,version)VALUES(%Q,'v2')");
}

static int keep_wish(Setup *setup)
{
    char *const sql = sqlite3_mprintf("INSERT OR REPLACE INTO main." WEIR_VERSION_TABLE
                                      "(table_name,version)VALUES('" WEIR_DEFAULT_NAME "','%q,%q')",
                                      setup->wish, setup->table_name);
    if (sql == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    const int rc = sqlite3_exec(setup->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc == SQLITE_OK ? SQLITE_OK : fail(setup, rc, "%s", sqlite3_errmsg(setup->db));
}

/* What was written here is no change that the log lacks; what others wrote before may be. */
static int mark_log(const Setup *setup)
{
    sqlite3 *const db = setup->db;
    const Table *const log = weir_find_table(db, setup->table_name);
    int rc = SQLITE_OK;
    if (log != NULL && weir_log_shape(log) != 0 && weir_mark_has_writes(db)) {
        sqlite3BtreeEnter(db->aDb[0].pBt);
        rc = weir_sequence_write(db, log, 0, true);
        sqlite3BtreeLeave(db->aDb[0].pBt);
    }
    return (rc & 0xff) == SQLITE_LOCKED ? SQLITE_OK : rc;
}

static int set_up(Setup *setup)
{
    u8 shape = 0;
    /* Reads the schema, and keeps it from being changed by others. */
    int rc = run(setup, "SELECT 1 FROM main.sqlite_schema LIMIT 1");
    if (rc == SQLITE_OK && ENC(setup->db) != SQLITE_UTF8) {
        rc = fail(setup, SQLITE_ERROR, WEIR_NEEDS_UTF8);
    }
    if (rc == SQLITE_OK) {
        rc = check_name(setup);
    }
    if (rc == SQLITE_OK) {
        rc = make_log(setup, &shape);
    }
    if (rc == SQLITE_OK) {
        rc = run(setup, "CREATE TABLE IF NOT EXISTS main." WEIR_VERSION_TABLE
                        "(table_name TEXT PRIMARY KEY, version TEXT NOT NULL)");
    }
    if (rc == SQLITE_OK) {
        rc = settle_version(setup, shape);
    }
    if (rc == SQLITE_OK && setup->wish != NULL) {
        rc = keep_wish(setup);
    }
    return rc == SQLITE_OK ? mark_log(setup) : rc;
}

/* --- enabling --- */

/* Makes the new setting the connection's, and keeps the old one for a rollback. */
static int adopt(const Setup *setup, CaptureMode mode)
{
    Capture *const capture = setup->db->weir;
    Setting setting = {
        .mode = (u8)mode,
        .version = setup->version,
        .table_name = sqlite3_mprintf("%s", setup->table_name),
    };
    if (setting.table_name == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    if (!setup->db->autoCommit && !capture->has_saved) {
        weir_setting_move(&capture->saved, &capture->setting);
        capture->has_saved = true;
    }
    weir_setting_move(&capture->setting, &setting);
    capture->has_sequence = false;
    capture->has_looked = false;
    capture->found_reason = NULL;
    capture->was_switched_off = false;
    sqlite3ExpirePreparedStatements(setup->db, 1);
    return SQLITE_OK;
}

static bool is_setting_up(const sqlite3 *db)
{
    return db->pSavepoint != NULL && strcmp(db->pSavepoint->zName, SETUP_SAVEPOINT) == 0;
}

/* Ends the savepoint, well if rc is SQLITE_OK. Once memory has run out, SQLite runs no other statement before the one
 * that runs has ended: then the whole transaction is rolled back, as by a write that finds no memory. */
static int end_setup(Setup *setup, int rc)
{
    if (rc == SQLITE_OK) {
        rc = run(setup, "RELEASE \"" SETUP_SAVEPOINT "\"");
    }
    if (rc != SQLITE_OK) {
        (void)sqlite3_exec(setup->db,
                           "ROLLBACK TO \"" SETUP_SAVEPOINT "\"; RELEASE \"" SETUP_SAVEPOINT "\"",
                           NULL, NULL, NULL);
        if (is_setting_up(setup->db)) {
            sqlite3RollbackAll(setup->db, SQLITE_ABORT_ROLLBACK);
            sqlite3CloseSavepoints(setup->db);
            setup->db->autoCommit = 1;
        }
    }
    return rc;
}

/* What the open transaction wrote so far is not in the log, unless it was written with capture on. */
static void note_uncaptured(sqlite3 *db)
{
    Capture *const capture = db->weir;
    if (capture->setting.mode == CAPTURE_OFF && weir_mark_has_writes(db) &&
        !(capture->was_switched_off && weir_is_all_captured(db))) {
        capture->has_uncaptured = true;
    }
    capture->is_trusted = false;
}

static int enable(sqlite3 *db, CaptureMode mode, const char *table_name, const char *wish,
                  char **message)
{
    Setup setup = {.db = db, .table_name = table_name, .wish = wish};
    Suspended saved;
    weir_log_close(db);
    note_uncaptured(db);
    weir_capture_suspend(db, &saved);
    int rc = run(&setup, "SAVEPOINT \"" SETUP_SAVEPOINT "\"");
    if (is_setting_up(db)) {
        rc = end_setup(&setup, rc == SQLITE_OK ? set_up(&setup) : rc);
    }
    weir_capture_resume(db, &saved);
    if (rc == SQLITE_OK) {
        rc = adopt(&setup, mode);
    }
    *message = setup.message;
    return rc;
}

int weir_setup_enable(sqlite3 *db, CaptureMode mode, const char *table_name, char **message)
{
    return enable(db, mode, table_name, NULL, message);
}

static int take_back(sqlite3 *db, char **message)
{
    const char *const name = db->weir->setting.table_name;
    Setup setup = {.db = db, .table_name = name == NULL ? WEIR_LOG_DEFAULT : name};
    Suspended saved;
    weir_log_close(db);
    weir_capture_suspend(db, &saved);
    int rc = run(&setup, "SAVEPOINT \"" SETUP_SAVEPOINT "\"");
    if (is_setting_up(db)) {
        rc = rc != SQLITE_OK ? rc : run(&setup, "SELECT 1 FROM main.sqlite_schema LIMIT 1");
        if (rc == SQLITE_OK && weir_find_table(db, WEIR_VERSION_TABLE) != NULL) {
            rc = run(&setup, "DELETE FROM main." WEIR_VERSION_TABLE
                             " WHERE table_name='" WEIR_DEFAULT_NAME "'");
        }
        if (rc == SQLITE_OK) {
            rc = mark_log(&setup);
        }
        rc = end_setup(&setup, rc);
    }
    weir_capture_resume(db, &saved);
    *message = setup.message;
    return rc;
}

int weir_setup_default(sqlite3 *db, CaptureMode mode, const char *table_name, char **message)
{
    return mode == CAPTURE_OFF ? take_back(db, message)
                               : enable(db, mode, table_name, weir_mode_name(mode), message);
}
