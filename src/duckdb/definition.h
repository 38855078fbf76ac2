/* definition.h: what a view's definition depends on besides tables. */
#ifndef WEIR_DUCKDB_DEFINITION_H
#define WEIR_DUCKDB_DEFINITION_H

#include "base/arena.h"
#include "duckdb/api.h"

/* Whether the statement may read DuckDB's own views or call macros, so that its plan may change without
 * its text. `json` is its plan. True too often costs time; false is certain, but for a macro that takes
 * the name of a function of the plan later. */
Status weir_definition_reads_others(duckdb_connection connection, const char *sql, const char *json,
                                    Arena *arena, bool *out, Error *err) WEIR_MUST_CHECK;

#endif
