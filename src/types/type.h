/* type.h: logical types (as SQL sees them) and physical types (as memory holds them).
 *
 * Logical types are immutable trees that live in an arena of their owner (a plan, a table) and are
 * compared by structure. Collations are not part of a type: plans contain them as functions. */
#ifndef WEIR_TYPES_TYPE_H
#define WEIR_TYPES_TYPE_H

#include "base/arena.h"
#include "base/buf.h"

/* The layout of one column's values. Same bytes as DuckDB's vectors. */
typedef enum PhysType {
    PHYS_I8,
    PHYS_I16,
    PHYS_I32,
    PHYS_I64,
    PHYS_I128,
    PHYS_U8,
    PHYS_U16,
    PHYS_U32,
    PHYS_U64,
    PHYS_U128,
    PHYS_F32,
    PHYS_F64,
    PHYS_INTERVAL, /* Interval */
    PHYS_STRING,   /* String */
    PHYS_COUNT
} PhysType;

/* {int32 months, int32 days, int64 micros}, DuckDB's layout. */
typedef struct Interval {
    int32_t months;
    int32_t days;
    int64_t micros;
} Interval;

enum {
    TYPE_FLAG_NUMERIC = 1,
    TYPE_FLAG_INTEGER = 2,
    TYPE_FLAG_LOSSY = 4, /* equal values may differ in bytes: -0.0, NaN, 30 days = 1 month */
    TYPE_FLAG_NESTED = 8,
};

typedef enum TypeId {
#define X(id, sql, phys, flags) TYPE_##id,
#include "types/types.def"
#undef X
    TYPE_COUNT
} TypeId;

typedef struct LogicalType LogicalType;

struct LogicalType {
    TypeId id;
    PhysType phys;
    uint8_t width;       /* DECIMAL: digits in all */
    uint8_t scale;       /* DECIMAL: digits behind the point */
    bool is_json;        /* VARCHAR with the alias JSON */
    uint8_t depth;       /* levels of nesting below; 0 = not nested */
    uint64_t array_size; /* ARRAY */
    size_t child_count;  /* LIST, ARRAY 1; MAP 2 (key, value); STRUCT, UNION fields */
    const LogicalType *const *children; /* UNION: members without the tag */
    const char *const *names;           /* STRUCT, UNION: field names; all "" = unnamed struct;
                                           ENUM: the values */
    size_t name_count;                  /* STRUCT, UNION: child_count; ENUM: number of values */
};

/* Bytes of one value: 1, 2, 4, 8 or 16. */
size_t weir_phys_width(PhysType phys);

/* Simple types (no parameters); DECIMAL, ENUM and nested ones are built by the others. */
const LogicalType *weir_type_simple(TypeId id);
const LogicalType *weir_type_json(void);
const LogicalType *weir_type_decimal(Arena *arena, uint8_t width, uint8_t scale, Error *err)
    WEIR_MUST_CHECK;
/* The builders copy names; children are borrowed and must live as long as the arena. Nesting deeper
 * than NESTED_MAX_DEPTH (types/nested.h) is WEIR_ERR_TYPE. */
const LogicalType *weir_type_enum(Arena *arena, const char *const *values, size_t count, Error *err)
    WEIR_MUST_CHECK;
const LogicalType *weir_type_list(Arena *arena, const LogicalType *child, Error *err)
    WEIR_MUST_CHECK;
const LogicalType *weir_type_array(Arena *arena, const LogicalType *child, uint64_t size,
                                   Error *err) WEIR_MUST_CHECK;
const LogicalType *weir_type_map(Arena *arena, const LogicalType *key, const LogicalType *value,
                                 Error *err) WEIR_MUST_CHECK;
/* id: TYPE_STRUCT or TYPE_UNION. */
const LogicalType *weir_type_struct(Arena *arena, TypeId id, const char *const *names,
                                    const LogicalType *const *children, size_t count, Error *err)
    WEIR_MUST_CHECK;

/* A deep copy into another arena. */
const LogicalType *weir_type_copy(Arena *arena, const LogicalType *type, Error *err)
    WEIR_MUST_CHECK;

bool weir_type_equal(const LogicalType *a, const LogicalType *b);
uint32_t weir_type_flags(const LogicalType *type); /* LOSSY also if a nested part is */
bool weir_type_is_lossy(const LogicalType *type);
bool weir_type_is_nested(const LogicalType *type);
bool weir_type_is_integer(const LogicalType *type);
bool weir_type_is_numeric(const LogicalType *type);

/* True if the type has no SQL spelling (an unnamed struct inside). */
bool weir_type_is_unspellable(const LogicalType *type);

/* The SQL spelling, usable in a CAST. A type without one is the buffer's error WEIR_ERR_TYPE. */
void weir_type_put_sql(Buf *buf, const LogicalType *type);

/* "INTEGER" etc. -> id; TYPE_COUNT if unknown. Accepts DuckDB's JSON ids and aliases. */
TypeId weir_type_id_from_name(const char *name);
const char *weir_type_name(TypeId id);

#endif
