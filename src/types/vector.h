/* vector.h: one column of up to VECTOR_CAPACITY values, in DuckDB's physical layout.
 *
 * A data chunk of flat columns becomes vectors without copying. Nested values (LIST, STRUCT, MAP,
 * ARRAY, UNION) are the exception: inside the engine a nested value is one canonical byte string
 * (types/nested.h), made and unmade at the border to the database. */
#ifndef WEIR_TYPES_VECTOR_H
#define WEIR_TYPES_VECTOR_H

#include "types/type.h"

enum { VECTOR_CAPACITY = 2048 };

/* DuckDB's string slot: up to 12 bytes inline, zero padded; longer: 4 bytes of prefix and a
 * pointer. */
typedef union String {
    struct {
        uint32_t length;
        char bytes[12];
    } inlined;
    struct {
        uint32_t length;
        char prefix[4];
        const char *pointer; /* borrowed */
    } remote;
    uint64_t words[2];
} String;

enum { STRING_INLINE_BYTES = 12 };
_Static_assert(sizeof(String) == 16, "the slot has DuckDB's size");

static inline bool weir_string_is_inline(const String *s)
{
    return s->inlined.length <= STRING_INLINE_BYTES;
}

static inline const char *weir_string_data(const String *s)
{
    return weir_string_is_inline(s) ? s->inlined.bytes : s->remote.pointer;
}

static inline size_t weir_string_size(const String *s)
{
    return s->inlined.length;
}

/* bytes is borrowed if longer than 12. */
String weir_string_make(const char *bytes, size_t size);
bool weir_string_equal(const String *a, const String *b);
int weir_string_compare(const String *a, const String *b); /* memcmp order, <0 0 >0 */

/* Values are at data[i]; a constant vector holds one value (and one validity bit) for all rows. */
typedef struct Vector {
    PhysType phys;
    bool is_constant;
    void *data;         /* borrowed: width * rows bytes, 16-byte aligned when ours */
    uint64_t *validity; /* borrowed; bit i set = row i is valid; NULL = no NULLs */
} Vector;

enum { VECTOR_VALIDITY_WORDS = VECTOR_CAPACITY / 64 };

static inline size_t weir_vector_place(const Vector *v, size_t row)
{
    return v->is_constant ? 0 : row;
}

static inline bool weir_validity_get(const uint64_t *validity, size_t row)
{
    return validity == NULL || ((validity[row / 64] >> (row % 64)) & 1u) != 0;
}

static inline void weir_validity_set_null(uint64_t *validity, size_t row)
{
    validity[row / 64] &= ~(UINT64_C(1) << (row % 64));
}

static inline bool weir_vector_is_null(const Vector *v, size_t row)
{
    return !weir_validity_get(v->validity, weir_vector_place(v, row));
}

/* Flat vector with room for capacity rows from the arena; no NULLs, contents undefined. */
Status weir_vector_init(Vector *v, PhysType phys, size_t capacity, Arena *arena, Error *err)
    WEIR_MUST_CHECK;

/* Gives the vector a validity mask of capacity rows, all valid, if it has none. */
Status weir_vector_add_validity(Vector *v, size_t capacity, Arena *arena, Error *err)
    WEIR_MUST_CHECK;

/* out = v flat; the same memory if it is flat already, otherwise from the arena. */
Status weir_vector_flatten(const Vector *v, size_t count, Arena *arena, Vector *out, Error *err)
    WEIR_MUST_CHECK;

/* out[i] = v[selection[i]] for i < count; flat, from the arena (a constant stays constant). */
Status weir_vector_gather(const Vector *v, const uint16_t *selection, size_t count, Arena *arena,
                          Vector *out, Error *err) WEIR_MUST_CHECK;

/* Copies long strings into the arena, so that the vector owns what it points to. */
Status weir_vector_own_strings(Vector *v, size_t count, Arena *arena, Error *err) WEIR_MUST_CHECK;

/* The vector as a key: out has equal bytes for equal values (-0.0 -> 0.0, one NaN, intervals
 * justified, nested ones inside too; values under NULL zeroed; strings' padding zeroed). The same
 * memory if nothing has to change. */
Status weir_vector_normalise(const Vector *v, const LogicalType *type, size_t count, Arena *arena,
                             Vector *out, Error *err) WEIR_MUST_CHECK;

/* SQL order of two values of one type (NaN largest, intervals normalised, nested element-wise with
 * NULL largest); the values are not NULL. */
int weir_value_compare(const LogicalType *type, const void *a, const void *b);

#endif
