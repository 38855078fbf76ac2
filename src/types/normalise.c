/* normalise.c: vectors as keys: equal values get equal bytes.
 *
 * For every physical type: look first, copy only if some value has to change. Values under NULL
 * become zero, whatever the producer left there. */
#include "types/interval.h"
#include "types/nested.h"
#include "types/normal.h"
#include "types/vector.h"

/* Masks of a short string's two words, by length. */
static const uint64_t SHORT_MASKS[STRING_INLINE_BYTES + 1][2] = {
#define FIRST(n) UINT64_C(0xFFFFFFFFFFFFFFFF) >> (8 * (4 - (n)))
#define SECOND(n) UINT64_C(0xFFFFFFFFFFFFFFFF) >> (8 * (8 - (n)))
    {FIRST(0), 0},         {FIRST(1), 0},         {FIRST(2), 0},         {FIRST(3), 0},
    {FIRST(4), 0},         {FIRST(4), SECOND(1)}, {FIRST(4), SECOND(2)}, {FIRST(4), SECOND(3)},
    {FIRST(4), SECOND(4)}, {FIRST(4), SECOND(5)}, {FIRST(4), SECOND(6)}, {FIRST(4), SECOND(7)},
    {FIRST(4), SECOND(8)},
#undef FIRST
#undef SECOND
};

/* The rows of a block of 64 that are NULL, as bits. */
static uint64_t null_bits(const uint64_t *validity, size_t block, size_t rows)
{
    const size_t left = rows - block * 64;
    const uint64_t mask = left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
    return ~validity[block] & mask;
}

static bool is_zero(const char *bytes, size_t size)
{
    char all = 0;
    for (size_t i = 0; i < size; i++) {
        all = (char)(all | bytes[i]);
    }
    return all == 0;
}

/* True if a value under NULL is not zero. */
static bool has_garbage(const Vector *v, size_t rows)
{
    if (v->validity == NULL) {
        return false;
    }
    const size_t width = weir_phys_width(v->phys);
    const char *data = v->data;
    for (size_t block = 0; block * 64 < rows; block++) {
        for (uint64_t nulls = null_bits(v->validity, block, rows); nulls != 0; nulls &= nulls - 1) {
            const size_t row = block * 64 + (size_t)__builtin_ctzll(nulls);
            if (!is_zero(data + row * width, width)) {
                return true;
            }
        }
    }
    return false;
}

static void zero_nulls(const Vector *v, char *data, size_t rows)
{
    if (v->validity == NULL) {
        return;
    }
    const size_t width = weir_phys_width(v->phys);
    for (size_t block = 0; block * 64 < rows; block++) {
        for (uint64_t nulls = null_bits(v->validity, block, rows); nulls != 0; nulls &= nulls - 1) {
            const size_t row = block * 64 + (size_t)__builtin_ctzll(nulls);
            memset(data + row * width, 0, width);
        }
    }
}

static bool changes_f64(const uint64_t *values, size_t rows)
{
    uint64_t difference = 0;
    for (size_t i = 0; i < rows; i++) {
        difference |= values[i] ^ weir_normal_f64(values[i]);
    }
    return difference != 0;
}

static bool changes_f32(const uint32_t *values, size_t rows)
{
    uint32_t difference = 0;
    for (size_t i = 0; i < rows; i++) {
        difference |= values[i] ^ weir_normal_f32(values[i]);
    }
    return difference != 0;
}

static bool is_canonical(const Interval *v)
{
    const Interval canonical = weir_interval_canonical(*v);
    return memcmp(&canonical, v, sizeof canonical) == 0;
}

static bool changes_intervals(const Interval *values, size_t rows)
{
    /* Without anything to carry an interval is canonical; most columns are like that. */
    uint64_t carries = 0;
    for (size_t i = 0; i < rows; i++) {
        const uint64_t days = (uint64_t)(int64_t)values[i].days + (INTERVAL_DAYS_PER_MONTH - 1);
        const uint64_t micros = (uint64_t)values[i].micros + (INTERVAL_MICROS_PER_DAY - 1);
        carries |= days > 2 * (INTERVAL_DAYS_PER_MONTH - 1) ? 1 : 0;
        carries |= micros > 2 * (INTERVAL_MICROS_PER_DAY - 1) ? 1 : 0;
    }
    if (carries == 0) {
        return false;
    }
    for (size_t i = 0; i < rows; i++) {
        if (!is_canonical(&values[i])) {
            return true;
        }
    }
    return false;
}

