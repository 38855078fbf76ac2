/* fetch.c: one query per range; its rows come by rising row id and are put together to groups.
 *
 * A group that is complete replaces the baseline's: compared with it, so that only the difference is
 * told, or, behind the last row id that was known, with the old rows of its group in front. A chunk
 * of the result that is a whole group, as scans of tables without deletes give them, is packed as it
 * is. DuckDB can be told not to keep the order of rows: then the range is fetched again, sorted, and
 * compared with what the first time has left. */
#include "duckdb/fetch.h"

#include "duckdb/chunk.h"
#include "duckdb/fingerprint.h"
#include "duckdb/group_diff.h"
#include "duckdb/group_rows.h"
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
    size_t fixed_bytes; /* of a row of the query */
    GroupRows gathered; /* rows of the group in hand */
    ColumnReader reader;
    PlacedRows old_rows;
    GroupDiff diff;
    int64_t removals[BATCH_CAPACITY]; /* weights -1 */
    /* The range in hand: */
    FetchRange range;
    RowSum *sums;
    uint64_t group;      /* of the gathered rows, if there are any */
    uint64_t next_group; /* the groups before it are done */
    int64_t last_row;    /* met */
    bool is_disordered;
    /* The chunk in hand: */
    PlacedRows chunk;
    Batch batch;
};

/* --- making one ------------------------------------------------------------------------------- */

