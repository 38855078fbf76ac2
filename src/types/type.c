/* type.c: the trees of logical types: building, comparing, copying, spelling. */
#include "types/type.h"

#include <strings.h>

#include "types/nested.h"

size_t weir_phys_width(PhysType phys)
{
    static const uint8_t WIDTHS[PHYS_COUNT] = {
        [PHYS_I8] = 1,  [PHYS_I16] = 2, [PHYS_I32] = 4,       [PHYS_I64] = 8,     [PHYS_I128] = 16,
        [PHYS_U8] = 1,  [PHYS_U16] = 2, [PHYS_U32] = 4,       [PHYS_U64] = 8,     [PHYS_U128] = 16,
        [PHYS_F32] = 4, [PHYS_F64] = 8, [PHYS_INTERVAL] = 16, [PHYS_STRING] = 16,
    };
    WEIR_ASSERT((unsigned)phys < PHYS_COUNT);
    return WIDTHS[phys];
}

static const LogicalType SIMPLE_TYPES[TYPE_COUNT] = {
#define X(name, sql, layout, flags) [TYPE_##name] = {.id = TYPE_##name, .phys = PHYS_##layout},
#include "types/types.def"
#undef X
};

static const LogicalType JSON_TYPE = {.id = TYPE_VARCHAR, .phys = PHYS_STRING, .is_json = true};

static const char *const TYPE_NAMES[TYPE_COUNT] = {
#define X(name, sql, layout, flags) [TYPE_##name] = (sql),
#include "types/types.def"
#undef X
};

static const uint8_t TYPE_FLAGS[TYPE_COUNT] = {
#define X(name, sql, layout, flags) [TYPE_##name] = (flags),
#include "types/types.def"
#undef X
};

/* True if the type has no parameters, so that one object serves all. */
static bool is_simple(const LogicalType *type)
{
    return type->id != TYPE_DECIMAL && type->id != TYPE_ENUM &&
           (TYPE_FLAGS[type->id] & TYPE_FLAG_NESTED) == 0;
}

const LogicalType *weir_type_simple(TypeId id)
{
    WEIR_ASSERT((unsigned)id < TYPE_COUNT);
    WEIR_ASSERT(is_simple(&SIMPLE_TYPES[id]));
    return &SIMPLE_TYPES[id];
}

const LogicalType *weir_type_json(void)
{
    return &JSON_TYPE;
}

static const LogicalType *put_in_arena(Arena *arena, const LogicalType *type, Error *err)
{
    if (type->depth > NESTED_MAX_DEPTH) {
        weir_error_set(err, WEIR_ERR_TYPE, "a type nested more than %d levels deep",
                       NESTED_MAX_DEPTH);
        return NULL;
    }
    LogicalType *copy = weir_arena_alloc(arena, sizeof *copy, err);
    if (copy != NULL) {
        *copy = *type;
    }
    return copy;
}

const LogicalType *weir_type_decimal(Arena *arena, uint8_t width, uint8_t scale, Error *err)
{
    if (width < 1 || width > 38 || scale > width) {
        weir_error_set(err, WEIR_ERR_TYPE, "DECIMAL(%u,%u) does not exist", (unsigned)width,
                       (unsigned)scale);
        return NULL;
    }
    PhysType phys = PHYS_I128;
    if (width <= 4) {
        phys = PHYS_I16;
    } else if (width <= 9) {
        phys = PHYS_I32;
    } else if (width <= 18) {
        phys = PHYS_I64;
    }
    const LogicalType type = {.id = TYPE_DECIMAL, .phys = phys, .width = width, .scale = scale};
    return put_in_arena(arena, &type, err);
}

/* Copies an array of texts; NULL on failure. */
static const char *const *copy_names(Arena *arena, const char *const *names, size_t count,
                                     Error *err)
{
    const char **copy = weir_arena_calloc(arena, count, sizeof *copy, err);
    if (copy == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = weir_arena_strdup(arena, names[i], err);
        if (copy[i] == NULL) {
            return NULL;
        }
    }
    return copy;
}

