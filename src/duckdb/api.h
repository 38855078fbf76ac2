/* api.h: DuckDB's stable C API, from libduckdb or from the function table of an extension.
 *
 * The only file that includes DuckDB's headers. Only functions of the stable API v1.2.0 are used:
 * the build for the extension sees no others. */
#ifndef WEIR_DUCKDB_API_H
#define WEIR_DUCKDB_API_H

#ifdef WEIR_DUCKDB_EXTENSION
#include "duckdb_extension.h"
DUCKDB_EXTENSION_EXTERN
enum { API_IS_EXTENSION = 1 };
#else
#include "duckdb.h"
enum { API_IS_EXTENSION = 0 };
#endif

#endif