static Status write_select(Fetcher *fetcher, Error *err)
{
    const Schema *const schema = &fetcher->job.baseline->schema;
    Buf sql;
    weir_buf_init(&sql, fetcher->job.host->mem, SIZE_MAX);
    weir_buf_puts(&sql, "SELECT rowid, ");
    weir_fingerprint_put_sql(&sql, schema);
    fetcher->fixed_bytes = sizeof(int64_t) + sizeof(uint64_t);
    for (size_t c = 0; c < schema->count; c++) {
        weir_buf_puts(&sql, ", ");
        weir_buf_put_sql_name(&sql, schema->names[c]);
        fetcher->fixed_bytes += weir_phys_width(schema->types[c]->phys);
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
    const Schema *const schema = &job->baseline->schema;
    fetcher->job = *job;
    for (size_t i = 0; i < BATCH_CAPACITY; i++) {
        fetcher->removals[i] = -1;
    }
    weir_arena_init(&fetcher->arena, mem, 0);
    weir_arena_init(&fetcher->chunk_arena, mem, 1 << 20);
    WEIR_CHECK(write_select(fetcher, err));
    WEIR_CHECK(weir_group_rows_init(&fetcher->gathered, schema, &fetcher->arena, err));
    WEIR_CHECK(weir_column_reader_init(&fetcher->reader, schema, &fetcher->arena, err));
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
    weir_group_rows_deinit(&fetcher->gathered);
    weir_arena_deinit(&fetcher->chunk_arena);
    weir_arena_deinit(&fetcher->arena);
    weir_mem_free(fetcher->job.host->mem, fetcher);
}

size_t weir_fetcher_group_count(const Fetcher *fetcher)
{
    const Baseline *const baseline = fetcher->job.baseline;
    if (baseline->row_count == 0) {
        return 1; /* the first one tells how large rows are */
    }
    const size_t row_bytes = fetcher->fixed_bytes +
                             (size_t)(weir_row_store_bytes(&baseline->store) / baseline->row_count);
    const size_t count = FETCH_TARGET_BYTES / row_bytes / baseline->group_rows;
    return WEIR_MAX((size_t)1, WEIR_MIN(count, (size_t)FETCH_MAX_GROUPS));
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Tells the visitor of rows of a batch, all of one weight: +1 if weights is NULL. */
static Status report_rows(Fetcher *fetcher, const Batch *batch, const uint16_t *selection,
                          size_t count, const int64_t *weights, Error *err)
{
    if (count == 0 || fetcher->job.visit == NULL) {
        return WEIR_OK;
    }
    Batch picked = *batch;
    if (count < batch->count) {
        WEIR_TRY(weir_batch_gather(batch, selection, count, &fetcher->chunk_arena, &picked, err));
    }
    picked.weights = weights;
    return fetcher->job.visit(fetcher->job.user, &picked, err);
}

static Status remove_group(Fetcher *fetcher, const BaselineGroup *group, Error *err)
{
    const RowSum none = {0};
    weir_baseline_read(fetcher->job.baseline, group, &fetcher->reader, &fetcher->old_rows);
    const Batch *const old = fetcher->old_rows.batch;
    WEIR_TRY(report_rows(fetcher, old, NULL, old->count, fetcher->removals, err));
    return weir_baseline_put(fetcher->job.baseline, group->id, NULL, &none, err);
}

/* The groups from next_group up to `end` were not met: their rows were deleted. */
static Status skip_groups(Fetcher *fetcher, uint64_t end, Error *err)
{
    for (uint64_t id = fetcher->next_group; fetcher->range.is_compared && id < end; id++) {
        const BaselineGroup *const group = weir_baseline_find(fetcher->job.baseline, id);
        if (group != NULL) {
            WEIR_TRY(remove_group(fetcher, group, err));
        }
    }
    fetcher->next_group = end;
    return WEIR_OK;
}

/* Replaces a group that was known by rows that are compared with it. */
static Status compare_group(Fetcher *fetcher, const BaselineGroup *old, const PlacedRows *rows,
                            const RowSum *sum, Error *err)
{
    Baseline *const baseline = fetcher->job.baseline;
    GroupDiff *const diff = &fetcher->diff;
    weir_baseline_read(baseline, old, &fetcher->reader, &fetcher->old_rows);
    weir_group_diff(&fetcher->old_rows, rows, diff);
    if (diff->removed_count + diff->added_count == 0) {
        weir_baseline_set_sum(baseline, old->id, sum);
        return WEIR_OK;
    }
    WEIR_TRY(report_rows(fetcher, fetcher->old_rows.batch, diff->removed, diff->removed_count,
                         fetcher->removals, err));
    WEIR_TRY(report_rows(fetcher, rows->batch, diff->added, diff->added_count, NULL, err));
    return weir_baseline_put(baseline, old->id, rows, sum, err);
}

/* Puts rows that are new behind those that the group has; they stand in front already. */
static Status append_rows(Fetcher *fetcher, uint64_t id, const PlacedRows *rows, Error *err)
{
    const BaselineGroup *const old = weir_baseline_find(fetcher->job.baseline, id);
    uint16_t selection[BATCH_CAPACITY];
    RowSum sum = fetcher->sums[id - fetcher->range.first_group];
    size_t count = 0;
    for (size_t i = old == NULL ? 0 : (size_t)old->sum.row_count; i < rows->batch->count; i++) {
        selection[count++] = (uint16_t)i;
    }
    if (old != NULL) {
        sum.row_count += old->sum.row_count;
        sum.fingerprint ^= old->sum.fingerprint;
    }
    WEIR_TRY(report_rows(fetcher, rows->batch, selection, count, NULL, err));
    return weir_baseline_put(fetcher->job.baseline, id, rows, &sum, err);
}

/* All rows of a group of the range are there. */
static Status finish_group(Fetcher *fetcher, uint64_t id, const PlacedRows *rows, Error *err)
{
    Baseline *const baseline = fetcher->job.baseline;
    const RowSum *const sum = &fetcher->sums[id - fetcher->range.first_group];
    if (!fetcher->range.is_compared) {
        return append_rows(fetcher, id, rows, err);
    }
    WEIR_TRY(skip_groups(fetcher, id, err));
    fetcher->next_group = id + 1;
    const BaselineGroup *const old = weir_baseline_find(baseline, id);
    if (old != NULL) {
        return compare_group(fetcher, old, rows, sum, err);
    }
    WEIR_TRY(report_rows(fetcher, rows->batch, NULL, rows->batch->count, NULL, err));
    return weir_baseline_put(baseline, id, rows, sum, err);
}

static Status finish_gathered(Fetcher *fetcher, Error *err)
{
    if (fetcher->gathered.batch->count == 0) {
        return WEIR_OK;
    }
    const Status status = finish_group(fetcher, fetcher->group, &fetcher->gathered.rows, err);
    weir_group_rows_clear(&fetcher->gathered);
    return status;
}

/* The rows that a group has from before a range of new ones. */
static Status begin_gathered(Fetcher *fetcher, uint64_t id, Error *err)
{
    fetcher->group = id;
    const BaselineGroup *const old =
        fetcher->range.is_compared ? NULL : weir_baseline_find(fetcher->job.baseline, id);
    if (old == NULL) {
        return WEIR_OK;
    }
    PlacedRows *const rows = &fetcher->old_rows;
    weir_baseline_read(fetcher->job.baseline, old, &fetcher->reader, rows);
    return weir_group_rows_add(&fetcher->gathered, rows->batch, 0, rows->batch->count, rows->places,
                               err);
}

/* Rows [first, first + count) of the chunk are of one group. */
static Status add_rows(Fetcher *fetcher, uint64_t id, size_t first, size_t count, Error *err)
{
    const uint32_t group_rows = fetcher->job.baseline->group_rows;
    GroupRows *const gathered = &fetcher->gathered;
    if (gathered->batch->count > 0 && fetcher->group != id) {
        WEIR_TRY(finish_gathered(fetcher, err));
    }
    const bool is_last = fetcher->chunk.places[first + count - 1] == group_rows - 1;
    if (gathered->batch->count == 0) {
        WEIR_TRY(begin_gathered(fetcher, id, err));
    }
    if (gathered->batch->count == 0 && first == 0 && is_last) {
        Batch whole = fetcher->batch;
        whole.count = count;
        fetcher->chunk.batch = &whole;
        return finish_group(fetcher, id, &fetcher->chunk, err);
    }
    WEIR_TRY(weir_group_rows_add(gathered, &fetcher->batch, first, count,
                                 fetcher->chunk.places + first, err));
    return is_last ? finish_gathered(fetcher, err) : WEIR_OK;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* The places of the chunk's rows from `first` on that are of one group, and their sums. Returns how
 * many they are; 0 = the rows are in disorder. */
static size_t place_rows(Fetcher *fetcher, const uint64_t *row_ids, const uint64_t *prints,
                         size_t first, uint64_t id)
{
    const uint32_t group_rows = fetcher->job.baseline->group_rows;
    const uint64_t begin = id * group_rows;
    RowSum *const sum = &fetcher->sums[id - fetcher->range.first_group];
    size_t i = first;
    while (i < fetcher->batch.count && row_ids[i] - begin < group_rows) {
        if ((int64_t)row_ids[i] <= fetcher->last_row) {
            return 0;
        }
        fetcher->last_row = (int64_t)row_ids[i];
        fetcher->chunk.places[i] = (uint16_t)(row_ids[i] - begin);
        sum->row_count++;
        sum->fingerprint ^= prints[i];
        i++;
    }
    return i - first;
}

static Status add_chunk(Fetcher *fetcher, duckdb_data_chunk chunk, Error *err)
{
    const Schema *const schema = &fetcher->job.baseline->schema;
    const FetchRange *const range = &fetcher->range;
    weir_arena_reset(&fetcher->chunk_arena);
    WEIR_TRY(weir_cancel_check(&fetcher->job.host->cancel, err));
    WEIR_TRY(
        weir_chunk_read(chunk, COLUMN_FIRST, schema, &fetcher->chunk_arena, &fetcher->batch, err));
    fetcher->job.report->rows_read += fetcher->batch.count;
    const uint64_t *const row_ids =
        duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, COLUMN_ROW_ID));
    const uint64_t *const prints =
        duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, COLUMN_FINGERPRINT));
    for (size_t i = 0; i < fetcher->batch.count;) {
        const uint64_t id = row_ids[i] / fetcher->job.baseline->group_rows;
        WEIR_VERIFY(id - range->first_group < range->group_count, err);
        const size_t count = place_rows(fetcher, row_ids, prints, i, id);
        fetcher->is_disordered = count == 0;
        if (fetcher->is_disordered) {
            return WEIR_OK;
        }
        WEIR_TRY(add_rows(fetcher, id, i, count, err));
        i += count;
    }
    return WEIR_OK;
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
    while (!fetcher->is_disordered) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
        if (chunk == NULL) {
            break;
        }
        const Status status = add_chunk(fetcher, chunk, err);
        duckdb_destroy_data_chunk(&chunk);
        WEIR_TRY(status);
    }
    return WEIR_OK;
}

