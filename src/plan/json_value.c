/* json_value.c: constants, {"type", "is_null", "value"}.
 *
 *   integers, dates, times   number in the unit of the type
 *   BOOLEAN                  true, false
 *   HUGEINT, UHUGEINT, UUID  {"upper", "lower"}
 *   DECIMAL                  the unscaled integer: number, or {"upper", "lower"} above 18 digits
 *   FLOAT, DOUBLE            number, NaN, Infinity, -Infinity
 *   VARCHAR                  text; BLOB: text with \xAA for bytes that cannot be printed
 *   INTERVAL                 {"months", "days", "micros"}
 *   ENUM                     place in the list of values
 *   LIST, ARRAY, STRUCT, MAP, UNION  {"children": [constant, ...]}: become calls that build them */
#include "plan/json_priv.h"

/* The range of an integer layout; false for the others. */
static bool integer_range(PhysType phys, i128 *low, i128 *high)
{
    static const struct {
        int64_t low;
        uint64_t high;
    } RANGES[PHYS_COUNT] = {
        [PHYS_I8] = {INT8_MIN, INT8_MAX},    [PHYS_I16] = {INT16_MIN, INT16_MAX},
        [PHYS_I32] = {INT32_MIN, INT32_MAX}, [PHYS_I64] = {INT64_MIN, INT64_MAX},
        [PHYS_U8] = {0, UINT8_MAX},          [PHYS_U16] = {0, UINT16_MAX},
        [PHYS_U32] = {0, UINT32_MAX},        [PHYS_U64] = {0, UINT64_MAX},
    };
    *low = RANGES[phys].low;
    *high = (i128)RANGES[phys].high;
    return RANGES[phys].high != 0;
}

/* {"upper", "lower"}: both halves as they stand in memory. */
static Status read_128(Json *json, Value *out, Error *err)
{
    Json *upper_json = NULL;
    uint64_t lower = 0;
    i128 upper = 0;
    WEIR_TRY(weir_json_get(json, "upper", &upper_json, err));
    WEIR_TRY(weir_json_as_integer(upper_json, INT64_MIN, (i128)UINT64_MAX, &upper, err));
    WEIR_TRY(weir_json_get_index(json, "lower", &lower, err));
    const uint64_t high = (uint64_t)upper;
    memcpy(out->data.bytes, &lower, sizeof lower);
    memcpy(out->data.bytes + 8, &high, sizeof high);
    return WEIR_OK;
}

static Status read_integer(Json *json, Value *out, Error *err)
{
    i128 low = 0;
    i128 high = 0;
    i128 number = 0;
    if (!integer_range(out->type->phys, &low, &high)) {
        return read_128(json, out, err);
    }
    if (out->type->id == TYPE_ENUM) {
        high = (i128)out->type->name_count - 1;
    }
    WEIR_TRY(weir_json_as_integer(json, low, high, &number, err));
    /* Little endian: the low bytes of the wide integer are the narrow one. */
    memcpy(out->data.bytes, &number, weir_phys_width(out->type->phys));
    return WEIR_OK;
}

static Status read_float(Json *json, Value *out, Error *err)
{
    double number = 0.0;
    WEIR_TRY(weir_json_as_double(json, &number, err));
    if (out->type->phys == PHYS_F32) {
        const float narrow = (float)number;
        memcpy(out->data.bytes, &narrow, sizeof narrow);
    } else {
        memcpy(out->data.bytes, &number, sizeof number);
    }
    return WEIR_OK;
}

static Status read_interval(Json *json, Value *out, Error *err)
{
    static const char *const FIELDS[3] = {"months", "days", "micros"};
    i128 parts[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        Json *part = NULL;
        WEIR_TRY(weir_json_get(json, FIELDS[i], &part, err));
        const i128 low = i < 2 ? (i128)INT32_MIN : (i128)INT64_MIN;
        const i128 high = i < 2 ? (i128)INT32_MAX : (i128)INT64_MAX;
        WEIR_TRY(weir_json_as_integer(part, low, high, &parts[i], err));
    }
    const Interval interval = {
        .months = (int32_t)parts[0],
        .days = (int32_t)parts[1],
        .micros = (int64_t)parts[2],
    };
    memcpy(out->data.bytes, &interval, sizeof interval);
    return WEIR_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Replaces \xAA by the byte, in place; the new size, or SIZE_MAX for a broken escape. */
static size_t unescape_blob(char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\\') {
            text[used++] = text[i];
            continue;
        }
        if (size - i < 4 || text[i + 1] != 'x') {
            return SIZE_MAX;
        }
        const int high = hex_digit(text[i + 2]);
        const int low = hex_digit(text[i + 3]);
        if (high < 0 || low < 0) {
            return SIZE_MAX;
        }
        text[used++] = (char)(unsigned char)(high * 16 + low);
        i += 3;
    }
    return used;
}