const LogicalType *weir_type_enum(Arena *arena, const char *const *values, size_t count, Error *err)
{
    PhysType phys = PHYS_U32;
    if (count <= UINT8_MAX) {
        phys = PHYS_U8;
    } else if (count <= UINT16_MAX) {
        phys = PHYS_U16;
    }
    const char *const *names = copy_names(arena, values, count, err);
    if (names == NULL) {
        return NULL;
    }
    const LogicalType type = {.id = TYPE_ENUM, .phys = phys, .names = names, .name_count = count};
    return put_in_arena(arena, &type, err);
}

/* A nested type with the given parameters; copies the array of children, not the children. */
static const LogicalType *make_nested(Arena *arena, LogicalType type,
                                      const LogicalType *const *children, size_t count, Error *err)
{
    const LogicalType **copy = weir_arena_calloc(arena, count, sizeof(const LogicalType *), err);
    if (copy == NULL) {
        return NULL;
    }
    unsigned depth = 0;
    for (size_t i = 0; i < count; i++) {
        copy[i] = children[i];
        depth = WEIR_MAX(depth, children[i]->depth);
    }
    type.phys = PHYS_STRING;
    type.children = copy;
    type.child_count = count;
    type.depth = (uint8_t)(depth + 1);
    return put_in_arena(arena, &type, err);
}

const LogicalType *weir_type_list(Arena *arena, const LogicalType *child, Error *err)
{
    return make_nested(arena, (LogicalType){.id = TYPE_LIST}, &child, 1, err);
}

const LogicalType *weir_type_array(Arena *arena, const LogicalType *child, uint64_t size,
                                   Error *err)
{
    return make_nested(arena, (LogicalType){.id = TYPE_ARRAY, .array_size = size}, &child, 1, err);
}

const LogicalType *weir_type_map(Arena *arena, const LogicalType *key, const LogicalType *value,
                                 Error *err)
{
    const LogicalType *const children[2] = {key, value};
    return make_nested(arena, (LogicalType){.id = TYPE_MAP}, children, 2, err);
}

const LogicalType *weir_type_struct(Arena *arena, TypeId id, const char *const *names,
                                    const LogicalType *const *children, size_t count, Error *err)
{
    WEIR_ASSERT(id == TYPE_STRUCT || id == TYPE_UNION);
    const char *const *copied = copy_names(arena, names, count, err);
    if (copied == NULL) {
        return NULL;
    }
    const LogicalType type = {.id = id, .names = copied, .name_count = count};
    return make_nested(arena, type, children, count, err);
}

const LogicalType *weir_type_copy(Arena *arena, const LogicalType *type, Error *err)
{
    if (is_simple(type)) {
        return type->is_json ? &JSON_TYPE : &SIMPLE_TYPES[type->id];
    }
    LogicalType copy = *type;
    if (type->name_count > 0) {
        copy.names = copy_names(arena, type->names, type->name_count, err);
        if (copy.names == NULL) {
            return NULL;
        }
    }
    if (type->child_count == 0) {
        return put_in_arena(arena, &copy, err);
    }
    const LogicalType **children =
        weir_arena_calloc(arena, type->child_count, sizeof(const LogicalType *), err);
    if (children == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < type->child_count; i++) {
        children[i] = weir_type_copy(arena, type->children[i], err);
        if (children[i] == NULL) {
            return NULL;
        }
    }
    copy.children = children;
    return put_in_arena(arena, &copy, err);
}

