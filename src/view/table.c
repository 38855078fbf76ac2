/* table.c: followed tables and the net change that a sync finds in them.
 *
 * The host reports a table's difference to its baseline; here it is consolidated once for all views,
 * so that a row that moved, or an update of a column that no view reads, costs the views nothing. */
#include "view/engine_priv.h"

TrackedTable *weir_engine_find_table(Engine *engine, const TableName *name)
{
    for (size_t i = 0; i < engine->table_count; i++) {
        TrackedTable *const table = engine->tables[i];
        if (weir_name_equal(&table->name, name) && table->error.code != WEIR_ERR_SOURCE_CHANGED) {
            return table;
        }
    }
    return NULL;
}

static bool table_find_column(const TrackedTable *table, const char *column, size_t *place)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (weir_name_part_equal(table->columns[i], column)) {
            *place = i;
            return true;
        }
    }
    return false;
}

Schema weir_table_schema(const TrackedTable *table)
{
    return (Schema){.count = table->column_count, .types = table->types, .names = table->columns};
}

uint64_t weir_table_row_count(const Engine *engine, const TrackedTable *table)
{
    return table->host_table == NULL ? 0 : engine->host.table_row_count(table->host_table);
}

bool weir_table_lacks(const TrackedTable *table, const char *const *columns, size_t count)
{
    size_t place = 0;
    for (size_t i = 0; i < count; i++) {
        if (!table_find_column(table, columns[i], &place)) {
            return true;
        }
    }
    return false;
}

static void table_drop_delta(TrackedTable *table)
{
    if (table->has_delta_table) {
        weir_row_table_deinit(&table->delta);
        weir_row_table_deinit(&table->notified);
        table->has_delta_table = false;
    }
}

/* The baseline is no longer known to be what the views were told. */
static void table_close(Engine *engine, TrackedTable *table)
{
    table_drop_delta(table);
    weir_table_forget_counts(table);
    if (table->host_table != NULL) {
        engine->host.table_close(engine->host.context, table->host_table);
        table->host_table = NULL;
    }
}

void weir_table_give_up(Engine *engine, TrackedTable *table, const Error *reason)
{
    table->error = *reason;
    table_close(engine, table);
}

/* Appends the columns that are not followed yet to the table's own list. */
static Status table_add_columns(TrackedTable *table, const char *const *columns,
                                const LogicalType *const *types, size_t count, Error *err)
{
    const size_t limit = table->column_count + count;
    const char **names = weir_arena_calloc(&table->arena, limit, sizeof *names, err);
    const LogicalType **own_types =
        weir_arena_calloc(&table->arena, limit, sizeof(const LogicalType *), err);
    if (names == NULL || own_types == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        names[i] = table->columns[i];
        own_types[i] = table->types[i];
    }
    table->columns = names;
    table->types = own_types;
    for (size_t i = 0; i < count; i++) {
        size_t place = 0;
        if (table_find_column(table, columns[i], &place)) {
            continue;
        }
        const char *name = weir_arena_strdup(&table->arena, columns[i], err);
        const LogicalType *type =
            name == NULL ? NULL : weir_type_copy(&table->arena, types[i], err);
        if (type == NULL) {
            return err->code;
        }
        names[table->column_count] = name;
        own_types[table->column_count] = type;
        table->column_count++;
    }
    return WEIR_OK;
}

static Status table_follow(Engine *engine, TrackedTable *table, const char *const *columns,
                           const LogicalType *const *types, size_t count, Error *err)
{
    const size_t before = table->column_count;
    Status status = table_add_columns(table, columns, types, count, err);
    if (status == WEIR_OK && (table->column_count > before || !table->was_synced)) {
        WEIR_ASSERT(!table->has_delta_table || table->notified.row_count == 0);
        status = engine->host.table_follow(engine->host.context, table->host_table, table->columns,
                                           table->types, table->column_count, err);
        if (status == WEIR_OK) {
            table_drop_delta(table); /* made again with the columns there are now */
            table->follow_id = ++engine->last_follow_id;
            table->was_synced = true;
        }
    }
    if (status != WEIR_OK) {
        table->column_count = before;
    }
    return status;
}

/* NULL with err filled on failure. The engine does not know of it yet. */
static TrackedTable *table_open(Engine *engine, const TableName *name, Error *err)
{
    TrackedTable *table = weir_mem_zalloc(engine->mem, sizeof *table, err);
    if (table == NULL) {
        return NULL;
    }
    weir_arena_init(&table->arena, engine->mem, 0);
    if (weir_name_copy(&table->arena, name, &table->name, err) != WEIR_OK ||
        engine->host.table_open(engine->host.context, &table->name, &table->host_table, err) !=
            WEIR_OK) {
        weir_table_free(engine, table);
        return NULL;
    }
    return table;
}

