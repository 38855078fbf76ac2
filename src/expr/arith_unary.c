/* arith_unary.c: functions of one number, and the operators on bits. */
#include "expr/kernel.h"

#include <math.h>

/* --- sign ---------------------------------------------------------------------------------------- */

/* The first valid row that holds the smallest number. */
static size_t find_smallest(const KernelCall *call)
{
    const size_t bits = weir_phys_width(call->out->phys) * 8;
    const i128 smallest = -((i128)1 << (bits - 2)) * 2;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (weir_kernel_is_valid(call, row) && weir_kernel_integer(call, 0, row) == smallest) {
            return row;
        }
    }
    return SIZE_MAX;
}

#define NEGATE(suffix, type, utype, phys) \
    case phys: KERNEL_UNARY(call, type, type, (type)((utype)0 - (utype)a)); break;

/* Signed types: returns true if the smallest number was among the rows. */
#define ABSOLUTE(suffix, type, utype, phys)                                      \
    case phys:                                                                   \
        KERNEL_UNARY(call, type, type, a < 0 ? (type)((utype)0 - (utype)a) : a); \
        break;
#define COPY(suffix, type, utype, phys) \
    case phys: KERNEL_UNARY(call, type, type, a); break;

Status weir_kernel_negate(const KernelCall *call, Error *err)
{
    switch (call->out->phys) {
        KERNEL_SIGNED_TYPES(NEGATE)
        KERNEL_UNSIGNED_TYPES(NEGATE)
        KERNEL_WIDE_TYPES(NEGATE)
    case PHYS_F32: KERNEL_UNARY(call, float, float, -a); return WEIR_OK;
    case PHYS_F64: KERNEL_UNARY(call, double, double, -a); return WEIR_OK;
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: WEIR_ASSERT(false); break;
    }
    if (call->out->phys <= PHYS_I128 && find_smallest(call) != SIZE_MAX) {
        return weir_error_set(err, WEIR_ERR_EVALUATION,
                              "Out of Range Error: Overflow in negation of numeric value!");
    }
    return WEIR_OK;
}

Status weir_kernel_absolute(const KernelCall *call, Error *err)
{
    switch (call->out->phys) {
        KERNEL_SIGNED_TYPES(ABSOLUTE)
        ABSOLUTE(i128, KernelI128, KernelU128, PHYS_I128)
        KERNEL_UNSIGNED_TYPES(COPY)
        COPY(u128, KernelU128, KernelU128, PHYS_U128)
    case PHYS_F32: KERNEL_UNARY(call, float, float, fabsf(a)); return WEIR_OK;
    case PHYS_F64: KERNEL_UNARY(call, double, double, fabs(a)); return WEIR_OK;
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: WEIR_ASSERT(false); break;
    }
    const bool is_signed = call->out->phys <= PHYS_I128;
    const size_t row = is_signed ? find_smallest(call) : SIZE_MAX;
    if (row != SIZE_MAX) {
        char text[KERNEL_INTEGER_TEXT_SIZE];
        return weir_error_set(err, WEIR_ERR_EVALUATION, "Out of Range Error: Overflow on abs(%s)",
                              weir_kernel_argument_text(call, 0, row, text));
    }
    return WEIR_OK;
}

Status weir_kernel_copy(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const size_t width = weir_phys_width(call->out->phys);
    memcpy(call->out->data, call->args[0].data, weir_kernel_rows(call) * width);
    return WEIR_OK;
}

Status weir_kernel_sign(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    switch (call->args[0].phys) {
#define X(suffix, type, utype, phys) \
    case phys: KERNEL_UNARY(call, type, int8_t, (a > 0) - (a < 0)); break;
        KERNEL_SIGNED_TYPES(X)
        X(i128, KernelI128, KernelU128, PHYS_I128)
        KERNEL_FLOAT_TYPES(X)
#undef X
#define X(suffix, type, utype, phys) \
    case phys: KERNEL_UNARY(call, type, int8_t, a != 0); break;
        KERNEL_UNSIGNED_TYPES(X)
        X(u128, KernelU128, KernelU128, PHYS_U128)
#undef X
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: WEIR_ASSERT(false); break;
    }
    return WEIR_OK;
}

