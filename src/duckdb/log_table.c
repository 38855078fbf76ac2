/* log_table.c: inserts, deletes and updates by row id.
 *
 * Inserts and deletes are applied as they come: no other change of the commit names an inserted row, and
 * an update of a row that is gone is nothing. Updates come column by column, values apart from
 * validity, so those of a commit are gathered first:
 *
 *   sorted by their first row id they fall into runs whose ranges of row ids overlap (the columns of one
 *   of DuckDB's vectors); for each run the old rows are found, copied, overwritten column by
 *   column, and the old and new ones are the change
 *
 * DuckDB keeps a value under a NULL and does not log it again when an update brings it back. A row that
 * stops being NULL without a value in the commit has a value that nobody told: the table is unknown. */
#include "duckdb/log_table.h"

#include <stdlib.h>

#include "view/names.h"

struct KeptBatch {
    KeptBatch *next;
    Batch batch; /* with weights */
};

struct LoggedUpdate {
    LoggedUpdate *next;
    size_t column; /* followed */
    bool is_validity;
    size_t count;
    const int64_t *row_ids;
    int64_t first; /* the smallest and the largest of them */
    int64_t last;
    Vector values; /* flat; of a validity nothing but the mask */
};

static void forget_kept(LogTable *table)
{
    weir_arena_deinit(&table->kept_arena); /* it may have been much */
    weir_arena_init(&table->kept_arena, table->mem, 0);
    table->kept = NULL;
    table->kept_end = &table->kept;
}

static void forget_updates(LogTable *table)
{
    weir_arena_deinit(&table->commit_arena);
    weir_arena_init(&table->commit_arena, table->mem, 0);
    table->updates = NULL;
    table->update_count = 0;
}

void weir_log_table_init(LogTable *table, Mem *mem, const TableName *name, Baseline *baseline)
{
    *table = (LogTable){.mem = mem, .name = name, .baseline = baseline};
    weir_arena_init(&table->kept_arena, mem, 0);
    weir_arena_init(&table->commit_arena, mem, 0);
    forget_kept(table);
}

void weir_log_table_deinit(LogTable *table)
{
    if (table->mem == NULL) {
        return;
    }
    weir_arena_deinit(&table->commit_arena);
    weir_arena_deinit(&table->kept_arena);
    weir_mem_free(table->mem, table->places);
    *table = (LogTable){0};
}

void weir_log_table_restart(LogTable *table, size_t *places, size_t stored_count)
{
    weir_mem_free(table->mem, table->places);
    table->places = places;
    table->stored_count = stored_count;
    forget_kept(table);
    weir_log_table_lose(table);
}

void weir_log_table_lose(LogTable *table)
{
    forget_updates(table);
    table->is_known = false;
    table->is_end_known = false;
}

/* --- keeping ---------------------------------------------------------------------------------- */

/* The batch lives in the arena of what is kept. */
static Status keep(LogTable *table, const Batch *batch, int64_t weight, Error *err)
{
    if (batch->count == 0) {
        return WEIR_OK;
    }
    KeptBatch *kept = weir_arena_zalloc(&table->kept_arena, sizeof *kept, err);
    int64_t *weights =
        kept == NULL ? NULL
                     : weir_arena_alloc(&table->kept_arena, batch->count * sizeof *weights, err);
    if (weights == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < batch->count; i++) {
        weights[i] = weight;
    }
    kept->batch = *batch;
    kept->batch.weights = weights;
    *table->kept_end = kept;
    table->kept_end = &kept->next;
    return WEIR_OK;
}

Status weir_log_table_drain(LogTable *table, HostVisit visit, void *user, uint64_t *row_count,
                            Error *err)
{
    Status status = WEIR_OK;
    *row_count = 0;
    for (const KeptBatch *kept = table->kept; kept != NULL && status == WEIR_OK;
         kept = kept->next) {
        *row_count += kept->batch.count;
        status = visit(user, &kept->batch, err);
    }
    if (status == WEIR_OK) {
        forget_kept(table);
    }
    return status;
}