static Status read_string(JsonReader *reader, Json *json, Value *out, Error *err)
{
    const char *text = NULL;
    size_t size = 0;
    WEIR_TRY(weir_json_as_text(json, &text, &size, err));
    char *copy = weir_arena_strndup(reader->arena, text, size, err);
    if (copy == NULL) {
        return weir_ir_failure(err);
    }
    if (out->type->id == TYPE_BLOB) {
        size = unescape_blob(copy, size);
        if (size == SIZE_MAX) {
            return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a BLOB that is not escaped");
        }
    } else if (out->type->id != TYPE_VARCHAR) {
        return weir_error_set(err, WEIR_ERR_TYPE, "a constant of the type %s is not supported",
                              weir_type_name(out->type->id));
    }
    const String string = weir_string_make(copy, size);
    memcpy(out->data.bytes, &string, sizeof string);
    return WEIR_OK;
}

static Status read_scalar(JsonReader *reader, Json *json, Value *out, Error *err)
{
    const LogicalType *type = out->type;
    if (type->id == TYPE_BOOLEAN) {
        bool flag = false;
        WEIR_TRY(weir_json_as_flag(json, &flag, err));
        out->data.bytes[0] = flag ? 1 : 0;
        return WEIR_OK;
    }
    if (type->id == TYPE_SQLNULL) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a NULL with a value");
    }
    if (type->phys == PHYS_F32 || type->phys == PHYS_F64) {
        return read_float(json, out, err);
    }
    if (type->phys == PHYS_INTERVAL) {
        return read_interval(json, out, err);
    }
    if (type->phys == PHYS_STRING) {
        return read_string(reader, json, out, err);
    }
    return read_integer(json, out, err);
}

typedef struct Builder {
    const char *function; /* that makes the value of its parts */
    const LogicalType *type;
    const char *const *names; /* of the arguments; NULL = none */
    const Expr *const *args;
    size_t arg_count;
} Builder;

