/* hook_row.c: row changes as they happen, and writes of incremental blobs.
 *
 * OP_Insert and OP_Delete see every change of a rowid table in the order of effect. An UPDATE is an
 * OP_Delete followed by an OP_Insert: the first keeps the old image, the second writes the record. No other
 * change comes between the two. A row that REPLACE finds at the rowid of the new one has an OP_Delete that does nothing
 * (OPFLAG_ISNOOP): it is gone only with the OP_Insert, and what comes between may fail (a type that a STRICT table
 * refuses, a record that is too long) where the statement has no journal.
 *
 * A WITHOUT ROWID table is written by instructions for indexes, which name no table. But where SQLite is built with the
 * preupdate hook, an OP_Insert or OP_Delete that does nothing else stands before each: in an UPDATE one OP_Delete, with
 * the new row in the registers that it names. */
#include "sqlite/capture.h"

static bool wants_before(int mode)
{
    return mode == CAPTURE_BEFORE || mode == CAPTURE_FULL;
}

static bool wants_after(int mode)
{
    return mode == CAPTURE_AFTER || mode == CAPTURE_FULL;
}

/* The registers of an UPDATE: that of the rowid, then one for each stored column. */
static const Mem *register_of(const Mem *registers, Table *table, int column)
{
    return registers + 1 + sqlite3TableColumnToStorage(table, (i16)column);
}

static TableClass classify(Capture *capture, const Vdbe *vm, const Table *table)
{
    weir_log_mind_schema(vm->db);
    if ((vm->weirFlags & STATEMENT_DROPS) != 0 && table->tnum == vm->weirRoot) {
        return TABLE_SKIPPED;
    }
    if (capture->known != table) {
        capture->known_class = weir_classify(capture, table);
        capture->known = table;
    }
    return capture->known_class;
}

int weir_row_payload(BtCursor *cursor, Bytes *scratch, Span *out)
{
    const u32 size = sqlite3BtreePayloadSize(cursor);
    u32 available;
    if (size > sqlite3BtreeMaxRecordSize(cursor)) {
        return SQLITE_CORRUPT_BKPT;
    }
    const u8 *const data = sqlite3BtreePayloadFetch(cursor, &available);
    if (available >= size) {
        *out = (Span){.data = data, .size = size};
        return SQLITE_OK;
    }
    int rc = weir_bytes_reserve(scratch, size);
    if (rc == SQLITE_OK) {
        rc = sqlite3BtreePayload(cursor, 0, size, scratch->data);
    }
    scratch->size = size;
    *out = weir_bytes_span(scratch);
    return rc;
}

/* Appends the image of the row under a cursor. */
static int image_of_cursor(sqlite3 *db, Table *table, BtCursor *cursor, Bytes *out)
{
    Span record;
    const int rc = weir_row_payload(cursor, &db->weir->payload, &record);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return HasRowid(table)
               ? weir_image_of_record(db, table, record, sqlite3BtreeIntegerKey(cursor), out)
               : weir_image_of_keyed_record(db, table, record, out);
}

/* The same to the record of the row's change; *size is that of the image. */
static int put_image_of_cursor(sqlite3 *db, Table *table, BtCursor *cursor, u64 *size)
{
    Bytes *const record = &db->weir->record;
    const u64 start = record->size;
    const int rc = image_of_cursor(db, table, cursor, record);
    *size = record->size - start;
    return rc;
}

static int restore_cursor(BtCursor *cursor)
{
    int has_moved = 0;
    int rc = SQLITE_OK;
    if (sqlite3BtreeCursorHasMoved(cursor)) {
        rc = sqlite3BtreeCursorRestore(cursor, &has_moved);
    }
    if (rc == SQLITE_OK && !sqlite3BtreeCursorIsValidNN(cursor)) {
        rc = SQLITE_CORRUPT_BKPT;
    }
    return rc;
}

/* --- UPDATE --- */

