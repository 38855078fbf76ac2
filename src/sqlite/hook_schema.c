/* hook_schema.c: DDL, recorded as changes of rows of sqlite_schema.
 *
 * SQLite changes sqlite_schema by instructions that name no table, a user's own edits of it do. A
 * statement may touch a row several times, and touches rows that follow from others. So changes are collected while it
 * runs, merged by rowid, and what is to be told is written when it ends:
 *
 *     a table or index of the user's that is new or gone, but not the indexes of a table that is gone;
 *     the row of an ALTERed table, with the text of the statement as its update. */
#include "sqlite/capture.h"

enum { SCHEMA_TYPE, SCHEMA_NAME, SCHEMA_TABLE, SCHEMA_ROOT_PAGE, SCHEMA_SQL, SCHEMA_COLUMNS };

/* --- collecting --- */

static SchemaChange *find_change(const Capture *capture, const Vdbe *vm, i64 rowid)
{
    SchemaChange *change = capture->schema_changes;
    while (change != NULL && (change->vm != vm || change->rowid != rowid)) {
        change = change->next;
    }
    return change;
}

/* What follows may be a whole table or index. */
static int look_first(sqlite3 *db)
{
    const Table *const log = weir_log_find(db);
    return log == NULL ? SQLITE_OK : weir_sequence_look(db, log);
}

static SchemaChange *add_change(Capture *capture, Vdbe *vm, i64 rowid)
{
    SchemaChange *const change = sqlite3MallocZero(sizeof *change);
    if (change == NULL) {
        return NULL;
    }
    change->vm = vm;
    change->rowid = rowid;
    SchemaChange **end = &capture->schema_changes;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = change;
    return change;
}

int weir_schema_insert(Vdbe *vm, Span record, i64 rowid)
{
    Capture *const capture = vm->db->weir;
    const int rc = look_first(vm->db);
    if (rc != SQLITE_OK) {
        return rc;
    }
    SchemaChange *change = find_change(capture, vm, rowid);
    if (change == NULL) {
        change = add_change(capture, vm, rowid);
    }
    return change == NULL ? SQLITE_NOMEM_BKPT : weir_bytes_set(&change->after, record);
}

int weir_schema_delete(Vdbe *vm, VdbeCursor *cursor, bool is_update)
{
    Capture *const capture = vm->db->weir;
    int rc = sqlite3VdbeCursorRestore(cursor);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const i64 rowid = sqlite3BtreeIntegerKey(cursor->uc.pCursor);
    SchemaChange *change = find_change(capture, vm, rowid);
    if (change == NULL) {
        Span record;
        change = add_change(capture, vm, rowid);
        if (change == NULL) {
            return SQLITE_NOMEM_BKPT;
        }
        rc = weir_row_payload(cursor->uc.pCursor, &capture->payload, &record);
        if (rc == SQLITE_OK) {
            rc = weir_bytes_set(&change->before, record);
        }
    }
    if (!is_update) {
        change->after.size = 0;
    }
    return rc;
}

void weir_schema_forget(sqlite3 *db, const Vdbe *vm)
{
    SchemaChange **at = &db->weir->schema_changes;
    while (*at != NULL) {
        SchemaChange *const change = *at;
        if (change->vm == vm) {
            *at = change->next;
            weir_bytes_free(&change->before);
            weir_bytes_free(&change->after);
            sqlite3_free(change);
        } else {
            at = &change->next;
        }
    }
}

/* --- choosing --- */

static bool field_is(sqlite3 *db, const Bytes *image, int index, const char *text)
{
    Mem field;
    return weir_image_field(db, weir_bytes_span(image), index, &field) == SQLITE_OK &&
           (field.flags & MEM_Str) != 0 && (size_t)field.n == strlen(text) &&
           sqlite3_strnicmp(field.z, text, field.n) == 0;
}

