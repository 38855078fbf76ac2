/* baseline.h: what a followed table held at the last sync.
 *
 * The rows (followed columns only, packed as they are, not normalised) stand in a row store. They
 * are found by row id: the row ids are cut into groups, and a group has an array of references by
 * place in the group. Row ids only speed up the comparison: DuckDB may renumber them at any
 * checkpoint, and then every row simply seems to have changed. */
#ifndef WEIR_DUCKDB_BASELINE_H
#define WEIR_DUCKDB_BASELINE_H

#include "duckdb/fingerprint.h"
#include "trace/row_store.h"
#include "view/host.h"

/* DuckDB's own row groups have this size, so that a group is what a scan by row ids can skip. */
enum { BASELINE_GROUP_ROWS = 122880 };

typedef struct BaselineGroup {
    uint64_t id;      /* row id / group_rows */
    RowSum sum;       /* row_count is never 0 */
    uint32_t span;    /* the last place with a row, plus 1 */
    RowRef *refs;     /* owned; dense: span entries by place, 0 = no row; sparse: row_count */
    uint32_t *places; /* owned; sparse: the places of refs, rising; NULL = dense */
} BaselineGroup;

typedef struct Baseline {
    Mem *mem;         /* borrowed */
    Arena arena;      /* the schema */
    Schema schema;    /* with names */
    RowLayout layout; /* payload only */
    RowStore store;
    bool has_store;
    uint32_t group_rows;
    BaselineGroup *groups; /* owned; rising ids */
    size_t group_count;
    size_t group_capacity;
    uint64_t row_count;
    size_t ref_bytes; /* of the groups' arrays */
} Baseline;

/* The one reference of every row of a schema without columns: such rows are only counted. */
enum { BASELINE_EMPTY_ROW = 1 };

/* Copies the schema, which has names. */
Status weir_baseline_init(Baseline *baseline, Mem *mem, PagePool *pool, const Schema *schema,
                          uint32_t group_rows, Error *err) WEIR_MUST_CHECK;
void weir_baseline_deinit(Baseline *baseline);

/* NULL if no row of the group is known. Borrowed until the next put. */
const BaselineGroup *weir_baseline_find(const Baseline *baseline, uint64_t id);

/* refs[place] = the reference or 0, for the first place_count places, which are all that the group
 * has rows in; group may be NULL. */
void weir_baseline_load(const BaselineGroup *group, RowRef *refs, size_t place_count);

/* Replaces a group by the rows in refs, or removes it if there are none. The rows themselves are
 * the caller's business. On failure the old group stays. */
Status weir_baseline_put(Baseline *baseline, uint64_t id, const RowRef *refs, size_t place_count,
                         const RowSum *sum, Error *err) WEIR_MUST_CHECK;

/* The largest row id; -1 if there is no row. */
int64_t weir_baseline_last_row_id(const Baseline *baseline);
size_t weir_baseline_bytes(const Baseline *baseline);

/* Buffers in which rows become batches. */
typedef struct RowReader {
    Batch batch; /* of up to BATCH_CAPACITY rows */
    Row **rows;
    uint64_t *validity;
} RowReader;

/* weight: of every row of the batches. */
Status weir_row_reader_init(RowReader *reader, const Baseline *baseline, int64_t weight,
                            Arena *arena, Error *err) WEIR_MUST_CHECK;

/* The rows as a batch, which is borrowed until the next read and points into the rows. */
const Batch *weir_row_reader_read(RowReader *reader, const Baseline *baseline, const RowRef *refs,
                                  size_t count);

/* Calls visit with every row. */
Status weir_baseline_scan(const Baseline *baseline, HostVisit visit, void *user, Error *err)
    WEIR_MUST_CHECK;

#endif