/* Appends which columns the statement sets, and their new values. */
static int put_updates(sqlite3 *db, const Mem *registers, Table *table)
{
    Capture *const capture = db->weir;
    const char *const columns = capture->updating_columns;
    int rc = weir_bytes_reserve(&capture->values, (u64)table->nCol * sizeof(ColumnValue));
    if (rc != SQLITE_OK) {
        return rc;
    }
    ColumnValue *const updates = (ColumnValue *)(void *)capture->values.data;
    int count = 0;
    for (int i = 0; i < table->nCol; i++) {
        if (columns[i] == '1') {
            updates[count++] = (ColumnValue){
                .column = i,
                .is_real_column = weir_is_real_column(table, i),
                .value = i == table->iPKey ? registers : register_of(registers, table, i),
            };
        }
    }
    return weir_image_of_updates(db, updates, count, table->nCol, &capture->record);
}

/* Begins the record of an UPDATE, and keeps what OP_Insert will need of the old row. */
static int stash_old_row(Vdbe *vm, Table *table, BtCursor *cursor, const char *columns)
{
    Capture *const capture = vm->db->weir;
    capture->updating = table;
    capture->updating_columns = columns;
    capture->old_rowid = sqlite3BtreeIntegerKey(cursor);
    capture->before_size = 0;
    int rc = weir_log_start(vm->db, table->zName);
    if (rc == SQLITE_OK && wants_before(vm->weirMode)) {
        rc = put_image_of_cursor(vm->db, table, cursor, &capture->before_size);
    }
    return rc;
}

/* Whether an UPDATE leaves the key of a WITHOUT ROWID table as it was, to the byte. */
static int keeps_key(sqlite3 *db, Table *table, Span before, const Mem *registers, bool *out)
{
    const Index *const key = sqlite3PrimaryKeyIndex(table);
    *out = true;
    for (int i = 0; i < key->nKeyCol; i++) {
        const int column = key->aiColumn[i];
        Mem old;
        const int rc =
            weir_image_field(db, before, sqlite3TableColumnToStorage(table, (i16)column), &old);
        if (rc != SQLITE_OK) {
            return rc;
        }
        *out = *out && sqlite3MemCompare(&old, register_of(registers, table, column), NULL) == 0;
    }
    return SQLITE_OK;
}

/* An UPDATE of a WITHOUT ROWID table, before it is done. */
static int record_keyed_update(Vdbe *vm, Table *table, BtCursor *cursor, const Mem *registers)
{
    sqlite3 *const db = vm->db;
    Bytes *const record = &db->weir->record;
    Change change = {.type = CHANGE_UPDATE, .table_name = table->zName};
    bool is_same_row = true;
    int rc = weir_log_start(db, table->zName);
    rc = rc != SQLITE_OK ? rc : put_image_of_cursor(db, table, cursor, &change.before_size);
    if (rc == SQLITE_OK) {
        const Span before = {.data = record->data + record->size - change.before_size,
                             .size = change.before_size};
        rc = keeps_key(db, table, before, registers, &is_same_row);
    }
    if (rc == SQLITE_OK && !is_same_row) {
        change.type = CHANGE_DELETE;
        rc = weir_log_append(vm, &change);
        change = (Change){.type = CHANGE_INSERT, .table_name = table->zName};
        rc = rc != SQLITE_OK ? rc : weir_log_start(db, table->zName);
    }
    u64 start = record->size;
    rc = rc != SQLITE_OK ? rc : weir_image_of_registers(db, table, registers + 1, record);
    change.after_size = record->size - start;
    start = record->size;
    if (rc == SQLITE_OK && is_same_row && db->weir->updating_columns != NULL) {
        rc = put_updates(db, registers, table);
    }
    change.updates_size = record->size - start;
    return rc != SQLITE_OK ? rc : weir_log_append(vm, &change);
}

/* --- DELETE --- */

static int record_delete(Vdbe *vm, Table *table, BtCursor *cursor)
{
    Change change = {.type = CHANGE_DELETE, .table_name = table->zName};
    if (HasRowid(table)) {
        change.has_id = true;
        change.id = sqlite3BtreeIntegerKey(cursor);
    }
    int rc = weir_log_start(vm->db, table->zName);
    if (rc == SQLITE_OK && wants_before(vm->weirMode)) {
        rc = put_image_of_cursor(vm->db, table, cursor, &change.before_size);
    }
    return rc != SQLITE_OK ? rc : weir_log_append(vm, &change);
}

