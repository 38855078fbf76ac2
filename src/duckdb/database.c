/* database.c: attaching Weir to a DuckDB database. */
#include "duckdb/database.h"

#include "duckdb/poller.h"
#include "duckdb/replacement.h"
#include "duckdb/sql_function.h"

WeirDatabase *weir_database_ref(WeirDatabase *database)
{
    atomic_fetch_add(&database->ref_count, 1);
    return database;
}

void weir_database_unref(void *data)
{
    WeirDatabase *const database = data;
    if (database == NULL || atomic_fetch_sub(&database->ref_count, 1) > 1) {
        return;
    }
    Mem *const mem = database->mem;
    weir_poller_free(database->poller);
    weir_engine_free(database->engine);
    weir_told_registry_free(database->told);
    weir_duck_host_free(database->host);
    weir_connector_unref(database->connector);
    weir_mem_free(mem, database);
    weir_mem_free_allocator(mem);
}

static void keep_database(void *database)
{
    (void)weir_database_ref(database);
}

static Status attach(WeirDatabase *database, duckdb_database handle, duckdb_connection connection,
                     bool is_capturing, Error *err)
{
    WEIR_TRY(weir_connector_new(handle, connection, &database->connector, err));
    WEIR_TRY(
        weir_duck_host_new(database->mem, database->connector, is_capturing, &database->host, err));
    const Host host = weir_duck_host_functions(database->host);
    WEIR_TRY(weir_engine_new(database->mem, &host, &database->engine, err));
    weir_duck_host_set_engine(database->host, database->engine);
    WEIR_TRY(weir_poller_new(database, &database->poller, err));
    WEIR_TRY(weir_sql_functions_register(database, connection, err));
    WEIR_TRY(weir_told_registry_new(database->mem, &database->told, err));
    const ToldKeeper keeper = {
        .owner = database, .ref = keep_database, .unref = weir_database_unref};
    WEIR_TRY(weir_told_function_register(connection, database->told, &keeper, err));
    weir_replacement_scan_add(database, handle);
    return WEIR_OK;
}

Status weir_database_attach(duckdb_database handle, duckdb_connection connection, bool is_capturing,
                            WeirDatabase **out, Error *err)
{
    Mem *const mem = weir_mem_new(0);
    WeirDatabase *database = mem == NULL ? NULL : weir_mem_zalloc(mem, sizeof *database, err);
    if (database == NULL) {
        if (mem != NULL) {
            weir_mem_free_allocator(mem);
        }
        return weir_error_set(err, WEIR_ERR_NOMEM, "no memory to attach to the database");
    }
    database->mem = mem;
    atomic_init(&database->ref_count, 1);
    const Status status = attach(database, handle, connection, is_capturing, err);
    if (status != WEIR_OK) {
        weir_database_unref(database);
        return status;
    }
    *out = database;
    return WEIR_OK;
}
