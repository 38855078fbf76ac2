/* replacement.c: SELECT ... FROM my_view: a name that is no table becomes dbsp_query('my_view'). */
#include "duckdb/replacement.h"

/* DuckDB passes the last part of a name alone: schema.name cannot be told from another's. */
static void refuse(duckdb_replacement_scan_info info, const char *table_name)
{
    char text[sizeof(Error) + 64];
    Error err = {0};
    weir_error_set(&err, WEIR_ERR_UNKNOWN_VIEW, "several schemas have a view %s", table_name);
    weir_error_hint(&err, "write dbsp_query('schema.%s') instead", table_name);
    weir_error_format(&err, text, sizeof text);
    duckdb_replacement_scan_set_error(info, text);
}

static void replacement_scan(duckdb_replacement_scan_info info, const char *table_name, void *data)
{
    WeirDatabase *const database = data;
    const NameMatch match = weir_engine_look_up(database->engine, table_name);
    if (match == NAME_UNKNOWN) {
        return;
    }
    if (match == NAME_AMBIGUOUS) {
        refuse(info, table_name);
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