static int keep_replaced(Vdbe *vm, Table *table, BtCursor *cursor)
{
    sqlite3 *const db = vm->db;
    Replaced *const replaced = &db->weir->replaced;
    int rc = SQLITE_OK;
    replaced->table = table;
    replaced->rowid = sqlite3BtreeIntegerKey(cursor);
    replaced->image.size = 0;
    if (wants_before(vm->weirMode)) {
        rc = image_of_cursor(db, table, cursor, &replaced->image);
    }
    replaced->vm = rc == SQLITE_OK ? vm : NULL;
    return rc;
}

/* Before the next change of a row. */
static SQLITE_NOINLINE int record_replaced(Vdbe *vm)
{
    sqlite3 *const db = vm->db;
    Replaced *const replaced = &db->weir->replaced;
    const Change change = {
        .type = CHANGE_DELETE,
        .table_name = replaced->table->zName,
        .has_id = true,
        .id = replaced->rowid,
        .before_size = replaced->image.size,
    };
    replaced->vm = NULL;
    int rc = weir_log_start(db, change.table_name);
    if (rc == SQLITE_OK) {
        rc = weir_image_copy(db, weir_bytes_span(&replaced->image), &db->weir->record);
    }
    return rc != SQLITE_OK ? rc : weir_log_append(vm, &change);
}