static bool fields_equal(sqlite3 *db, const Bytes *a, const Bytes *b, int index)
{
    Mem x;
    Mem y;
    return weir_image_field(db, weir_bytes_span(a), index, &x) == SQLITE_OK &&
           weir_image_field(db, weir_bytes_span(b), index, &y) == SQLITE_OK &&
           (x.flags & y.flags & MEM_Str) != 0 && x.n == y.n && memcmp(x.z, y.z, (size_t)x.n) == 0;
}

/* Sets *out if this is a table or index that the user has made: it has a text, and no name of SQLite's own. */
static int check_user_object(sqlite3 *db, const Bytes *image, bool *out)
{
    Mem field;
    *out = false;
    if (!field_is(db, image, SCHEMA_TYPE, "table") && !field_is(db, image, SCHEMA_TYPE, "index")) {
        return SQLITE_OK;
    }
    if (weir_image_field(db, weir_bytes_span(image), SCHEMA_SQL, &field) != SQLITE_OK ||
        (field.flags & MEM_Str) == 0 ||
        weir_image_field(db, weir_bytes_span(image), SCHEMA_NAME, &field) != SQLITE_OK ||
        (field.flags & MEM_Str) == 0) {
        return SQLITE_OK;
    }
    char *const name = sqlite3_mprintf("%.*s", field.n, field.z);
    if (name == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    *out = sqlite3StrNICmp(name, "sqlite_", 7) != 0 && sqlite3ShadowTableName(db, name) == 0;
    sqlite3_free(name);
    return SQLITE_OK;
}

static bool is_altered(const Vdbe *vm, const SchemaChange *change)
{
    Mem root;
    if ((vm->weirFlags & STATEMENT_ALTERS) == 0 ||
        !field_is(vm->db, &change->after, SCHEMA_TYPE, "table") ||
        weir_image_field(vm->db, weir_bytes_span(&change->after), SCHEMA_ROOT_PAGE, &root) !=
            SQLITE_OK ||
        (root.flags & MEM_Int) == 0 || root.u.i != (i64)vm->weirRoot) {
        return false;
    }
    /* Virtual tables have no root page: the one that is renamed is the one whose name differs. */
    return vm->weirRoot != 0 || !fields_equal(vm->db, &change->before, &change->after, SCHEMA_NAME);
}

/* An index goes with its table, without a word. */
static bool goes_with_table(const Vdbe *vm, const SchemaChange *change)
{
    if (!field_is(vm->db, &change->before, SCHEMA_TYPE, "index")) {
        return false;
    }
    for (const SchemaChange *other = vm->db->weir->schema_changes; other != NULL;
         other = other->next) {
        if (other->vm == vm && other->before.size > 0 && other->after.size == 0 &&
            field_is(vm->db, &other->before, SCHEMA_TYPE, "table") &&
            fields_equal(vm->db, &other->before, &change->before, SCHEMA_TABLE)) {
            return true;
        }
    }
    return false;
}

/* --- writing --- */

static bool is_space(char c)
{
    return sqlite3Isspace(c) || c == ';';
}

/* The text of the statement, without what surrounds it, as a value. */
static void text_of_statement(const Vdbe *vm, Mem *out)
{
    char *text = vm->zSql;
    int type;
    sqlite3VdbeMemInit(out, vm->db, MEM_Null);
    if (text == NULL) {
        return;
    }
    while (*text != 0) {
        const i64 size = sqlite3GetToken((const u8 *)text, &type);
        if (type != TK_SPACE && type != TK_COMMENT && type != TK_SEMI) {
            break;
        }
        text += size;
    }
    size_t size = strlen(text);
    while (size > 0 && is_space(text[size - 1])) {
        size--;
    }
    out->flags = MEM_Str;
    out->z = text;
    out->n = (int)size;
}

static int put_statement(const Vdbe *vm, Bytes *out)
{
    Mem sql;
    text_of_statement(vm, &sql);
    const ColumnValue update = {.column = SCHEMA_SQL, .value = &sql};
    return weir_image_of_updates(vm->db, &update, 1, SCHEMA_COLUMNS, out);
}

/* CREATE TABLE AS fills its table by instructions that name none: the rows are read back. */
static int record_rows(Vdbe *vm, const SchemaChange *change)
{
    sqlite3 *const db = vm->db;
    Mem name;
    int rc = weir_image_field(db, weir_bytes_span(&change->after), SCHEMA_NAME, &name);
    if (rc != SQLITE_OK) {
        return rc;
    }
    char *const text = sqlite3_mprintf("%.*s", name.n, name.z);
    if (text == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    Table *const table = weir_find_table(db, text);
    sqlite3_free(text);
    if (table == NULL || !IsOrdinaryTable(table) || !HasRowid(table) ||
        weir_classify(db->weir, table) != TABLE_CAPTURED) {
        return SQLITE_OK;
    }
    return weir_row_record_all(vm, table);
}

/* What a collected change is to the log; *out stays false if it is nothing to tell. */
static int choose(Vdbe *vm, const SchemaChange *collected, ChangeType *type, bool *out)
{
    sqlite3 *const db = vm->db;
    const bool has_before = collected->before.size > 0;
    const bool has_after = collected->after.size > 0;
    bool is_before = true;
    bool is_after = true;
    int rc = SQLITE_OK;
    *out = false;
    if (has_before) {
        rc = check_user_object(db, &collected->before, &is_before);
    }
    if (rc == SQLITE_OK && has_after) {
        rc = check_user_object(db, &collected->after, &is_after);
    }
    /* A virtual table that is renamed renames its shadow tables: known by one name or the other. */
    if (rc != SQLITE_OK || !is_before || !is_after || (!has_before && !has_after)) {
        return rc;
    }
    if (has_before && has_after) {
        *type = CHANGE_UPDATE;
        *out = is_altered(vm, collected);
    } else if (has_after) {
        *type = CHANGE_INSERT;
        *out = true;
    } else {
        *type = CHANGE_DELETE;
        *out = !goes_with_table(vm, collected);
    }
    return SQLITE_OK;
}

static int write_change(Vdbe *vm, const SchemaChange *collected)
{
    Capture *const capture = vm->db->weir;
    Change change = {.table_name = "sqlite_schema", .has_id = true, .id = collected->rowid};
    bool is_told;
    int rc = choose(vm, collected, &change.type, &is_told);
    if (rc != SQLITE_OK || !is_told) {
        return rc;
    }
    Bytes *const record = &capture->record;
    rc = weir_log_start(vm->db, change.table_name);
    if (rc == SQLITE_OK && change.type != CHANGE_INSERT &&
        (vm->weirMode == CAPTURE_BEFORE || vm->weirMode == CAPTURE_FULL)) {
        change.before_size = collected->before.size;
        rc = weir_image_copy(vm->db, weir_bytes_span(&collected->before), record);
    }
    if (rc == SQLITE_OK && change.type != CHANGE_DELETE &&
        (vm->weirMode == CAPTURE_AFTER || vm->weirMode == CAPTURE_FULL)) {
        change.after_size = collected->after.size;
        rc = weir_image_copy(vm->db, weir_bytes_span(&collected->after), record);
    }
    if (rc == SQLITE_OK && change.type == CHANGE_UPDATE && vm->weirMode == CAPTURE_FULL) {
        const u64 start = record->size;
        rc = put_statement(vm, record);
        change.updates_size = record->size - start;
    }
    if (rc == SQLITE_OK) {
        rc = weir_log_append(vm, &change);
    }
    if (rc == SQLITE_OK && change.type == CHANGE_INSERT) {
        rc = record_rows(vm, collected);
    }
    return rc;
}

int weir_schema_flush(Vdbe *vm)
{
    int rc = SQLITE_OK;
    /* Without a log there is nothing to tell: it is the log that was dropped or renamed. */
    const SchemaChange *change =
        weir_log_find(vm->db) == NULL ? NULL : vm->db->weir->schema_changes;
    while (rc == SQLITE_OK && change != NULL) {
        if (change->vm == vm) {
            rc = write_change(vm, change);
        }
        change = change->next;
    }
    return rc;
}
