/* chunk.c: chunks and vectors as DuckDB serialises them.
 *
 *   chunk   { 100 rows, 101 list of types, 102 list of vectors }
 *   vector  { [90 encoding], values }        90 occurs if the storage version is 1.3 or later
 *     CONSTANT    as a flat vector of one value
 *     DICTIONARY  91 blob of a u32 a row, 92 number of values, then those as a flat vector
 *     SEQUENCE    91 start, 92 increment, and no values
 *   values  100 has NULLs, [101 blob: bitmap of 64-bit words], then
 *     fixed width 102 blob     string 102 list of strings     STRUCT 103 list of vectors
 *     LIST   104 size of the child, 105 list of { 100 offset, 101 length }, 106 vector
 *     ARRAY  103 array size, 104 vector */
#include "wal/chunk.h"

#include "types/nested.h"

enum {
    NESTED_BYTES_FREE = 16 << 20, /* nested values of a chunk may always take this much, */
    NESTED_BYTES_FACTOR = 32,     /* and this for each byte of the entry */
    LIST_ENTRY_BYTES_MIN = 8,
};

static Status take_part(Cursor *c, Part *part, size_t count, Arena *arena, Error *err);

static PartLayout layout_of(const LogicalType *type)
{
    switch (type->id) {
    case TYPE_LIST:
    case TYPE_MAP: return PART_LIST;
    case TYPE_ARRAY: return PART_ARRAY;
    case TYPE_STRUCT:
    case TYPE_UNION: return PART_STRUCT;
    default: return type->phys == PHYS_STRING ? PART_STRING : PART_FIXED;
    }
}

static Part part_of(const LogicalType *type)
{
    const PartLayout layout = layout_of(type);
    return (Part){
        .type = type,
        .layout = layout,
        .width = layout == PART_FIXED ? weir_phys_width(type->phys) : 0,
    };
}

/* Enum values are used as places in a table. */
static void check_enum(Cursor *c, const Part *part)
{
    for (size_t i = 0; i < part->stored; i++) {
        uint32_t code = 0;
        memcpy(&code, part->data + i * part->width, part->width);
        if (weir_part_has_value(part, i) && code >= part->type->name_count) {
            weir_cursor_fail(c, "an ENUM has no such value");
            return;
        }
    }
}

static void take_fixed(Cursor *c, Part *part)
{
    weir_cursor_expect(c, 102);
    size_t size = 0;
    part->data = weir_cursor_blob(c, &size);
    if (size % part->width != 0 || size / part->width != part->stored) {
        weir_cursor_fail(c, "a vector has not as many values as rows");
    } else if (part->type->id == TYPE_ENUM) {
        check_enum(c, part);
    }
}

/* The fewest bytes of a value of the type that others may read without looking. */
static size_t string_bytes_min(const LogicalType *type)
{
    if (type->id == TYPE_BIT) {
        return 2;
    }
    return type->id == TYPE_BIGNUM ? 4 : 0;
}

static Status take_strings(Cursor *c, Part *part, Arena *arena, Error *err)
{
    weir_cursor_expect(c, 102);
    if (weir_cursor_count(c, 1) != part->stored) {
        weir_cursor_fail(c, "a vector has not as many values as rows");
        return WEIR_OK;
    }
    String *const strings = weir_arena_calloc(arena, part->stored, sizeof *strings, err);
    if (strings == NULL) {
        return err->code;
    }
    const size_t least = string_bytes_min(part->type);
    for (size_t i = 0; i < part->stored && c->fault == NULL; i++) {
        size_t size = 0;
        const uint8_t *const bytes = weir_cursor_blob(c, &size);
        const bool is_valid = weir_part_has_value(part, i);
        if (size > UINT32_MAX || (is_valid && size < least)) {
            weir_cursor_fail(c, "a string's size is impossible");
        } else if (is_valid && bytes != NULL) {
            strings[i] = weir_string_make((const char *)bytes, size);
        }
    }
    part->strings = strings;
    return WEIR_OK;
}

/* A vector as an element of a list or the value of a property. */
static Status take_child(Cursor *c, Part *child, size_t count, Arena *arena, Error *err)
{
    WEIR_TRY(take_part(c, child, count, arena, err));
    weir_cursor_expect(c, WAL_OBJECT_END);
    return WEIR_OK;
}

