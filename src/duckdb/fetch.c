/* fetch.c: one query per range; chunk by chunk, rows are packed and compared as bytes.
 *
 * refs holds the references of the range's groups as they will be, old those of the baseline that
 * were not met yet. A row met: same bytes -> its reference moves from old to refs; other bytes -> the
 * old row goes, the new one comes. What is left in old when the query is through was deleted. */
#include "duckdb/fetch.h"

#include "duckdb/chunk.h"
#include "duckdb/fingerprint.h"
#include "duckdb/query.h"
#include "duckdb/type_map.h"
#include "view/names.h"

enum {
    FETCH_TARGET_BYTES = 64 << 20, /* of the rows of one query, about */
    COLUMN_ROW_ID = 0,             /* columns of the query */
    COLUMN_FINGERPRINT = 1,
    COLUMN_FIRST = 2,
};

struct Fetcher {
    DetectJob job;
    Arena arena;       /* what lives as long as the fetcher */
    Arena chunk_arena; /* reset for every chunk */
    const char *select;
    RowReader removed; /* the batches with weight -1 */
    RowRef *refs;      /* owned; by row id - base */
    RowRef *old;       /* owned; the same */
    size_t refs_capacity;
    size_t old_capacity;
    uint64_t base;        /* the first row id of the range's groups */
    uint32_t place_count; /* up to the range's last row */
    bool is_compared;
    RowSum *sums; /* of the range, by group */
    RowRef removed_refs[BATCH_CAPACITY];
    size_t removed_count;
    /* The chunk in hand: */
    Batch batch;
    const Vector *columns[ROW_MAX_COLUMNS];
    uint32_t places[BATCH_CAPACITY];
    uint32_t sizes[BATCH_CAPACITY]; /* of the packed rows */
    Row *rows[BATCH_CAPACITY];
    RowRef new_refs[BATCH_CAPACITY];
};

/* --- making one ------------------------------------------------------------------------------- */

static Status write_select(Fetcher *fetcher, Error *err)
{
    const Schema *const schema = &fetcher->job.baseline->schema;
    Buf sql;
    weir_buf_init(&sql, fetcher->job.host->mem, SIZE_MAX);
    weir_buf_puts(&sql, "SELECT rowid, ");
    weir_fingerprint_put_sql(&sql, schema);
    for (size_t c = 0; c < schema->count; c++) {
        weir_buf_puts(&sql, ", ");
        weir_buf_put_sql_name(&sql, schema->names[c]);
    }
    weir_buf_puts(&sql, " FROM ");
    weir_name_put_sql(&sql, fetcher->job.name);
    weir_buf_puts(&sql, " WHERE rowid BETWEEN ");
    Status status = weir_buf_status(&sql, err);
    if (status == WEIR_OK) {
        fetcher->select = weir_arena_strdup(&fetcher->arena, sql.data, err);
        status = fetcher->select == NULL ? err->code : WEIR_OK;
    }
    weir_buf_deinit(&sql);
    return status;
}

Status weir_fetcher_new(const DetectJob *job, Fetcher **out, Error *err)
{
    Mem *const mem = job->host->mem;
    Fetcher *fetcher = weir_mem_zalloc(mem, sizeof *fetcher, err);
    if (fetcher == NULL) {
        return err->code;
    }
    Status status = WEIR_OK;
    fetcher->job = *job;
    weir_arena_init(&fetcher->arena, mem, 0);
    weir_arena_init(&fetcher->chunk_arena, mem, 1 << 20);
    WEIR_CHECK(write_select(fetcher, err));
    WEIR_CHECK(weir_row_reader_init(&fetcher->removed, job->baseline, -1, &fetcher->arena, err));
    *out = fetcher;
done:
    if (status != WEIR_OK) {
        weir_fetcher_free(fetcher);
    }
    return status;
}

void weir_fetcher_free(Fetcher *fetcher)
{
    if (fetcher == NULL) {
        return;
    }
    Mem *const mem = fetcher->job.host->mem;
    weir_mem_free(mem, fetcher->refs);
    weir_mem_free(mem, fetcher->old);
    weir_arena_deinit(&fetcher->chunk_arena);
    weir_arena_deinit(&fetcher->arena);
    weir_mem_free(mem, fetcher);
}

size_t weir_fetcher_group_count(const Fetcher *fetcher)
{
    const Baseline *const baseline = fetcher->job.baseline;
    if (baseline->row_count == 0) {
        return 1; /* the first one tells how large rows are */
    }
    const size_t row_bytes =
        (size_t)(weir_row_store_bytes(&baseline->store) / baseline->row_count) + ROW_HEADER_BYTES;
    const size_t count = FETCH_TARGET_BYTES / row_bytes / baseline->group_rows;
    return WEIR_MAX((size_t)1, WEIR_MIN(count, (size_t)FETCH_MAX_GROUPS));
}

