/* cast_number.c: casts between BOOLEAN, the integers, FLOAT and DOUBLE.
 *
 * Integers must fit. Floats must fit before they are rounded half to even, as in DuckDB: what rounds
 * up to one past the last value wraps. 128-bit integers become floats by halves, with DuckDB's
 * rounding. One function for each source type, one loop in it for each destination, which returns
 * true if some row, valid or not, does not fit. */
#include "expr/kernel.h"

#include <math.h>

#include "expr/float_text.h"
#include "expr/wide_float.h"

bool weir_accepts_cast_number(const Expr *cast)
{
    return cast->type->phys != cast->args[0]->type->phys;
}

bool weir_accepts_cast_number_total(const Expr *cast)
{
    const PhysType from = cast->args[0]->type->phys;
    const PhysType to = cast->type->phys;
    if (to == PHYS_F64 || to == PHYS_F32) {
        return from != to && from != PHYS_F64;
    }
    const bool is_from_signed = from <= PHYS_I128;
    const bool is_to_signed = to <= PHYS_I128;
    return weir_type_is_integer(cast->args[0]->type) && (!is_from_signed || is_to_signed) &&
           weir_phys_width(from) < weir_phys_width(to);
}

/* Without a warning for unsigned types. */
#define IS_NEGATIVE(x) ((x) <= 0 && (x) != 0)

#define LOOP(source, type, body)                                \
    do {                                                        \
        const size_t rows = weir_kernel_rows(call);             \
        const source *restrict const from = call->args[0].data; \
        type *restrict const to = call->out->data;              \
        uint8_t flag = 0;                                       \
        for (size_t i = 0; i < rows; i++) {                     \
            const source a = from[i];                           \
            body                                                \
        }                                                       \
        return flag != 0;                                       \
    } while (0)

#define INTEGER_TO_INTEGER(source, type, phys)                                        \
    case phys:                                                                        \
        LOOP(source, type, {                                                          \
            const type r = (type)a;                                                   \
            to[i] = r;                                                                \
            flag |= (uint8_t)(((source)r != a) | (IS_NEGATIVE(a) != IS_NEGATIVE(r))); \
        });

#define INTEGER_TO_FLOAT(source, type, phys, convert) \
    case phys:                                        \
        LOOP(source, type, { to[i] = (type)convert(a); });

#define TO_BOOLEAN(source)                          \
    if (call->expr->type->id == TYPE_BOOLEAN) {     \
        LOOP(source, uint8_t, { to[i] = a != 0; }); \
    }

#define FLOAT_TO_INTEGER(source, type, phys, through, low, high)             \
    case phys:                                                               \
        LOOP(source, type, {                                                 \
            const bool is_inside = (double)a >= (low) && (double)a < (high); \
            to[i] = (type)(through)nearbyint(is_inside ? (double)a : 0.0);   \
            flag |= !is_inside;                                              \
        });

#define INTEGER_SOURCE(suffix, source, utype, id, convert)      \
    static bool cast_from_##suffix(const KernelCall *call)      \
    {                                                           \
        TO_BOOLEAN(source)                                      \
        switch (call->out->phys) {                              \
            INTEGER_TO_INTEGER(source, int8_t, PHYS_I8)         \
            INTEGER_TO_INTEGER(source, int16_t, PHYS_I16)       \
            INTEGER_TO_INTEGER(source, int32_t, PHYS_I32)       \
            INTEGER_TO_INTEGER(source, int64_t, PHYS_I64)       \
            INTEGER_TO_INTEGER(source, KernelI128, PHYS_I128)   \
            INTEGER_TO_INTEGER(source, uint8_t, PHYS_U8)        \
            INTEGER_TO_INTEGER(source, uint16_t, PHYS_U16)      \
            INTEGER_TO_INTEGER(source, uint32_t, PHYS_U32)      \
            INTEGER_TO_INTEGER(source, uint64_t, PHYS_U64)      \
            INTEGER_TO_INTEGER(source, KernelU128, PHYS_U128)   \
            INTEGER_TO_FLOAT(source, float, PHYS_F32, convert)  \
            INTEGER_TO_FLOAT(source, double, PHYS_F64, convert) \
        case PHYS_INTERVAL:                                     \
        case PHYS_STRING:                                       \
        case PHYS_COUNT: break;                                 \
        }                                                       \
        WEIR_ASSERT(false);                                     \
        return false;                                           \
    }
#define SMALL_SOURCE(suffix, source, utype, phys) INTEGER_SOURCE(suffix, source, utype, phys, )
KERNEL_SIGNED_TYPES(SMALL_SOURCE)
KERNEL_UNSIGNED_TYPES(SMALL_SOURCE)
INTEGER_SOURCE(i128, KernelI128, KernelU128, PHYS_I128, weir_double_of_i128)
INTEGER_SOURCE(u128, KernelU128, KernelU128, PHYS_U128, weir_double_of_u128)
#undef SMALL_SOURCE
_Static_assert(PHYS_F32 == 10, "there is a function for each of the ten integers");
#undef INTEGER_SOURCE
#undef INTEGER_TO_INTEGER
#undef INTEGER_TO_FLOAT

