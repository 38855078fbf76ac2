/* follower.c: see follower.h. */
#include "follower.h"

#include "snapshot.h"

static bool complain(Follower *f, const char *what, const char *detail)
{
    text_addf(&f->complaint, "%s: %s\n", what, detail);
    return false;
}

bool follower_init(Follower *f, duckdb_connection connection, const char *path)
{
    Error err = {0};
    *f = (Follower){.connection = connection, .mem = weir_mem_new(0)};
    return f->mem != NULL && weir_wal_open(f->mem, path, &f->wal, &err) == WEIR_OK;
}

static void forget_rows(FollowedTable *table)
{
    for (size_t r = 0; r < table->row_count; r++) {
        for (size_t c = 0; table->rows[r].cells != NULL && c < table->column_count; c++) {
            test_free(table->rows[r].cells[c].bytes);
        }
        test_free(table->rows[r].cells);
    }
    table->row_count = 0;
    table->is_known = false;
}

void follower_deinit(Follower *f)
{
    for (size_t i = 0; i < f->table_count; i++) {
        forget_rows(&f->tables[i]);
        test_free(f->tables[i].rows);
        test_free(f->tables[i].is_nested);
        test_free(f->tables[i].name);
    }
    weir_wal_close(f->wal);
    weir_mem_free_allocator(f->mem);
    text_free(&f->complaint);
}

void follower_add(Follower *f, const char *table)
{
    for (size_t i = 0; i < f->table_count; i++) {
        if (strcmp(f->tables[i].name, table) == 0) {
            return;
        }
    }
    f->tables[f->table_count++] = (FollowedTable){.name = test_copy(table)};
}

/* --- applying ---------------------------------------------------------------------------------- */

static FollowedTable *find_table(Follower *f, const char *name)
{
    for (size_t i = 0; i < f->table_count; i++) {
        if (strcmp(f->tables[i].name, name) == 0) {
            return &f->tables[i];
        }
    }
    return NULL;
}

static void set_bytes(Cell *cell, const Vector *vector, size_t row)
{
    size_t size = 0;
    const char *const bytes = snapshot_value(vector, row, &size);
    cell->bytes = test_realloc(cell->bytes, size + 1);
    memcpy(cell->bytes, bytes, size);
    cell->size = (uint32_t)size;
}

static void add_row(FollowedTable *table, bool is_live, const Batch *batch, size_t row)
{
    if (table->row_count == table->capacity) {
        table->rows =
            test_grow(table->rows, table->row_count, &table->capacity, sizeof *table->rows);
    }
    FollowedRow *const to = &table->rows[table->row_count++];
    *to = (FollowedRow){.is_live = is_live};
    if (!is_live) {
        return;
    }
    to->cells = test_alloc(table->column_count * sizeof *to->cells);
    for (size_t c = 0; c < table->column_count; c++) {
        to->cells[c] = (Cell){.is_null = weir_vector_is_null(&batch->columns[c], row)};
        if (!to->cells[c].is_null) {
            set_bytes(&to->cells[c], &batch->columns[c], row);
        }
    }
}

static FollowedRow *find_row(FollowedTable *table, int64_t row_id)
{
    if (row_id < 0 || (uint64_t)row_id >= table->row_count || !table->rows[row_id].is_live) {
        return NULL;
    }
    return &table->rows[row_id];
}

static bool apply_insert(Follower *f, FollowedTable *table, const WalChange *change,
                         const Batch *batch)
{
    if (!table->is_end_known) {
        f->counts.ends++;
        forget_rows(table);
        return true;
    }
    if (batch->column_count != table->column_count) {
        return complain(f, table->name, "an INSERT has another number of columns");
    }
    for (size_t i = 0; i < change->row_count; i++) {
        add_row(table, true, batch, i);
    }
    f->counts.rows_inserted += change->row_count;
    return true;
}

static bool apply_delete(Follower *f, FollowedTable *table, const WalChange *change)
{
    for (size_t i = 0; i < change->row_count; i++) {
        FollowedRow *const row = find_row(table, change->row_ids[i]);
        if (row == NULL) {
            return complain(f, table->name, "a DELETE of a row that is not there");
        }
        row->is_live = false;
    }
    f->counts.rows_deleted += change->row_count;
    return true;
}

