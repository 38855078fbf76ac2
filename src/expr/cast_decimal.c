/* cast_decimal.c: casts from and to DECIMAL: decimals, integers, FLOAT and DOUBLE.
 *
 * One loop per pair of representations would be a hundred loops. Instead decimals up to 18 digits
 * are handled as 64-bit integers and wider ones as 128-bit integers: a cast loads its argument
 * widened, one tile at a time, converts the tile, and stores it narrowed. A row that does not fit
 * goes into a byte mask, which is looked at only if some row did.
 *
 * Decimals round half away from zero. Errors have DuckDB's texts. */
#include "expr/kernel.h"

#include <math.h>
#include <stdio.h>

#include "expr/decimal_text.h"

enum { TILE = 256 };

typedef struct DecimalCast DecimalCast;

/* Converts `rows` widened values; bad[i] = 1 if value i does not fit. */
typedef void (*ConvertFn)(const DecimalCast *cast, const i128 *from, size_t rows, i128 *to,
                          uint8_t *bad);
typedef void (*ConvertSmallFn)(const DecimalCast *cast, const int64_t *from, size_t rows,
                               int64_t *to, uint8_t *bad);

struct DecimalCast {
    const LogicalType *from;
    const LogicalType *to;
    i128 factor; /* 10^(difference of the scales) */
    i128 limit;  /* magnitudes from here on do not fit; 0 = all fit */
    ConvertFn convert;
    ConvertSmallFn convert_small;
};

static i128 power_of_ten(size_t n)
{
    i128 power = 1;
    for (; n > 0; n--) {
        power *= 10;
    }
    return power;
}

/* --- widening and narrowing ---------------------------------------------------------------------- */

#define LOAD(type, wide)                                             \
    do {                                                             \
        const type *restrict values = (const type *)v->data + begin; \
        for (size_t i = 0; i < rows; i++) {                          \
            out[i] = (wide)values[i];                                \
        }                                                            \
    } while (0)

#define LOAD_FUNCTION(name, wide)                                                    \
    static void name(const Vector *v, size_t begin, size_t rows, wide *restrict out) \
    {                                                                                \
        switch (v->phys) {                                                           \
        case PHYS_I8: LOAD(int8_t, wide); break;                                     \
        case PHYS_I16: LOAD(int16_t, wide); break;                                   \
        case PHYS_I32: LOAD(int32_t, wide); break;                                   \
        case PHYS_I64: LOAD(int64_t, wide); break;                                   \
        case PHYS_U8: LOAD(uint8_t, wide); break;                                    \
        case PHYS_U16: LOAD(uint16_t, wide); break;                                  \
        case PHYS_U32: LOAD(uint32_t, wide); break;                                  \
        case PHYS_U64: LOAD(uint64_t, wide); break;                                  \
        case PHYS_I128: LOAD(KernelI128, wide); break;                               \
        case PHYS_U128: LOAD(KernelU128, wide); break;                               \
        case PHYS_F32:                                                               \
        case PHYS_F64:                                                               \
        case PHYS_INTERVAL:                                                          \
        case PHYS_STRING:                                                            \
        case PHYS_COUNT: memset(out, 0, rows * sizeof *out); break;                  \
        }                                                                            \
    }
LOAD_FUNCTION(load_small, int64_t)
LOAD_FUNCTION(load_wide, i128)
#undef LOAD_FUNCTION
#undef LOAD

#define STORE(type)                                      \
    do {                                                 \
        type *restrict values = (type *)v->data + begin; \
        for (size_t i = 0; i < rows; i++) {              \
            values[i] = (type)from[i];                   \
        }                                                \
    } while (0)

#define STORE_FUNCTION(name, wide)                                                    \
    static void name(Vector *v, size_t begin, size_t rows, const wide *restrict from) \
    {                                                                                 \
        switch (v->phys) {                                                            \
        case PHYS_I8: STORE(int8_t); break;                                           \
        case PHYS_I16: STORE(int16_t); break;                                         \
        case PHYS_I32: STORE(int32_t); break;                                         \
        case PHYS_I64: STORE(int64_t); break;                                         \
        case PHYS_U8: STORE(uint8_t); break;                                          \
        case PHYS_U16: STORE(uint16_t); break;                                        \
        case PHYS_U32: STORE(uint32_t); break;                                        \
        case PHYS_U64: STORE(uint64_t); break;                                        \
        case PHYS_I128: STORE(KernelI128); break;                                     \
        case PHYS_U128: STORE(KernelU128); break;                                     \
        case PHYS_F32:                                                                \
        case PHYS_F64:                                                                \
        case PHYS_INTERVAL:                                                           \
        case PHYS_STRING:                                                             \
        case PHYS_COUNT: WEIR_ASSERT(false); break;                                   \
        }                                                                             \
    }
STORE_FUNCTION(store_small, int64_t)
STORE_FUNCTION(store_wide, i128)
#undef STORE_FUNCTION
#undef STORE