/* --- removed rows ------------------------------------------------------------------------------ */

/* Reports the rows and gives their places back. */
static Status flush_removed(Fetcher *fetcher, Error *err)
{
    Baseline *const baseline = fetcher->job.baseline;
    const size_t count = fetcher->removed_count;
    fetcher->removed_count = 0;
    if (count == 0) {
        return WEIR_OK;
    }
    const Batch *const batch =
        weir_row_reader_read(&fetcher->removed, baseline, fetcher->removed_refs, count);
    if (fetcher->job.visit != NULL) {
        WEIR_TRY(fetcher->job.visit(fetcher->job.user, batch, err));
    }
    for (size_t i = 0; baseline->schema.count > 0 && i < count; i++) {
        const RowRef ref = fetcher->removed_refs[i];
        weir_row_store_cancel(&baseline->store, ref,
                              weir_row_size(&baseline->layout, weir_row_at(&baseline->store, ref)));
    }
    return WEIR_OK;
}

static Status remove_row(Fetcher *fetcher, RowRef ref, Error *err)
{
    if (fetcher->removed_count == BATCH_CAPACITY) {
        WEIR_TRY(flush_removed(fetcher, err));
    }
    fetcher->removed_refs[fetcher->removed_count++] = ref;
    return WEIR_OK;
}

/* What was not met was deleted. */
static Status remove_rest(Fetcher *fetcher, Error *err)
{
    for (uint32_t place = 0; place < fetcher->place_count; place++) {
        if (fetcher->old[place] != 0) {
            WEIR_TRY(remove_row(fetcher, fetcher->old[place], err));
        }
    }
    return flush_removed(fetcher, err);
}

/* --- rows of a chunk --------------------------------------------------------------------------- */

/* The places of the chunk's rows, and their sums. */
static Status place_rows(Fetcher *fetcher, duckdb_data_chunk chunk, Error *err)
{
    const uint32_t group_rows = fetcher->job.baseline->group_rows;
    const uint64_t *const row_ids =
        duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, COLUMN_ROW_ID));
    const uint64_t *const prints =
        duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, COLUMN_FINGERPRINT));
    uint64_t group = 0;
    uint64_t begin = 1; /* of the group; none yet */
    uint64_t end = 0;
    for (size_t i = 0; i < fetcher->batch.count; i++) {
        const uint64_t place = row_ids[i] - fetcher->base;
        WEIR_VERIFY(place < fetcher->place_count, err);
        fetcher->places[i] = (uint32_t)place;
        if (place < begin || place >= end) {
            group = place / group_rows;
            begin = group * group_rows;
            end = begin + group_rows;
        }
        fetcher->sums[group].row_count++;
        fetcher->sums[group].fingerprint ^= prints[i];
    }
    return WEIR_OK;
}

static Status measure_rows(Fetcher *fetcher, Error *err)
{
    const RowLayout *const layout = &fetcher->job.baseline->layout;
    const size_t count = fetcher->batch.count;
    weir_row_sizes(layout, fetcher->columns, count, fetcher->sizes);
    for (size_t i = 0; i < count; i++) {
        if (fetcher->sizes[i] == UINT32_MAX) {
            return weir_error_set(err, WEIR_ERR_LIMIT, "a row of more than 4 GB");
        }
    }
    return WEIR_OK;
}

/* Every row of the chunk is new. */
static Status add_new_rows(Fetcher *fetcher, Error *err)
{
    Baseline *const baseline = fetcher->job.baseline;
    const size_t count = fetcher->batch.count;
    if (baseline->schema.count == 0) {
        for (size_t i = 0; i < count; i++) {
            fetcher->new_refs[i] = BASELINE_EMPTY_ROW;
        }
    } else {
        WEIR_TRY(measure_rows(fetcher, err));
        WEIR_TRY(weir_row_store_alloc(&baseline->store, fetcher->sizes, 0, count, fetcher->new_refs,
                                      fetcher->rows, err));
        weir_row_pack(&baseline->layout, fetcher->columns, NULL, count, NULL, fetcher->sizes,
                      fetcher->rows);
    }
    for (size_t i = 0; i < count; i++) {
        fetcher->refs[fetcher->places[i]] = fetcher->new_refs[i];
    }
    return fetcher->job.visit == NULL ? WEIR_OK
                                      : fetcher->job.visit(fetcher->job.user, &fetcher->batch, err);
}

