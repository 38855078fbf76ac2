/* detect.c: one scan gives count and fingerprint of every group of row ids; only groups that differ
 * from the baseline are fetched and compared.
 *
 * A row is in a group's fingerprint with its row id and all its bytes. Equal counts and fingerprints
 * are taken as proof that a group is unchanged: for a change to be missed, two 64-bit values that
 * have nothing to do with each other must be equal. Rows behind the baseline's last row id are a
 * group of their own: if nothing else differs they were appended.
 *
 * Content is stable within the snapshot, row ids are not: another connection's checkpoint may
 * renumber them between two of our statements. So what is fetched must have the counts and
 * fingerprints that the scan gave, else it is scanned and compared again; the baseline is then some
 * state in between, whose difference has been reported, which does no harm. A load has no scan to
 * compare with: it looks whether the last row id and the number of rows are the same before and
 * after. (Renumbering closes gaps. A row that moves does so because rows before it went, and then
 * every row behind it moves as well, the last one too.) */
#include "duckdb/detect.h"

#include <stdlib.h>

#include "duckdb/query.h"
#include "duckdb/table_scan.h"
#include "view/names.h"

enum { DETECT_MAX_ATTEMPTS = 16 };

typedef struct ScannedGroup {
    uint64_t id;
    RowSum sum;
} ScannedGroup;

/* What a scan found. */
typedef struct Scan {
    ScannedGroup *groups; /* up to the baseline's last row id; rising ids; owned */
    size_t count;
    size_t capacity;
    RowSum appended;       /* behind it */
    int64_t last_appended; /* row id */
} Scan;

static Status moved_too_often(const DetectJob *job, Error *err)
{
    char text[256];
    return weir_error_set(err, WEIR_ERR_HOST,
                          "the rows of %s were renumbered again and again while they were read",
                          weir_name_text(job->name, text, sizeof text));
}

/* --- the scan --------------------------------------------------------------------------------- */

static Status write_scan(const DetectJob *job, Buf *sql, Error *err)
{
    Buf table;
    weir_buf_init(&table, job->host->mem, SIZE_MAX);
    weir_name_put_sql(&table, job->name);
    Status status = weir_buf_status(&table, err);
    if (status == WEIR_OK) {
        const PartSpec spec = {
            .group_rows = job->baseline->group_rows,
            .last_row = weir_baseline_last_row_id(job->baseline),
        };
        weir_fingerprint_put_parts_sql(sql, &job->baseline->schema, &spec, table.data);
        status = weir_buf_status(sql, err);
    }
    weir_buf_deinit(&table);
    return status;
}

static void add_sum(RowSum *sum, const RowSum *more)
{
    sum->row_count += more->row_count;
    sum->fingerprint ^= more->fingerprint;
}

static Status add_group(const DetectJob *job, Scan *scan, const ScannedGroup *group, Error *err)
{
    if (scan->count > 0 && scan->groups[scan->count - 1].id == group->id) {
        add_sum(&scan->groups[scan->count - 1].sum, &group->sum);
        return WEIR_OK;
    }
    if (scan->count == scan->capacity) {
        const size_t capacity = WEIR_MAX(2 * scan->capacity, (size_t)64);
        ScannedGroup *groups =
            weir_mem_realloc(job->host->mem, scan->groups, capacity * sizeof *groups, err);
        if (groups == NULL) {
            return err->code;
        }
        scan->groups = groups;
        scan->capacity = capacity;
    }
    scan->groups[scan->count++] = *group;
    return WEIR_OK;
}

static int compare_groups(const void *a, const void *b)
{
    const ScannedGroup *const x = a;
    const ScannedGroup *const y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* One entry a group, by rising id: parts of a group may have come apart. */
static void merge_groups(Scan *scan)
{
    size_t merged = 0;
    if (scan->count > 1) {
        qsort(scan->groups, scan->count, sizeof *scan->groups, compare_groups);
    }
    for (size_t i = 0; i < scan->count; i++) {
        if (merged > 0 && scan->groups[merged - 1].id == scan->groups[i].id) {
            add_sum(&scan->groups[merged - 1].sum, &scan->groups[i].sum);
        } else {
            scan->groups[merged++] = scan->groups[i];
        }
    }
    scan->count = merged;
}

static Status add_part(const DetectJob *job, Scan *scan, const PartSum *part, Error *err)
{
    if (!part->is_new) {
        const ScannedGroup group = {.id = part->group, .sum = part->sum};
        return add_group(job, scan, &group, err);
    }
    const int64_t last = (int64_t)(part->group * job->baseline->group_rows + part->last_place);
    scan->last_appended = WEIR_MAX(scan->last_appended, last);
    add_sum(&scan->appended, &part->sum);
    return WEIR_OK;
}

static Status read_scan(const DetectJob *job, duckdb_result *result, Scan *scan, Error *err)
{
    Status status = WEIR_OK;
    while (status == WEIR_OK) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
        if (chunk == NULL) {
            break;
        }
        const size_t count = duckdb_data_chunk_get_size(chunk);
        for (size_t i = 0; status == WEIR_OK && i < count; i++) {
            const PartSum part =
                weir_fingerprint_read_part(duckdb_data_chunk_get_vector(chunk, 0), i);
            status = add_part(job, scan, &part, err);
        }
        duckdb_destroy_data_chunk(&chunk);
    }
    merge_groups(scan);
    return status;
}

