/* overlay.c: a table of packed rows, keyed by row id; weight 1 = it is there, 0 = it is gone.
 *
 * To settle, the rows are sorted by row id and merged group by group with those of the groups. The
 * fingerprints are computed here, as DuckDB's scans would give them; where that is not possible (DuckDB
 * hashes texts of nested values) the group is marked, and the next comparison fetches it. */
#include "duckdb/overlay.h"

#include <stdlib.h>

#include "duckdb/group_rows.h"

enum { OVERLAY_ROWS_MIN = 1 << 16, OVERLAY_SHARE = 8 /* of the rows, from which on it is large */ };

uint64_t weir_overlay_row_count(const Baseline *baseline)
{
    return baseline->row_count + (uint64_t)baseline->overlay_rows;
}

bool weir_overlay_is_large(const Baseline *baseline)
{
    return baseline->has_overlay &&
           baseline->overlay.row_count >
               WEIR_MAX((uint64_t)OVERLAY_ROWS_MIN, baseline->row_count / OVERLAY_SHARE);
}

static Status make_overlay(Baseline *baseline, Error *err)
{
    if (baseline->has_overlay) {
        return WEIR_OK;
    }
    static const PhysType KEY[] = {PHYS_I64};
    const Schema *const schema = &baseline->schema;
    PhysType *payload = weir_mem_calloc(baseline->mem, schema->count + 1, sizeof *payload, err);
    if (payload == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < schema->count; c++) {
        payload[c] = schema->types[c]->phys;
    }
    const RowLayoutSpec spec = {
        .key = KEY, .key_count = 1, .payload = payload, .payload_count = schema->count};
    const Status status =
        weir_row_table_init(&baseline->overlay, baseline->mem, baseline->store.pool, &spec, err);
    baseline->has_overlay = status == WEIR_OK;
    weir_mem_free(baseline->mem, payload);
    return status;
}

static Vector row_id_vector(int64_t *row_ids)
{
    return (Vector){.phys = PHYS_I64, .data = row_ids};
}

/* --- finding ---------------------------------------------------------------------------------- */

/* The place of a row in its group's block; false if the group does not have it. */
static bool find_in_group(const BaselineGroup *group, size_t place, size_t *row)
{
    if (group->places == NULL) {
        *row = place;
        return place < group->sum.row_count;
    }
    const uint64_t bit = UINT64_C(1) << (place % 64);
    const uint64_t word = group->places[place / 64];
    size_t before = (size_t)__builtin_popcountll(word & (bit - 1));
    for (size_t w = 0; w < place / 64; w++) {
        before += (size_t)__builtin_popcountll(group->places[w]);
    }
    *row = before;
    return (word & bit) != 0;
}

static void pick_row(const Baseline *baseline, const BaselineGroup *group, size_t row,
                     FoundRows *out)
{
    const size_t at = out->batch.count++;
    for (size_t c = 0; c < out->batch.column_count; c++) {
        Vector *const column = &out->batch.columns[c];
        char *const value = (char *)column->data + at * weir_phys_width(column->phys);
        if (!weir_column_block_pick(&baseline->store, &group->block.pieces[c], column->phys,
                                    &group->block, row, value)) {
            memset(value, 0, weir_phys_width(column->phys));
            weir_validity_set_null(column->validity, at);
        }
    }
}

static Status make_found(const Baseline *baseline, size_t count, Arena *arena, FoundRows *out,
                         Error *err)
{
    const Schema *const schema = &baseline->schema;
    *out = (FoundRows){.batch = {.column_count = schema->count}};
    out->row_ids = weir_arena_alloc(arena, (count + 1) * sizeof *out->row_ids, err);
    out->batch.columns =
        weir_arena_calloc(arena, schema->count + 1, sizeof *out->batch.columns, err);
    if (out->row_ids == NULL || out->batch.columns == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < schema->count; c++) {
        Vector *const column = &out->batch.columns[c];
        WEIR_TRY(weir_vector_init(column, schema->types[c]->phys, count + 1, arena, err));
        WEIR_TRY(weir_vector_add_validity(column, count + 1, arena, err));
    }
    return WEIR_OK;
}

