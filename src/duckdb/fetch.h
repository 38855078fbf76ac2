/* fetch.h: rows of a followed table from DuckDB into its baseline, a range of row ids at a time.
 *
 * Whatever a fetch changes in the baseline it reports to the visitor, so that at every moment the
 * reported differences add up to the baseline. */
#ifndef WEIR_DUCKDB_FETCH_H
#define WEIR_DUCKDB_FETCH_H

#include "duckdb/baseline.h"
#include "duckdb/host_priv.h"

enum {
    FETCH_MAX_GROUPS = 512,
    FETCH_GAP_GROUPS =
        60, /* groups that are as they were, but cheaper to fetch than to step over */
};

/* What is to be done: the table, and who wants the difference. */
typedef struct DetectJob {
    DuckHost *host;
    const TableName *name;
    Baseline *baseline;
    HostVisit visit; /* NULL = nobody */
    void *user;
    SyncReport *report;
} DetectJob;

/* Working memory of a job. */
typedef struct Fetcher Fetcher;

Status weir_fetcher_new(const DetectJob *job, Fetcher **out, Error *err) WEIR_MUST_CHECK;
void weir_fetcher_free(Fetcher *fetcher); /* NULL is allowed */

/* How many groups fit into one fetch: few if rows are large. */
size_t weir_fetcher_group_count(const Fetcher *fetcher);

/* The range of rows of one fetch, inside its groups. */
typedef struct FetchRange {
    uint64_t first_group;
    size_t group_count; /* <= FETCH_MAX_GROUPS */
    int64_t first_row;
    int64_t last_row; /* included */
    bool is_compared; /* the range begins with its first group, and the baseline's rows are
                         compared, and removed if they are not found; otherwise all rows of the
                         range are new */
} FetchRange;

/* Fetches the range. sums[i] = the rows fetched of group first_group + i. */
Status weir_fetcher_run(Fetcher *fetcher, const FetchRange *range, RowSum *sums, Error *err)
    WEIR_MUST_CHECK;

#endif