/* --- floats -------------------------------------------------------------------------------------- */

#define FLOAT_FUNCTION(name, single, twice)                       \
    Status weir_kernel_##name(const KernelCall *call, Error *err) \
    {                                                             \
        WEIR_UNUSED(err);                                         \
        if (call->args[0].phys == PHYS_F32) {                     \
            KERNEL_UNARY(call, float, float, single);             \
        } else {                                                  \
            KERNEL_UNARY(call, double, double, twice);            \
        }                                                         \
        return WEIR_OK;                                           \
    }
FLOAT_FUNCTION(floor_float, floorf(a), floor(a))
FLOAT_FUNCTION(ceil_float, ceilf(a), ceil(a))
FLOAT_FUNCTION(trunc_float, truncf(a), trunc(a))
FLOAT_FUNCTION(round_float, roundf(a), round(a))
#undef FLOAT_FUNCTION

#define FLOAT_PREDICATE(name, expression)                         \
    Status weir_kernel_##name(const KernelCall *call, Error *err) \
    {                                                             \
        WEIR_UNUSED(err);                                         \
        if (call->args[0].phys == PHYS_F32) {                     \
            KERNEL_UNARY(call, float, uint8_t, expression);       \
        } else {                                                  \
            KERNEL_UNARY(call, double, uint8_t, expression);      \
        }                                                         \
        return WEIR_OK;                                           \
    }
FLOAT_PREDICATE(is_nan, a != a)
FLOAT_PREDICATE(is_infinite, isinf(a) ? 1 : 0)
FLOAT_PREDICATE(is_finite, isfinite(a) ? 1 : 0)
#undef FLOAT_PREDICATE

/* --- bits ---------------------------------------------------------------------------------------- */

#define BIT_KERNEL(name, LOOP, expression)                        \
    Status weir_kernel_##name(const KernelCall *call, Error *err) \
    {                                                             \
        WEIR_UNUSED(err);                                         \
        switch (weir_phys_width(call->out->phys)) {               \
        case 1: LOOP(call, uint8_t, expression); break;           \
        case 2: LOOP(call, uint16_t, expression); break;          \
        case 4: LOOP(call, uint32_t, expression); break;          \
        case 8: LOOP(call, uint64_t, expression); break;          \
        default: LOOP(call, KernelU128, expression); break;       \
        }                                                         \
        return WEIR_OK;                                           \
    }
#define TWO(call, type, expression) KERNEL_BINARY(call, type, type, type, expression)
#define ONE(call, type, expression) KERNEL_UNARY(call, type, type, expression)
BIT_KERNEL(bit_and, TWO, a &b)
BIT_KERNEL(bit_or, TWO, a | b)
BIT_KERNEL(bit_xor, TWO, a ^ b)
BIT_KERNEL(bit_not, ONE, ~a)
#undef TWO
#undef ONE
#undef BIT_KERNEL

/* x >> n: 0 unless 0 <= n < bits. */
#define SHIFT(suffix, type, utype, phys)                                                     \
    case phys:                                                                               \
        KERNEL_BINARY(call, type, type, type,                                                \
                      (utype)b < (utype)(sizeof(type) * 8) ? (type)(a >> (int)b) : (type)0); \
        break;
Status weir_kernel_shift_right(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    switch (call->out->phys) {
        KERNEL_SIGNED_TYPES(SHIFT)
        KERNEL_UNSIGNED_TYPES(SHIFT)
        KERNEL_WIDE_TYPES(SHIFT)
    case PHYS_F32:
    case PHYS_F64:
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: WEIR_ASSERT(false); break;
    }
    return WEIR_OK;
}
#undef SHIFT
