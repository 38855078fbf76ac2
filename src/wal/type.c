/* type.c: the types of a chunk's columns.
 *
 *   type       { 100 id, [101 nullable type info] }
 *   type info  { 100 kind, [101 alias], ... }
 *     DECIMAL  200 width, 201 scale     LIST, MAP  200 type (of MAP: STRUCT(key, value))
 *     ARRAY    200 type, 201 size       STRUCT, UNION  200 list of { 0 name, 1 type }
 *     ENUM     200 count, 201 list of strings           VARCHAR  200 collation
 *
 * Aliases are not types, but for JSON. */
#include "wal/chunk.h"

#include "types/nested.h"

/* DuckDB's numbers of the types that have parameters. */
enum {
    ID_DECIMAL = 21,
    ID_VARCHAR = 25,
    ID_STRUCT = 100,
    ID_LIST = 101,
    ID_MAP = 102,
    ID_ENUM = 104,
    ID_UNION = 107,
    ID_ARRAY = 108,
};

enum { FIELDS_MAX = 100000 };

/* The others, by DuckDB's number. Gaps are 0, which is BOOLEAN, so that entries are one more. */
static const uint8_t SIMPLE_IDS[] = {
    [10] = TYPE_BOOLEAN + 1,   [11] = TYPE_TINYINT + 1,      [12] = TYPE_SMALLINT + 1,
    [13] = TYPE_INTEGER + 1,   [14] = TYPE_BIGINT + 1,       [15] = TYPE_DATE + 1,
    [16] = TYPE_TIME + 1,      [17] = TYPE_TIMESTAMP_S + 1,  [18] = TYPE_TIMESTAMP_MS + 1,
    [19] = TYPE_TIMESTAMP + 1, [20] = TYPE_TIMESTAMP_NS + 1, [22] = TYPE_FLOAT + 1,
    [23] = TYPE_DOUBLE + 1,    [25] = TYPE_VARCHAR + 1,      [26] = TYPE_BLOB + 1,
    [27] = TYPE_INTERVAL + 1,  [28] = TYPE_UTINYINT + 1,     [29] = TYPE_USMALLINT + 1,
    [30] = TYPE_UINTEGER + 1,  [31] = TYPE_UBIGINT + 1,      [32] = TYPE_TIMESTAMP_TZ + 1,
    [34] = TYPE_TIME_TZ + 1,   [35] = TYPE_TIME_NS + 1,      [36] = TYPE_BIT + 1,
    [39] = TYPE_BIGNUM + 1,    [49] = TYPE_UHUGEINT + 1,     [50] = TYPE_HUGEINT + 1,
    [54] = TYPE_UUID + 1,
};

static const LogicalType *refuse(Cursor *c, const char *fault)
{
    weir_cursor_fail(c, fault);
    return NULL;
}

static const LogicalType *take_decimal(Cursor *c, Arena *arena, Error *err)
{
    const uint64_t width = weir_cursor_has(c, 200) ? weir_cursor_u64(c) : 0;
    const uint64_t scale = weir_cursor_has(c, 201) ? weir_cursor_u64(c) : 0;
    if (width < 1 || width > 38 || scale > width) {
        return refuse(c, "a DECIMAL has no such width or scale");
    }
    return weir_type_decimal(arena, (uint8_t)width, (uint8_t)scale, err);
}

static const LogicalType *take_enum(Cursor *c, Arena *arena, Error *err)
{
    weir_cursor_expect(c, 200);
    const uint64_t expected = weir_cursor_u64(c);
    weir_cursor_expect(c, 201);
    const size_t count = weir_cursor_count(c, 1);
    if (c->fault != NULL || count != expected) {
        return refuse(c, "an ENUM's number of values is wrong");
    }
    const char **names = weir_arena_calloc(arena, count, sizeof(const char *), err);
    if (names == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = weir_cursor_name(c, arena, err);
        if (names[i] == NULL) {
            return NULL;
        }
    }
    return weir_type_enum(arena, names, count, err);
}

typedef struct Fields {
    const char **names;
    const LogicalType **types;
    size_t count;
} Fields;

static bool take_fields(Cursor *c, unsigned depth, Arena *arena, Fields *out, Error *err)
{
    weir_cursor_expect(c, 200);
    out->count = weir_cursor_count(c, 8);
    if (c->fault != NULL || out->count == 0 || out->count > FIELDS_MAX) {
        weir_cursor_fail(c, "a STRUCT has no fields, or too many");
        return false;
    }
    out->names = weir_arena_calloc(arena, out->count, sizeof(const char *), err);
    out->types = out->names == NULL
                     ? NULL
                     : weir_arena_calloc(arena, out->count, sizeof(const LogicalType *), err);
    if (out->types == NULL) {
        return false;
    }
    for (size_t i = 0; i < out->count; i++) {
        weir_cursor_expect(c, 0);
        out->names[i] = weir_cursor_name(c, arena, err);
        weir_cursor_expect(c, 1);
        out->types[i] = out->names[i] == NULL ? NULL : weir_wal_take_type(c, depth, arena, err);
        weir_cursor_expect(c, WAL_OBJECT_END);
        if (out->types[i] == NULL || c->fault != NULL) {
            return false;
        }
    }
    return true;
}

