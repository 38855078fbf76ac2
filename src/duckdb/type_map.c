/* type_map.c: the pairs of simple types, and recursion through the others. */
#include "duckdb/type_map.h"

#include <strings.h>

#include "types/nested.h"

typedef struct TypePair {
    duckdb_type theirs;
    TypeId ours;
} TypePair;

static const TypePair SIMPLE_PAIRS[] = {
    {DUCKDB_TYPE_BOOLEAN, TYPE_BOOLEAN},
    {DUCKDB_TYPE_TINYINT, TYPE_TINYINT},
    {DUCKDB_TYPE_SMALLINT, TYPE_SMALLINT},
    {DUCKDB_TYPE_INTEGER, TYPE_INTEGER},
    {DUCKDB_TYPE_BIGINT, TYPE_BIGINT},
    {DUCKDB_TYPE_HUGEINT, TYPE_HUGEINT},
    {DUCKDB_TYPE_UTINYINT, TYPE_UTINYINT},
    {DUCKDB_TYPE_USMALLINT, TYPE_USMALLINT},
    {DUCKDB_TYPE_UINTEGER, TYPE_UINTEGER},
    {DUCKDB_TYPE_UBIGINT, TYPE_UBIGINT},
    {DUCKDB_TYPE_UHUGEINT, TYPE_UHUGEINT},
    {DUCKDB_TYPE_FLOAT, TYPE_FLOAT},
    {DUCKDB_TYPE_DOUBLE, TYPE_DOUBLE},
    {DUCKDB_TYPE_VARCHAR, TYPE_VARCHAR},
    {DUCKDB_TYPE_BLOB, TYPE_BLOB},
    {DUCKDB_TYPE_BIT, TYPE_BIT},
    {DUCKDB_TYPE_DATE, TYPE_DATE},
    {DUCKDB_TYPE_TIME, TYPE_TIME},
    {DUCKDB_TYPE_TIME_NS, TYPE_TIME_NS},
    {DUCKDB_TYPE_TIME_TZ, TYPE_TIME_TZ},
    {DUCKDB_TYPE_TIMESTAMP, TYPE_TIMESTAMP},
    {DUCKDB_TYPE_TIMESTAMP_S, TYPE_TIMESTAMP_S},
    {DUCKDB_TYPE_TIMESTAMP_MS, TYPE_TIMESTAMP_MS},
    {DUCKDB_TYPE_TIMESTAMP_NS, TYPE_TIMESTAMP_NS},
    {DUCKDB_TYPE_TIMESTAMP_TZ, TYPE_TIMESTAMP_TZ},
    {DUCKDB_TYPE_INTERVAL, TYPE_INTERVAL},
    {DUCKDB_TYPE_UUID, TYPE_UUID},
    {DUCKDB_TYPE_BIGNUM, TYPE_BIGNUM},
    {DUCKDB_TYPE_SQLNULL, TYPE_SQLNULL},
};

/* --- from DuckDB ------------------------------------------------------------------------------ */

static const LogicalType *read_type(Arena *arena, duckdb_logical_type type, size_t depth,
                                    Error *err);

/* Reads a part of a type and destroys it. */
static const LogicalType *read_child(Arena *arena, duckdb_logical_type child, size_t depth,
                                     Error *err)
{
    const LogicalType *const out = read_type(arena, child, depth + 1, err);
    duckdb_destroy_logical_type(&child);
    return out;
}

/* Copies a text of DuckDB's and frees it. */
static const char *read_name(Arena *arena, char *name, Error *err)
{
    if (name == NULL) {
        weir_error_set(err, WEIR_ERR_HOST, "DuckDB does not tell the name of a field");
        return NULL;
    }
    const char *copy = weir_arena_strdup(arena, name, err);
    duckdb_free(name);
    return copy;
}

static const LogicalType *read_enum(Arena *arena, duckdb_logical_type type, Error *err)
{
    const size_t count = duckdb_enum_dictionary_size(type);
    const char **values = weir_arena_calloc(arena, count, sizeof *values, err);
    if (values == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = read_name(arena, duckdb_enum_dictionary_value(type, i), err);
        if (values[i] == NULL) {
            return NULL;
        }
    }
    return weir_type_enum(arena, values, count, err);
}

