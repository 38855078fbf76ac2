/* told_function.h: rows that a statement tells of while it runs, from inside one of its expressions:
 *
 *   dbsp_internal_told(handle, value, ...)
 *
 * is the value, and whoever listens at the handle hears the arguments of every row for which DuckDB
 * evaluates it. A handle at which nobody listens is an error of the statement, so that a forged one
 * does no harm. */
#ifndef WEIR_DUCKDB_TOLD_FUNCTION_H
#define WEIR_DUCKDB_TOLD_FUNCTION_H

#include "base/buf.h"
#include "duckdb/api.h"
#include "types/type.h"

typedef struct ToldRegistry ToldRegistry;

/* Column 0 of the chunk is the handle. Called from any thread of DuckDB's, one at a time, with a lock
 * held under which only leaf locks may be taken. */
typedef void (*ToldHear)(void *user, duckdb_data_chunk chunk);

/* mem is borrowed. */
Status weir_told_registry_new(Mem *mem, ToldRegistry **out, Error *err) WEIR_MUST_CHECK;
void weir_told_registry_free(ToldRegistry *registry); /* NULL is allowed */

/* Whoever keeps the registry alive. */
typedef struct ToldKeeper {
    void *owner;
    void (*ref)(void *owner);
    duckdb_delete_callback_t unref;
} ToldKeeper;

/* Registers the function, once per database: it has references to the owner until the database is
 * destroyed. */
Status weir_told_function_register(duckdb_connection connection, ToldRegistry *registry,
                                   const ToldKeeper *keeper, Error *err) WEIR_MUST_CHECK;

/* A new handle, at which nobody listens. Any thread, here and below. */
Status weir_told_handle_add(ToldRegistry *registry, uint64_t *handle, Error *err) WEIR_MUST_CHECK;
void weir_told_handle_remove(ToldRegistry *registry, uint64_t handle);

/* From now on user hears what is told; NULL = nobody. */
void weir_told_listen(ToldRegistry *registry, uint64_t handle, ToldHear hear, void *user);

/* Whether a value of the type is passed through. All types are told. */
bool weir_told_passes(const LogicalType *type);

/* Appends "system.main.dbsp_internal_told(handle": the arguments and the bracket are to follow. */
void weir_told_put_call(Buf *buf, uint64_t handle);

#endif