static TrackedTable *table_new(Engine *engine, const TableName *name, Error *err)
{
    if (weir_engine_grow(engine, &engine->tables, engine->table_count, &engine->table_capacity,
                         err) != WEIR_OK) {
        return NULL;
    }
    TrackedTable *const table = table_open(engine, name, err);
    if (table != NULL) {
        engine->tables[engine->table_count++] = table;
    }
    return table;
}

Status weir_table_try_key(Engine *engine, const TableName *name, const Schema *schema,
                          const KeyColumns *key, Error *err)
{
    TrackedTable *const aside = table_open(engine, name, err);
    if (aside == NULL) {
        return err->code;
    }
    Status status = table_follow(engine, aside, schema->names, schema->types, schema->count, err);
    if (status == WEIR_OK) {
        status = weir_table_promise(engine, aside, false, key, err);
    }
    weir_table_free(engine, aside);
    return status;
}

Status weir_table_acquire(Engine *engine, const TableName *name, const char *const *columns,
                          const LogicalType *const *types, size_t count, TrackedTable **out,
                          Error *err)
{
    TrackedTable *table = weir_engine_find_table(engine, name);
    if (table == NULL) {
        table = table_new(engine, name, err);
    }
    if (table == NULL) {
        return err->code;
    }
    Status status = table->error.code;
    if (status != WEIR_OK) {
        *err = table->error;
    } else {
        status = table_follow(engine, table, columns, types, count, err);
    }
    if (status != WEIR_OK) {
        weir_table_release(engine, table);
        return status;
    }
    *out = table;
    return WEIR_OK;
}

void weir_table_release(Engine *engine, TrackedTable *table)
{
    if (table->user_count > 0 || table->is_tracked) {
        return;
    }
    for (size_t i = 0; i < engine->table_count; i++) {
        if (engine->tables[i] == table) {
            memmove(engine->tables + i, engine->tables + i + 1,
                    (engine->table_count - i - 1) * sizeof(TrackedTable *));
            engine->table_count--;
            break;
        }
    }
    weir_table_free(engine, table);
}

void weir_table_free(Engine *engine, TrackedTable *table)
{
    table_close(engine, table);
    weir_table_forget_promises(table);
    weir_arena_deinit(&table->arena);
    weir_mem_free(engine->mem, table);
}

/* ---- the net change ------------------------------------------------------------------------- */

static Status table_make_delta(Engine *engine, TrackedTable *table, Error *err)
{
    if (table->has_delta_table) {
        return WEIR_OK;
    }
    PhysType *key = weir_mem_calloc(engine->mem, table->column_count, sizeof *key, err);
    if (key == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        key[i] = table->types[i]->phys;
    }
    const RowLayoutSpec spec = {.key = key, .key_count = table->column_count};
    Status status = weir_row_table_init(&table->delta, engine->mem, engine->pool, &spec, err);
    if (status == WEIR_OK) {
        status = weir_row_table_init(&table->notified, engine->mem, engine->pool, &spec, err);
        if (status != WEIR_OK) {
            weir_row_table_deinit(&table->delta);
        }
    }
    weir_mem_free(engine->mem, key);
    table->has_delta_table = status == WEIR_OK;
    return status;
}

typedef struct BagTarget {
    RowTable *bag;
    int64_t sign;
} BagTarget;

static Status bag_visit(void *user, const Batch *batch, Error *err)
{
    const BagTarget *const target = user;
    return weir_bag_add(target->bag, batch, target->sign, err);
}

Status weir_table_visit_delta(TrackedTable *table, const size_t *columns, size_t column_count,
                              HostVisit visit, void *user, Error *err)
{
    WEIR_ASSERT(table->has_delta_table || table->captured != NULL);
    const RowTable *const delta = table->captured != NULL ? table->captured : &table->delta;
    return weir_bag_visit(delta, columns, column_count, table->arena.mem, visit, user, err);
}

Status weir_table_visit_contents(Engine *engine, const TrackedTable *table, HostVisit visit,
                                 void *user, Error *err)
{
    WEIR_VERIFY(table->host_table != NULL, err);
    WEIR_TRY(engine->host.table_scan(engine->host.context, table->host_table, visit, user, err));
    if (!table->has_delta_table || engine->host.is_capturing) {
        return WEIR_OK; /* a snapshot has the rows that were told */
    }
    return weir_bag_visit(&table->notified, NULL, table->column_count, table->arena.mem, visit,
                          user, err);
}

