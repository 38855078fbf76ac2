/* hook_gate.c: while statements are compiled: decides whether they are captured, and refuses what cannot be.
 *
 * Every error that is neither memory, disk nor corruption is found here, because a statement that has
 * begun to write may have no journal to undo it. */
#include "sqlite/capture.h"

/* Whether what is being compiled is a statement of the user. */
static bool is_user_statement(const Parse *parse)
{
    return parse->nested == 0 && !parse->db->init.busy && parse->eParseMode == PARSE_MODE_NORMAL;
}

static Vdbe *statement_of(Parse *parse)
{
    return sqlite3GetVdbe(sqlite3ParseToplevel(parse));
}

/* Has the statement captured; leaves an error if there is no log to write. */
static Vdbe *capture_statement(Parse *parse)
{
    sqlite3 *const db = parse->db;
    const char *const name = db->weir->setting.table_name;
    const Table *const log = weir_log_find(db);
    if (log == NULL) {
        if (weir_find_table(db, name) == NULL) {
            sqlite3ErrorMsg(parse, "no such table: %s", name);
        } else {
            sqlite3ErrorMsg(
                parse, "table %s is not a change log any more; switch capture off and on again",
                name);
        }
        parse->checkSchema = 1;
        return NULL;
    }
    Vdbe *const vm = statement_of(parse);
    if (vm == NULL) {
        return NULL;
    }
    vm->weirMode = db->weir->setting.mode;
    sqlite3TableLock(parse, 0, log->tnum, 1, log->zName);
    const Table *const sequence = db->aDb[0].pSchema->pSeqTab;
    if (sequence != NULL) {
        sqlite3TableLock(parse, 0, sequence->tnum, 1, sequence->zName);
    }
    if (weir_log_is_ruled(log)) {
        sqlite3MultiWrite(parse);
        sqlite3MayAbort(parse);
    }
    return vm;
}

static bool is_main(const Parse *parse, const Table *table)
{
    return table->pSchema == parse->db->aDb[0].pSchema;
}

/* The mode as it is now: rollbacks and the database's wish may have changed it. */
static CaptureMode settle_mode(Parse *parse)
{
    sqlite3 *const db = parse->db;
    char *message;
    weir_capture_recheck(db);
    const int rc = weir_default_adopt(db, &message);
    if (message != NULL) {
        sqlite3ErrorMsg(parse, "%s", message);
        sqlite3_free(message);
    } else if (rc != SQLITE_OK) {
        sqlite3ErrorMsg(parse, "%s", sqlite3ErrStr(rc));
        parse->rc = rc;
    }
    return weir_capture_mode(db);
}

int weir_gate_write(Parse *parse, Table *table)
{
    sqlite3 *const db = parse->db;
    if (!is_user_statement(parse) || !is_main(parse, table)) {
        return 0;
    }
    if (settle_mode(parse) == CAPTURE_OFF) {
        return parse->nErr;
    }
    const TableClass class = weir_classify(db->weir, table);
    if (class == TABLE_SKIPPED) {
        return 0;
    }
    Vdbe *const vm = capture_statement(parse);
    if (vm == NULL) {
        return 1;
    }
    const bool is_dropped = (vm->weirFlags & STATEMENT_DROPS) != 0 && table->tnum == vm->weirRoot;
    if (class == TABLE_LOG || is_dropped) {
        return 0;
    }
    vm->weirFlags |= STATEMENT_WRITES;
    if (IsOrdinaryTable(table) && !HasRowid(table) && vm->weirMode != CAPTURE_FULL) {
        /* Without an id, a record says which row it is about only by its images. */
        sqlite3ErrorMsg(
            parse, "CDC on WITHOUT ROWID tables is not supported in mode '%s', only in 'full': %s",
            weir_mode_name(vm->weirMode), table->zName);
        return 1;
    }
    return 0;
}

void weir_gate_schema(Parse *parse, int database)
{
    if (database != 0 || parse->db->init.busy || parse->eParseMode != PARSE_MODE_NORMAL) {
        return;
    }
    if (settle_mode(parse) != CAPTURE_OFF && capture_statement(parse) != NULL) {
        sqlite3MultiWrite(parse);
        sqlite3MayAbort(parse);
    }
}

static void mark_table(Parse *parse, const Table *table, u8 flag)
{
    if (!is_main(parse, table) || settle_mode(parse) == CAPTURE_OFF) {
        return;
    }
    Vdbe *const vm = statement_of(parse);
    if (vm != NULL) {
        vm->weirFlags |= flag;
        vm->weirRoot = table->tnum;
    }
}

void weir_gate_alter(Parse *parse, const Table *table)
{
    mark_table(parse, table, STATEMENT_ALTERS);
}

void weir_gate_drop_rows(Parse *parse, const Table *table)
{
    mark_table(parse, table, STATEMENT_DROPS);
}

void weir_gate_drop_table(Parse *parse, const Table *table, int database)
{
    sqlite3 *const db = parse->db;
    if (database != 0 || weir_capture_mode(db) == CAPTURE_OFF ||
        sqlite3StrICmp(table->zName, WEIR_VERSION_TABLE) == 0) {
        return;
    }
    Table *const versions = weir_find_table(db, WEIR_VERSION_TABLE);
    if (versions != NULL && IsOrdinaryTable(versions) &&
        sqlite3ColumnIndex(versions, "table_name") >= 0) {
        /* The user drops one table: the authorizer is not asked about ours. */
        const sqlite3_xauth authorizer = db->xAuth;
        db->xAuth = NULL;
        sqlite3NestedParse(parse,
                           "DELETE FROM main." WEIR_VERSION_TABLE
                           " WHERE table_name=%Q COLLATE nocase OR (" WEIR_IS_GAP_OF("%Q") ")",
                           table->zName, table->zName, table->zName, table->zName);
        db->xAuth = authorizer;
    }
}

void weir_gate_update(Parse *parse, const Table *table, const int *columns)
{
    sqlite3 *const db = parse->db;
    Vdbe *const vm = parse->pVdbe;
    if (!is_user_statement(parse) || !is_main(parse, table) ||
        weir_capture_mode(db) != CAPTURE_FULL) {
        return;
    }
    char *const note = sqlite3DbMallocRaw(db, (u64)table->nCol + 1);
    if (note == NULL) {
        return;
    }
    for (int i = 0; i < table->nCol; i++) {
        note[i] = columns[i] >= 0 ? '1' : '0';
    }
    note[table->nCol] = 0;
    sqlite3VdbeAddOp4(vm, OP_Noop, 0, 0, 0, note, P4_DYNAMIC);
}

Table *weir_gate_log(Parse *parse)
{
    return weir_capture_mode(parse->db) == CAPTURE_OFF ? NULL : weir_log_find(parse->db);
}

int weir_gate_is_log(Parse *parse, const Table *source)
{
    return parse->db->weir != NULL && is_main(parse, source) && source == weir_gate_log(parse);
}