static Status add_children(Part *part, size_t count, Arena *arena, Error *err)
{
    part->children = weir_arena_calloc(arena, count, sizeof *part->children, err);
    part->child_count = count;
    return part->children == NULL ? err->code : WEIR_OK;
}

static Status take_struct(Cursor *c, Part *part, Arena *arena, Error *err)
{
    const LogicalType *const type = part->type;
    const size_t first = type->id == TYPE_UNION ? 1 : 0; /* the tag comes first */
    weir_cursor_expect(c, 103);
    if (weir_cursor_count(c, 2) != type->child_count + first) {
        weir_cursor_fail(c, "a STRUCT has not as many vectors as fields");
        return WEIR_OK;
    }
    WEIR_TRY(add_children(part, type->child_count + first, arena, err));
    for (size_t i = 0; i < part->child_count && c->fault == NULL; i++) {
        part->children[i] =
            part_of(i < first ? weir_type_simple(TYPE_UTINYINT) : type->children[i - first]);
        WEIR_TRY(take_child(c, &part->children[i], part->stored, arena, err));
    }
    return WEIR_OK;
}

static Status take_entries(Cursor *c, Part *part, uint64_t size, Arena *arena, Error *err)
{
    weir_cursor_expect(c, 105);
    if (weir_cursor_count(c, LIST_ENTRY_BYTES_MIN) != part->stored) {
        weir_cursor_fail(c, "a vector has not as many values as rows");
        return WEIR_OK;
    }
    ListEntry *const entries = weir_arena_calloc(arena, part->stored, sizeof *entries, err);
    if (entries == NULL) {
        return err->code;
    }
    part->entries = entries;
    for (size_t i = 0; i < part->stored && c->fault == NULL; i++) {
        weir_cursor_expect(c, 100);
        entries[i].offset = weir_cursor_u64(c);
        weir_cursor_expect(c, 101);
        entries[i].length = weir_cursor_u64(c);
        weir_cursor_expect(c, WAL_OBJECT_END);
        if (entries[i].offset > size || entries[i].length > size - entries[i].offset) {
            weir_cursor_fail(c, "a list reaches beyond its elements");
        }
    }
    return WEIR_OK;
}

static Status take_list(Cursor *c, Part *part, Arena *arena, Error *err)
{
    weir_cursor_expect(c, 104);
    const uint64_t size = weir_cursor_u64(c);
    WEIR_TRY(take_entries(c, part, size, arena, err));
    weir_cursor_expect(c, 106);
    WEIR_TRY(add_children(part, 1, arena, err));
    if (part->type->id == TYPE_MAP) {
        part->children[0] = (Part){.type = part->type, .layout = PART_STRUCT};
    } else {
        part->children[0] = part_of(part->type->children[0]);
    }
    return take_child(c, &part->children[0], (size_t)size, arena, err);
}

static Status take_array(Cursor *c, Part *part, Arena *arena, Error *err)
{
    weir_cursor_expect(c, 103);
    const uint64_t size = weir_cursor_u64(c);
    size_t count = 0;
    if (size != part->type->array_size || __builtin_mul_overflow(part->stored, size, &count)) {
        weir_cursor_fail(c, "an ARRAY has another size than its type");
        return WEIR_OK;
    }
    weir_cursor_expect(c, 104);
    WEIR_TRY(add_children(part, 1, arena, err));
    part->children[0] = part_of(part->type->children[0]);
    return take_child(c, &part->children[0], count, arena, err);
}

static void take_validity(Cursor *c, Part *part)
{
    weir_cursor_expect(c, 100);
    if (!weir_cursor_bool(c)) {
        return;
    }
    weir_cursor_expect(c, 101);
    size_t size = 0;
    part->validity = weir_cursor_blob(c, &size);
    const size_t words = part->stored / 64 + (part->stored % 64 == 0 ? 0 : 1);
    if (size % sizeof(uint64_t) != 0 || size / sizeof(uint64_t) != words) {
        weir_cursor_fail(c, "a vector's NULLs are not those of its rows");
    }
}

static void take_selection(Cursor *c, Part *part)
{
    weir_cursor_expect(c, 91);
    size_t size = 0;
    part->selection = weir_cursor_blob(c, &size);
    weir_cursor_expect(c, 92);
    part->stored = (size_t)weir_cursor_u64(c);
    if (size % sizeof(uint32_t) != 0 || size / sizeof(uint32_t) != part->count ||
        part->stored > part->count) {
        weir_cursor_fail(c, "a dictionary does not fit its rows");
        return;
    }
    for (size_t i = 0; i < part->count; i++) {
        if (weir_part_place(part, i) >= part->stored) {
            weir_cursor_fail(c, "a dictionary has no such value");
            return;
        }
    }
}

