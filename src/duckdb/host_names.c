/* host_names.c: completing names and looking them up in the catalog. */
#include "duckdb/host_priv.h"
#include "duckdb/query.h"
#include "view/names.h"

enum { LOOKUP_MAX = 3 };

/* A query over bound texts that gives one row of texts, or none. */
typedef struct Lookup {
    const char *sql;
    const char *bound[LOOKUP_MAX];
    size_t bound_count;
    const char *texts[LOOKUP_MAX]; /* of the first row, in the arena */
    size_t text_count;
    bool is_found;
} Lookup;

static Status run_lookup(Lookup *lookup, duckdb_connection connection, Arena *arena, Error *err)
{
    duckdb_result result = {0};
    WEIR_TRY(weir_query_bound(connection, lookup->sql, lookup->bound, lookup->bound_count,
                              WEIR_ERR_HOST, &result, err));
    Status status = WEIR_OK;
    Rows rows = weir_rows(&result);
    lookup->is_found = weir_rows_next(&rows);
    for (size_t i = 0; lookup->is_found && i < lookup->text_count; i++) {
        lookup->texts[i] = weir_rows_text(&rows, i, arena, err);
        if (lookup->texts[i] == NULL) {
            status = err->code;
            break;
        }
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status;
}

/* --- resolving -------------------------------------------------------------------------------- */

static Lookup default_lookup(void)
{
    return (Lookup){.sql = "SELECT system.main.current_database(), system.main.current_schema()",
                    .text_count = 2};
}

static Lookup schema_lookup(const char *schema)
{
    return (Lookup){
        .sql = "SELECT database_name, schema_name FROM system.main.duckdb_schemas() "
               "WHERE database_name = system.main.current_database() "
               "AND system.main.lower(schema_name) = system.main.lower($1)",
        .bound = {schema},
        .bound_count = 1,
        .text_count = 2,
    };
}

/* name.t is also the main schema of a database of that name. */
static Lookup database_lookup(const char *database)
{
    return (Lookup){
        .sql = "SELECT database_name, 'main' FROM system.main.duckdb_databases() "
               "WHERE NOT internal AND system.main.lower(database_name) = system.main.lower($1)",
        .bound = {database},
        .bound_count = 1,
        .text_count = 2,
    };
}

static Lookup full_lookup(const char *database, const char *schema)
{
    return (Lookup){
        .sql = "SELECT database_name, schema_name FROM system.main.duckdb_schemas() "
               "WHERE system.main.lower(database_name) = system.main.lower($1) "
               "AND system.main.lower(schema_name) = system.main.lower($2)",
        .bound = {database, schema},
        .bound_count = 2,
        .text_count = 2,
    };
}

Status weir_duck_host_resolve_name(void *context, const ViewSettings *settings, const char *name,
                                   Arena *arena, TableName *out, Error *err)
{
    duckdb_connection connection = NULL;
    const char *parts[NAME_MAX_PARTS] = {0};
    size_t count = 0;
    WEIR_TRY(weir_name_split(arena, name, parts, &count, err));
    WEIR_TRY(weir_duck_host_session(context, settings, false, &connection, err));
    Lookup lookup = count == 1   ? default_lookup()
                    : count == 2 ? schema_lookup(parts[0])
                                 : full_lookup(parts[0], parts[1]);
    WEIR_TRY(run_lookup(&lookup, connection, arena, err));
    if (!lookup.is_found && count == 2) {
        lookup = database_lookup(parts[0]);
        WEIR_TRY(run_lookup(&lookup, connection, arena, err));
    }
    if (!lookup.is_found) {
        return weir_error_set(err, WEIR_ERR_ARGUMENT, "there is no schema for the name %s", name);
    }
    *out = (TableName){
        .catalog = lookup.texts[0], .schema = lookup.texts[1], .name = parts[count - 1]};
    return WEIR_OK;
}

Status weir_duck_host_name_exists(void *context, const TableName *name, bool *out, Error *err)
{
    DuckHost *const host = context;
    Lookup lookup = {
        .sql = "SELECT 1 FROM (SELECT database_name, schema_name, table_name FROM "
               "system.main.duckdb_tables() "
               "UNION ALL SELECT database_name, schema_name, view_name FROM "
               "system.main.duckdb_views()) "
               "WHERE system.main.lower(database_name) = system.main.lower($1) "
               "AND system.main.lower(schema_name) = system.main.lower($2) "
               "AND system.main.lower(table_name) = system.main.lower($3)",
        .bound = {name->catalog, name->schema, name->name},
        .bound_count = 3,
    };
    duckdb_connection connection = NULL;
    WEIR_TRY(weir_duck_host_session(host, NULL, false, &connection, err));
    WEIR_TRY(run_lookup(&lookup, connection, &host->arena, err));
    *out = lookup.is_found;
    return WEIR_OK;
}
