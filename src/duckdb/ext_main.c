/* ext_main.c: the entry point of dbsp.duckdb_extension: runs once for every database that loads it.
 *
 * The only state outside of a database is DuckDB's function table, which is the same for all. It is
 * written once: the poller of one database may be reading it while another one loads the extension. */
#include "base/base.h"

#include <pthread.h>

#include "duckdb/database.h"

DUCKDB_EXTENSION_API DUCKDB_CAPI_ENTRY_VISIBILITY bool dbsp_init_c_api(
    duckdb_extension_info info, struct duckdb_extension_access *access);

duckdb_ext_api_v1 duckdb_ext_api = {0};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_table; /* under the lock */

/* False if DuckDB has no functions of this version; it has said so itself. */
static bool take_table(duckdb_extension_info info, const struct duckdb_extension_access *access)
{
    const duckdb_ext_api_v1 *const table =
        access->get_api(info, DUCKDB_EXTENSION_API_VERSION_STRING);
    if (table == NULL) {
        return false;
    }
    (void)pthread_mutex_lock(&table_lock);
    if (!has_table) {
        duckdb_ext_api = *table;
        has_table = true;
    }
    (void)pthread_mutex_unlock(&table_lock);
    return true;
}

static Status attach(duckdb_database *handle, Error *err)
{
    duckdb_connection connection = NULL;
    WeirDatabase *database = NULL;
    if (handle == NULL || duckdb_connect(*handle, &connection) != DuckDBSuccess) {
        return weir_error_set(err, WEIR_ERR_CONNECT, "cannot connect to the database");
    }
    const Status status = weir_database_attach(*handle, connection, false, &database, err);
    duckdb_disconnect(&connection);
    if (status == WEIR_OK) {
        weir_database_unref(database); /* the registered functions hold theirs */
    }
    return status;
}

bool dbsp_init_c_api(duckdb_extension_info info, struct duckdb_extension_access *access)
{
    Error err = {0};
    char text[sizeof(Error) + 64];
    if (!take_table(info, access)) {
        return false;
    }
    if (attach(access->get_database(info), &err) != WEIR_OK) {
        weir_error_format(&err, text, sizeof text);
        access->set_error(info, text);
        return false;
    }
    return true;
}