static const LogicalType *take_struct(Cursor *c, bool is_union, unsigned depth, Arena *arena,
                                      Error *err)
{
    Fields fields = {0};
    if (!take_fields(c, depth, arena, &fields, err)) {
        return NULL;
    }
    if (!is_union) {
        return weir_type_struct(arena, TYPE_STRUCT, fields.names, fields.types, fields.count, err);
    }
    if (fields.count < 2 || fields.types[0]->phys != PHYS_U8) {
        return refuse(c, "a UNION has no tag or no members");
    }
    return weir_type_struct(arena, TYPE_UNION, fields.names + 1, fields.types + 1, fields.count - 1,
                            err);
}

static const LogicalType *take_list(Cursor *c, bool is_map, unsigned depth, Arena *arena,
                                    Error *err)
{
    weir_cursor_expect(c, 200);
    const LogicalType *const child = weir_wal_take_type(c, depth, arena, err);
    if (child == NULL) {
        return NULL;
    }
    if (!is_map) {
        return weir_type_list(arena, child, err);
    }
    if (child->id != TYPE_STRUCT || child->child_count != 2) {
        return refuse(c, "a MAP is not a list of pairs");
    }
    return weir_type_map(arena, child->children[0], child->children[1], err);
}

static const LogicalType *take_array(Cursor *c, unsigned depth, Arena *arena, Error *err)
{
    weir_cursor_expect(c, 200);
    const LogicalType *const child = weir_wal_take_type(c, depth, arena, err);
    const uint64_t size = weir_cursor_has(c, 201) ? weir_cursor_u64(c) : 0;
    if (child == NULL) {
        return NULL;
    }
    if (size == 0 || size > UINT32_MAX) {
        return refuse(c, "an ARRAY has no such size");
    }
    return weir_type_array(arena, child, size, err);
}

/* What follows kind and alias in the type info. */
static const LogicalType *take_parameters(Cursor *c, uint64_t id, unsigned depth, Arena *arena,
                                          Error *err)
{
    switch (id) {
    case ID_DECIMAL: return take_decimal(c, arena, err);
    case ID_ENUM: return take_enum(c, arena, err);
    case ID_STRUCT: return take_struct(c, false, depth, arena, err);
    case ID_UNION: return take_struct(c, true, depth, arena, err);
    case ID_LIST: return take_list(c, false, depth, arena, err);
    case ID_MAP: return take_list(c, true, depth, arena, err);
    case ID_ARRAY: return take_array(c, depth, arena, err);
    case ID_VARCHAR:
        if (weir_cursor_has(c, 200)) {
            size_t size = 0;
            (void)weir_cursor_blob(c, &size); /* the collation: no part of a type here */
        }
        return weir_type_simple(TYPE_VARCHAR);
    default:
        if (id < WEIR_ARRAY_COUNT(SIMPLE_IDS) && SIMPLE_IDS[id] != 0) {
            return weir_type_simple((TypeId)(SIMPLE_IDS[id] - 1));
        }
        return refuse(c, "the type of a column is not supported");
    }
}

static const LogicalType *take_info(Cursor *c, uint64_t id, unsigned depth, Arena *arena,
                                    Error *err)
{
    weir_cursor_expect(c, 100);
    (void)weir_cursor_u64(c);
    size_t alias_size = 0;
    const uint8_t *const alias = weir_cursor_has(c, 101) ? weir_cursor_blob(c, &alias_size) : NULL;
    const LogicalType *const type = take_parameters(c, id, depth, arena, err);
    weir_cursor_expect(c, WAL_OBJECT_END);
    const bool is_json = type != NULL && type->id == TYPE_VARCHAR && alias_size == 4 &&
                         memcmp(alias, "JSON", alias_size) == 0;
    return is_json ? weir_type_json() : type;
}

const LogicalType *weir_wal_take_type(Cursor *c, unsigned depth, Arena *arena, Error *err)
{
    if (depth >= NESTED_MAX_DEPTH) {
        return refuse(c, "a type is nested too deeply");
    }
    weir_cursor_expect(c, 100);
    const uint64_t id = weir_cursor_u64(c);
    const LogicalType *type = NULL;
    if (weir_cursor_has(c, 101) && weir_cursor_bool(c)) {
        type = take_info(c, id, depth + 1, arena, err);
    } else if (id < WEIR_ARRAY_COUNT(SIMPLE_IDS) && SIMPLE_IDS[id] != 0) {
        type = weir_type_simple((TypeId)(SIMPLE_IDS[id] - 1));
    } else {
        weir_cursor_fail(c, "the type of a column is not supported");
    }
    weir_cursor_expect(c, WAL_OBJECT_END);
    return c->fault == NULL ? type : NULL;
}