static void take_sequence(Cursor *c, Part *part)
{
    weir_cursor_expect(c, 91);
    part->start = (uint64_t)weir_cursor_i64(c);
    weir_cursor_expect(c, 92);
    part->increment = (uint64_t)weir_cursor_i64(c);
    part->stored = 0;
    if (part->layout != PART_FIXED || part->type->phys > PHYS_I64 || part->width > 8) {
        weir_cursor_fail(c, "a sequence is not of integers");
    }
}

/* Takes the properties of a vector, up to the object's end. */
static Status take_part(Cursor *c, Part *part, size_t count, Arena *arena, Error *err)
{
    part->count = count;
    part->stored = count;
    const uint64_t encoding = weir_cursor_has(c, 90) ? weir_cursor_u64(c) : PART_FLAT;
    switch (encoding) {
    case PART_FLAT: part->encoding = PART_FLAT; break;
    case PART_CONSTANT:
        part->encoding = PART_CONSTANT;
        part->stored = 1;
        break;
    case PART_DICTIONARY:
        part->encoding = PART_DICTIONARY;
        take_selection(c, part);
        break;
    case PART_SEQUENCE:
        part->encoding = PART_SEQUENCE;
        take_sequence(c, part);
        return WEIR_OK;
    default: weir_cursor_fail(c, "a vector has an encoding that is not known");
    }
    take_validity(c, part);
    if (c->fault != NULL) {
        return WEIR_OK;
    }
    switch (part->layout) {
    case PART_FIXED: take_fixed(c, part); return WEIR_OK;
    case PART_STRING: return take_strings(c, part, arena, err);
    case PART_STRUCT: return take_struct(c, part, arena, err);
    case PART_LIST: return take_list(c, part, arena, err);
    case PART_ARRAY: return take_array(c, part, arena, err);
    }
    return WEIR_OK;
}

static Status take_types(Cursor *c, Chunk *out, Arena *arena, Error *err)
{
    weir_cursor_expect(c, 101);
    out->column_count = weir_cursor_count(c, 4);
    out->types = weir_arena_calloc(arena, out->column_count, sizeof(const LogicalType *), err);
    if (out->types == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < out->column_count && c->fault == NULL; i++) {
        out->types[i] = weir_wal_take_type(c, 0, arena, err);
        if (out->types[i] == NULL) {
            return c->fault == NULL ? err->code : WEIR_OK;
        }
    }
    return WEIR_OK;
}

static Status take_columns(Cursor *c, Chunk *out, Arena *arena, Error *err)
{
    weir_cursor_expect(c, 102);
    if (weir_cursor_count(c, 2) != out->column_count) {
        weir_cursor_fail(c, "a chunk has not as many vectors as types");
        return WEIR_OK;
    }
    out->columns = weir_arena_calloc(arena, out->column_count, sizeof *out->columns, err);
    if (out->columns == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < out->column_count && c->fault == NULL; i++) {
        out->columns[i] = part_of(out->types[i]);
        WEIR_TRY(take_child(c, &out->columns[i], out->row_count, arena, err));
    }
    return WEIR_OK;
}

Status weir_wal_take_chunk(Cursor *c, Arena *arena, Chunk *out, Error *err)
{
    *out =
        (Chunk){.nested_bytes_max = NESTED_BYTES_FREE + weir_cursor_left(c) * NESTED_BYTES_FACTOR};
    weir_cursor_expect(c, 100);
    const uint64_t rows = weir_cursor_u64(c);
    if (rows > VECTOR_CAPACITY) {
        weir_cursor_fail(c, "a chunk has more rows than a vector holds");
    } else {
        out->row_count = (size_t)rows;
    }
    if (c->fault == NULL) {
        WEIR_TRY(take_types(c, out, arena, err));
    }
    if (c->fault == NULL) {
        WEIR_TRY(take_columns(c, out, arena, err));
    }
    weir_cursor_expect(c, WAL_OBJECT_END);
    if (c->fault != NULL) {
        out->column_count = 0;
    }
    return WEIR_OK;
}