static bool is_small(const LogicalType *type)
{
    return type->phys != PHYS_I128 && type->phys != PHYS_U128 && type->phys != PHYS_U64;
}

/* --- conversions --------------------------------------------------------------------------------- */

/* Instantiated for int64_t with uint64_t and for i128 with u128; arithmetic wraps, since rows that
 * do not fit, or are NULL, may overflow. */
#define CONVERSIONS(suffix, wide, uwide)                                                           \
    static void scale_up_##suffix(const DecimalCast *cast, const wide *restrict from, size_t rows, \
                                  wide *restrict to, uint8_t *restrict bad)                        \
    {                                                                                              \
        const uwide factor = (uwide)cast->factor;                                                  \
        const wide limit = (wide)cast->limit;                                                      \
        for (size_t i = 0; i < rows; i++) {                                                        \
            const wide x = from[i];                                                                \
            to[i] = (wide)((uwide)x * factor);                                                     \
            bad[i] = (limit != 0) & ((x >= limit) | (x <= -limit));                                \
        }                                                                                          \
    }                                                                                              \
    /* Scaled to halves first, then rounded away from zero. */                                     \
    static void scale_down_##suffix(const DecimalCast *cast, const wide *restrict from,            \
                                    size_t rows, wide *restrict to, uint8_t *restrict bad)         \
    {                                                                                              \
        const wide factor = (wide)cast->factor;                                                    \
        const wide limit = (wide)cast->limit;                                                      \
        const wide half = factor / 2;                                                              \
        WEIR_ASSERT(half > 0);                                                                     \
        for (size_t i = 0; i < rows; i++) {                                                        \
            const wide x = from[i];                                                                \
            const wide halves = x / half;                                                          \
            to[i] = (halves < 0 ? halves - 1 : halves + 1) / 2;                                    \
            const uwide magnitude = x < 0 ? (uwide)0 - (uwide)x : (uwide)x;                        \
            const uwide rounded =                                                                  \
                magnitude + (magnitude % (uwide)factor >= (uwide)half ? (uwide)factor : 0);        \
            bad[i] = (limit != 0) & (rounded >= (uwide)limit);                                     \
        }                                                                                          \
    }                                                                                              \
    /* To an integer: half a unit is added away from zero. */                                      \
    static void to_integer_##suffix(const DecimalCast *cast, const wide *restrict from,            \
                                    size_t rows, wide *restrict to, uint8_t *restrict bad)         \
    {                                                                                              \
        const wide factor = (wide)cast->factor;                                                    \
        const wide half = factor / 2;                                                              \
        WEIR_ASSERT(factor > 0);                                                                   \
        for (size_t i = 0; i < rows; i++) {                                                        \
            const wide x = from[i];                                                                \
            const wide moved = (wide)(x < 0 ? (uwide)x - (uwide)half : (uwide)x + (uwide)half);    \
            to[i] = moved / factor;                                                                \
            bad[i] = weir_integer_is_outside((i128)to[i], cast->to->phys);                         \
        }                                                                                          \
    }
CONVERSIONS(small, int64_t, uint64_t)
CONVERSIONS(wide, i128, u128)
#undef CONVERSIONS

/* --- which conversion ---------------------------------------------------------------------------- */

static DecimalCast decimal_to_decimal(const LogicalType *from, const LogicalType *to)
{
    DecimalCast cast = {.from = from, .to = to};
    if (to->scale >= from->scale) {
        const size_t difference = (size_t)(to->scale - from->scale);
        const size_t width = to->width - difference;
        cast.factor = power_of_ten(difference);
        cast.limit = from->width < width ? 0 : power_of_ten(width);
        cast.convert = scale_up_wide;
        cast.convert_small = scale_up_small;
        return cast;
    }
    const size_t difference = (size_t)(from->scale - to->scale);
    const size_t width = to->width + difference;
    cast.factor = power_of_ten(difference);
    cast.limit = from->width < width ? 0 : power_of_ten(width);
    cast.convert = scale_down_wide;
    cast.convert_small = scale_down_small;
    return cast;
}

static DecimalCast cast_of(const LogicalType *from, const LogicalType *to)
{
    if (from->id == TYPE_DECIMAL && to->id == TYPE_DECIMAL) {
        return decimal_to_decimal(from, to);
    }
    DecimalCast cast = {.from = from, .to = to};
    if (to->id == TYPE_DECIMAL) {
        cast.factor = power_of_ten(to->scale);
        cast.limit = power_of_ten((size_t)(to->width - to->scale));
        cast.convert = scale_up_wide;
        cast.convert_small = scale_up_small;
    } else {
        cast.factor = power_of_ten(from->scale);
        cast.convert = to_integer_wide;
        cast.convert_small = to_integer_small;
    }
    return cast;
}

/* 10^38 twice does not fit in 128 bits. */
bool weir_accepts_cast_decimal(const Expr *expr)
{
    const LogicalType *from = expr->args[0]->type;
    const LogicalType *to = expr->type;
    if (from->id == TYPE_DECIMAL && to->id == TYPE_DECIMAL) {
        return !weir_type_equal(from, to) && from->scale < to->scale + 38;
    }
    return true;
}