/* Moves the rows that the overlay has to `out`; what is left of row_ids may be in groups. */
static Status find_in_overlay(Baseline *baseline, int64_t *row_ids, size_t *count, FoundRows *out,
                              Error *err)
{
    Row *rows[BATCH_CAPACITY];
    uint64_t validity[VECTOR_VALIDITY_WORDS];
    if (!baseline->has_overlay || baseline->overlay.row_count == 0) {
        return WEIR_OK;
    }
    const Vector ids = row_id_vector(row_ids);
    const Vector *const key[] = {&ids};
    weir_row_table_find(&baseline->overlay, key, *count, rows);
    size_t live = 0;
    size_t left = 0;
    for (size_t i = 0; i < *count; i++) {
        if (rows[i] == NULL) {
            row_ids[left++] = row_ids[i];
        } else if (weir_row_weight(rows[i]) != 0) {
            out->row_ids[live] = row_ids[i];
            rows[live++] = rows[i];
        }
    }
    *count = left;
    out->batch.count = live;
    for (size_t c = 0; live > 0 && c < out->batch.column_count; c++) {
        Vector column = out->batch.columns[c];
        column.validity = NULL;
        weir_row_unpack(&baseline->overlay.layout, rows, live, 1 + c, &column, validity);
        WEIR_VERIFY(column.data == out->batch.columns[c].data, err);
        if (column.validity != NULL) {
            memcpy(out->batch.columns[c].validity, column.validity,
                   (live + 63) / 64 * sizeof(uint64_t));
        }
    }
    return WEIR_OK;
}

Status weir_overlay_find(Baseline *baseline, const int64_t *row_ids, size_t count, Arena *arena,
                         FoundRows *out, Error *err)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY);
    int64_t wanted[BATCH_CAPACITY];
    memcpy(wanted, row_ids, count * sizeof *wanted);
    WEIR_TRY(make_found(baseline, count, arena, out, err));
    WEIR_TRY(find_in_overlay(baseline, wanted, &count, out, err));
    for (size_t i = 0; i < count; i++) {
        const uint64_t id = (uint64_t)wanted[i];
        const BaselineGroup *const group = weir_baseline_find(baseline, id / baseline->group_rows);
        size_t row = 0;
        if (group != NULL && find_in_group(group, (size_t)(id % baseline->group_rows), &row)) {
            out->row_ids[out->batch.count] = wanted[i];
            pick_row(baseline, group, row, out);
        }
    }
    for (size_t c = 0; c < out->batch.column_count; c++) {
        if (out->batch.columns[c].phys == PHYS_STRING) {
            WEIR_TRY(weir_vector_own_strings(&out->batch.columns[c], out->batch.count, arena, err));
        }
    }
    return WEIR_OK;
}

/* --- putting ---------------------------------------------------------------------------------- */

Status weir_overlay_put(Baseline *baseline, const FoundRows *rows, OverlayKind kind, Error *err)
{
    Row *packed[BATCH_CAPACITY];
    const size_t count = rows->batch.count;
    WEIR_TRY(make_overlay(baseline, err));
    const Vector ids = row_id_vector(rows->row_ids);
    const Vector **columns =
        weir_mem_calloc(baseline->mem, rows->batch.column_count + 1, sizeof(const Vector *), err);
    if (columns == NULL) {
        return err->code;
    }
    columns[0] = &ids;
    for (size_t c = 0; c < rows->batch.column_count; c++) {
        columns[1 + c] = &rows->batch.columns[c];
    }
    weir_row_table_find(&baseline->overlay, columns, count, packed);
    for (size_t i = 0; i < count; i++) {
        if (packed[i] != NULL) {
            weir_row_table_remove(&baseline->overlay, packed[i]);
        }
    }
    const Status status =
        weir_row_table_upsert(&baseline->overlay, columns, count, packed, NULL, err);
    for (size_t i = 0; status == WEIR_OK && i < count; i++) {
        weir_row_set_weight(packed[i], kind == OVERLAY_GONE ? 0 : 1);
    }
    weir_row_table_end_step(&baseline->overlay);
    weir_mem_free(baseline->mem, columns);
    if (kind != OVERLAY_CHANGED) {
        baseline->overlay_rows += kind == OVERLAY_ADDED ? (int64_t)count : -(int64_t)count;
    }
    return status;
}