/* Packs the rows into the chunk's arena. */
static Status pack_aside(Fetcher *fetcher, Error *err)
{
    WEIR_TRY(measure_rows(fetcher, err));
    size_t total = 0;
    for (size_t i = 0; i < fetcher->batch.count; i++) {
        total += fetcher->sizes[i];
    }
    char *bytes = weir_arena_alloc(&fetcher->chunk_arena, total, err);
    if (bytes == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < fetcher->batch.count; i++) {
        fetcher->rows[i] = (Row *)(void *)bytes;
        bytes += fetcher->sizes[i];
    }
    weir_row_pack(&fetcher->job.baseline->layout, fetcher->columns, NULL, fetcher->batch.count,
                  NULL, fetcher->sizes, fetcher->rows);
    return WEIR_OK;
}

static bool is_same_row(const Fetcher *fetcher, RowRef ref, size_t row)
{
    const Baseline *const baseline = fetcher->job.baseline;
    return baseline->schema.count == 0 ||
           weir_row_equal(&baseline->layout, weir_row_at(&baseline->store, ref),
                          fetcher->rows[row]);
}

/* Copies packed rows into the store. */
static Status store_rows(Fetcher *fetcher, const uint16_t *selection, size_t count, Error *err)
{
    Baseline *const baseline = fetcher->job.baseline;
    for (size_t i = 0; i < count; i++) {
        const uint16_t row = selection[i];
        RowRef ref = BASELINE_EMPTY_ROW;
        if (baseline->schema.count > 0) {
            Row *place = NULL;
            WEIR_TRY(weir_row_store_alloc(&baseline->store, NULL, fetcher->sizes[row], 1, &ref,
                                          &place, err));
            memcpy(place, fetcher->rows[row], fetcher->sizes[row]);
        }
        fetcher->refs[fetcher->places[row]] = ref;
    }
    return WEIR_OK;
}

static Status report_new(Fetcher *fetcher, const uint16_t *selection, size_t count, Error *err)
{
    if (count == 0 || fetcher->job.visit == NULL) {
        return WEIR_OK;
    }
    Batch picked = {0};
    WEIR_TRY(
        weir_batch_gather(&fetcher->batch, selection, count, &fetcher->chunk_arena, &picked, err));
    return fetcher->job.visit(fetcher->job.user, &picked, err);
}

/* Rows of the chunk may be in the baseline already. */
static Status compare_rows(Fetcher *fetcher, Error *err)
{
    uint16_t selection[BATCH_CAPACITY];
    size_t count = 0;
    if (fetcher->job.baseline->schema.count > 0) {
        WEIR_TRY(pack_aside(fetcher, err));
    }
    for (size_t i = 0; i < fetcher->batch.count; i++) {
        const uint32_t place = fetcher->places[i];
        const RowRef ref = fetcher->old[place];
        fetcher->old[place] = 0;
        if (ref != 0 && is_same_row(fetcher, ref, i)) {
            fetcher->refs[place] = ref;
            continue;
        }
        if (ref != 0) {
            WEIR_TRY(remove_row(fetcher, ref, err));
        }
        selection[count++] = (uint16_t)i;
    }
    WEIR_TRY(store_rows(fetcher, selection, count, err));
    return report_new(fetcher, selection, count, err);
}

static Status add_chunk(Fetcher *fetcher, duckdb_data_chunk chunk, Error *err)
{
    const Schema *const schema = &fetcher->job.baseline->schema;
    weir_arena_reset(&fetcher->chunk_arena);
    WEIR_TRY(weir_duck_host_check(fetcher->job.host, err));
    WEIR_TRY(
        weir_chunk_read(chunk, COLUMN_FIRST, schema, &fetcher->chunk_arena, &fetcher->batch, err));
    for (size_t c = 0; c < schema->count; c++) {
        fetcher->columns[c] = &fetcher->batch.columns[c];
    }
    fetcher->job.report->rows_read += fetcher->batch.count;
    WEIR_TRY(place_rows(fetcher, chunk, err));
    return fetcher->is_compared ? compare_rows(fetcher, err) : add_new_rows(fetcher, err);
}

/* --- a range ----------------------------------------------------------------------------------- */

/* The columns must still have the types that the rows are packed as. */
static Status check_types(const Fetcher *fetcher, duckdb_result *result, Arena *scratch, Error *err)
{
    const Schema *const schema = &fetcher->job.baseline->schema;
    for (size_t c = 0; c < schema->count; c++) {
        duckdb_logical_type theirs = duckdb_column_logical_type(result, COLUMN_FIRST + c);
        const LogicalType *const type = weir_type_from_duckdb(scratch, theirs, err);
        duckdb_destroy_logical_type(&theirs);
        if (type == NULL) {
            return err->code;
        }
        if (!weir_type_equal(type, schema->types[c])) {
            return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED, "column %s is %s, not %s",
                                  schema->names[c], weir_type_name(type->id),
                                  weir_type_name(schema->types[c]->id));
        }
    }
    return WEIR_OK;
}

