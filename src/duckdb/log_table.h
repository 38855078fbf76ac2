/* log_table.h: a followed table brought on by what the log of its database says.
 *
 * Changes are applied to the baseline and kept for the table's next sync. What cannot be applied makes
 * the table unknown: then the baseline and what was kept still belong together, and a comparison with
 * the table finds the rest. */
#ifndef WEIR_DUCKDB_LOG_TABLE_H
#define WEIR_DUCKDB_LOG_TABLE_H

#include "duckdb/overlay.h"
#include "wal/wal.h"

typedef struct KeptBatch KeptBatch;
typedef struct LoggedUpdate LoggedUpdate;

/* All zero: unknown, and nothing kept. */
typedef struct LogTable {
    Mem *mem;              /* borrowed */
    const TableName *name; /* borrowed */
    Baseline *baseline;    /* borrowed */
    size_t *places; /* owned: which stored column each followed one is; NULL = the rows cannot be
                              taken from the log */
    size_t stored_count; /* stored columns */
    bool is_known;       /* the baseline is the table as of the position */
    WalPosition position;
    bool is_end_known;
    int64_t end; /* the row id that the next row gets */
    Arena kept_arena;
    KeptBatch *kept; /* oldest first */
    KeptBatch **kept_end;
    Arena commit_arena;
    LoggedUpdate *updates; /* of the commit in hand, newest first */
    size_t update_count;
} LogTable;

void weir_log_table_init(LogTable *table, Mem *mem, const TableName *name, Baseline *baseline);
void weir_log_table_deinit(LogTable *table);

/* The baseline is another one: forgets everything about the old one. Takes ownership of places. */
void weir_log_table_restart(LogTable *table, size_t *places, size_t stored_count);

/* A change of the log; those of other tables are passed over. On failure the table must be closed. */
Status weir_log_table_apply(LogTable *table, Wal *wal, const WalChange *change, Error *err)
    WEIR_MUST_CHECK;

/* The commit in hand is complete. */
Status weir_log_table_commit(LogTable *table, Error *err) WEIR_MUST_CHECK;

/* Nothing that the log says of the table is of use. */
void weir_log_table_lose(LogTable *table);

/* Tells the visitor what was kept, and forgets it; if the visitor fails, all of it is told again the
 * next time. *row_count = how many rows. */
Status weir_log_table_drain(LogTable *table, HostVisit visit, void *user, uint64_t *row_count,
                            Error *err) WEIR_MUST_CHECK;

#endif