/* What was told has reached the views already: only the rest is news. Where there is nothing
 * to compare with, that is not known. */
static Status table_settle_notified(const Engine *engine, TrackedTable *table, Error *err)
{
    if (engine->host.is_capturing) {
        table->is_fresh = table->is_fresh || table->is_manual;
        weir_row_table_clear(&table->notified);
        return WEIR_OK;
    }
    BagTarget target = {.bag = &table->delta, .sign = -1};
    WEIR_TRY(weir_bag_visit(&table->notified, NULL, table->column_count, table->arena.mem,
                            bag_visit, &target, err));
    weir_row_table_clear(&table->notified);
    return WEIR_OK;
}

/* Notes what the pass's net change does to the table, and returns how many rows it has. */
static uint64_t note_changes(TrackedTable *table, const RowTable *delta)
{
    uint64_t changed = 0;
    uint64_t cursor = 0;
    Row *rows[BATCH_CAPACITY];
    for (;;) {
        const size_t found = weir_row_table_scan(delta, &cursor, rows, BATCH_CAPACITY);
        for (size_t i = 0; i < found; i++) {
            const int64_t weight = weir_row_weight(rows[i]);
            changed += weight < 0 ? (uint64_t)-weight : (uint64_t)weight;
            table->has_removed = table->has_removed || weight < 0;
        }
        if (found == 0) {
            table->has_changed = changed > 0;
            return changed;
        }
    }
}

/* Opens a table again whose baseline was given up. Its views are rebuilt: there is no delta. */
static Status table_reopen(Engine *engine, TrackedTable *table, Error *err)
{
    const Host *const host = &engine->host;
    Status status = host->table_open(host->context, &table->name, &table->host_table, err);
    if (status == WEIR_OK) {
        status = host->table_follow(host->context, table->host_table, table->columns, table->types,
                                    table->column_count, err);
    }
    if (status == WEIR_ERR_UNKNOWN_TABLE) {
        status = err->code = WEIR_ERR_SOURCE_CHANGED;
    }
    if (status != WEIR_OK) {
        table_close(engine, table);
        return status;
    }
    weir_table_believe(engine, table, true);
    table->is_fresh = true;
    return WEIR_OK;
}

/* Fills the delta. The baseline moves only after the delta has got a row. */
static Status table_find_changes(Engine *engine, TrackedTable *table, Error *err)
{
    WEIR_TRY(table_make_delta(engine, table, err));
    WEIR_ASSERT(table->delta.row_count == 0);
    BagTarget target = {.bag = &table->delta, .sign = 1};
    Status status = engine->host.table_sync(engine->host.context, table->host_table, bag_visit,
                                            &target, &table->report, err);
    const bool has_moved = status == WEIR_OK || table->delta.row_count > 0 || table->report.is_lost;
    table->is_fresh = status == WEIR_OK && table->report.method == SYNC_RELOADED;
    if (status == WEIR_OK) {
        status = table_settle_notified(engine, table, err);
    }
    if (status != WEIR_OK && has_moved) {
        table_close(engine, table);
    }
    return status;
}

Status weir_table_sync(Engine *engine, TrackedTable *table, uint64_t *changed_rows, Error *err)
{
    const double start = weir_now_ms();
    const Status status = table->host_table == NULL ? table_reopen(engine, table, err)
                                                    : table_find_changes(engine, table, err);
    table->sync_count++;
    table->last_sync_ms = weir_now_ms() - start;
    if (status == WEIR_ERR_INTERRUPTED && table->host_table != NULL) {
        return status; /* nothing is known that was not known before */
    }
    if (status != WEIR_OK) {
        table->error = *err;
        return status;
    }
    weir_error_clear(&table->error);
    table->diff_count += table->report.method == SYNC_DIFFED || table->is_fresh;
    table->fall_back_count += table->report.is_fall_back;
    if (!table->is_fresh) {
        *changed_rows = note_changes(table, &table->delta);
    }
    return WEIR_OK;
}

void weir_table_prepare_syncs(Engine *engine, const TrackedTable *only)
{
    Error ignored = {0};
    if (engine->host.prepare_sync == NULL) {
        return;
    }
    HostTable **tables =
        weir_mem_calloc(engine->mem, engine->table_count + 1, sizeof(HostTable *), &ignored);
    if (tables == NULL) {
        return; /* each is prepared alone */
    }
    size_t count = 0;
    for (size_t i = 0; i < engine->table_count; i++) {
        const TrackedTable *const table = engine->tables[i];
        if (table->host_table != NULL && (only == NULL ? !table->is_manual : table == only)) {
            tables[count++] = table->host_table;
        }
    }
    engine->host.prepare_sync(engine->host.context, tables, count);
    weir_mem_free(engine->mem, tables);
}