static Status run_scan(const DetectJob *job, Scan *scan, Error *err)
{
    Buf sql;
    weir_buf_init(&sql, job->host->mem, SIZE_MAX);
    Status status = write_scan(job, &sql, err);
    if (status == WEIR_OK) {
        duckdb_result result = {0};
        status = weir_query(job->host->scan, sql.data, WEIR_ERR_HOST, &result, err);
        if (status == WEIR_OK) {
            status = read_scan(job, &result, scan, err);
            duckdb_destroy_result(&result);
        }
    }
    weir_buf_deinit(&sql);
    return status;
}

/* Keeps only the groups that differ from the baseline; a group that is gone has no rows. */
static Status keep_differing(const DetectJob *job, Scan *scan, Error *err)
{
    const ScannedGroup *scanned = scan->groups;
    const ScannedGroup *const scanned_end = scan->count == 0 ? scanned : scanned + scan->count;
    const BaselineGroup *known = job->baseline->groups;
    const BaselineGroup *const known_end =
        job->baseline->group_count == 0 ? known : known + job->baseline->group_count;
    Scan kept = {.appended = scan->appended, .last_appended = scan->last_appended};
    Status status = WEIR_OK;
    while (status == WEIR_OK && (scanned < scanned_end || known < known_end)) {
        const bool is_scanned =
            scanned < scanned_end && (known == known_end || scanned->id <= known->id);
        const bool is_known =
            known < known_end && (scanned == scanned_end || known->id <= scanned->id);
        ScannedGroup group = {0};
        RowSum old = {0};
        bool is_unsummed = false;
        if (is_known) {
            group.id = known->id;
            old = known->sum;
            is_unsummed = known->is_unsummed;
            known++;
        }
        if (is_scanned) {
            group = *scanned;
            scanned++;
        }
        if (is_unsummed || group.sum.row_count != old.row_count ||
            group.sum.fingerprint != old.fingerprint) {
            status = add_group(job, &kept, &group, err);
        }
    }
    weir_mem_free(job->host->mem, scan->groups);
    *scan = kept;
    return status;
}

/* --- fetching --------------------------------------------------------------------------------- */

/* How many of the groups from `first` on are fetched at once: neighbours, or nearly so. */
static size_t count_neighbours(const ScannedGroup *first, size_t count, size_t limit)
{
    size_t run = 1;
    while (run < count && first[run].id - first[run - 1].id <= FETCH_GAP_GROUPS &&
           first[run].id - first->id < limit) {
        run++;
    }
    return run;
}

static Status fetch_differing(const DetectJob *job, Fetcher *fetcher, const Scan *scan,
                              int64_t last_row, bool *is_consistent, Error *err)
{
    RowSum sums[FETCH_MAX_GROUPS];
    const uint32_t group_rows = job->baseline->group_rows;
    size_t done = 0;
    while (done < scan->count) {
        const ScannedGroup *const first = &scan->groups[done];
        const size_t count =
            count_neighbours(first, scan->count - done, weir_fetcher_group_count(fetcher));
        const uint64_t group_count = first[count - 1].id - first->id + 1;
        const int64_t end = (int64_t)((first->id + group_count) * group_rows);
        const FetchRange range = {
            .first_group = first->id,
            .group_count = (size_t)group_count,
            .first_row = (int64_t)(first->id * group_rows),
            .last_row = WEIR_MIN(end - 1, last_row),
            .is_compared = true,
        };
        WEIR_TRY(weir_fetcher_run(fetcher, &range, sums, err));
        for (size_t i = 0; i < count; i++) {
            const RowSum *const sum = &sums[first[i].id - first->id];
            *is_consistent &= sum->row_count == first[i].sum.row_count &&
                              sum->fingerprint == first[i].sum.fingerprint;
        }
        done += count;
    }
    job->report->groups_diffed += scan->count;
    return WEIR_OK;
}

/* Fetches (after, last], all new to the baseline. */
static Status fetch_new(const DetectJob *job, Fetcher *fetcher, int64_t after, int64_t last,
                        RowSum *total, Error *err)
{
    RowSum sums[FETCH_MAX_GROUPS];
    const uint32_t group_rows = job->baseline->group_rows;
    int64_t next = after + 1;
    while (next <= last) {
        const uint64_t first_group = (uint64_t)next / group_rows;
        const uint64_t last_group = (uint64_t)last / group_rows;
        const size_t count = (size_t)WEIR_MIN((uint64_t)weir_fetcher_group_count(fetcher),
                                              last_group - first_group + 1);
        const int64_t end = (int64_t)((first_group + count) * group_rows);
        const FetchRange range = {
            .first_group = first_group,
            .group_count = count,
            .first_row = next,
            .last_row = WEIR_MIN(end - 1, last),
        };
        WEIR_TRY(weir_fetcher_run(fetcher, &range, sums, err));
        for (size_t i = 0; i < count; i++) {
            add_sum(total, &sums[i]);
        }
        next = end;
    }
    return WEIR_OK;
}