/* --- settling --------------------------------------------------------------------------------- */

typedef struct ChangedRow {
    int64_t row_id;
    Row *row;
} ChangedRow;

/* What merging one group after the other needs. */
typedef struct Merger {
    Baseline *baseline;
    Arena arena;
    ColumnReader reader;
    PlacedRows old_rows;
    GroupRows merged;
    Batch *changed; /* rows of the overlay */
    uint64_t *validity;
    bool has_nested;
} Merger;

static int compare_changed(const void *a, const void *b)
{
    const ChangedRow *const x = a;
    const ChangedRow *const y = b;
    return (x->row_id > y->row_id) - (x->row_id < y->row_id);
}

static Status collect_changed(const Baseline *baseline, ChangedRow **out, size_t *count, Error *err)
{
    const RowTable *const overlay = &baseline->overlay;
    ChangedRow *changed = weir_mem_calloc(baseline->mem, overlay->row_count, sizeof *changed, err);
    if (changed == NULL) {
        return err->code;
    }
    Row *rows[BATCH_CAPACITY];
    uint64_t cursor = 0;
    size_t total = 0;
    for (;;) {
        const size_t found = weir_row_table_scan(overlay, &cursor, rows, BATCH_CAPACITY);
        for (size_t i = 0; i < found; i++) {
            WEIR_ASSERT(total < overlay->row_count);
            changed[total].row = rows[i];
            memcpy(&changed[total].row_id,
                   (const char *)rows[i] + overlay->layout.columns[0].offset, sizeof(int64_t));
            total++;
        }
        if (found == 0) {
            break;
        }
    }
    qsort(changed, total, sizeof *changed, compare_changed);
    *out = changed;
    *count = total;
    return WEIR_OK;
}

static Status merger_init(Merger *merger, Baseline *baseline, Error *err)
{
    const Schema *const schema = &baseline->schema;
    *merger = (Merger){.baseline = baseline};
    Arena *const arena = &merger->arena;
    weir_arena_init(arena, baseline->mem, 0);
    WEIR_TRY(weir_column_reader_init(&merger->reader, schema, arena, err));
    WEIR_TRY(weir_group_rows_init(&merger->merged, schema, arena, err));
    WEIR_TRY(weir_batch_new(arena, schema, &merger->changed, err));
    merger->validity = weir_arena_calloc(arena, schema->count * VECTOR_VALIDITY_WORDS + 1,
                                         sizeof *merger->validity, err);
    if (merger->validity == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < schema->count; c++) {
        merger->has_nested = merger->has_nested || weir_type_is_nested(schema->types[c]);
    }
    return WEIR_OK;
}

static void merger_deinit(Merger *merger)
{
    weir_group_rows_deinit(&merger->merged);
    weir_arena_deinit(&merger->arena);
}

static void unpack_changed(Merger *merger, const ChangedRow *changed, size_t count)
{
    Row *rows[BATCH_CAPACITY];
    Batch *const batch = merger->changed;
    for (size_t i = 0; i < count; i++) {
        rows[i] = changed[i].row;
    }
    batch->count = count;
    for (size_t c = 0; c < batch->column_count; c++) {
        batch->columns[c].validity = NULL;
        weir_row_unpack(&merger->baseline->overlay.layout, rows, count, 1 + c, &batch->columns[c],
                        merger->validity + c * VECTOR_VALIDITY_WORDS);
    }
}

