/* chunk.h: DuckDB's data chunks as batches, and batches as data chunks.
 *
 * The layouts are the same, so that flat columns are adopted or copied whole. Nested columns are
 * translated to and from the canonical bytes of types/nested.h. */
#ifndef WEIR_DUCKDB_CHUNK_H
#define WEIR_DUCKDB_CHUNK_H

#include "duckdb/api.h"
#include "types/batch.h"

/* What a written chunk does with strings over 12 bytes. */
typedef enum ChunkStrings {
    CHUNK_COPIES,  /* copied into the chunk */
    CHUNK_BORROWS, /* the chunk points to the batch's bytes, which outlive every use of it */
} ChunkStrings;

/* out = the columns [first, first + schema->count) of a chunk of flat vectors, all weights +1. Flat
 * columns borrow the chunk's memory; nested ones are encoded into the arena. */
Status weir_chunk_read(duckdb_data_chunk chunk, size_t first, const Schema *schema, Arena *arena,
                       Batch *out, Error *err) WEIR_MUST_CHECK;

/* The first `count` rows of one vector. */
Status weir_chunk_read_vector(duckdb_vector from, const LogicalType *type, size_t count,
                              Arena *arena, Vector *out, Error *err) WEIR_MUST_CHECK;

/* Fills the chunk, whose column types are the schema's, with the batch (weights are not looked at)
 * and sets its size. Nothing of scratch is used afterwards. */
Status weir_chunk_write(const Batch *batch, const Schema *schema, ChunkStrings strings,
                        Arena *scratch, duckdb_data_chunk out, Error *err) WEIR_MUST_CHECK;

/* Writes one column to the first `count` rows of a vector of its type. */
Status weir_chunk_write_vector(const Vector *from, const LogicalType *type, size_t count,
                               ChunkStrings strings, Arena *scratch, duckdb_vector out, Error *err)
    WEIR_MUST_CHECK;

#endif