/* --- single changes --------------------------------------------------------------------------- */

static Status apply_delete(LogTable *table, const WalChange *change, Error *err)
{
    for (size_t first = 0; first < change->row_count; first += BATCH_CAPACITY) {
        const size_t count = WEIR_MIN(change->row_count - first, (size_t)BATCH_CAPACITY);
        FoundRows rows;
        WEIR_TRY(weir_overlay_find(table->baseline, change->row_ids + first, count,
                                   &table->kept_arena, &rows, err));
        if (rows.batch.count < count) {
            weir_log_table_lose(table); /* of rows that are not known to be there */
            return WEIR_OK;
        }
        WEIR_TRY(keep(table, &rows.batch, -1, err));
        WEIR_TRY(weir_overlay_put(table->baseline, &rows, OVERLAY_GONE, err));
    }
    return WEIR_OK;
}

/* The values of the change, if they are of the types that are followed. */
static Status read_values(LogTable *table, Wal *wal, const WalChange *change, Batch *out,
                          bool *is_readable, Error *err)
{
    const char *reason = change->reason;
    *is_readable = false;
    if (reason == NULL) {
        WEIR_TRY(weir_wal_values(wal, out, &reason, err));
    }
    *is_readable = reason == NULL;
    if (!*is_readable) {
        weir_log_table_lose(table);
    }
    return WEIR_OK;
}

static bool has_types(const LogTable *table, const WalChange *change)
{
    const Schema *const schema = &table->baseline->schema;
    if (change->column_count != table->stored_count || change->types == NULL) {
        return false;
    }
    for (size_t c = 0; c < schema->count; c++) {
        if (!weir_type_equal(change->types[table->places[c]], schema->types[c])) {
            return false;
        }
    }
    return true;
}

static Status apply_insert(LogTable *table, Wal *wal, const WalChange *change, Error *err)
{
    const Schema *const schema = &table->baseline->schema;
    Arena *const arena = &table->kept_arena;
    const size_t count = change->row_count;
    Batch batch = {0};
    bool is_readable = false;
    if (!table->is_end_known || !has_types(table, change) || count > BATCH_CAPACITY) {
        weir_log_table_lose(table);
        return WEIR_OK;
    }
    WEIR_TRY(read_values(table, wal, change, &batch, &is_readable, err));
    if (!is_readable) {
        return WEIR_OK;
    }
    FoundRows rows = {.batch = {.count = count, .column_count = schema->count}};
    rows.batch.columns = weir_arena_calloc(arena, schema->count, sizeof *rows.batch.columns, err);
    rows.row_ids = weir_arena_alloc(arena, count * sizeof *rows.row_ids, err);
    if (rows.batch.columns == NULL || rows.row_ids == NULL) {
        return err->code;
    }
    uint16_t all[BATCH_CAPACITY];
    for (size_t i = 0; i < count; i++) {
        rows.row_ids[i] = table->end + (int64_t)i;
        all[i] = (uint16_t)i;
    }
    for (size_t c = 0; c < schema->count; c++) {
        Vector copy = {0};
        WEIR_TRY(
            weir_vector_gather(&batch.columns[table->places[c]], all, count, arena, &copy, err));
        WEIR_TRY(weir_vector_flatten(&copy, count, arena, &rows.batch.columns[c], err));
        if (rows.batch.columns[c].phys == PHYS_STRING) {
            WEIR_TRY(weir_vector_own_strings(&rows.batch.columns[c], count, arena, err));
        }
    }
    WEIR_TRY(keep(table, &rows.batch, 1, err));
    WEIR_TRY(weir_overlay_put(table->baseline, &rows, OVERLAY_ADDED, err));
    table->end += (int64_t)count;
    return WEIR_OK;
}

/* --- updates ---------------------------------------------------------------------------------- */

static bool find_followed(const LogTable *table, uint64_t stored, size_t *column)
{
    for (size_t c = 0; c < table->baseline->schema.count; c++) {
        if (table->places[c] == stored) {
            *column = c;
            return true;
        }
    }
    return false;
}

