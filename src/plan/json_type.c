/* json_type.c: {"id": ..., "type_info": ...} to a logical type.
 *
 * Collations and names of user types are dropped: plans contain collations as functions. Types
 * with parameters are kept in a small list, so that equal types of a plan are mostly one object. */
#include "plan/json_priv.h"

/* Aliases under which types of extensions travel: their casts are not ours to know. */
static const char *const FOREIGN_ALIASES[] = {
    "GEOMETRY", "POINT_2D", "LINESTRING_2D", "POLYGON_2D", "BOX_2D", "BOX_2DF", "WKB_BLOB", "INET",
};

static Status refuse_type(const char *name, Error *err)
{
    const Status status =
        weir_error_set(err, WEIR_ERR_TYPE, "the type %s is not supported in a view", name);
    weir_error_hint(err, "leave the column out, or convert it by a cast in a table of its own");
    return status;
}

static Status read_decimal(JsonReader *reader, Json *info, const LogicalType **out, Error *err)
{
    uint64_t width = 0;
    uint64_t scale = 0;
    WEIR_TRY(weir_json_get_index(info, "width", &width, err));
    WEIR_TRY(weir_json_get_index(info, "scale", &scale, err));
    if (width < 1 || width > 38 || scale > width) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: DECIMAL(%llu,%llu)",
                              (unsigned long long)width, (unsigned long long)scale);
    }
    *out = weir_type_decimal(reader->arena, (uint8_t)width, (uint8_t)scale, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status read_enum(JsonReader *reader, Json *info, const LogicalType **out, Error *err)
{
    JsonArray values = {0};
    WEIR_TRY(weir_json_get_array(info, "values", &values, err));
    const char **names = weir_arena_calloc(reader->arena, values.count, sizeof *names, err);
    if (names == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < values.count; i++) {
        size_t size = 0;
        WEIR_TRY(weir_json_as_text(weir_json_item(&values, i), &names[i], &size, err));
        if (strlen(names[i]) != size) {
            return refuse_type("ENUM with a NUL byte in a value", err);
        }
    }
    *out = weir_type_enum(reader->arena, names, values.count, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* LIST, ARRAY and MAP: the type of the elements. */
static Status read_list(JsonReader *reader, TypeId id, Json *info, const LogicalType **out,
                        Error *err)
{
    Json *json = NULL;
    const LogicalType *child = NULL;
    WEIR_TRY(weir_json_get(info, "child_type", &json, err));
    WEIR_TRY(weir_json_read_type(reader, json, &child, err));
    WEIR_ASSERT(child != NULL);
    if (id == TYPE_ARRAY) {
        uint64_t size = 0;
        WEIR_TRY(weir_json_get_index(info, "size", &size, err));
        *out = weir_type_array(reader->arena, child, size, err);
    } else if (id == TYPE_LIST) {
        *out = weir_type_list(reader->arena, child, err);
    } else {
        if (child->id != TYPE_STRUCT || child->child_count != 2) {
            return weir_error_set(err, WEIR_ERR_PLAN,
                                  "malformed plan: a MAP without key and value");
        }
        *out = weir_type_map(reader->arena, child->children[0], child->children[1], err);
    }
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* STRUCT and UNION; the first field of a UNION is its tag. */
static Status read_struct(JsonReader *reader, TypeId id, Json *info, const LogicalType **out,
                          Error *err)
{
    JsonArray fields = {0};
    WEIR_TRY(weir_json_get_array(info, "child_types", &fields, err));
    const size_t first = id == TYPE_UNION ? 1 : 0;
    if (fields.count <= first || fields.count > JSON_MAX_COLUMNS) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a %s of %zu fields",
                              weir_type_name(id), fields.count);
    }
    const size_t count = fields.count - first;
    const char **names = weir_arena_calloc(reader->arena, count, sizeof *names, err);
    const LogicalType **types =
        weir_arena_calloc(reader->arena, count, sizeof(const LogicalType *), err);
    if (names == NULL || types == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < count; i++) {
        Json *field = weir_json_item(&fields, first + i);
        Json *type = NULL;
        WEIR_TRY(weir_json_get_text(field, "first", &names[i], err));
        WEIR_TRY(weir_json_get(field, "second", &type, err));
        WEIR_TRY(weir_json_read_type(reader, type, &types[i], err));
    }
    *out = weir_type_struct(reader->arena, id, names, types, count, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status check_alias(const char *alias, Error *err)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(FOREIGN_ALIASES); i++) {
        if (strcmp(alias, FOREIGN_ALIASES[i]) == 0) {
            return refuse_type(alias, err);
        }
    }
    return WEIR_OK;
}

static bool has_parameters(TypeId id)
{
    return id == TYPE_DECIMAL || id == TYPE_ENUM || id == TYPE_LIST || id == TYPE_ARRAY ||
           id == TYPE_MAP || id == TYPE_STRUCT || id == TYPE_UNION;
}

static Status read_with_parameters(JsonReader *reader, TypeId id, Json *info,
                                   const LogicalType **out, Error *err)
{
    if (id == TYPE_DECIMAL) {
        return read_decimal(reader, info, out, err);
    }
    if (id == TYPE_ENUM) {
        return read_enum(reader, info, out, err);
    }
    if (id == TYPE_STRUCT || id == TYPE_UNION) {
        return read_struct(reader, id, info, out, err);
    }
    return read_list(reader, id, info, out, err);
}

/* Gives an equal type that was read before, or remembers this one. */
static const LogicalType *reuse_type(JsonReader *reader, const LogicalType *type)
{
    for (size_t i = 0; i < reader->type_count; i++) {
        if (weir_type_equal(reader->types[i], type)) {
            return reader->types[i];
        }
    }
    if (reader->type_count < JSON_MAX_TYPES) {
        reader->types[reader->type_count++] = type;
    }
    return type;
}

Status weir_json_read_type(JsonReader *reader, Json *json, const LogicalType **out, Error *err)
{
    const char *name = NULL;
    WEIR_TRY(weir_json_get_text(json, "id", &name, err));
    Json *info = weir_json_find(json, "type_info");
    const char *alias = weir_json_find_text(info, "alias");
    WEIR_TRY(check_alias(alias, err));
    const TypeId id = weir_type_id_from_name(name);
    if (id == TYPE_COUNT || (id == TYPE_STRUCT && strcmp(alias, "VARIANT") == 0)) {
        return refuse_type(id == TYPE_COUNT ? name : alias, err);
    }
    if (!has_parameters(id)) {
        const bool is_json = id == TYPE_VARCHAR && strcmp(alias, "JSON") == 0;
        *out = is_json ? weir_type_json() : weir_type_simple(id);
        return WEIR_OK;
    }
    const ArenaMark mark = weir_arena_mark(reader->arena);
    const size_t known = reader->type_count;
    const LogicalType *type = NULL;
    WEIR_TRY(weir_json_enter(reader, err));
    const Status status = read_with_parameters(reader, id, info, &type, err);
    weir_json_leave(reader);
    if (status != WEIR_OK) {
        return status;
    }
    WEIR_ASSERT(type != NULL);
    *out = reuse_type(reader, type);
    if (*out != type && reader->type_count == known) {
        /* Nothing kept points into what was just made. */
        weir_arena_release(reader->arena, mark);
    }
    return WEIR_OK;
}

Status weir_json_read_types(JsonReader *reader, Json *object, const char *key,
                            const LogicalType *const **out, size_t *count, Error *err)
{
    JsonArray array = {0};
    WEIR_TRY(weir_json_get_array(object, key, &array, err));
    if (array.count > JSON_MAX_COLUMNS) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "more than %d columns", JSON_MAX_COLUMNS);
    }
    const LogicalType **types =
        weir_arena_calloc(reader->arena, array.count, sizeof(const LogicalType *), err);
    if (types == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < array.count; i++) {
        WEIR_TRY(weir_json_read_type(reader, weir_json_item(&array, i), &types[i], err));
    }
    *out = types;
    *count = array.count;
    return WEIR_OK;
}