int weir_row_delete(Vdbe *vm, const Op *op, VdbeCursor *cursor)
{
    Capture *const capture = vm->db->weir;
    if (cursor->iDb != 0 || cursor->isEphemeral) {
        return SQLITE_OK;
    }
    const bool is_update = (op->p2 & OPFLAG_ISUPDATE) != 0;
    if (op->p4type != P4_TABLE) {
        return cursor->pgnoRoot == SCHEMA_ROOT ? weir_schema_delete(vm, cursor, is_update)
                                               : SQLITE_OK;
    }
    Table *const table = op->p4.pTab;
    const TableClass class = classify(capture, vm, table);
    if (class == TABLE_SKIPPED) {
        return SQLITE_OK;
    }
    int rc = restore_cursor(cursor->uc.pCursor);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (class == TABLE_LOG) {
        const i64 id = sqlite3BtreeIntegerKey(cursor->uc.pCursor);
        capture->floor = MAX(capture->floor, id);
        return SQLITE_OK;
    }
    if (capture->replaced.vm != NULL) {
        rc = record_replaced(vm);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    if (!is_update) {
        return (op->p2 & OPFLAG_ISNOOP) != 0 ? keep_replaced(vm, table, cursor->uc.pCursor)
                                             : record_delete(vm, table, cursor->uc.pCursor);
    }
    /* weir_gate_update has noted the columns in the instruction before this one. */
    const bool has_columns =
        op > vm->aOp && op[-1].opcode == OP_Noop && op[-1].p4type == P4_DYNAMIC;
    const char *const columns = has_columns ? op[-1].p4.z : NULL;
    if (HasRowid(table)) {
        return stash_old_row(vm, table, cursor->uc.pCursor, columns);
    }
    capture->updating_columns = columns;
    return record_keyed_update(vm, table, cursor->uc.pCursor, &vm->aMem[op->p3]);
}

/* --- INSERT, and the end of an UPDATE --- */

/* The image of the new row. */
typedef struct NewRow {
    Table *table;
    Span record; /* as it is stored */
    i64 rowid;   /* if the table has one */
} NewRow;

/* Appends the image of a new row to the record of its change; *size is that of the image. */
static int put_image_of_row(sqlite3 *db, const NewRow *row, u64 *size)
{
    Bytes *const out = &db->weir->record;
    const u64 start = out->size;
    const int rc = HasRowid(row->table)
                       ? weir_image_of_record(db, row->table, row->record, row->rowid, out)
                       : weir_image_of_keyed_record(db, row->table, row->record, out);
    *size = out->size - start;
    return rc;
}

static int record_insert(Vdbe *vm, const NewRow *row)
{
    Change change = {
        .type = CHANGE_INSERT,
        .table_name = row->table->zName,
        .has_id = HasRowid(row->table),
        .id = row->rowid,
    };
    int rc = weir_log_start(vm->db, change.table_name);
    if (rc == SQLITE_OK && wants_after(vm->weirMode)) {
        rc = put_image_of_row(vm->db, row, &change.after_size);
    }
    return rc != SQLITE_OK ? rc : weir_log_append(vm, &change);
}

static int record_update(Vdbe *vm, const Mem *registers, const NewRow *row)
{
    sqlite3 *const db = vm->db;
    Capture *const capture = db->weir;
    Change change = {
        .type = CHANGE_UPDATE,
        .table_name = row->table->zName,
        .has_id = true,
        .id = capture->old_rowid,
        .before_size = capture->before_size,
    };
    int rc = SQLITE_OK;
    capture->updating = NULL;
    if (capture->old_rowid != row->rowid) {
        change.type = CHANGE_DELETE;
        rc = weir_log_append(vm, &change);
        return rc != SQLITE_OK ? rc : record_insert(vm, row);
    }
    if (wants_after(vm->weirMode)) {
        rc = put_image_of_row(db, row, &change.after_size);
    }
    if (rc == SQLITE_OK && vm->weirMode == CAPTURE_FULL && capture->updating_columns != NULL) {
        const u64 start = capture->record.size;
        rc = put_updates(db, registers, row->table);
        change.updates_size = capture->record.size - start;
    }
    return rc != SQLITE_OK ? rc : weir_log_append(vm, &change);
}

int weir_row_insert(Vdbe *vm, const Op *op, VdbeCursor *cursor, Mem *data, i64 rowid)
{
    Capture *const capture = vm->db->weir;
    if (cursor->iDb != 0 || cursor->isEphemeral) {
        return SQLITE_OK;
    }
    if (op->p4type != P4_TABLE && cursor->pgnoRoot != SCHEMA_ROOT) {
        return SQLITE_OK;
    }
    int rc = ExpandBlob(data);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const Span record = {.data = (const u8 *)data->z, .size = (u64)data->n};
    if (op->p4type != P4_TABLE) {
        return weir_schema_insert(vm, record, rowid);
    }
    const NewRow row = {.table = op->p4.pTab, .record = record, .rowid = rowid};
    if (classify(capture, vm, row.table) != TABLE_CAPTURED) {
        return SQLITE_OK;
    }
    if (capture->replaced.vm != NULL) {
        rc = record_replaced(vm);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    if ((op->p5 & OPFLAG_ISUPDATE) != 0 && capture->updating == row.table) {
        return record_update(vm, &vm->aMem[op->p3], &row);
    }
    return record_insert(vm, &row);
}

int weir_row_record_all(Vdbe *vm, Table *table)
{
    sqlite3 *const db = vm->db;
    BtCursor *const cursor = sqlite3MallocZero((u64)sqlite3BtreeCursorSize());
    if (cursor == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    int is_empty = 0;
    int rc = sqlite3BtreeCursor(db->aDb[0].pBt, table->tnum, 0, NULL, cursor);
    if (rc == SQLITE_OK) {
        rc = sqlite3BtreeFirst(cursor, &is_empty);
    }
    while (rc == SQLITE_OK && !is_empty) {
        NewRow row = {.table = table, .rowid = sqlite3BtreeIntegerKey(cursor)};
        rc = weir_row_payload(cursor, &db->weir->payload, &row.record);
        if (rc == SQLITE_OK) {
            rc = record_insert(vm, &row);
        }
        if (rc == SQLITE_OK) {
            rc = sqlite3BtreeNext(cursor, 0);
        }
    }
    sqlite3BtreeCloseCursor(cursor);
    sqlite3_free(cursor);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- incremental blobs --- */

/* The table of the open blob if it is captured, or NULL. The blob's own pointer to it may be old: a blob
 * outlives ALTER TABLE. */
static Table *find_blob_table(const sqlite3 *db, const BtCursor *cursor)
{
    const HashElem *entry = sqliteHashFirst(&db->aDb[0].pSchema->tblHash);
    while (entry != NULL) {
        Table *const table = sqliteHashData(entry);
        if (table->tnum == cursor->pgnoRoot && IsOrdinaryTable(table)) {
            return weir_classify(db->weir, table) == TABLE_CAPTURED ? table : NULL;
        }
        entry = sqliteHashNext(entry);
    }
    return NULL;
}

int weir_blob_before(Vdbe *vm, BtCursor *cursor)
{
    char *message;
    vm->db->weir->updating = NULL;
    const int adopted = weir_default_adopt(vm->db, &message);
    sqlite3_free(message);
    if (adopted != SQLITE_OK) {
        return adopted;
    }
    if (weir_capture_mode(vm->db) == CAPTURE_OFF || vm->apCsr[0]->iDb != 0) {
        return SQLITE_OK;
    }
    int rc = weir_schema_refresh(vm->db);
    if (rc != SQLITE_OK) {
        return rc;
    }
    Table *const table = find_blob_table(vm->db, cursor);
    if (table == NULL) {
        return SQLITE_OK;
    }
    int has_moved = 0;
    if (sqlite3BtreeCursorIsValidNN(cursor) == 0) {
        rc = sqlite3BtreeCursorRestore(cursor, &has_moved);
    }
    if (rc != SQLITE_OK || sqlite3BtreeCursorIsValidNN(cursor) == 0) {
        return rc;
    }
    if (weir_log_find(vm->db) == NULL) {
        return SQLITE_ERROR;
    }
    vm->weirMode = (u8)weir_capture_mode(vm->db);
    vm->iCurrentTime = 0; /* that of the write before */
    return stash_old_row(vm, table, cursor, NULL);
}

/* Appends the new value of a column as what the change sets; it is found in the image of the new row. */
static int put_update_of_blob(sqlite3 *db, Table *table, int column, Change *change)
{
    Capture *const capture = db->weir;
    const Span after = {
        .data = capture->record.data + capture->record.size - change->after_size,
        .size = change->after_size,
    };
    Bytes updates = {0}; /* apart: the value points into the record, which must not move */
    Mem value;
    int rc = weir_image_field(db, after, sqlite3TableColumnToStorage(table, (i16)column), &value);
    if (rc == SQLITE_OK) {
        const ColumnValue update = {.column = column, .value = &value};
        rc = weir_image_of_updates(db, &update, 1, table->nCol, &updates);
    }
    if (rc == SQLITE_OK) {
        change->updates_size = updates.size;
        rc = weir_image_copy(db, weir_bytes_span(&updates), &capture->record);
    }
    weir_bytes_free(&updates);
    return rc;
}

int weir_blob_after(Vdbe *vm, BtCursor *cursor, int column)
{
    sqlite3 *const db = vm->db;
    Capture *const capture = db->weir;
    Table *const table = capture->updating;
    if (table == NULL) {
        return SQLITE_OK;
    }
    capture->updating = NULL;
    Change change = {
        .type = CHANGE_UPDATE,
        .table_name = table->zName,
        .has_id = true,
        .id = capture->old_rowid,
        .before_size = capture->before_size,
    };
    int rc = SQLITE_OK;
    if (wants_after(vm->weirMode)) {
        rc = put_image_of_cursor(db, table, cursor, &change.after_size);
    }
    if (rc == SQLITE_OK && vm->weirMode == CAPTURE_FULL) {
        rc = put_update_of_blob(db, table, column, &change);
    }
    if (rc == SQLITE_OK) {
        rc = weir_log_append(vm, &change);
    }
    weir_log_close(db);
    if (rc != SQLITE_OK) {
        /* The blob is written and its record is not: the handle ends, and, having no journal of its own, takes
         * the transaction along. */
        vm->rc = rc;
        vm->errorAction = OE_Rollback;
        return SQLITE_ABORT;
    }
    return SQLITE_OK;
}
