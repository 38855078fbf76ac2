/* ext_main.c: the entry point of dbsp.duckdb_extension: runs once for every database that loads it.
 *
 * The only state outside of a database is DuckDB's function table, which is the same for all. */
#include "base/base.h"

#define DUCKDB_EXTENSION_NAME dbsp
#include "duckdb/database.h"

/* DuckDB's macro casts const away. */
#pragma GCC diagnostic ignored "-Wcast-qual"

DUCKDB_EXTENSION_API bool dbsp_init_c_api(duckdb_extension_info info,
                                          struct duckdb_extension_access *access);

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection connection, duckdb_extension_info info,
                            struct duckdb_extension_access *access)
{
    Error err = {0};
    char text[sizeof(Error) + 64];
    WeirDatabase *database = NULL;
    duckdb_database *const handle = access->get_database(info);
    if (handle == NULL ||
        weir_database_attach(*handle, connection, false, &database, &err) != WEIR_OK) {
        weir_error_format(&err, text, sizeof text);
        access->set_error(info, text);
        return false;
    }
    weir_database_unref(database); /* the registered functions hold theirs */
    return true;
}
