/* baseline.h: what a followed table held at the last sync.
 *
 * The row ids are cut into groups; the rows of a group (followed columns only, byte for byte) are
 * kept by column and replaced together. Single rows that are known to have changed lie over the groups
 * until they are packed again (overlay.h). Row ids only speed up the comparison: DuckDB may renumber
 * them at any checkpoint, and then every row simply seems to have changed. */
#ifndef WEIR_DUCKDB_BASELINE_H
#define WEIR_DUCKDB_BASELINE_H

#include "duckdb/fingerprint.h"
#include "trace/column_block.h"
#include "trace/row_table.h"
#include "view/host.h"

/* DuckDB scans vectors of so many row ids: a group is what it hands out at once. */
enum { BASELINE_GROUP_ROWS = BATCH_CAPACITY, BASELINE_PLACE_WORDS = BASELINE_GROUP_ROWS / 64 };

typedef struct BaselineGroup {
    uint64_t id;       /* row id / group_rows */
    RowSum sum;        /* row_count is never 0 */
    ColumnBlock block; /* by rising row id */
    bool is_unsummed;  /* the sum's fingerprint is not that of the rows */
    uint64_t
        *places; /* owned; bit i: row id % group_rows = i is there; NULL = the first row_count */
} BaselineGroup;

typedef struct Baseline {
    Mem *mem;      /* borrowed */
    Arena arena;   /* the schema */
    Schema schema; /* with names */
    RowStore store;
    bool has_store;
    uint32_t group_rows;
    BaselineGroup *groups; /* owned; rising ids */
    size_t group_count;
    size_t group_capacity;
    uint64_t row_count; /* of the groups */
    size_t block_bytes; /* of the groups, beside the store */
    RowTable overlay;   /* overlay.h: rows by row id that are not as in the groups */
    bool has_overlay;
    int64_t overlay_rows; /* how many more rows there are than in the groups */
} Baseline;

/* Rows of one group by rising place, with the places (row id % group_rows). */
typedef struct PlacedRows {
    const Batch *batch; /* borrowed */
    uint16_t places[BASELINE_GROUP_ROWS];
} PlacedRows;

/* Copies the schema, which has names. */
Status weir_baseline_init(Baseline *baseline, Mem *mem, PagePool *pool, const Schema *schema,
                          uint32_t group_rows, Error *err) WEIR_MUST_CHECK;
void weir_baseline_deinit(Baseline *baseline);

/* NULL if no row of the group is known. Borrowed until the next put. */
const BaselineGroup *weir_baseline_find(const Baseline *baseline, uint64_t id);

/* The group's rows. The batch is borrowed until the reader's next read and the group's next put. */
void weir_baseline_read(const Baseline *baseline, const BaselineGroup *group, ColumnReader *reader,
                        PlacedRows *out);

/* Replaces a group by the rows, or removes it if there are none. On failure the old group stays. */
Status weir_baseline_put(Baseline *baseline, uint64_t id, const PlacedRows *rows, const RowSum *sum,
                         Error *err) WEIR_MUST_CHECK;

/* The fingerprint of the group's sum is not known; the rows have this sum after all. */
void weir_baseline_mark_unsummed(Baseline *baseline, uint64_t id);
void weir_baseline_set_sum(Baseline *baseline, uint64_t id, const RowSum *sum);

/* The largest row id; -1 if there is no row. */
int64_t weir_baseline_last_row_id(const Baseline *baseline);
size_t weir_baseline_bytes(const Baseline *baseline);

/* Calls visit with every row of the groups. */
Status weir_baseline_scan(const Baseline *baseline, HostVisit visit, void *user, Error *err)
    WEIR_MUST_CHECK;

#endif