static Status query_range(Fetcher *fetcher, const char *order, Error *err)
{
    weir_arena_reset(&fetcher->chunk_arena);
    const char *sql = weir_arena_printf(&fetcher->chunk_arena, err, "%s%lld AND %lld%s",
                                        fetcher->select, (long long)fetcher->range.first_row,
                                        (long long)fetcher->range.last_row, order);
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

static Status run_range(Fetcher *fetcher, const char *order, Error *err)
{
    const FetchRange *const range = &fetcher->range;
    fetcher->next_group = range->first_group;
    fetcher->last_row = range->first_row - 1;
    fetcher->is_disordered = false;
    memset(fetcher->sums, 0, range->group_count * sizeof *fetcher->sums);
    WEIR_TRY(query_range(fetcher, order, err));
    if (fetcher->is_disordered) {
        weir_group_rows_clear(&fetcher->gathered);
        return WEIR_OK;
    }
    WEIR_TRY(finish_gathered(fetcher, err));
    return skip_groups(fetcher, range->first_group + range->group_count, err);
}

Status weir_fetcher_run(Fetcher *fetcher, const FetchRange *range, RowSum *sums, Error *err)
{
    WEIR_ASSERT(range->group_count > 0 && range->group_count <= FETCH_MAX_GROUPS);
    WEIR_ASSERT(range->first_row <= range->last_row);
    fetcher->range = *range;
    fetcher->sums = sums;
    WEIR_TRY(run_range(fetcher, "", err));
    if (!fetcher->is_disordered) {
        return WEIR_OK;
    }
    fetcher->range.is_compared = true;
    fetcher->range.first_row = (int64_t)(range->first_group * fetcher->job.baseline->group_rows);
    WEIR_TRY(run_range(fetcher, " ORDER BY rowid", err));
    WEIR_VERIFY(!fetcher->is_disordered, err);
    return WEIR_OK;
}