static Status add_result(Fetcher *fetcher, duckdb_result *result, Error *err)
{
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
        if (chunk == NULL) {
            return WEIR_OK;
        }
        const Status status = add_chunk(fetcher, chunk, err);
        duckdb_destroy_data_chunk(&chunk);
        WEIR_TRY(status);
    }
}

static Status query_range(Fetcher *fetcher, const FetchRange *range, Error *err)
{
    weir_arena_reset(&fetcher->chunk_arena);
    const char *sql =
        weir_arena_printf(&fetcher->chunk_arena, err, "%s%lld AND %lld", fetcher->select,
                          (long long)range->first_row, (long long)range->last_row);
    if (sql == NULL) {
        return err->code;
    }
    duckdb_result result = {0};
    WEIR_TRY(weir_query(fetcher->job.host->scan, sql, WEIR_ERR_HOST, &result, err));
    Status status = check_types(fetcher, &result, &fetcher->chunk_arena, err);
    if (status == WEIR_OK) {
        status = add_result(fetcher, &result, err);
    }
    duckdb_destroy_result(&result);
    return status;
}

static Status reserve_places(Fetcher *fetcher, RowRef **refs, size_t *capacity, Error *err)
{
    if (*capacity >= fetcher->place_count) {
        return WEIR_OK;
    }
    Mem *const mem = fetcher->job.host->mem;
    weir_mem_free(mem, *refs);
    *capacity = 0;
    *refs = weir_mem_alloc(mem, fetcher->place_count * sizeof **refs, err);
    if (*refs == NULL) {
        return err->code;
    }
    *capacity = fetcher->place_count;
    return WEIR_OK;
}

/* The places of a group of the range. */
typedef struct GroupPlaces {
    size_t begin;
    size_t count;
} GroupPlaces;

static GroupPlaces group_places(const Fetcher *fetcher, size_t group)
{
    const size_t group_rows = fetcher->job.baseline->group_rows;
    const size_t begin = group * group_rows;
    return (GroupPlaces){.begin = begin,
                         .count = WEIR_MIN(group_rows, fetcher->place_count - begin)};
}

/* The baseline's references of the range, as rows to compare with, or as rows that stay. */
static Status load_groups(Fetcher *fetcher, const FetchRange *range, Error *err)
{
    WEIR_TRY(reserve_places(fetcher, &fetcher->refs, &fetcher->refs_capacity, err));
    if (range->is_compared) {
        WEIR_TRY(reserve_places(fetcher, &fetcher->old, &fetcher->old_capacity, err));
    }
    for (size_t g = 0; g < range->group_count; g++) {
        const BaselineGroup *const group =
            weir_baseline_find(fetcher->job.baseline, range->first_group + g);
        const GroupPlaces places = group_places(fetcher, g);
        weir_baseline_load(range->is_compared ? NULL : group, fetcher->refs + places.begin,
                           places.count);
        if (range->is_compared) {
            weir_baseline_load(group, fetcher->old + places.begin, places.count);
        }
    }
    return WEIR_OK;
}

static Status put_groups(Fetcher *fetcher, const FetchRange *range, Error *err)
{
    Baseline *const baseline = fetcher->job.baseline;
    for (size_t g = 0; g < range->group_count; g++) {
        const uint64_t id = range->first_group + g;
        const GroupPlaces places = group_places(fetcher, g);
        const BaselineGroup *const group =
            range->is_compared ? NULL : weir_baseline_find(baseline, id);
        RowSum sum = fetcher->sums[g];
        if (group != NULL) {
            sum.row_count += group->sum.row_count;
            sum.fingerprint ^= group->sum.fingerprint;
        }
        WEIR_TRY(
            weir_baseline_put(baseline, id, fetcher->refs + places.begin, places.count, &sum, err));
    }
    return WEIR_OK;
}

Status weir_fetcher_run(Fetcher *fetcher, const FetchRange *range, RowSum *sums, Error *err)
{
    WEIR_ASSERT(range->group_count > 0 && range->group_count <= FETCH_MAX_GROUPS);
    WEIR_ASSERT(range->first_row <= range->last_row);
    const uint32_t group_rows = fetcher->job.baseline->group_rows;
    fetcher->base = range->first_group * group_rows;
    fetcher->place_count = (uint32_t)((uint64_t)range->last_row - fetcher->base + 1);
    fetcher->is_compared = range->is_compared;
    fetcher->sums = sums;
    fetcher->removed_count = 0;
    memset(sums, 0, range->group_count * sizeof *sums);
    WEIR_TRY(load_groups(fetcher, range, err));
    WEIR_TRY(query_range(fetcher, range, err));
    if (range->is_compared) {
        WEIR_TRY(remove_rest(fetcher, err));
    }
    return put_groups(fetcher, range, err);
}