static bool decimal_cast_is_total(const LogicalType *from, const LogicalType *to)
{
    if (from->id == TYPE_DECIMAL && to->id == TYPE_DECIMAL) {
        return decimal_to_decimal(from, to).limit == 0;
    }
    if (to->id == TYPE_DECIMAL) { /* the largest integer must fit before the point */
        static const uint8_t digits[PHYS_COUNT] = {
            [PHYS_I8] = 3, [PHYS_I16] = 5, [PHYS_I32] = 10, [PHYS_I64] = 19, [PHYS_I128] = 39,
            [PHYS_U8] = 3, [PHYS_U16] = 5, [PHYS_U32] = 10, [PHYS_U64] = 20, [PHYS_U128] = 39,
        };
        return to->width - to->scale >= digits[from->phys];
    }
    return false;
}

bool weir_accepts_cast_decimal_total(const Expr *expr)
{
    return weir_accepts_cast_decimal(expr) &&
           decimal_cast_is_total(expr->args[0]->type, expr->type);
}

/* --- errors -------------------------------------------------------------------------------------- */

static Status cannot_cast(const KernelCall *call, const DecimalCast *cast, size_t row, Error *err)
{
    char digits[KERNEL_INTEGER_TEXT_SIZE];
    if (cast->from->id != TYPE_DECIMAL) {
        return weir_error_set(
            err, WEIR_ERR_EVALUATION, "Conversion Error: Could not cast value %s to DECIMAL(%d,%d)",
            weir_kernel_argument_text(call, 0, row, digits), cast->to->width, cast->to->scale);
    }
    const i128 value = weir_kernel_integer(call, 0, row);
    if (cast->to->id != TYPE_DECIMAL) {
        const i128 half = value < 0 ? -(cast->factor / 2) : cast->factor / 2;
        return weir_error_set(err, WEIR_ERR_EVALUATION,
                              "Conversion Error: Failed to cast decimal value %s to type %s",
                              weir_kernel_integer_text((value + half) / cast->factor, digits),
                              weir_kernel_phys_name(cast->to));
    }
    char text[DECIMAL_TEXT_SIZE];
    weir_decimal_text(value, cast->from, text);
    return weir_error_set(err, WEIR_ERR_EVALUATION,
                          "Conversion Error: Casting value \"%s\" to type DECIMAL(%d,%d) failed: "
                          "value is out of range!",
                          text, cast->to->width, cast->to->scale);
}

/* --- the loop ------------------------------------------------------------------------------------ */

/* One tile; bad[i] as of the conversion. */
static void cast_tile(const KernelCall *call, const DecimalCast *cast, size_t begin, size_t rows,
                      uint8_t *bad)
{
    if (is_small(cast->from) && is_small(cast->to)) {
        int64_t from[TILE] = {0};
        int64_t to[TILE];
        load_small(&call->args[0], begin, rows, from);
        cast->convert_small(cast, from, rows, to, bad);
        store_small(call->out, begin, rows, to);
        return;
    }
    i128 from[TILE] = {0};
    i128 to[TILE];
    load_wide(&call->args[0], begin, rows, from);
    cast->convert(cast, from, rows, to, bad);
    if (call->args[0].phys == PHYS_U128) { /* what looks negative is too large */
        for (size_t i = 0; i < rows; i++) {
            bad[i] |= from[i] < 0;
        }
    }
    store_wide(call->out, begin, rows, to);
}

/* Fails, or makes NULL, the valid rows that do not fit. */
static Status reject(const KernelCall *call, const DecimalCast *cast, size_t begin, size_t rows,
                     const uint8_t *bad, bool *owns_validity, Error *err)
{
    for (size_t i = 0; i < rows; i++) {
        const size_t row = begin + i;
        if (bad[i] == 0 || !weir_kernel_is_valid(call, row)) {
            continue;
        }
        if (!call->expr->is_try) {
            return cannot_cast(call, cast, row, err);
        }
        if (!*owns_validity) {
            WEIR_TRY(weir_kernel_own_validity(call, err));
            *owns_validity = true;
        }
        weir_validity_set_null(call->out->validity, row);
    }
    return WEIR_OK;
}

Status weir_kernel_cast_decimal(const KernelCall *call, Error *err)
{
    const DecimalCast cast = cast_of(call->expr->args[0]->type, call->expr->type);
    const size_t count = weir_kernel_rows(call);
    bool owns_validity = false;
    for (size_t begin = 0; begin < count; begin += TILE) {
        const size_t rows = WEIR_MIN(count - begin, (size_t)TILE);
        uint8_t bad[TILE];
        cast_tile(call, &cast, begin, rows, bad);
        if (memchr(bad, 1, rows) != NULL) {
            WEIR_TRY(reject(call, &cast, begin, rows, bad, &owns_validity, err));
        }
    }
    return WEIR_OK;
}