static bool apply_update(Follower *f, FollowedTable *table, const WalChange *change,
                         const Batch *batch)
{
    if (change->path[0] >= table->column_count) {
        return complain(f, table->name, "an UPDATE of a column that is not there");
    }
    for (size_t i = 0; i < change->row_count; i++) {
        FollowedRow *const row = find_row(table, change->row_ids[i]);
        if (row == NULL) {
            /* Deleted by a commit while the transaction of the UPDATE was open: no conflict. */
            f->counts.updates_of_absent++;
            continue;
        }
        Cell *const cell = &row->cells[change->path[0]];
        if (table->is_nested[change->path[0]]) {
            cell->is_stale = true;
            f->counts.cells_nested++;
        } else if (change->path_length == 1) {
            set_bytes(cell, &batch->columns[0], i);
        } else {
            cell->is_null = weir_vector_is_null(&batch->columns[0], i);
        }
    }
    f->counts.cells_updated += change->row_count;
    return true;
}

static bool apply_values(Follower *f, FollowedTable *table, const WalChange *change)
{
    Error err = {0};
    Batch batch = {0};
    const char *reason = change->reason;
    if (reason == NULL && weir_wal_values(f->wal, &batch, &reason, &err) != WEIR_OK) {
        return complain(f, table->name, err.message);
    }
    if (reason != NULL) {
        f->counts.unreadable++;
        forget_rows(table);
        return true;
    }
    return change->kind == WAL_INSERT ? apply_insert(f, table, change, &batch)
                                      : apply_update(f, table, change, &batch);
}

static void apply_shape(Follower *f, const WalChange *change)
{
    for (size_t i = 0; strcmp(change->schema, "main") == 0 && i < f->table_count; i++) {
        if (change->table == NULL || strcmp(f->tables[i].name, change->table) == 0) {
            f->counts.shape++;
            forget_rows(&f->tables[i]);
        }
    }
}

static bool apply(Follower *f, const WalChange *change)
{
    if (change->kind == WAL_SHAPE) {
        apply_shape(f, change);
        return true;
    }
    if (strcmp(change->schema, "main") != 0) {
        return true;
    }
    FollowedTable *const table = find_table(f, change->table);
    if (table == NULL || !table->is_known) {
        return true;
    }
    switch (change->kind) {
    case WAL_INSERT:
    case WAL_UPDATE: return apply_values(f, table, change);
    case WAL_DELETE: return apply_delete(f, table, change);
    case WAL_BULK: f->counts.bulk++; break;
    default: f->counts.unreadable++; break;
    }
    forget_rows(table);
    return true;
}

/* --- catching up ------------------------------------------------------------------------------- */

static void lose_all(Follower *f)
{
    if (strcmp(weir_wal_reason(f->wal), "there was a checkpoint") == 0 ||
        strcmp(weir_wal_reason(f->wal), "a checkpoint was begun") == 0) {
        f->counts.checkpoints++;
    } else {
        f->counts.unknown++;
        text_addf(&f->complaint, "unknown: %s\n", weir_wal_reason(f->wal));
    }
    f->has_position = false;
    for (size_t i = 0; i < f->table_count; i++) {
        forget_rows(&f->tables[i]);
    }
}

static bool read_changes(Follower *f)
{
    Error err = {0};
    WalChange change = {.kind = WAL_COMMIT};
    while (change.kind != WAL_END) {
        if (weir_wal_next(f->wal, &change, &err) != WEIR_OK) {
            return complain(f, "reading the log", err.message);
        }
        if (change.kind == WAL_LOST) {
            lose_all(f);
            return true;
        }
        f->counts.commits += change.kind == WAL_COMMIT ? 1 : 0;
        if (change.kind != WAL_COMMIT && change.kind != WAL_END && !apply(f, &change)) {
            return false;
        }
    }
    if (!weir_wal_position(f->wal, &f->position)) {
        return complain(f, "reading the log", "it was cut");
    }
    return true;
}

static bool read_table(Follower *f, FollowedTable *table)
{
    Snapshot snapshot;
    if (!snapshot_open(&snapshot, f->connection, table->name, &f->complaint)) {
        return false;
    }
    table->column_count = snapshot.column_count;
    table->is_nested = test_realloc(table->is_nested, snapshot.column_count + 1);
    for (size_t c = 0; c < snapshot.column_count; c++) {
        table->is_nested[c] = weir_type_is_nested(snapshot.column_types[c + 1]);
    }
    while (snapshot_next(&snapshot)) {
        for (size_t i = 0; i < snapshot.batch.count; i++) {
            while (table->row_count < (size_t)snapshot.row_ids[i]) {
                add_row(table, false, NULL, 0);
            }
            add_row(table, true, &snapshot.batch, i);
        }
    }
    table->is_known = true;
    snapshot_close(&snapshot);
    size_t end = 0;
    if (!snapshot_end(f->connection, table->name, &end, &f->complaint)) {
        return false;
    }
    /* What was deleted at the end has row ids too; but a larger end can also be that of a commit
     * that is under way. */
    while (f->is_alone && table->row_count < end) {
        add_row(table, false, NULL, 0);
    }
    table->is_end_known = table->row_count == end;
    return true;
}