bool weir_table_are_unchanged(Engine *engine)
{
    const Host *const host = &engine->host;
    if (host->look == NULL) {
        return false;
    }
    const double start = weir_now_ms();
    host->look(host->context);
    for (size_t i = 0; i < engine->table_count; i++) {
        const TrackedTable *const table = engine->tables[i];
        const bool is_unchanged =
            table->host_table != NULL && table->error.code == WEIR_OK &&
            (table->is_manual || host->table_is_unchanged(host->context, table->host_table));
        if (!is_unchanged) {
            return false;
        }
    }
    for (size_t i = 0; i < engine->table_count; i++) {
        TrackedTable *const table = engine->tables[i];
        if (!table->is_manual) {
            table->report = (SyncReport){.method = SYNC_UNCHANGED};
            table->sync_count++;
            table->last_sync_ms = weir_now_ms() - start;
        }
    }
    return true;
}

/* ---- rows told by hand ---------------------------------------------------------------------- */

enum { NOTIFIED_LIMIT_MIN = 4096 };

typedef struct NotifyTarget {
    TrackedTable *table;
    int64_t sign;
} NotifyTarget;

static Status notify_visit(void *user, const Batch *batch, Error *err)
{
    const NotifyTarget *const target = user;
    const TrackedTable *const table = target->table;
    bool is_same = batch->column_count == table->column_count;
    for (size_t i = 0; is_same && i < batch->column_count; i++) {
        is_same = batch->columns[i].phys == table->types[i]->phys;
    }
    if (!is_same) {
        return weir_error_set(err, WEIR_ERR_MISUSE,
                              "the columns of table %s have changed meanwhile", table->name.name);
    }
    return weir_bag_add(&target->table->delta, batch, target->sign, err);
}

/* Rows that came and went are no news for the next sync. */
static void table_compact_notified(TrackedTable *table)
{
    if (table->notified.row_count > table->notified_limit) {
        weir_bag_compact(&table->notified);
        table->notified_limit = WEIR_MAX(2 * table->notified.row_count, (size_t)NOTIFIED_LIMIT_MIN);
    }
}

/* The rows have reached the views, or are about to. On failure only some are kept. */
static Status table_keep_notified(Engine *engine, TrackedTable *table, const RowTable *rows,
                                  Error *err)
{
    BagTarget keep = {.bag = &table->notified, .sign = 1};
    const Status status =
        weir_bag_visit(rows, NULL, table->column_count, engine->mem, bag_visit, &keep, err);
    if (status != WEIR_OK) {
        weir_table_give_up(engine, table, err);
        return status;
    }
    table_compact_notified(table);
    return WEIR_OK;
}

Status weir_table_notify(Engine *engine, TrackedTable *table, int64_t sign, const RowSource *rows,
                         Error *err)
{
    NotifyTarget notify = {.table = table, .sign = sign};
    WEIR_TRY(table_make_delta(engine, table, err));
    const Status status = rows->visit_rows(rows->context, notify_visit, &notify, err);
    if (status != WEIR_OK) {
        weir_row_table_clear(&table->delta);
        return status;
    }
    WEIR_TRY(table_keep_notified(engine, table, &table->delta, err));
    (void)note_changes(table, &table->delta);
    return WEIR_OK;
}

void weir_table_take_captured(TrackedTable *table, const TableChange *change)
{
    table->captured = change->rows;
    table->rewrites = change->rewrites;
    table->report = (SyncReport){.method = SYNC_CAPTURED};
    table->last_sync_ms = 0;
    table->sync_count++;
    (void)note_changes(table, change->rows);
}

Status weir_table_take_told(Engine *engine, TrackedTable *table, const TableChange *change,
                            Error *err)
{
    const Status status = table_make_delta(engine, table, err);
    if (status != WEIR_OK) {
        weir_table_give_up(engine, table, err);
        return status;
    }
    WEIR_TRY(table_keep_notified(engine, table, change->rows, err));
    weir_table_take_captured(table, change);
    return WEIR_OK;
}

void weir_table_end_sync(TrackedTable *table)
{
    if (table->has_delta_table) {
        weir_row_table_clear(&table->delta);
    }
    table->captured = NULL;
    table->has_changed = false;
    table->has_removed = false;
    table->rewrites = REWRITES_NONE;
    table->is_fresh = false;
}