/* The group's rows before `place`, from *next on. */
static Status add_old(Merger *merger, size_t *next, uint32_t place, Error *err)
{
    const PlacedRows *const old = &merger->old_rows;
    const size_t first = *next;
    while (*next < old->batch->count && old->places[*next] < place) {
        ++*next;
    }
    return *next == first ? WEIR_OK
                          : weir_group_rows_add(&merger->merged, old->batch, first, *next - first,
                                                old->places + first, err);
}

static RowSum sum_merged(const Merger *merger, uint64_t id)
{
    const PlacedRows *const rows = &merger->merged.rows;
    RowSum sum = {.row_count = rows->batch->count};
    int64_t row_ids[BASELINE_GROUP_ROWS];
    uint64_t hashes[BASELINE_GROUP_ROWS];
    for (size_t i = 0; i < rows->batch->count; i++) {
        row_ids[i] = (int64_t)(id * merger->baseline->group_rows + rows->places[i]);
    }
    if (!merger->has_nested) {
        weir_fingerprint_rows(rows->batch, row_ids, hashes);
        for (size_t i = 0; i < rows->batch->count; i++) {
            sum.fingerprint ^= hashes[i];
        }
    }
    return sum;
}

static Status merge_group(Merger *merger, uint64_t id, const ChangedRow *changed, size_t count,
                          Error *err)
{
    static const Batch NO_ROWS = {0};
    Baseline *const baseline = merger->baseline;
    const BaselineGroup *const old = weir_baseline_find(baseline, id);
    size_t next = 0;
    merger->old_rows.batch = &NO_ROWS;
    if (old != NULL) {
        weir_baseline_read(baseline, old, &merger->reader, &merger->old_rows);
    }
    weir_group_rows_clear(&merger->merged);
    unpack_changed(merger, changed, count);
    for (size_t i = 0; i < count; i++) {
        const uint16_t place = (uint16_t)((uint64_t)changed[i].row_id % baseline->group_rows);
        WEIR_TRY(add_old(merger, &next, place, err));
        if (next < merger->old_rows.batch->count && merger->old_rows.places[next] == place) {
            next++;
        }
        if (weir_row_weight(changed[i].row) != 0) {
            WEIR_TRY(weir_group_rows_add(&merger->merged, merger->changed, i, 1, &place, err));
        }
    }
    WEIR_TRY(add_old(merger, &next, UINT32_MAX, err));
    const RowSum sum = sum_merged(merger, id);
    WEIR_TRY(weir_baseline_put(baseline, id, &merger->merged.rows, &sum, err));
    if (merger->has_nested && sum.row_count > 0) {
        weir_baseline_mark_unsummed(baseline, id);
    }
    return WEIR_OK;
}

static Status merge_all(Baseline *baseline, const ChangedRow *changed, size_t count, Error *err)
{
    Merger *merger = weir_mem_zalloc(baseline->mem, sizeof *merger, err);
    if (merger == NULL) {
        return err->code;
    }
    Status status = merger_init(merger, baseline, err);
    for (size_t i = 0; status == WEIR_OK && i < count;) {
        const uint64_t id = (uint64_t)changed[i].row_id / baseline->group_rows;
        size_t end = i + 1;
        while (end < count && (uint64_t)changed[end].row_id / baseline->group_rows == id) {
            end++;
        }
        status = merge_group(merger, id, changed + i, end - i, err);
        i = end;
    }
    merger_deinit(merger);
    weir_mem_free(baseline->mem, merger);
    return status;
}

Status weir_overlay_settle(Baseline *baseline, Error *err)
{
    if (!baseline->has_overlay || baseline->overlay.row_count == 0) {
        return WEIR_OK;
    }
    ChangedRow *changed = NULL;
    size_t count = 0;
    WEIR_TRY(collect_changed(baseline, &changed, &count, err));
    const Status status = merge_all(baseline, changed, count, err);
    weir_mem_free(baseline->mem, changed);
    if (status == WEIR_OK) {
        weir_row_table_clear(&baseline->overlay);
        baseline->overlay_rows = 0;
    }
    return status;
}
