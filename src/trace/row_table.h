/* row_table.h: packed rows unique by their key section: the state of aggregates, DISTINCT, view
 * contents, consolidation and table baselines.
 *
 * = RowStore + HashIndex. What payload, state, weight and link mean is the user's. Lookups run in
 * groups of 32 with prefetch; duplicates inside one call are handled. Keys must be normalised. */
#ifndef WEIR_TRACE_ROW_TABLE_H
#define WEIR_TRACE_ROW_TABLE_H

#include "trace/hash_index.h"
#include "trace/row_store.h"

typedef struct RowTable {
    RowLayout layout; /* owned */
    RowStore store;
    HashIndex index;
    size_t row_count;
    bool has_null_keys; /* there may be a row with a NULL key column */
} RowTable;

Status weir_row_table_init(RowTable *table, Mem *mem, PagePool *pool, const RowLayoutSpec *spec,
                           Error *err) WEIR_MUST_CHECK;
void weir_row_table_deinit(RowTable *table);

/* For each of the count (<= BATCH_CAPACITY) rows: rows[i] = the row of that key, made if it is
 * missing, with weight 0, payload from the columns and zeroed state; is_new[i] (may be NULL) tells.
 * columns: key columns, then payload columns; payload of existing rows is left alone. The hash
 * field of rows belongs to the index: it must stay as it is.
 * On failure the rows already made stay (weight 0): the caller treats its state as broken. */
Status weir_row_table_upsert(RowTable *table, const Vector *const *columns, size_t count,
                             Row **rows, bool *is_new, Error *err) WEIR_MUST_CHECK;

/* rows[i] = the row of that key, or NULL. columns: the key columns only. Cannot fail. */
void weir_row_table_find(RowTable *table, const Vector *const *columns, size_t count, Row **rows);

/* Forgets the row; its memory stays readable until end_step. */
void weir_row_table_remove(RowTable *table, Row *row);

/* Removed rows may be reused; a large table that has become empty gives its memory back. */
void weir_row_table_end_step(RowTable *table);
void weir_row_table_clear(RowTable *table);

/* Announces how many rows the table will have in all, so that its index is built once. */
Status weir_row_table_reserve(RowTable *table, size_t row_count, Error *err) WEIR_MUST_CHECK;
size_t weir_row_table_bytes(const RowTable *table);

/* All rows, up to `capacity` per call, in no order. cursor starts at 0; returns 0 at the end. No
 * row may be added while walking; the current ones may be removed. */
size_t weir_row_table_scan(const RowTable *table, uint64_t *cursor, Row **rows, size_t capacity);

#endif