/* From the position to the log's end, or to a new position. */
static bool move_on(Follower *f)
{
    if (f->has_position) {
        f->counts.looks++;
        const WalState state = weir_wal_begin(f->wal, &f->position);
        f->counts.nothing_new += state == WAL_NOTHING_NEW ? 1 : 0;
        if (state == WAL_UNKNOWN) {
            lose_all(f);
        } else if (!read_changes(f)) {
            return false;
        }
        weir_wal_end(f->wal);
    }
    while (!f->has_position) {
        f->has_position = weir_wal_mark(f->wal, &f->position) == WAL_NEW;
        if (!f->has_position && strcmp(weir_wal_reason(f->wal), "a checkpoint is running") != 0 &&
            strcmp(weir_wal_reason(f->wal),
                   "the log belongs to another checkpoint than the database file") != 0) {
            return complain(f, "cannot begin", weir_wal_reason(f->wal));
        }
    }
    return true;
}

bool follower_catch_up(Follower *f)
{
    for (;;) {
        if (!move_on(f)) {
            return false;
        }
        bool was_read[FOLLOWED_TABLES_MAX] = {false};
        bool any = false;
        for (size_t i = 0; i < f->table_count; i++) {
            was_read[i] = !f->tables[i].is_known;
            any = any || was_read[i];
            if (was_read[i] && !read_table(f, &f->tables[i])) {
                return false;
            }
        }
        if (!any || weir_wal_look(f->wal, &f->position) == WAL_NOTHING_NEW) {
            return true;
        }
        /* The rows may be younger than the position. */
        for (size_t i = 0; i < f->table_count; i++) {
            if (was_read[i]) {
                forget_rows(&f->tables[i]);
            }
        }
    }
}

/* --- comparing --------------------------------------------------------------------------------- */

static bool check_cell(Follower *f, const FollowedTable *table, Cell *cell, const Vector *vector,
                       size_t row)
{
    const bool is_null = weir_vector_is_null(vector, row);
    size_t size = 0;
    const char *const bytes = is_null ? "" : snapshot_value(vector, row, &size);
    const bool is_equal =
        cell->is_null == is_null &&
        (is_null || (cell->size == size && memcmp(cell->bytes, bytes, size) == 0));
    if (!is_equal && !cell->is_stale) {
        text_addf(&f->complaint, "NULL %d %d, size %u %zu: ", cell->is_null, is_null, cell->size,
                  size);
        return complain(f, table->name, "a value differs");
    }
    if (cell->is_stale) {
        cell->is_null = is_null;
        cell->is_stale = false;
        if (!is_null) {
            set_bytes(cell, vector, row);
        }
    }
    return true;
}

static bool check_row(Follower *f, FollowedTable *table, const Snapshot *snapshot, size_t i)
{
    FollowedRow *const row = find_row(table, snapshot->row_ids[i]);
    if (row == NULL) {
        return complain(f, table->name, "a row is missing");
    }
    for (size_t c = 0; c < table->column_count; c++) {
        if (!check_cell(f, table, &row->cells[c], &snapshot->batch.columns[c], i)) {
            text_addf(&f->complaint, "row %lld column %zu\n", (long long)snapshot->row_ids[i], c);
            return false;
        }
    }
    return true;
}

static bool check_table(Follower *f, FollowedTable *table)
{
    Snapshot snapshot;
    if (!snapshot_open(&snapshot, f->connection, table->name, &f->complaint)) {
        return false;
    }
    size_t count = 0;
    bool is_right = snapshot.column_count == table->column_count ||
                    complain(f, table->name, "it has another number of columns");
    while (is_right && snapshot_next(&snapshot)) {
        for (size_t i = 0; i < snapshot.batch.count && is_right; i++) {
            is_right = check_row(f, table, &snapshot, i);
            count++;
        }
    }
    snapshot_close(&snapshot);
    for (size_t r = 0; r < table->row_count; r++) {
        count -= table->rows[r].is_live ? 1 : 0;
    }
    return is_right && (count == 0 || complain(f, table->name, "a row should not be there"));
}

bool follower_check(Follower *f)
{
    for (size_t i = 0; i < f->table_count; i++) {
        if (!check_table(f, &f->tables[i])) {
            return false;
        }
    }
    return true;
}