static const LogicalType *read_fields(Arena *arena, duckdb_logical_type type, size_t depth,
                                      Error *err)
{
    const bool is_union = duckdb_get_type_id(type) == DUCKDB_TYPE_UNION;
    const size_t count =
        is_union ? duckdb_union_type_member_count(type) : duckdb_struct_type_child_count(type);
    const char **names = weir_arena_calloc(arena, count, sizeof *names, err);
    const LogicalType **children =
        names == NULL ? NULL : weir_arena_calloc(arena, count, sizeof(const LogicalType *), err);
    if (children == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = read_name(arena,
                             is_union ? duckdb_union_type_member_name(type, i)
                                      : duckdb_struct_type_child_name(type, i),
                             err);
        if (names[i] == NULL) {
            return NULL;
        }
        children[i] = read_child(arena,
                                 is_union ? duckdb_union_type_member_type(type, i)
                                          : duckdb_struct_type_child_type(type, i),
                                 depth, err);
        if (children[i] == NULL) {
            return NULL;
        }
    }
    return weir_type_struct(arena, is_union ? TYPE_UNION : TYPE_STRUCT, names, children, count,
                            err);
}

static const LogicalType *read_map(Arena *arena, duckdb_logical_type type, size_t depth, Error *err)
{
    const LogicalType *const key = read_child(arena, duckdb_map_type_key_type(type), depth, err);
    if (key == NULL) {
        return NULL;
    }
    const LogicalType *const value =
        read_child(arena, duckdb_map_type_value_type(type), depth, err);
    return value == NULL ? NULL : weir_type_map(arena, key, value, err);
}

static const LogicalType *refuse_type(duckdb_logical_type type, Error *err)
{
    static const char *const NEWER[] = {"GEOMETRY", "VARIANT"}; /* 40 and 41, since 1.5 */
    const size_t id = (size_t)duckdb_get_type_id(type);
    char *const alias = duckdb_logical_type_get_alias(type);
    if (alias != NULL) {
        weir_error_set(err, WEIR_ERR_TYPE, "type %s is not supported", alias);
        duckdb_free(alias);
    } else if (id > DUCKDB_TYPE_TIME_NS && id - DUCKDB_TYPE_TIME_NS <= WEIR_ARRAY_COUNT(NEWER)) {
        weir_error_set(err, WEIR_ERR_TYPE, "type %s is not supported",
                       NEWER[id - DUCKDB_TYPE_TIME_NS - 1]);
    } else {
        weir_error_set(err, WEIR_ERR_TYPE,
                       "a type that DuckDB %s does not describe to C is not supported (number %zu)",
                       duckdb_library_version(), id);
    }
    return NULL;
}

static bool has_alias(duckdb_logical_type type, const char *name)
{
    char *const alias = duckdb_logical_type_get_alias(type);
    const bool is_same = alias != NULL && strcasecmp(alias, name) == 0;
    duckdb_free(alias);
    return is_same;
}

static const LogicalType *read_simple(duckdb_logical_type type, Error *err)
{
    const duckdb_type id = duckdb_get_type_id(type);
    if (id == DUCKDB_TYPE_VARCHAR && has_alias(type, "JSON")) {
        return weir_type_json();
    }
    if (id == DUCKDB_TYPE_BLOB && has_alias(type, "GEOMETRY")) {
        return refuse_type(type, err);
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(SIMPLE_PAIRS); i++) {
        if (SIMPLE_PAIRS[i].theirs == id) {
            return weir_type_simple(SIMPLE_PAIRS[i].ours);
        }
    }
    return refuse_type(type, err);
}

