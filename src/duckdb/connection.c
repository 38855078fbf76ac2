/* connection.c: the connector.
 *
 * The extension is handed a duckdb_database that dies when LOAD returns, and the stable API has no
 * other way to one. duckdb_connect uses of it only a chain of first words: handle -> DuckDB object
 * -> DatabaseInstance, whose own first word is a weak pointer to itself. So a copy of the handle's
 * two words, the first of which leads to the DatabaseInstance, works as long as the instance lives,
 * without keeping it alive. This is checked before it is believed: the chain must end in itself, and
 * a trial connection must answer. */
#include "duckdb/connection.h"

#include <stdatomic.h>

#include "duckdb/fingerprint.h"
#include "duckdb/query.h"

struct Connector {
    Mem *mem;               /* owned: the connector may outlive the engine */
    BatchRegistry *batches; /* owned */
    atomic_size_t ref_count;
    atomic_bool is_closed;  /* the database is being destroyed */
    duckdb_database handle; /* borrowed, or &words */
    void *words[2];         /* the copy of a handle that dies */
};

static Status copy_handle(Connector *connector, duckdb_database handle, Error *err)
{
    memcpy(connector->words, (const void *)handle, sizeof connector->words);
    void *instance = NULL;
    if (connector->words[0] != NULL) {
        memcpy(&instance, connector->words[0], sizeof instance);
    }
    if (instance == NULL || instance != connector->words[0]) {
        return weir_error_set(
            err, WEIR_ERR_CONNECT,
            "this DuckDB (%s) does not tell its database in a way that Weir knows",
            duckdb_library_version());
    }
    connector->handle = (duckdb_database)(void *)connector->words;
    return WEIR_OK;
}

static Status try_handle(Connector *connector, Error *err)
{
    if (duckdb_vector_size() != VECTOR_CAPACITY) {
        return weir_error_set(err, WEIR_ERR_CONNECT,
                              "this DuckDB works in vectors of %zu rows, Weir in %d",
                              (size_t)duckdb_vector_size(), (int)VECTOR_CAPACITY);
    }
    duckdb_connection connection = NULL;
    WEIR_TRY(weir_connector_connect(connector, &connection, err));
    const Status status = weir_query_run(connection, "SELECT 1", err);
    duckdb_disconnect(&connection);
    return status;
}

Status weir_connector_new(duckdb_database handle, duckdb_connection connection, Connector **out,
                          Error *err)
{
    WEIR_ASSERT(handle != NULL);
    Mem *const mem = weir_mem_new(0);
    Connector *connector = mem == NULL ? NULL : weir_mem_zalloc(mem, sizeof *connector, err);
    if (connector == NULL) {
        if (mem != NULL) {
            weir_mem_free_allocator(mem);
        }
        return weir_error_set(err, WEIR_ERR_NOMEM, "out of memory");
    }
    connector->mem = mem;
    connector->handle = handle;
    atomic_init(&connector->ref_count, 1);
    atomic_init(&connector->is_closed, false);
    Status status = WEIR_OK;
    if (API_IS_EXTENSION) {
        WEIR_CHECK(copy_handle(connector, handle, err));
    }
    WEIR_CHECK(try_handle(connector, err));
    WEIR_CHECK(weir_fingerprint_register(connection, err));
    WEIR_CHECK(weir_batch_registry_new(mem, &connector->batches, err));
    WEIR_CHECK(weir_batch_function_register(
        connection, connector->batches, weir_connector_ref(connector), weir_connector_close, err));
    *out = connector;
done:
    if (status != WEIR_OK) {
        weir_connector_unref(connector);
    }
    return status;
}

Connector *weir_connector_ref(Connector *connector)
{
    atomic_fetch_add(&connector->ref_count, 1);
    return connector;
}

void weir_connector_unref(void *connector)
{
    Connector *const self = connector;
    if (self == NULL || atomic_fetch_sub(&self->ref_count, 1) > 1) {
        return;
    }
    Mem *const mem = self->mem;
    weir_batch_registry_free(self->batches);
    weir_mem_free(mem, self);
    weir_mem_free_allocator(mem);
}

void weir_connector_close(void *connector)
{
    Connector *const self = connector;
    atomic_store(&self->is_closed, true);
    weir_connector_unref(self);
}

BatchRegistry *weir_connector_batches(Connector *connector)
{
    return connector->batches;
}

Status weir_connector_check(Connector *connector, Error *err)
{
    if (atomic_load(&connector->is_closed)) {
        return weir_error_set(err, WEIR_ERR_CLOSED, "the database is closed");
    }
    return WEIR_OK;
}

Status weir_connector_connect(Connector *connector, duckdb_connection *out, Error *err)
{
    WEIR_TRY(weir_connector_check(connector, err));
    if (duckdb_connect(connector->handle, out) != DuckDBSuccess) {
        return weir_error_set(err, WEIR_ERR_CONNECT, "cannot connect to the database");
    }
    return WEIR_OK;
}

/* --- sessions --------------------------------------------------------------------------------- */

/* An empty text is DuckDB's own way to say "the default". */
static Status set_text(Connector *connector, duckdb_connection connection, const char *name,
                       const char *value, Error *err)
{
    if (value == NULL || value[0] == '\0') {
        return WEIR_OK;
    }
    Buf sql;
    weir_buf_init(&sql, connector->mem, SIZE_MAX);
    weir_buf_printf(&sql, "SET %s = ", name);
    weir_buf_put_sql_string(&sql, value, strlen(value));
    Status status = weir_buf_status(&sql, err);
    if (status == WEIR_OK) {
        duckdb_result result = {0};
        status = weir_query(connection, sql.data, WEIR_ERR_SETTING, &result, err);
        if (status == WEIR_OK) {
            duckdb_destroy_result(&result);
        }
    }
    weir_buf_deinit(&sql);
    return status;
}

Status weir_connector_connect_session(Connector *connector, const ViewSettings *settings,
                                      duckdb_connection *out, Error *err)
{
    duckdb_connection connection = NULL;
    Status status = WEIR_OK;
    WEIR_TRY(weir_connector_connect(connector, &connection, err));
    if (settings != NULL) {
        WEIR_CHECK(set_text(connector, connection, "search_path", settings->search_path, err));
        WEIR_CHECK(set_text(connector, connection, "Calendar", settings->calendar, err));
        WEIR_CHECK(set_text(connector, connection, "TimeZone", settings->time_zone, err));
    }
    *out = connection;
done:
    if (status != WEIR_OK) {
        duckdb_disconnect(&connection);
    }
    return status;
}
