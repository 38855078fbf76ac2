/* chunk_priv.h: what the files of chunk.h share. */
#ifndef WEIR_DUCKDB_CHUNK_PRIV_H
#define WEIR_DUCKDB_CHUNK_PRIV_H

#include "duckdb/chunk.h"

/* Encodes a nested vector: out is a flat vector of strings in the arena. */
Status weir_nested_read(duckdb_vector from, const LogicalType *type, size_t count, Arena *arena,
                        Vector *out, Error *err) WEIR_MUST_CHECK;

/* Decodes places[i], the encoded value of row i or NULL for a NULL, into a vector of the type. Of a
 * type that is not nested, the encoded value is as inside a nested one. */
Status weir_nested_write(const char *const *places, const LogicalType *type, size_t count,
                         ChunkStrings strings, Arena *scratch, duckdb_vector out, Error *err)
    WEIR_MUST_CHECK;

/* Puts a string into a row of a vector, whose slots are at `slots`. */
static inline void weir_chunk_put_string(duckdb_vector out, String *slots, size_t row,
                                         const char *bytes, size_t size, ChunkStrings strings)
{
    if (size <= STRING_INLINE_BYTES || strings == CHUNK_BORROWS) {
        slots[row] = weir_string_make(bytes, size);
    } else {
        duckdb_vector_assign_string_element_len(out, row, bytes, size);
    }
}

#endif
