/* replacement.c: SELECT ... FROM my_view: a name that is no table becomes dbsp_query('my_view'). */
#include "duckdb/replacement.h"

#include "view/names.h"

static void refuse(duckdb_replacement_scan_info info, const Error *err)
{
    char text[sizeof(Error) + 64];
    weir_error_format(err, text, sizeof text);
    duckdb_replacement_scan_set_error(info, text);
}

/* DuckDB passes the last part of a name alone: schema.name cannot be told from another's. */
static void refuse_ambiguous(duckdb_replacement_scan_info info, const char *table_name)
{
    Error err = {0};
    weir_error_set(&err, WEIR_ERR_UNKNOWN_VIEW, "several schemas have a view %s", table_name);
    weir_error_hint(&err, "write dbsp_query('schema.%s') instead", table_name);
    refuse(info, &err);
}

static void replace_found(duckdb_replacement_scan_info info, const char *name)
{
    duckdb_value value = duckdb_create_varchar(name);
    duckdb_replacement_scan_set_function_name(info, "dbsp_query");
    duckdb_replacement_scan_add_parameter(info, value);
    duckdb_destroy_value(&value);
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
    Error err = {0};
    if (weir_buf_status(&quoted, &err) != WEIR_OK) {
        refuse(info, &err); /* whether there is such a view is not known */
    } else {
        switch (weir_engine_look_up(database->engine, quoted.data)) {
        case NAME_UNKNOWN: break;
        case NAME_FOUND: replace_found(info, quoted.data); break;
        case NAME_AMBIGUOUS: refuse_ambiguous(info, part); break;
        }
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
