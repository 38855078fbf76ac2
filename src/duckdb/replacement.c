/* replacement.c: SELECT ... FROM my_view: a name that is no table becomes dbsp_query('my_view'). */
#include "duckdb/replacement.h"

static void replacement_scan(duckdb_replacement_scan_info info, const char *table_name, void *data)
{
    WeirDatabase *const database = data;
    if (!weir_engine_has_view(database->engine, table_name)) {
        return;
    }
    duckdb_value name = duckdb_create_varchar(table_name);
    duckdb_replacement_scan_set_function_name(info, "dbsp_query");
    duckdb_replacement_scan_add_parameter(info, name);
    duckdb_destroy_value(&name);
}

void weir_replacement_scan_add(WeirDatabase *database, duckdb_database handle)
{
    duckdb_add_replacement_scan(handle, replacement_scan, weir_database_ref(database),
                                weir_database_unref);
}