bool weir_type_equal(const LogicalType *a, const LogicalType *b)
{
    if (a == b) {
        return true;
    }
    if (a->id != b->id || a->phys != b->phys || a->width != b->width || a->scale != b->scale ||
        a->is_json != b->is_json || a->array_size != b->array_size ||
        a->child_count != b->child_count || a->name_count != b->name_count) {
        return false;
    }
    for (size_t i = 0; i < a->name_count; i++) {
        if (strcmp(a->names[i], b->names[i]) != 0) {
            return false;
        }
    }
    for (size_t i = 0; i < a->child_count; i++) {
        if (!weir_type_equal(a->children[i], b->children[i])) {
            return false;
        }
    }
    return true;
}

uint32_t weir_type_flags(const LogicalType *type)
{
    uint32_t flags = TYPE_FLAGS[type->id];
    for (size_t i = 0; i < type->child_count; i++) {
        flags |= weir_type_flags(type->children[i]) & (uint32_t)TYPE_FLAG_LOSSY;
    }
    return flags;
}

bool weir_type_is_lossy(const LogicalType *type)
{
    return (weir_type_flags(type) & TYPE_FLAG_LOSSY) != 0;
}

bool weir_type_is_nested(const LogicalType *type)
{
    return (TYPE_FLAGS[type->id] & TYPE_FLAG_NESTED) != 0;
}

bool weir_type_is_integer(const LogicalType *type)
{
    return (TYPE_FLAGS[type->id] & TYPE_FLAG_INTEGER) != 0;
}

bool weir_type_is_numeric(const LogicalType *type)
{
    return (TYPE_FLAGS[type->id] & TYPE_FLAG_NUMERIC) != 0;
}

bool weir_type_is_unspellable(const LogicalType *type)
{
    if (type->id == TYPE_STRUCT || type->id == TYPE_UNION) {
        bool is_named = false;
        for (size_t i = 0; i < type->name_count; i++) {
            is_named = is_named || type->names[i][0] != '\0';
        }
        if (!is_named) {
            return true;
        }
    }
    for (size_t i = 0; i < type->child_count; i++) {
        if (weir_type_is_unspellable(type->children[i])) {
            return true;
        }
    }
    return false;
}

/* STRUCT("n" T, ...) and UNION("n" T, ...). */
static void put_fields(Buf *buf, const LogicalType *type)
{
    weir_buf_puts(buf, TYPE_NAMES[type->id]);
    weir_buf_putc(buf, '(');
    for (size_t i = 0; i < type->child_count; i++) {
        weir_buf_puts(buf, i == 0 ? "" : ", ");
        weir_buf_put_sql_name(buf, type->names[i]);
        weir_buf_putc(buf, ' ');
        weir_type_put_sql(buf, type->children[i]);
    }
    weir_buf_putc(buf, ')');
}

static void put_enum(Buf *buf, const LogicalType *type)
{
    weir_buf_puts(buf, "ENUM(");
    for (size_t i = 0; i < type->name_count; i++) {
        weir_buf_puts(buf, i == 0 ? "" : ", ");
        weir_buf_put_sql_string(buf, type->names[i], strlen(type->names[i]));
    }
    weir_buf_putc(buf, ')');
}

void weir_type_put_sql(Buf *buf, const LogicalType *type)
{
    if (buf->status == WEIR_OK && weir_type_is_unspellable(type)) {
        buf->status = weir_error_set(&buf->err, WEIR_ERR_TYPE,
                                     "a STRUCT without field names has no spelling in SQL");
        return;
    }
    if (type->is_json) {
        weir_buf_puts(buf, "JSON");
    } else if (type->id == TYPE_DECIMAL) {
        weir_buf_printf(buf, "DECIMAL(%u,%u)", (unsigned)type->width, (unsigned)type->scale);
    } else if (type->id == TYPE_ENUM) {
        put_enum(buf, type);
    } else if (type->id == TYPE_LIST) {
        weir_type_put_sql(buf, type->children[0]);
        weir_buf_puts(buf, "[]");
    } else if (type->id == TYPE_ARRAY) {
        weir_type_put_sql(buf, type->children[0]);
        weir_buf_printf(buf, "[%llu]", (unsigned long long)type->array_size);
    } else if (type->id == TYPE_MAP) {
        weir_buf_puts(buf, "MAP(");
        weir_type_put_sql(buf, type->children[0]);
        weir_buf_puts(buf, ", ");
        weir_type_put_sql(buf, type->children[1]);
        weir_buf_putc(buf, ')');
    } else if (type->id == TYPE_STRUCT || type->id == TYPE_UNION) {
        put_fields(buf, type);
    } else if (type->id == TYPE_SQLNULL) {
        weir_buf_puts(buf, "\"NULL\"");
    } else {
        weir_buf_puts(buf, TYPE_NAMES[type->id]);
    }
}

