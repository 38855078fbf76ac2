/* batch_function.h: batches of ours as relations of DuckDB's: FROM dbsp_internal_batch(handle).
 *
 * A slot has a handle, a schema and, while a statement over it runs, a batch. The columns are named
 * c0, c1, ... (a schema without columns has one that nobody reads). Whoever uses a handle that is
 * not one, or while the slot is empty, gets an error; what is read is copied under a lock, so that a
 * forged handle does no harm. */
#ifndef WEIR_DUCKDB_BATCH_FUNCTION_H
#define WEIR_DUCKDB_BATCH_FUNCTION_H

#include "duckdb/api.h"
#include "types/batch.h"

typedef struct BatchRegistry BatchRegistry;

/* mem is borrowed. */
Status weir_batch_registry_new(Mem *mem, BatchRegistry **out, Error *err) WEIR_MUST_CHECK;
void weir_batch_registry_free(BatchRegistry *registry); /* NULL is allowed */

/* Registers the function, once per database. `owner` keeps the registry alive and is given to
 * destroy when the database is destroyed; also on failure. */
Status weir_batch_function_register(duckdb_connection connection, BatchRegistry *registry,
                                    void *owner, duckdb_delete_callback_t destroy, Error *err)
    WEIR_MUST_CHECK;

/* A new empty slot; the schema is borrowed until it is removed. Any thread, here and below. */
Status weir_batch_slot_add(BatchRegistry *registry, const Schema *schema, uint64_t *handle,
                           Error *err) WEIR_MUST_CHECK;
void weir_batch_slot_remove(BatchRegistry *registry, uint64_t handle);

/* Fills the slot, or empties it (NULL). The batch is borrowed until then. */
void weir_batch_slot_set(BatchRegistry *registry, uint64_t handle, const Batch *batch);

/* Appends "system.main.dbsp_internal_batch(handle)". */
void weir_batch_put_sql(Buf *buf, uint64_t handle);

#endif
