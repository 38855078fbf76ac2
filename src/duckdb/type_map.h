/* type_map.h: DuckDB's logical types to ours and back. */
#ifndef WEIR_DUCKDB_TYPE_MAP_H
#define WEIR_DUCKDB_TYPE_MAP_H

#include "duckdb/api.h"
#include "types/type.h"

/* The type, in the arena; type stays the caller's. A user type is the type it stands for. A type
 * that Weir does not have (VARIANT, GEOMETRY, ...): NULL with WEIR_ERR_TYPE. */
const LogicalType *weir_type_from_duckdb(Arena *arena, duckdb_logical_type type, Error *err)
    WEIR_MUST_CHECK;

/* A new type, freed by the caller with duckdb_destroy_logical_type. */
Status weir_type_to_duckdb(const LogicalType *type, duckdb_logical_type *out, Error *err)
    WEIR_MUST_CHECK;

#endif