/* The 128-bit destinations are compared after rounding. */
#define FLOAT_TO_I128(source)                                   \
    case PHYS_I128:                                             \
        LOOP(source, KernelI128, {                              \
            const double r = nearbyint((double)a);              \
            const bool is_inside = r > -0x1p127 && r < 0x1p127; \
            to[i] = (i128)(is_inside ? r : 0.0);                \
            flag |= !is_inside;                                 \
        });                                                     \
    case PHYS_U128:                                             \
        LOOP(source, KernelU128, {                              \
            const double r = nearbyint((double)a);              \
            const bool is_inside = r >= 0.0 && r < 0x1p128;     \
            to[i] = (u128)(is_inside ? r : 0.0);                \
            flag |= !is_inside;                                 \
        });

#define FLOAT_SOURCE(suffix, source, utype, id)                                   \
    static bool cast_from_##suffix(const KernelCall *call)                        \
    {                                                                             \
        TO_BOOLEAN(source)                                                        \
        switch (call->out->phys) {                                                \
            FLOAT_TO_INTEGER(source, int8_t, PHYS_I8, int64_t, -0x1p7, 0x1p7)     \
            FLOAT_TO_INTEGER(source, int16_t, PHYS_I16, int64_t, -0x1p15, 0x1p15) \
            FLOAT_TO_INTEGER(source, int32_t, PHYS_I32, int64_t, -0x1p31, 0x1p31) \
            FLOAT_TO_INTEGER(source, int64_t, PHYS_I64, int64_t, -0x1p63, 0x1p63) \
            FLOAT_TO_INTEGER(source, uint8_t, PHYS_U8, int64_t, 0.0, 0x1p8)       \
            FLOAT_TO_INTEGER(source, uint16_t, PHYS_U16, int64_t, 0.0, 0x1p16)    \
            FLOAT_TO_INTEGER(source, uint32_t, PHYS_U32, int64_t, 0.0, 0x1p32)    \
            FLOAT_TO_INTEGER(source, uint64_t, PHYS_U64, uint64_t, 0.0, 0x1p64)   \
            FLOAT_TO_I128(source)                                                 \
        case PHYS_F32:                                                            \
            LOOP(source, float, {                                                 \
                const float r = (float)a;                                         \
                to[i] = r;                                                        \
                flag |= isinf(r) && !isinf(a);                                    \
            });                                                                   \
        case PHYS_F64: LOOP(source, double, { to[i] = (double)a; });              \
        case PHYS_INTERVAL:                                                       \
        case PHYS_STRING:                                                         \
        case PHYS_COUNT: break;                                                   \
        }                                                                         \
        WEIR_ASSERT(false);                                                       \
        return false;                                                             \
    }
KERNEL_FLOAT_TYPES(FLOAT_SOURCE)
#undef FLOAT_SOURCE
#undef FLOAT_TO_I128
#undef FLOAT_TO_INTEGER
#undef TO_BOOLEAN
#undef LOOP

static bool cast_rows(const KernelCall *call)
{
    switch (call->args[0].phys) {
#define X(suffix, type, utype, phys) \
    case phys: return cast_from_##suffix(call);
        KERNEL_SIGNED_TYPES(X)
        KERNEL_UNSIGNED_TYPES(X)
        KERNEL_WIDE_TYPES(X)
        KERNEL_FLOAT_TYPES(X)
#undef X
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: break;
    }
    WEIR_ASSERT(false);
    return false;
}

/* Casts one row by itself; true if it fits. */
static bool row_fits(const KernelCall *call, size_t row)
{
    const Vector *from = &call->args[0];
    const size_t width = weir_phys_width(from->phys);
    unsigned char value[16] __attribute__((aligned(16)));
    unsigned char result[16] __attribute__((aligned(16)));
    memcpy(value, (const unsigned char *)from->data + weir_vector_place(from, row) * width, width);
    const Vector arg = {.phys = from->phys, .is_constant = true, .data = value};
    Vector out = {.phys = call->out->phys, .is_constant = true, .data = result};
    const KernelCall one = {
        .expr = call->expr,
        .args = &arg,
        .arg_count = 1,
        .count = 1,
        .out = &out,
    };
    return !cast_rows(&one);
}

static Status out_of_range(const KernelCall *call, size_t row, Error *err)
{
    char text[KERNEL_INTEGER_TEXT_SIZE];
    const char *value = text;
    const Vector *from = &call->args[0];
    const size_t place = weir_vector_place(from, row);
    if (from->phys == PHYS_F32) {
        weir_float_text(((const float *)from->data)[place], text, sizeof text);
    } else if (from->phys == PHYS_F64) {
        weir_double_text(((const double *)from->data)[place], text, sizeof text);
    } else {
        value = weir_kernel_argument_text(call, 0, row, text);
    }
    return weir_error_set(err, WEIR_ERR_EVALUATION,
                          "Conversion Error: Type %s with value %s can't be cast because the value "
                          "is out of range for the destination type %s",
                          weir_kernel_phys_name(call->expr->args[0]->type), value,
                          weir_kernel_phys_name(call->expr->type));
}

Status weir_kernel_cast_number(const KernelCall *call, Error *err)
{
    if (!cast_rows(call)) {
        return WEIR_OK;
    }
    bool owns_validity = false;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row) || row_fits(call, row)) {
            continue;
        }
        if (!call->expr->is_try) {
            return out_of_range(call, row, err);
        }
        if (!owns_validity) {
            WEIR_TRY(weir_kernel_own_validity(call, err));
            owns_validity = true;
        }
        weir_validity_set_null(call->out->validity, row);
    }
    return WEIR_OK;
}
