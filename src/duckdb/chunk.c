/* chunk.c: flat columns; nested ones are in nested_read.c and nested_write.c. */
#include "duckdb/chunk.h"

#include "duckdb/chunk_priv.h"

Status weir_chunk_read_vector(duckdb_vector from, const LogicalType *type, size_t count,
                              Arena *arena, Vector *out, Error *err)
{
    WEIR_ASSERT(count <= VECTOR_CAPACITY);
    if (weir_type_is_nested(type)) {
        return weir_nested_read(from, type, count, arena, out, err);
    }
    *out = (Vector){
        .phys = type->phys,
        .data = duckdb_vector_get_data(from),
        .validity = duckdb_vector_get_validity(from),
    };
    return WEIR_OK;
}

Status weir_chunk_read(duckdb_data_chunk chunk, size_t first, const Schema *schema, Arena *arena,
                       Batch *out, Error *err)
{
    WEIR_ASSERT(first + schema->count <= duckdb_data_chunk_get_column_count(chunk));
    const size_t count = duckdb_data_chunk_get_size(chunk);
    WEIR_VERIFY(count <= BATCH_CAPACITY, err);
    Vector *columns = weir_arena_calloc(arena, schema->count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < schema->count; c++) {
        WEIR_TRY(weir_chunk_read_vector(duckdb_data_chunk_get_vector(chunk, first + c),
                                        schema->types[c], count, arena, &columns[c], err));
    }
    *out = (Batch){.count = count, .column_count = schema->count, .columns = columns};
    return WEIR_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static Status write_validity(const uint64_t *validity, size_t count, duckdb_vector out, Error *err)
{
    duckdb_vector_ensure_validity_writable(out);
    uint64_t *const mask = duckdb_vector_get_validity(out);
    WEIR_VERIFY(mask != NULL, err);
    memcpy(mask, validity, (count + 63) / 64 * sizeof *mask);
    return WEIR_OK;
}

static void write_strings(const Vector *from, size_t count, ChunkStrings strings, duckdb_vector out)
{
    const String *const in = from->data;
    String *const slots = duckdb_vector_get_data(out);
    for (size_t i = 0; i < count; i++) {
        if (weir_validity_get(from->validity, i)) {
            weir_chunk_put_string(out, slots, i, weir_string_data(&in[i]), weir_string_size(&in[i]),
                                  strings);
        } else {
            slots[i] = (String){.words = {0, 0}};
        }
    }
}

static Status write_nested(const Vector *from, const LogicalType *type, size_t count,
                           ChunkStrings strings, Arena *scratch, duckdb_vector out, Error *err)
{
    const String *const in = from->data;
    const char **places = weir_arena_calloc(scratch, count, sizeof *places, err);
    if (places == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        places[i] = weir_validity_get(from->validity, i) ? weir_string_data(&in[i]) : NULL;
    }
    return weir_nested_write(places, type, count, strings, scratch, out, err);
}

static Status write_flat(const Vector *from, const LogicalType *type, size_t count,
                         ChunkStrings strings, Arena *scratch, duckdb_vector out, Error *err)
{
    if (weir_type_is_nested(type)) {
        return write_nested(from, type, count, strings, scratch, out, err);
    }
    if (from->validity != NULL) {
        WEIR_TRY(write_validity(from->validity, count, out, err));
    }
    if (type->phys == PHYS_STRING && (strings == CHUNK_COPIES || from->validity != NULL)) {
        write_strings(from, count, strings, out);
    } else if (count > 0) {
        memcpy(duckdb_vector_get_data(out), from->data, count * weir_phys_width(type->phys));
    }
    return WEIR_OK;
}

Status weir_chunk_write_vector(const Vector *from, const LogicalType *type, size_t count,
                               ChunkStrings strings, Arena *scratch, duckdb_vector out, Error *err)
{
    WEIR_ASSERT(count <= VECTOR_CAPACITY);
    WEIR_ASSERT(from->phys == type->phys);
    const ArenaMark mark = weir_arena_mark(scratch);
    Vector flat = {0};
    Status status = weir_vector_flatten(from, count, scratch, &flat, err);
    if (status == WEIR_OK) {
        status = write_flat(&flat, type, count, strings, scratch, out, err);
    }
    weir_arena_release(scratch, mark);
    return status;
}

Status weir_chunk_write(const Batch *batch, const Schema *schema, ChunkStrings strings,
                        Arena *scratch, duckdb_data_chunk out, Error *err)
{
    WEIR_ASSERT(batch->column_count == schema->count);
    WEIR_ASSERT(duckdb_data_chunk_get_column_count(out) >= schema->count);
    for (size_t c = 0; c < schema->count; c++) {
        WEIR_TRY(weir_chunk_write_vector(&batch->columns[c], schema->types[c], batch->count,
                                         strings, scratch, duckdb_data_chunk_get_vector(out, c),
                                         err));
    }
    duckdb_data_chunk_set_size(out, batch->count);
    return WEIR_OK;
}
