/* nested_write.c: canonical bytes (format: types/nested.h) to a nested vector of DuckDB's.
 *
 * Works by column: the places of all rows' values give the places of all their children's values,
 * which are written by recursion into the child vectors. A NULL has NULL children, as DuckDB wants
 * it. Recursion is bounded by NESTED_MAX_DEPTH, a property of the type. */
#include "base/codec.h"
#include "duckdb/chunk_priv.h"
#include "types/nested.h"

/* Where each value of a column stands, as in weir_nested_write, and how to write them. */
typedef struct WriteJob {
    ChunkStrings strings;
    Arena *scratch;
} WriteJob;

static Status write_column(const WriteJob *job, const char *const *places, const LogicalType *type,
                           size_t count, duckdb_vector out, Error *err);

static Status write_nulls(const char *const *places, size_t count, duckdb_vector out, Error *err)
{
    duckdb_vector_ensure_validity_writable(out);
    uint64_t *const mask = duckdb_vector_get_validity(out);
    WEIR_VERIFY(mask != NULL, err);
    for (size_t i = 0; i < count; i++) {
        const uint64_t bit = UINT64_C(1) << (i % 64);
        mask[i / 64] = places[i] == NULL ? mask[i / 64] & ~bit : mask[i / 64] | bit;
    }
    return WEIR_OK;
}

static void write_simple(const WriteJob *job, const char *const *places, const LogicalType *type,
                         size_t count, duckdb_vector out)
{
    char *const data = duckdb_vector_get_data(out);
    const size_t width = weir_phys_width(type->phys);
    for (size_t i = 0; i < count; i++) {
        if (places[i] == NULL) {
            memset(data + i * width, 0, width);
        } else if (type->phys == PHYS_STRING) {
            weir_chunk_put_string(out, (String *)(void *)data, i, places[i] + sizeof(uint32_t),
                                  weir_load_u32(places[i]), job->strings);
        } else {
            memcpy(data + i * width, places[i], width);
        }
    }
}

/* Takes one element from *from on: its place or NULL, with *from moved behind it. */
static const char *take_element(const LogicalType *type, const char **from)
{
    const bool is_valid = **from != 0;
    const char *const place = *from + 1;
    *from = is_valid ? place + weir_nested_size(type, place) : place;
    return is_valid ? place : NULL;
}

/* The places of the elements of each child, all NULL: [child][element]. NULL if there is no memory. */
static const char ***alloc_places(const WriteJob *job, const LogicalType *type, size_t count,
                                  Error *err)
{
    const char ***places = weir_arena_calloc(job->scratch, type->child_count, sizeof *places, err);
    for (size_t c = 0; places != NULL && c < type->child_count; c++) {
        places[c] = weir_arena_calloc(job->scratch, count, sizeof **places, err);
        if (places[c] == NULL) {
            return NULL;
        }
    }
    return places;
}

static Status write_fields(const WriteJob *job, const char ***places, const LogicalType *type,
                           size_t count, duckdb_vector out, Error *err)
{
    const size_t first = type->id == TYPE_UNION ? 1 : 0;
    for (size_t c = 0; c < type->child_count; c++) {
        WEIR_TRY(write_column(job, places[c], type->children[c], count,
                              duckdb_struct_vector_get_child(out, first + c), err));
    }
    return WEIR_OK;
}

static Status write_struct(const WriteJob *job, const char *const *places, const LogicalType *type,
                           size_t count, duckdb_vector out, Error *err)
{
    const char ***fields = alloc_places(job, type, count, err);
    if (fields == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        const char *from = places[i];
        for (size_t c = 0; from != NULL && c < type->child_count; c++) {
            fields[c][i] = take_element(type->children[c], &from);
        }
    }
    return write_fields(job, fields, type, count, out, err);
}

