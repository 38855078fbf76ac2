/* render.h: values of a DuckDB vector as text, spelled as DuckDB's own CAST(x AS VARCHAR) does.
 *
 * TIMESTAMP WITH TIME ZONE is written in UTC, whatever the session's zone, and every NaN as "nan". */
#ifndef WEIR_TESTS_HARNESS_RENDER_H
#define WEIR_TESTS_HARNESS_RENDER_H

#include "duckdb.h"
#include "text.h"

/* Adds the value of `row`; returns false, and adds nothing, if it is NULL. */
bool render_value(Text *out, duckdb_vector vector, duckdb_logical_type type, idx_t row);

#endif