/* A call that builds a nested constant; a cast fixes the type where it has a spelling. */
static Status make_builder(JsonReader *reader, const Builder *builder, const Expr **out, Error *err)
{
    CallExtra *extra = weir_arena_zalloc(reader->arena, sizeof *extra, err);
    if (extra == NULL) {
        return weir_ir_failure(err);
    }
    extra->arg_names = builder->names;
    extra->wrap_in_cast = builder->names == NULL && !weir_type_is_unspellable(builder->type);
    const Expr call = {
        .kind = EXPR_CALL,
        .type = builder->type,
        .name = builder->function,
        .args = builder->args,
        .arg_count = builder->arg_count,
        .extra = extra,
    };
    *out = weir_json_make_expr(reader, &call, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status build_array(JsonReader *reader, const LogicalType *type, const Expr *const *parts,
                          size_t count, const Expr **out, Error *err)
{
    const LogicalType *list_type = weir_type_list(reader->arena, type->children[0], err);
    const Expr **list = weir_arena_alloc(reader->arena, sizeof(const Expr *), err);
    if (list_type == NULL || list == NULL) {
        return weir_ir_failure(err);
    }
    const Builder builder = {
        .function = "list_value", .type = list_type, .args = parts, .arg_count = count};
    WEIR_TRY(make_builder(reader, &builder, &list[0], err));
    const Expr cast = {.kind = EXPR_CAST, .type = type, .args = list, .arg_count = 1};
    *out = weir_json_make_expr(reader, &cast, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* parts: STRUCTs of key and value. */
static Status build_map(JsonReader *reader, const LogicalType *type, const Expr *const *parts,
                        size_t count, const Expr **out, Error *err)
{
    static const char *const NAMES[2] = {"key", "value"};
    const LogicalType *entry =
        weir_type_struct(reader->arena, TYPE_STRUCT, NAMES, type->children, 2, err);
    const LogicalType *list_type = entry == NULL ? NULL : weir_type_list(reader->arena, entry, err);
    const Expr **list = weir_arena_alloc(reader->arena, sizeof(const Expr *), err);
    if (list_type == NULL || list == NULL) {
        return weir_ir_failure(err);
    }
    const Builder entries = {
        .function = "list_value", .type = list_type, .args = parts, .arg_count = count};
    WEIR_TRY(make_builder(reader, &entries, &list[0], err));
    const Builder map = {
        .function = "map_from_entries", .type = type, .args = list, .arg_count = 1};
    return make_builder(reader, &map, out, err);
}

/* parts: the tag, then the member. */
static Status build_union(JsonReader *reader, const LogicalType *type, Json *tag_json,
                          const Expr *const *parts, const Expr **out, Error *err)
{
    uint64_t tag = 0;
    WEIR_TRY(weir_json_get_index(tag_json, "value", &tag, err));
    if (tag >= type->child_count || weir_type_is_unspellable(type)) {
        return weir_error_set(err, WEIR_ERR_TYPE, "a constant of this UNION is not supported");
    }
    const LogicalType *one = weir_type_struct(reader->arena, TYPE_UNION, &type->names[tag],
                                              &type->children[tag], 1, err);
    const Expr **inner = weir_arena_alloc(reader->arena, sizeof(const Expr *), err);
    if (one == NULL || inner == NULL) {
        return weir_ir_failure(err);
    }
    const Builder member = {
        .function = "union_value",
        .type = one,
        .names = &type->names[tag],
        .args = &parts[1],
        .arg_count = 1,
    };
    WEIR_TRY(make_builder(reader, &member, &inner[0], err));
    const Expr cast = {.kind = EXPR_CAST, .type = type, .args = inner, .arg_count = 1};
    *out = weir_json_make_expr(reader, &cast, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* Number of parts that the type demands; SIZE_MAX = any. */
static size_t part_count(const LogicalType *type)
{
    if (type->id == TYPE_STRUCT) {
        return type->child_count;
    }
    if (type->id == TYPE_UNION) {
        return 2;
    }
    return type->id == TYPE_ARRAY ? (size_t)type->array_size : SIZE_MAX;
}

static Status read_nested(JsonReader *reader, const LogicalType *type, Json *json, const Expr **out,
                          Error *err)
{
    JsonArray children = {0};
    WEIR_TRY(weir_json_get_array(json, "children", &children, err));
    const size_t expected = part_count(type);
    if (expected != SIZE_MAX && children.count != expected) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a %s of %zu parts",
                              weir_type_name(type->id), children.count);
    }
    const Expr **parts =
        weir_arena_calloc(reader->arena, children.count, sizeof(const Expr *), err);
    if (parts == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < children.count; i++) {
        WEIR_TRY(weir_json_read_constant(reader, weir_json_item(&children, i), &parts[i], err));
    }
    Builder builder = {.type = type, .args = parts, .arg_count = children.count};
    if (type->id == TYPE_ARRAY) {
        return build_array(reader, type, parts, children.count, out, err);
    }
    if (type->id == TYPE_MAP) {
        return build_map(reader, type, parts, children.count, out, err);
    }
    if (type->id == TYPE_UNION) {
        return build_union(reader, type, weir_json_item(&children, 0), parts, out, err);
    }
    if (type->id == TYPE_LIST) {
        builder.function = "list_value";
    } else if (type->names[0][0] == '\0') {
        builder.function = "row";
    } else {
        builder.function = "struct_pack";
        builder.names = type->names;
    }
    return make_builder(reader, &builder, out, err);
}

Status weir_json_read_constant(JsonReader *reader, Json *json, const Expr **out, Error *err)
{
    Json *type_json = NULL;
    Json *value_json = NULL;
    const LogicalType *type = NULL;
    WEIR_TRY(weir_json_get(json, "type", &type_json, err));
    WEIR_TRY(weir_json_read_type(reader, type_json, &type, err));
    if (weir_json_find_flag(json, "is_null")) {
        *out = weir_json_make_null(reader, type, err);
        return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
    }
    WEIR_TRY(weir_json_get(json, "value", &value_json, err));
    if (weir_type_is_nested(type)) {
        WEIR_TRY(weir_json_enter(reader, err));
        const Status status = read_nested(reader, type, value_json, out, err);
        weir_json_leave(reader);
        return status;
    }
    Expr constant = {.kind = EXPR_CONSTANT, .type = type, .value = {.type = type}};
    WEIR_TRY(read_scalar(reader, value_json, &constant.value, err));
    *out = weir_json_make_expr(reader, &constant, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}