static Status write_union(const WriteJob *job, const char *const *places, const LogicalType *type,
                          size_t count, duckdb_vector out, Error *err)
{
    const char ***members = alloc_places(job, type, count, err);
    if (members == NULL) {
        return err->code;
    }
    /* The tag is a field like the others: NULL where the union is. */
    const duckdb_vector tags = duckdb_struct_vector_get_child(out, 0);
    WEIR_TRY(write_nulls(places, count, tags, err));
    uint8_t *const tag_data = duckdb_vector_get_data(tags);
    for (size_t i = 0; i < count; i++) {
        tag_data[i] = 0;
        if (places[i] != NULL) {
            const uint8_t tag = (uint8_t)places[i][0];
            WEIR_ASSERT(tag < type->child_count);
            const char *from = places[i] + 1;
            tag_data[i] = tag;
            members[tag][i] = take_element(type->children[tag], &from);
        }
    }
    return write_fields(job, members, type, count, out, err);
}

/* Collects the elements of all rows, in order, and fills the list entries if there are any to fill
 * (entries NULL: an array). Every row has at least stride elements. */
static void collect_elements(const char *const *places, const LogicalType *type, size_t count,
                             size_t stride, const char ***children, duckdb_list_entry *entries)
{
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t length = places[i] == NULL ? 0 : weir_load_u32(places[i]);
        const char *from = places[i] == NULL ? NULL : places[i] + sizeof(uint32_t);
        if (entries != NULL) {
            entries[i] = (duckdb_list_entry){.offset = next, .length = length};
        }
        for (size_t k = 0; k < length; k++) {
            for (size_t c = 0; c < type->child_count; c++) {
                children[c][next + k] = take_element(type->children[c], &from);
            }
        }
        next += WEIR_MAX(length, stride);
    }
}

static Status write_list(const WriteJob *job, const char *const *places, const LogicalType *type,
                         size_t count, duckdb_vector out, Error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += places[i] == NULL ? 0 : weir_load_u32(places[i]);
    }
    const char ***children = alloc_places(job, type, total, err);
    if (children == NULL) {
        return err->code;
    }
    if (duckdb_list_vector_reserve(out, total) == DuckDBError ||
        duckdb_list_vector_set_size(out, total) == DuckDBError) {
        return weir_error_set(err, WEIR_ERR_HOST, "DuckDB has no room for %zu list elements",
                              total);
    }
    collect_elements(places, type, count, 0, children, duckdb_vector_get_data(out));
    const duckdb_vector child = duckdb_list_vector_get_child(out);
    if (type->id == TYPE_MAP) {
        return write_fields(job, children, type, total, child, err);
    }
    return write_column(job, children[0], type->children[0], total, child, err);
}

static Status write_array(const WriteJob *job, const char *const *places, const LogicalType *type,
                          size_t count, duckdb_vector out, Error *err)
{
    const size_t size = (size_t)type->array_size;
    const char ***children = alloc_places(job, type, count * size, err);
    if (children == NULL) {
        return err->code;
    }
    collect_elements(places, type, count, size, children, NULL);
    return write_column(job, children[0], type->children[0], count * size,
                        duckdb_array_vector_get_child(out), err);
}

static Status write_column(const WriteJob *job, const char *const *places, const LogicalType *type,
                           size_t count, duckdb_vector out, Error *err)
{
    WEIR_TRY(write_nulls(places, count, out, err));
    if (!weir_type_is_nested(type)) {
        write_simple(job, places, type, count, out);
        return WEIR_OK;
    }
    switch (type->id) {
    case TYPE_LIST:
    case TYPE_MAP: return write_list(job, places, type, count, out, err);
    case TYPE_ARRAY: return write_array(job, places, type, count, out, err);
    case TYPE_UNION: return write_union(job, places, type, count, out, err);
    default:
        WEIR_ASSERT(type->id == TYPE_STRUCT);
        return write_struct(job, places, type, count, out, err);
    }
}

Status weir_nested_write(const char *const *places, const LogicalType *type, size_t count,
                         ChunkStrings strings, Arena *scratch, duckdb_vector out, Error *err)
{
    const WriteJob job = {.strings = strings, .scratch = scratch};
    return write_column(&job, places, type, count, out, err);
}
