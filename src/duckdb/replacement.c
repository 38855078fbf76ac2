/* replacement.c: SELECT ... FROM my_view: a name that is no table becomes dbsp_query('my_view'). */
#include "duckdb/replacement.h"

#include "view/names.h"

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

/* The name is one part, whatever is in it. */
static void replace(WeirDatabase *database, duckdb_replacement_scan_info info, const char *part)
{
    Buf quoted;
    weir_buf_init(&quoted, database->mem, (size_t)1 << 16);
    if (weir_name_part_is_plain(part)) {
        weir_buf_puts(&quoted, part);
    } else {
        weir_buf_put_sql_name(&quoted, part);
    }
    const NameMatch match = quoted.status == WEIR_OK
                                ? weir_engine_look_up(database->engine, quoted.data)
                                : NAME_UNKNOWN;
    if (match == NAME_AMBIGUOUS) {
        refuse(info, part);
    } else if (match == NAME_FOUND) {
        duckdb_value name = duckdb_create_varchar(quoted.data);
        duckdb_replacement_scan_set_function_name(info, "dbsp_query");
        duckdb_replacement_scan_add_parameter(info, name);
        duckdb_destroy_value(&name);
    }
    weir_buf_deinit(&quoted);
}

static void replacement_scan(duckdb_replacement_scan_info info, const char *table_name, void *data)
{
    replace(data, info, table_name);
}

void weir_replacement_scan_add(WeirDatabase *database, duckdb_database handle)
{
    duckdb_add_replacement_scan(handle, replacement_scan, weir_database_ref(database),
                                weir_database_unref);
}