/* Of a value as a whole, or of its validity; parts of nested values are not put together here. */
static bool is_whole(const LogTable *table, const WalChange *change, size_t column)
{
    const LogicalType *const type = table->baseline->schema.types[column];
    if (weir_type_is_nested(type) || change->path_length > 2 ||
        change->row_count > BATCH_CAPACITY) {
        return false;
    }
    return change->path_length == 2
               ? change->path[1] == WAL_PATH_VALIDITY
               : change->column_count == 1 && weir_type_equal(change->types[0], type);
}

/* Out of the log's memory. Strings go where what is kept lives: the changed rows will have them. */
static Status copy_values(LogTable *table, LoggedUpdate *update, const Vector *values, Error *err)
{
    Arena *const arena = &table->commit_arena;
    if (update->is_validity) {
        update->values.phys = values->phys;
        WEIR_TRY(weir_vector_add_validity(&update->values, update->count, arena, err));
        for (size_t i = 0; i < update->count; i++) {
            if (weir_vector_is_null(values, i)) {
                weir_validity_set_null(update->values.validity, i);
            }
        }
        return WEIR_OK;
    }
    uint16_t all[BATCH_CAPACITY];
    for (size_t i = 0; i < update->count; i++) {
        all[i] = (uint16_t)i;
    }
    Vector copy = {0};
    WEIR_TRY(weir_vector_gather(values, all, update->count, arena, &copy, err));
    WEIR_TRY(weir_vector_flatten(&copy, update->count, arena, &update->values, err));
    return weir_vector_own_strings(&update->values, update->count, &table->kept_arena, err);
}

static Status apply_update(LogTable *table, Wal *wal, const WalChange *change, Error *err)
{
    Arena *const arena = &table->commit_arena;
    const size_t count = change->row_count;
    size_t column = 0;
    Batch batch = {0};
    bool is_readable = false;
    if (count == 0 || !find_followed(table, change->path[0], &column)) {
        return WEIR_OK;
    }
    if (!is_whole(table, change, column)) {
        weir_log_table_lose(table);
        return WEIR_OK;
    }
    WEIR_TRY(read_values(table, wal, change, &batch, &is_readable, err));
    if (!is_readable) {
        return WEIR_OK;
    }
    LoggedUpdate *update = weir_arena_zalloc(arena, sizeof *update, err);
    int64_t *row_ids =
        update == NULL ? NULL : weir_arena_alloc(arena, count * sizeof *row_ids, err);
    if (row_ids == NULL) {
        return err->code;
    }
    memcpy(row_ids, change->row_ids, count * sizeof *row_ids);
    *update = (LoggedUpdate){
        .next = table->updates,
        .column = column,
        .is_validity = change->path_length == 2,
        .count = count,
        .row_ids = row_ids,
        .first = row_ids[0],
        .last = row_ids[0],
    };
    for (size_t i = 0; i < count; i++) {
        update->first = WEIR_MIN(update->first, row_ids[i]);
        update->last = WEIR_MAX(update->last, row_ids[i]);
    }
    WEIR_TRY(copy_values(table, update, &batch.columns[0], err));
    table->updates = update;
    table->update_count++;
    return WEIR_OK;
}