typedef struct TypeAlias {
    const char *name;
    TypeId id;
} TypeAlias;

static const TypeAlias TYPE_ALIASES[] = {
    {"BOOL", TYPE_BOOLEAN},
    {"LOGICAL", TYPE_BOOLEAN},
    {"INT1", TYPE_TINYINT},
    {"INT2", TYPE_SMALLINT},
    {"SHORT", TYPE_SMALLINT},
    {"INT16", TYPE_SMALLINT},
    {"INT", TYPE_INTEGER},
    {"INT4", TYPE_INTEGER},
    {"INT32", TYPE_INTEGER},
    {"SIGNED", TYPE_INTEGER},
    {"INTEGRAL", TYPE_INTEGER},
    {"INT8", TYPE_BIGINT},
    {"INT64", TYPE_BIGINT},
    {"LONG", TYPE_BIGINT},
    {"OID", TYPE_BIGINT},
    {"INT128", TYPE_HUGEINT},
    {"UINT8", TYPE_UTINYINT},
    {"UINT16", TYPE_USMALLINT},
    {"UINT32", TYPE_UINTEGER},
    {"UINT64", TYPE_UBIGINT},
    {"UINT128", TYPE_UHUGEINT},
    {"FLOAT4", TYPE_FLOAT},
    {"REAL", TYPE_FLOAT},
    {"FLOAT8", TYPE_DOUBLE},
    {"DEC", TYPE_DECIMAL},
    {"NUMERIC", TYPE_DECIMAL},
    {"TEXT", TYPE_VARCHAR},
    {"STRING", TYPE_VARCHAR},
    {"CHAR", TYPE_VARCHAR},
    {"BPCHAR", TYPE_VARCHAR},
    {"NVARCHAR", TYPE_VARCHAR},
    {"BYTEA", TYPE_BLOB},
    {"BINARY", TYPE_BLOB},
    {"VARBINARY", TYPE_BLOB},
    {"BITSTRING", TYPE_BIT},
    {"TIMETZ", TYPE_TIME_TZ},
    {"TIME_TZ", TYPE_TIME_TZ},
    {"DATETIME", TYPE_TIMESTAMP},
    {"TIMESTAMP_US", TYPE_TIMESTAMP},
    {"TIMESTAMPTZ", TYPE_TIMESTAMP_TZ},
    {"TIMESTAMP_TZ", TYPE_TIMESTAMP_TZ},
    {"GUID", TYPE_UUID},
    {"VARINT", TYPE_BIGNUM},
    {"ROW", TYPE_STRUCT},
    {"SQLNULL", TYPE_SQLNULL},
    {"\"NULL\"", TYPE_SQLNULL},
};

TypeId weir_type_id_from_name(const char *name)
{
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (strcasecmp(name, TYPE_NAMES[i]) == 0) {
            return (TypeId)i;
        }
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(TYPE_ALIASES); i++) {
        if (strcasecmp(name, TYPE_ALIASES[i].name) == 0) {
            return TYPE_ALIASES[i].id;
        }
    }
    return TYPE_COUNT;
}

const char *weir_type_name(TypeId id)
{
    WEIR_ASSERT((unsigned)id < TYPE_COUNT);
    return TYPE_NAMES[id];
}