static const LogicalType *read_type(Arena *arena, duckdb_logical_type type, size_t depth,
                                    Error *err)
{
    if (type == NULL) {
        weir_error_set(err, WEIR_ERR_HOST, "DuckDB does not tell the type");
        return NULL;
    }
    if (depth > NESTED_MAX_DEPTH) {
        weir_error_set(err, WEIR_ERR_TYPE, "a type nested more than %d levels deep",
                       NESTED_MAX_DEPTH);
        return NULL;
    }
    const LogicalType *child = NULL;
    switch (duckdb_get_type_id(type)) {
    case DUCKDB_TYPE_DECIMAL:
        return weir_type_decimal(arena, duckdb_decimal_width(type), duckdb_decimal_scale(type),
                                 err);
    case DUCKDB_TYPE_ENUM: return read_enum(arena, type, err);
    case DUCKDB_TYPE_LIST:
        child = read_child(arena, duckdb_list_type_child_type(type), depth, err);
        return child == NULL ? NULL : weir_type_list(arena, child, err);
    case DUCKDB_TYPE_ARRAY:
        child = read_child(arena, duckdb_array_type_child_type(type), depth, err);
        return child == NULL
                   ? NULL
                   : weir_type_array(arena, child, duckdb_array_type_array_size(type), err);
    case DUCKDB_TYPE_MAP: return read_map(arena, type, depth, err);
    case DUCKDB_TYPE_STRUCT:
    case DUCKDB_TYPE_UNION: return read_fields(arena, type, depth, err);
    default: return read_simple(type, err);
    }
}

const LogicalType *weir_type_from_duckdb(Arena *arena, duckdb_logical_type type, Error *err)
{
    return read_type(arena, type, 0, err);
}

/* --- to DuckDB -------------------------------------------------------------------------------- */

/* DuckDB takes names as const char **, and does not change them. */
static const char **borrow_names(const LogicalType *type)
{
    const char **names;
    memcpy(&names, &type->names, sizeof names);
    return names;
}

static Status make_children(const LogicalType *type, duckdb_logical_type *children, size_t *made,
                            Error *err)
{
    for (; *made < type->child_count; (*made)++) {
        WEIR_TRY(weir_type_to_duckdb(type->children[*made], &children[*made], err));
    }
    return WEIR_OK;
}

static Status make_nested(const LogicalType *type, duckdb_logical_type *out, Error *err)
{
    size_t made = 0;
    duckdb_logical_type *children =
        duckdb_malloc((type->child_count + 1) * sizeof(duckdb_logical_type));
    if (children == NULL) {
        return weir_error_set(err, WEIR_ERR_NOMEM, "out of memory");
    }
    const Status status = make_children(type, children, &made, err);
    if (status != WEIR_OK) {
        *out = NULL;
    } else if (type->id == TYPE_LIST) {
        *out = duckdb_create_list_type(children[0]);
    } else if (type->id == TYPE_ARRAY) {
        *out = duckdb_create_array_type(children[0], type->array_size);
    } else if (type->id == TYPE_MAP) {
        *out = duckdb_create_map_type(children[0], children[1]);
    } else if (type->id == TYPE_UNION) {
        *out = duckdb_create_union_type(children, borrow_names(type), type->child_count);
    } else {
        *out = duckdb_create_struct_type(children, borrow_names(type), type->child_count);
    }
    for (size_t i = 0; i < made; i++) {
        duckdb_destroy_logical_type(&children[i]);
    }
    duckdb_free(children);
    return status;
}

static void make_simple(const LogicalType *type, duckdb_logical_type *out)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(SIMPLE_PAIRS); i++) {
        if (SIMPLE_PAIRS[i].ours == type->id) {
            *out = duckdb_create_logical_type(SIMPLE_PAIRS[i].theirs);
        }
    }
    if (type->is_json && *out != NULL) {
        duckdb_logical_type_set_alias(*out, "JSON");
    }
}

Status weir_type_to_duckdb(const LogicalType *type, duckdb_logical_type *out, Error *err)
{
    *out = NULL;
    if (weir_type_is_nested(type)) {
        WEIR_TRY(make_nested(type, out, err));
    } else if (type->id == TYPE_DECIMAL) {
        *out = duckdb_create_decimal_type(type->width, type->scale);
    } else if (type->id == TYPE_ENUM) {
        *out = duckdb_create_enum_type(borrow_names(type), type->name_count);
    } else {
        make_simple(type, out);
    }
    if (*out == NULL) {
        return weir_error_set(err, WEIR_ERR_TYPE, "DuckDB does not make a type %s",
                              weir_type_name(type->id));
    }
    return WEIR_OK;
}
