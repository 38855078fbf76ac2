/* hook_row.c: row changes as they happen, and writes of incremental blobs.
 *
 * OP_Insert and OP_Delete see every change of a rowid table in the order of effect. An UPDATE is an
 * OP_Delete followed by an OP_Insert: the first keeps the old image, the second writes the record. No other
 * change comes between the two. */
#include "sqlite/capture.h"

static bool wants_before(int mode)
{
    return mode == CAPTURE_BEFORE || mode == CAPTURE_FULL;
}

static bool wants_after(int mode)
{
    return mode == CAPTURE_AFTER || mode == CAPTURE_FULL;
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

/* The image of the row under a cursor. */
static int image_of_cursor(sqlite3 *db, Table *table, BtCursor *cursor, Bytes *scratch, Span *out)
{
    Span record;
    int rc = weir_row_payload(cursor, &db->weir->payload, &record);
    if (rc == SQLITE_OK) {
        rc = weir_image_of_record(db, table, record, sqlite3BtreeIntegerKey(cursor), scratch, out);
    }
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

/* --- DELETE --- */

/* Keeps what OP_Insert will need of the old row. */
static int stash_old_row(Vdbe *vm, Table *table, BtCursor *cursor, const char *columns)
{
    Capture *const capture = vm->db->weir;
    capture->updating = table;
    capture->updating_columns = columns;
    capture->old_rowid = sqlite3BtreeIntegerKey(cursor);
    if (!wants_before(vm->weirMode)) {
        return SQLITE_OK;
    }
    Span image;
    int rc = image_of_cursor(vm->db, table, cursor, &capture->before, &image);
    if (rc == SQLITE_OK && image.data != capture->before.data) {
        rc = weir_bytes_set(&capture->before, image);
    }
    capture->before.size = image.size;
    return rc;
}

static int record_delete(Vdbe *vm, Table *table, BtCursor *cursor)
{
    Change change = {
        .type = CHANGE_DELETE,
        .table_name = table->zName,
        .has_id = true,
        .id = sqlite3BtreeIntegerKey(cursor),
    };
    int rc = SQLITE_OK;
    if (wants_before(vm->weirMode)) {
        rc = image_of_cursor(vm->db, table, cursor, &vm->db->weir->before, &change.before);
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
    if (class == TABLE_SKIPPED || !HasRowid(table)) {
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
    if (!is_update) {
        return record_delete(vm, table, cursor->uc.pCursor);
    }
    /* weir_gate_update has noted the columns in the instruction before this one. */
    const bool has_columns =
        op > vm->aOp && op[-1].opcode == OP_Noop && op[-1].p4type == P4_DYNAMIC;
    return stash_old_row(vm, table, cursor->uc.pCursor, has_columns ? op[-1].p4.z : NULL);
}

/* --- INSERT and UPDATE --- */

/* The columns that the statement sets and their new values: they are in the registers after that of the
 * rowid, which is the first. */
static int updates_of_registers(sqlite3 *db, const Mem *registers, Table *table, Span *out)
{
    Capture *const capture = db->weir;
    const int count = table->nCol;
    int rc = weir_bytes_reserve(&capture->values, (u64)count * (sizeof(Mem *) + sizeof(Mem)));
    if (rc != SQLITE_OK) {
        return rc;
    }
    const Mem **const values = (const Mem **)(void *)capture->values.data;
    Mem *const integers = (Mem *)(void *)(values + count);
    for (int i = 0; i < count; i++) {
        values[i] = NULL;
        if (capture->updating_columns[i] == '1') {
            const int storage = sqlite3TableColumnToStorage(table, (i16)i);
            values[i] = i == table->iPKey ? registers : registers + 1 + storage;
        }
        /* A real kept as an integer becomes one where the column does not make it real again. */
        if (values[i] != NULL && (values[i]->flags & MEM_IntReal) != 0 &&
            table->aCol[i].affinity != SQLITE_AFF_REAL) {
            integers[i] = *values[i];
            integers[i].flags = MEM_Int;
            values[i] = &integers[i];
        }
    }
    rc = weir_image_of_updates(values, count, &capture->updates);
    *out = weir_bytes_span(&capture->updates);
    return rc;
}

static int record_insert(Vdbe *vm, Table *table, i64 rowid, Span after)
{
    const Change change = {
        .type = CHANGE_INSERT,
        .table_name = table->zName,
        .has_id = true,
        .id = rowid,
        .after = after,
    };
    return weir_log_append(vm, &change);
}

static int record_update(Vdbe *vm, const Mem *registers, Table *table, i64 rowid, Span after)
{
    Capture *const capture = vm->db->weir;
    Change change = {
        .type = CHANGE_UPDATE,
        .table_name = table->zName,
        .has_id = true,
        .id = capture->old_rowid,
        .after = after,
    };
    capture->updating = NULL;
    if (wants_before(vm->weirMode)) {
        change.before = weir_bytes_span(&capture->before);
    }
    if (capture->old_rowid != rowid) {
        change.type = CHANGE_DELETE;
        change.after = (Span){0};
        const int rc = weir_log_append(vm, &change);
        return rc != SQLITE_OK ? rc : record_insert(vm, table, rowid, after);
    }
    int rc = SQLITE_OK;
    if (vm->weirMode == CAPTURE_FULL && capture->updating_columns != NULL) {
        rc = updates_of_registers(vm->db, registers, table, &change.updates);
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
    Table *const table = op->p4.pTab;
    if (classify(capture, vm, table) != TABLE_CAPTURED || !HasRowid(table)) {
        return SQLITE_OK;
    }
    Span after = {0};
    if (wants_after(vm->weirMode)) {
        rc = weir_image_of_record(vm->db, table, record, rowid, &capture->after, &after);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    if ((op->p5 & OPFLAG_ISUPDATE) != 0 && capture->updating == table) {
        return record_update(vm, &vm->aMem[op->p3], table, rowid, after);
    }
    return record_insert(vm, table, rowid, after);
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
        Span after = {0};
        if (wants_after(vm->weirMode)) {
            rc = image_of_cursor(db, table, cursor, &db->weir->after, &after);
        }
        if (rc == SQLITE_OK) {
            rc = record_insert(vm, table, sqlite3BtreeIntegerKey(cursor), after);
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
static Table *find_blob_table(const Vdbe *vm, const BtCursor *cursor)
{
    const sqlite3 *const db = vm->db;
    if (weir_capture_mode(db) == CAPTURE_OFF || vm->apCsr[0]->iDb != 0) {
        return NULL;
    }
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
    Table *const table = find_blob_table(vm, cursor);
    if (table == NULL) {
        return SQLITE_OK;
    }
    int has_moved = 0;
    int rc = SQLITE_OK;
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
    };
    if (wants_before(vm->weirMode)) {
        change.before = weir_bytes_span(&capture->before);
    }
    int rc = SQLITE_OK;
    if (wants_after(vm->weirMode)) {
        rc = image_of_cursor(db, table, cursor, &capture->after, &change.after);
    }
    if (rc == SQLITE_OK && vm->weirMode == CAPTURE_FULL) {
        const int storage = sqlite3TableColumnToStorage(table, (i16)column);
        Mem value;
        rc = weir_image_field(db, change.after, storage, &value);
        if (rc == SQLITE_OK) {
            rc = weir_bytes_reserve(&capture->values, (u64)table->nCol * sizeof(Mem *));
        }
        if (rc == SQLITE_OK) {
            const Mem **const values = (const Mem **)(void *)capture->values.data;
            memset(capture->values.data, 0, (size_t)table->nCol * sizeof(Mem *));
            values[column] = &value;
            rc = weir_image_of_updates(values, table->nCol, &capture->updates);
            change.updates = weir_bytes_span(&capture->updates);
        }
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
