/* nested_read.c: a nested vector of DuckDB's to canonical bytes (format: types/nested.h).
 *
 * The vector's parts are looked up once and kept as a tree; each row is then measured and written by
 * walking the tree. Recursion is bounded by NESTED_MAX_DEPTH, a property of the type. */
#include "base/codec.h"
#include "duckdb/chunk_priv.h"
#include "types/nested.h"

/* A part of a nested vector. LIST and MAP: data are list entries, children the parts of the
 * elements; ARRAY: the element; STRUCT: the fields; UNION: data are the tags, children the members.
 */
typedef struct Part {
    const LogicalType *type;
    const void *data;
    const uint64_t *validity;
    struct Part *children; /* as many as the type has */
} Part;

static Status open_part(Part *part, duckdb_vector vector, const LogicalType *type, Arena *arena,
                        Error *err);

/* The children are fields of a struct vector, from `first` on. */
static Status open_fields(Part *part, duckdb_vector vector, size_t first, Arena *arena, Error *err)
{
    for (size_t c = 0; c < part->type->child_count; c++) {
        WEIR_TRY(open_part(&part->children[c], duckdb_struct_vector_get_child(vector, first + c),
                           part->type->children[c], arena, err));
    }
    return WEIR_OK;
}

static Status open_part(Part *part, duckdb_vector vector, const LogicalType *type, Arena *arena,
                        Error *err)
{
    *part = (Part){
        .type = type,
        .data = duckdb_vector_get_data(vector),
        .validity = duckdb_vector_get_validity(vector),
    };
    if (!weir_type_is_nested(type)) {
        return WEIR_OK;
    }
    part->children = weir_arena_calloc(arena, type->child_count, sizeof *part->children, err);
    if (part->children == NULL) {
        return err->code;
    }
    switch (type->id) {
    case TYPE_LIST:
        return open_part(&part->children[0], duckdb_list_vector_get_child(vector),
                         type->children[0], arena, err);
    case TYPE_ARRAY:
        return open_part(&part->children[0], duckdb_array_vector_get_child(vector),
                         type->children[0], arena, err);
    case TYPE_MAP: return open_fields(part, duckdb_list_vector_get_child(vector), 0, arena, err);
    case TYPE_UNION:
        part->data = duckdb_vector_get_data(duckdb_struct_vector_get_child(vector, 0));
        return open_fields(part, vector, 1, arena, err);
    default: WEIR_ASSERT(type->id == TYPE_STRUCT); return open_fields(part, vector, 0, arena, err);
    }
}

/* The rows of the children that make up a row. */
typedef struct RowRange {
    size_t first;
    size_t count;
} RowRange;

static RowRange child_rows(const Part *part, size_t row)
{
    if (part->type->id == TYPE_ARRAY) {
        const size_t size = (size_t)part->type->array_size;
        return (RowRange){.first = row * size, .count = size};
    }
    if (part->type->id == TYPE_STRUCT) {
        return (RowRange){.first = row, .count = 1};
    }
    const duckdb_list_entry *const entries = part->data;
    return (RowRange){.first = entries[row].offset, .count = entries[row].length};
}

/* --- measuring -------------------------------------------------------------------------------- */

static size_t value_size(const Part *part, size_t row);

static size_t element_size(const Part *part, size_t row)
{
    return 1 + (weir_validity_get(part->validity, row) ? value_size(part, row) : 0);
}

static size_t value_size(const Part *part, size_t row)
{
    const LogicalType *const type = part->type;
    if (!weir_type_is_nested(type)) {
        return type->phys == PHYS_STRING
                   ? sizeof(uint32_t) + weir_string_size(&((const String *)part->data)[row])
                   : weir_phys_width(type->phys);
    }
    if (type->id == TYPE_UNION) {
        const uint8_t tag = ((const uint8_t *)part->data)[row];
        WEIR_ASSERT(tag < type->child_count);
        return 1 + element_size(&part->children[tag], row);
    }
    const RowRange rows = child_rows(part, row);
    size_t size = type->id == TYPE_STRUCT ? 0 : sizeof(uint32_t);
    for (size_t i = rows.first; i < rows.first + rows.count; i++) {
        for (size_t c = 0; c < type->child_count; c++) {
            size += element_size(&part->children[c], i);
        }
    }
    return size;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* All return the place behind what they wrote. */
static char *put_value(const Part *part, size_t row, char *out);

static char *put_element(const Part *part, size_t row, char *out)
{
    const bool is_valid = weir_validity_get(part->validity, row);
    *out++ = is_valid ? 1 : 0;
    return is_valid ? put_value(part, row, out) : out;
}

static char *put_simple(const Part *part, size_t row, char *out)
{
    if (part->type->phys == PHYS_STRING) {
        const String *const string = &((const String *)part->data)[row];
        const size_t size = weir_string_size(string);
        weir_store_u32(out, (uint32_t)size);
        memcpy(out + sizeof(uint32_t), weir_string_data(string), size);
        return out + sizeof(uint32_t) + size;
    }
    const size_t width = weir_phys_width(part->type->phys);
    memcpy(out, (const char *)part->data + row * width, width);
    return out + width;
}

static char *put_value(const Part *part, size_t row, char *out)
{
    const LogicalType *const type = part->type;
    if (!weir_type_is_nested(type)) {
        return put_simple(part, row, out);
    }
    if (type->id == TYPE_UNION) {
        const uint8_t tag = ((const uint8_t *)part->data)[row];
        *out++ = (char)tag;
        return put_element(&part->children[tag], row, out);
    }
    const RowRange rows = child_rows(part, row);
    if (type->id != TYPE_STRUCT) {
        weir_store_u32(out, (uint32_t)rows.count);
        out += sizeof(uint32_t);
    }
    for (size_t i = rows.first; i < rows.first + rows.count; i++) {
        for (size_t c = 0; c < type->child_count; c++) {
            out = put_element(&part->children[c], i, out);
        }
    }
    return out;
}

static Status encode_row(const Part *part, size_t row, Arena *arena, String *out, Error *err)
{
    const size_t size = value_size(part, row);
    if (size > UINT32_MAX) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "a nested value of %zu bytes is too large",
                              size);
    }
    char inlined[STRING_INLINE_BYTES];
    char *const bytes = size <= sizeof inlined ? inlined : weir_arena_alloc(arena, size, err);
    if (bytes == NULL) {
        return err->code;
    }
    const char *const end = put_value(part, row, bytes);
    WEIR_ASSERT(end == bytes + size);
    WEIR_UNUSED(end);
    *out = weir_string_make(bytes, size);
    return WEIR_OK;
}

Status weir_nested_read(duckdb_vector from, const LogicalType *type, size_t count, Arena *arena,
                        Vector *out, Error *err)
{
    WEIR_ASSERT(weir_type_is_nested(type));
    Part root = {0};
    WEIR_TRY(open_part(&root, from, type, arena, err));
    String *slots = weir_arena_calloc(arena, count, sizeof *slots, err);
    if (slots == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        if (weir_validity_get(root.validity, i)) {
            WEIR_TRY(encode_row(&root, i, arena, &slots[i], err));
        }
    }
    *out = (Vector){
        .phys = PHYS_STRING,
        .data = slots,
        .validity = duckdb_vector_get_validity(from),
    };
    return WEIR_OK;
}