/* True if a short string has bytes behind its end. */
static bool changes_padding(const String *values, size_t rows)
{
    uint64_t rest = 0;
    for (size_t i = 0; i < rows; i++) {
        if (weir_string_is_inline(&values[i])) {
            const uint64_t *masks = SHORT_MASKS[values[i].inlined.length];
            rest |= (values[i].words[0] & ~masks[0]) | (values[i].words[1] & ~masks[1]);
        }
    }
    return rest != 0;
}

static void convert_values(PhysType phys, void *data, size_t rows)
{
    if (phys == PHYS_F64) {
        uint64_t *values = data;
        for (size_t i = 0; i < rows; i++) {
            values[i] = weir_normal_f64(values[i]);
        }
    } else if (phys == PHYS_F32) {
        uint32_t *values = data;
        for (size_t i = 0; i < rows; i++) {
            values[i] = weir_normal_f32(values[i]);
        }
    } else if (phys == PHYS_INTERVAL) {
        Interval *values = data;
        for (size_t i = 0; i < rows; i++) {
            values[i] = weir_interval_canonical(values[i]);
        }
    } else if (phys == PHYS_STRING) {
        String *values = data;
        for (size_t i = 0; i < rows; i++) {
            if (weir_string_is_inline(&values[i])) {
                const uint64_t *masks = SHORT_MASKS[values[i].inlined.length];
                values[i].words[0] &= masks[0];
                values[i].words[1] &= masks[1];
            }
        }
    }
}

/* Nested values with floats or intervals inside: every value is copied and put into normal form. */
static Status normalise_nested(const LogicalType *type, String *values, size_t rows, Arena *arena,
                               Error *err)
{
    size_t long_bytes = 0;
    for (size_t i = 0; i < rows; i++) {
        long_bytes += weir_string_is_inline(&values[i]) ? 0 : weir_string_size(&values[i]);
    }
    char *bytes = weir_arena_alloc(arena, long_bytes, err);
    if (bytes == NULL) {
        return WEIR_ERR_NOMEM;
    }
    for (size_t i = 0; i < rows; i++) {
        const size_t size = weir_string_size(&values[i]);
        if (size == 0) {
            continue; /* under NULL */
        }
        char *place = values[i].inlined.bytes;
        if (!weir_string_is_inline(&values[i])) {
            memcpy(bytes, values[i].remote.pointer, size);
            place = bytes;
            bytes += size;
        }
        weir_nested_normalise_in_place(type, place, size);
        if (!weir_string_is_inline(&values[i])) {
            values[i] = weir_string_make(place, size); /* the prefix may have changed */
        }
    }
    return WEIR_OK;
}

static bool has_to_change(const Vector *v, const LogicalType *type, size_t rows)
{
    if (has_garbage(v, rows)) {
        return true;
    }
    switch (v->phys) {
    case PHYS_F32: return changes_f32(v->data, rows);
    case PHYS_F64: return changes_f64(v->data, rows);
    case PHYS_INTERVAL: return changes_intervals(v->data, rows);
    case PHYS_STRING:
        return (weir_type_is_nested(type) && weir_type_is_lossy(type)) ||
               changes_padding(v->data, rows);
    case PHYS_I8:
    case PHYS_I16:
    case PHYS_I32:
    case PHYS_I64:
    case PHYS_I128:
    case PHYS_U8:
    case PHYS_U16:
    case PHYS_U32:
    case PHYS_U64:
    case PHYS_U128:
    case PHYS_COUNT: return false;
    }
    return false;
}

Status weir_vector_normalise(const Vector *v, const LogicalType *type, size_t count, Arena *arena,
                             Vector *out, Error *err)
{
    WEIR_ASSERT(v->phys == type->phys);
    const size_t rows = v->is_constant ? WEIR_MIN(count, (size_t)1) : count;
    Vector result = *v;
    if (has_to_change(v, type, rows)) {
        const size_t size = rows * weir_phys_width(v->phys);
        void *data = weir_arena_alloc(arena, size, err);
        if (data == NULL) {
            return WEIR_ERR_NOMEM;
        }
        memcpy(data, v->data, size);
        zero_nulls(v, data, rows);
        convert_values(v->phys, data, rows);
        if (weir_type_is_nested(type) && weir_type_is_lossy(type)) {
            WEIR_TRY(normalise_nested(type, data, rows, arena, err));
        }
        result.data = data;
    }
    *out = result;
    return WEIR_OK;
}