/* One round: *is_done if the baseline is then known to be the snapshot. */
static Status sync_once(const DetectJob *job, bool *is_done, Error *err)
{
    Scan scan = {0};
    Fetcher *fetcher = NULL;
    Status status = WEIR_OK;
    const int64_t last_row = weir_baseline_last_row_id(job->baseline);
    WEIR_CHECK(weir_cancel_check(&job->host->cancel, err));
    WEIR_CHECK(run_scan(job, &scan, err));
    WEIR_CHECK(keep_differing(job, &scan, err));
    *is_done = true;
    if (scan.count == 0 && scan.appended.row_count == 0) {
        goto done;
    }
    const SyncMethod method = scan.count > 0 ? SYNC_DIFFED : SYNC_APPENDED;
    job->report->method = WEIR_MAX(job->report->method, method);
    WEIR_CHECK(weir_fetcher_new(job, &fetcher, err));
    WEIR_CHECK(fetch_differing(job, fetcher, &scan, last_row, is_done, err));
    if (scan.appended.row_count > 0) {
        RowSum total = {0};
        WEIR_CHECK(fetch_new(job, fetcher, last_row, scan.last_appended, &total, err));
        *is_done &= total.row_count == scan.appended.row_count &&
                    total.fingerprint == scan.appended.fingerprint;
    }
done:
    weir_fetcher_free(fetcher);
    weir_mem_free(job->host->mem, scan.groups);
    return status;
}

Status weir_detect_sync(const DetectJob *job, Error *err)
{
    for (size_t i = 0; i < DETECT_MAX_ATTEMPTS; i++) {
        bool is_done = false;
        WEIR_TRY(sync_once(job, &is_done, err));
        if (is_done) {
            return WEIR_OK;
        }
    }
    return moved_too_often(job, err);
}

/* --- appending -------------------------------------------------------------------------------- */

/* Compares one old group; what differs is reported. */
static Status sample_group(const DetectJob *job, Fetcher *fetcher, size_t sample, bool *is_same,
                           Error *err)
{
    const Baseline *const baseline = job->baseline;
    const uint32_t group_rows = baseline->group_rows;
    const BaselineGroup *const group = &baseline->groups[sample % baseline->group_count];
    const RowSum known = group->sum;
    const bool is_summed = !group->is_unsummed;
    RowSum found = {0};
    const int64_t first = (int64_t)(group->id * group_rows);
    const FetchRange range = {
        .first_group = group->id,
        .group_count = 1,
        .first_row = first,
        .last_row = WEIR_MIN(first + group_rows - 1, weir_baseline_last_row_id(baseline)),
        .is_compared = true,
    };
    WEIR_TRY(weir_fetcher_run(fetcher, &range, &found, err));
    *is_same = found.row_count == known.row_count &&
               (!is_summed || found.fingerprint == known.fingerprint);
    job->report->method = *is_same ? job->report->method : SYNC_DIFFED;
    return WEIR_OK;
}

Status weir_detect_appended(const DetectJob *job, size_t sample, bool *is_kept, Error *err)
{
    TableExtent extent = {0};
    RowSum added = {0};
    Fetcher *fetcher = NULL;
    const uint64_t known_rows = job->baseline->row_count;
    const int64_t last_row = weir_baseline_last_row_id(job->baseline);
    *is_kept = false;
    WEIR_TRY(weir_cancel_check(&job->host->cancel, err));
    WEIR_TRY(weir_table_extent_behind(job->host, job->name, last_row, &extent, err));
    if (extent.row_count < known_rows) {
        return WEIR_OK;
    }
    WEIR_TRY(weir_fetcher_new(job, &fetcher, err));
    Status status = sample_group(job, fetcher, sample, is_kept, err);
    if (status == WEIR_OK && *is_kept && extent.last_row > last_row) {
        job->report->method = SYNC_APPENDED;
        status = fetch_new(job, fetcher, last_row, extent.last_row, &added, err);
    }
    *is_kept = *is_kept && status == WEIR_OK && known_rows + added.row_count == extent.row_count;
    weir_fetcher_free(fetcher);
    return status;
}

/* --- loading ---------------------------------------------------------------------------------- */

Status weir_detect_load(const DetectJob *job, Error *err)
{
    WEIR_ASSERT(job->baseline->row_count == 0);
    TableExtent before = {0};
    TableExtent after = {0};
    RowSum total = {0};
    Fetcher *fetcher = NULL;
    WEIR_TRY(weir_table_extent(job->host, job->name, &before, err));
    WEIR_TRY(weir_fetcher_new(job, &fetcher, err));
    const Status status = fetch_new(job, fetcher, -1, before.last_row, &total, err);
    weir_fetcher_free(fetcher);
    WEIR_TRY(status);
    WEIR_TRY(weir_table_extent(job->host, job->name, &after, err));
    const bool has_moved = before.last_row != after.last_row || before.row_count != total.row_count;
    return has_moved ? weir_detect_sync(job, err) : WEIR_OK;
}
