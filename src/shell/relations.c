/* relations.c: queries of DuckDB's catalog and of dbsp_views(), as any client could ask them.
 *
 * The table in which Weir keeps definitions is not among what they give. */
#include "shell/relations.h"

/* The name in the column given, and what is needed before it to find it from here. */
static void put_name(Text *sql, const char *catalog, const char *schema, const char *name)
{
    weir_text_printf(sql,
                     "CASE WHEN %s = 'temp' THEN '' "
                     "WHEN %s <> system.main.current_database() THEN %s || '.' || %s || '.' "
                     "WHEN %s <> system.main.current_schema() THEN %s || '.' ELSE '' END || %s",
                     catalog, catalog, catalog, schema, schema, schema, name);
}

/* The statement in the column sql, bare. */
static void put_sql(Text *sql)
{
    weir_text_puts(sql, "system.main.trim(sql, E'; \\n\\r\\t')");
}

void weir_relations_put_view_name(Text *sql)
{
    put_name(sql, "catalog", "schema", "view");
}

void weir_relations_put_view_sql(Text *sql)
{
    put_sql(sql);
}

/* The name in that column, quoted if it must be. */
static void put_quoted(Text *sql, const char *name)
{
    weir_text_printf(
        sql,
        "CASE WHEN system.main.regexp_full_match(%s, '[a-z_][a-z0-9_]*') AND %s NOT IN ("
        "SELECT keyword_name FROM system.main.duckdb_keywords() "
        "WHERE keyword_category = 'reserved') "
        "THEN %s ELSE '\"' || system.main.replace(%s, '\"', '\"\"') || '\"' END",
        name, name, name, name);
}

/* The name of a view as DuckDB writes those of tables: with its schema, if that is not main. */
static void put_created_view(Text *sql)
{
    weir_text_puts(sql, "CASE WHEN schema = 'main' THEN '' ELSE ");
    put_quoted(sql, "schema");
    weir_text_puts(sql, " || '.' END || ");
    put_quoted(sql, "view");
}

void weir_relations_put(Text *sql)
{
    weir_text_puts(sql, "(SELECT ");
    put_name(sql, "database_name", "schema_name", "table_name");
    weir_text_puts(sql, " AS name, 1 AS kind, table_oid AS place, ");
    put_sql(sql);
    weir_text_puts(sql, " AS sql FROM system.main.duckdb_tables() WHERE NOT internal "
                        "AND table_name <> '_dbsp_views' UNION ALL SELECT ");
    put_name(sql, "database_name", "schema_name", "view_name");
    weir_text_puts(sql, ", 2, view_oid, ");
    put_sql(sql);
    weir_text_puts(sql, " FROM system.main.duckdb_views() WHERE NOT internal UNION ALL SELECT ");
    weir_relations_put_view_name(sql);
    weir_text_puts(sql, ", 3, system.main.row_number() OVER (), 'CREATE MATERIALIZED VIEW ' || ");
    put_created_view(sql);
    weir_text_puts(sql, " || ' AS ' || ");
    put_sql(sql);
    weir_text_puts(sql,
                   " FROM system.main.dbsp_views() UNION ALL SELECT index_name, 4, index_oid, ");
    put_sql(sql);
    weir_text_puts(sql, " FROM system.main.duckdb_indexes() WHERE sql IS NOT NULL) AS relations");
}
