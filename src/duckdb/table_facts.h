/* table_facts.h: what following a table depends on in its definition.
 *
 * The facts are the planner's view of SELECT rowid, column, ...: types with their collations and
 * enum values, and the expressions of generated columns. As long as they stay the same, a plan made
 * for the columns stays right, whatever else is altered. That the table may meanwhile have been
 * dropped and made again does not matter: its rows are compared with the baseline, and the result is
 * what the definition gives when it is run again. */
#ifndef WEIR_DUCKDB_TABLE_FACTS_H
#define WEIR_DUCKDB_TABLE_FACTS_H

#include "duckdb/host_priv.h"

/* facts: comparable text, in the arena. A table that is missing, lacks a column, or has no row ids
 * of its own (a view, another database's table, one with a column named rowid): code. */
Status weir_table_facts(DuckHost *host, const TableName *name, const Schema *columns, Status code,
                        Arena *arena, const char **facts, Error *err) WEIR_MUST_CHECK;

/* The columns of a base table that have a type of ours. code: as above. */
Status weir_table_columns(DuckHost *host, const TableName *name, Status code, Arena *arena,
                          Schema *out, Error *err) WEIR_MUST_CHECK;

/* WEIR_ERR_SOURCE_CHANGED if one of the columns is missing or has another type. */
Status weir_table_check_columns(DuckHost *host, const TableName *name, const Schema *columns,
                                Error *err) WEIR_MUST_CHECK;

/* Which stored column each of the columns is (generated ones are not stored), and how many the table
 * stores. *places is the caller's; NULL if one of the columns is not stored. */
Status weir_table_places(DuckHost *host, const TableName *name, const Schema *columns,
                         size_t **places, size_t *stored_count, Error *err) WEIR_MUST_CHECK;

/* The number by which DuckDB knows the table now; -1 if there is no such table. */
Status weir_table_oid(DuckHost *host, const TableName *name, int64_t *oid, Error *err)
    WEIR_MUST_CHECK;

/* err = WEIR_ERR_SOURCE_CHANGED, saying how the table now differs from what was followed, as far as
 * can be found out. Returns the code. */
Status weir_table_explain_change(DuckHost *host, const TableName *name, int64_t oid,
                                 const Schema *followed, Error *err) WEIR_MUST_CHECK;

#endif