static int compare_updates(const void *a, const void *b)
{
    const LoggedUpdate *const x = *(const LoggedUpdate *const *)a;
    const LoggedUpdate *const y = *(const LoggedUpdate *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

static int compare_row_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The different row ids of the updates, rising, in the arena. */
static Status collect_row_ids(LoggedUpdate *const *updates, size_t update_count, Arena *arena,
                              int64_t **out, size_t *count, Error *err)
{
    size_t total = 0;
    for (size_t u = 0; u < update_count; u++) {
        total += updates[u]->count;
    }
    int64_t *row_ids = weir_arena_alloc(arena, total * sizeof *row_ids, err);
    if (row_ids == NULL) {
        return err->code;
    }
    size_t at = 0;
    for (size_t u = 0; u < update_count; u++) {
        memcpy(row_ids + at, updates[u]->row_ids, updates[u]->count * sizeof *row_ids);
        at += updates[u]->count;
    }
    qsort(row_ids, total, sizeof *row_ids, compare_row_ids);
    size_t kept = 0;
    for (size_t i = 0; i < total; i++) {
        if (kept == 0 || row_ids[i] != row_ids[kept - 1]) {
            row_ids[kept++] = row_ids[i];
        }
    }
    *out = row_ids;
    *count = kept;
    return WEIR_OK;
}

/* A row id among those that were found. */
typedef struct Target {
    int64_t row_id;
    size_t row;
} Target;

static int compare_targets(const void *a, const void *b)
{
    return compare_row_ids(&((const Target *)a)->row_id, &((const Target *)b)->row_id);
}

/* Of a batch of rows: which values the commit has told. */
typedef struct ToldValues {
    uint64_t *masks; /* VECTOR_VALIDITY_WORDS a column */
    bool is_all;     /* every row that stopped being NULL had a value */
} ToldValues;

/* The values of a column must be overwritten before its validity. */
static void overwrite(const LoggedUpdate *update, const Target *targets, size_t target_count,
                      Vector *column, ToldValues *told)
{
    const size_t width = weir_phys_width(column->phys);
    uint64_t *const mask = told->masks + update->column * VECTOR_VALIDITY_WORDS;
    for (size_t i = 0; i < update->count; i++) {
        const Target wanted = {.row_id = update->row_ids[i]};
        const Target *const found =
            bsearch(&wanted, targets, target_count, sizeof *targets, compare_targets);
        if (found == NULL) {
            continue; /* of another piece, or the row is gone */
        }
        const size_t row = found->row;
        const uint64_t bit = UINT64_C(1) << (row % 64);
        if (!update->is_validity) {
            memcpy((char *)column->data + row * width,
                   (const char *)update->values.data + i * width, width);
            mask[row / 64] |= bit;
        } else if (weir_vector_is_null(&update->values, i)) {
            weir_validity_set_null(column->validity, row);
        } else {
            told->is_all = told->is_all && ((column->validity[row / 64] | mask[row / 64]) & bit);
            column->validity[row / 64] |= bit;
        }
    }
}

static Status overwrite_all(LoggedUpdate *const *updates, size_t update_count,
                            const FoundRows *found, Batch *rows, Arena *arena, bool *is_told,
                            Error *err)
{
    Target targets[BATCH_CAPACITY];
    ToldValues told = {.is_all = true};
    told.masks = weir_arena_calloc(arena, rows->column_count * VECTOR_VALIDITY_WORDS + 1,
                                   sizeof *told.masks, err);
    if (told.masks == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < found->batch.count; i++) {
        targets[i] = (Target){.row_id = found->row_ids[i], .row = i};
    }
    qsort(targets, found->batch.count, sizeof *targets, compare_targets);
    for (int is_validity = 0; is_validity <= 1; is_validity++) {
        for (size_t u = 0; u < update_count; u++) {
            if (updates[u]->is_validity == (is_validity == 1)) {
                overwrite(updates[u], targets, found->batch.count,
                          &rows->columns[updates[u]->column], &told);
            }
        }
    }
    *is_told = told.is_all;
    return WEIR_OK;
}

/* A copy whose columns may be overwritten without changing the batch. */
static Status copy_rows(const FoundRows *rows, Arena *arena, FoundRows *out, Error *err)
{
    const Batch *const from = &rows->batch;
    *out = *rows;
    out->batch.columns =
        weir_arena_calloc(arena, from->column_count, sizeof *out->batch.columns, err);
    if (out->batch.columns == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < from->column_count; c++) {
        const Vector *const column = &from->columns[c];
        Vector *const copy = &out->batch.columns[c];
        WEIR_TRY(weir_vector_init(copy, column->phys, from->count, arena, err));
        WEIR_TRY(weir_vector_add_validity(copy, from->count, arena, err));
        memcpy(copy->data, column->data, from->count * weir_phys_width(column->phys));
        memcpy(copy->validity, column->validity, (from->count + 63) / 64 * sizeof(uint64_t));
    }
    return WEIR_OK;
}

/* Up to BATCH_CAPACITY rows of a run. */
static Status update_rows(LogTable *table, LoggedUpdate *const *updates, size_t update_count,
                          const int64_t *row_ids, size_t count, bool *is_told, Error *err)
{
    Arena *const arena = &table->kept_arena;
    FoundRows old;
    FoundRows changed;
    WEIR_TRY(weir_overlay_find(table->baseline, row_ids, count, arena, &old, err));
    WEIR_TRY(copy_rows(&old, arena, &changed, err));
    WEIR_TRY(overwrite_all(updates, update_count, &old, &changed.batch, &table->commit_arena,
                           is_told, err));
    if (!*is_told) {
        return WEIR_OK;
    }
    WEIR_TRY(keep(table, &old.batch, -1, err));
    WEIR_TRY(keep(table, &changed.batch, 1, err));
    return weir_overlay_put(table->baseline, &changed, OVERLAY_CHANGED, err);
}

static Status update_run(LogTable *table, LoggedUpdate *const *updates, size_t update_count,
                         bool *is_told, Error *err)
{
    int64_t *row_ids = NULL;
    size_t count = 0;
    WEIR_TRY(collect_row_ids(updates, update_count, &table->commit_arena, &row_ids, &count, err));
    for (size_t first = 0; first < count && *is_told; first += BATCH_CAPACITY) {
        WEIR_TRY(update_rows(table, updates, update_count, row_ids + first,
                             WEIR_MIN(count - first, (size_t)BATCH_CAPACITY), is_told, err));
    }
    return WEIR_OK;
}

static Status apply_updates(LogTable *table, Error *err)
{
    const size_t count = table->update_count;
    LoggedUpdate **sorted =
        weir_arena_calloc(&table->commit_arena, count, sizeof(LoggedUpdate *), err);
    if (sorted == NULL) {
        return err->code;
    }
    size_t at = 0;
    for (LoggedUpdate *update = table->updates; update != NULL; update = update->next) {
        sorted[at++] = update;
    }
    qsort(sorted, count, sizeof(LoggedUpdate *), compare_updates);
    bool is_told = true;
    for (size_t i = 0; i < count && is_told;) {
        int64_t last = sorted[i]->last;
        size_t end = i + 1;
        while (end < count && sorted[end]->first <= last) {
            last = WEIR_MAX(last, sorted[end]->last);
            end++;
        }
        WEIR_TRY(update_run(table, sorted + i, end - i, &is_told, err));
        i = end;
    }
    if (!is_told) {
        weir_log_table_lose(table);
    }
    return WEIR_OK;
}

/* --- what the log says ------------------------------------------------------------------------ */

static bool is_of(const LogTable *table, const WalChange *change)
{
    return weir_name_part_equal(change->schema, table->name->schema) &&
           (change->table == NULL || weir_name_part_equal(change->table, table->name->name));
}

Status weir_log_table_apply(LogTable *table, Wal *wal, const WalChange *change, Error *err)
{
    if (!table->is_known || !is_of(table, change)) {
        return WEIR_OK;
    }
    if (table->places == NULL) {
        weir_log_table_lose(table);
        return WEIR_OK;
    }
    switch (change->kind) {
    case WAL_INSERT: return apply_insert(table, wal, change, err);
    case WAL_DELETE: return apply_delete(table, change, err);
    case WAL_UPDATE: return apply_update(table, wal, change, err);
    case WAL_BULK:
    case WAL_SHAPE:
    case WAL_UNREADABLE: weir_log_table_lose(table); return WEIR_OK;
    case WAL_END:
    case WAL_COMMIT:
    case WAL_LOST: break;
    }
    return WEIR_OK;
}

Status weir_log_table_commit(LogTable *table, Error *err)
{
    Status status = WEIR_OK;
    if (table->update_count > 0) {
        status = apply_updates(table, err);
        forget_updates(table);
    }
    if (status == WEIR_OK && weir_overlay_is_large(table->baseline)) {
        status = weir_overlay_settle(table->baseline, err);
    }
    return status;
}
