/* cast_decimal_float.c: casts between DECIMAL and FLOAT or DOUBLE.
 *
 * To a float: the unscaled number divided by a power of ten if it is exact as a float, else the
 * whole part plus the rest, as DuckDB does it. From a float: scaled, rounded half away from zero. */
#include "expr/kernel.h"

#include <math.h>

#include "expr/wide_float.h"

static double double_power(size_t n)
{
    static const double powers[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12,
        1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25,
        1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38,
    };
    WEIR_ASSERT(n < WEIR_ARRAY_COUNT(powers));
    return powers[n];
}

static i128 power_of_ten(size_t n)
{
    i128 power = 1;
    for (; n > 0; n--) {
        power *= 10;
    }
    return power;
}

/* a / 10^scale; unit and divisor are 10^scale. is_exact: a is an integer of the float type. */
#define CONVERT_FUNCTION(name, wide, type, to_float)                        \
    static inline type name(wide a, wide unit, type divisor, bool is_exact) \
    {                                                                       \
        if (is_exact || unit == 1) {                                        \
            return (type)to_float(a) / divisor;                             \
        }                                                                   \
        const wide whole = a / unit;                                        \
        const wide rest = a % unit;                                         \
        return (type)to_float(whole) + (type)to_float(rest) / divisor;      \
    }
CONVERT_FUNCTION(small_to_float, int64_t, float, )
CONVERT_FUNCTION(small_to_double, int64_t, double, )
CONVERT_FUNCTION(wide_to_float, i128, float, weir_double_of_i128)
CONVERT_FUNCTION(wide_to_double, i128, double, weir_double_of_i128)
#undef CONVERT_FUNCTION

/* True if the integer a is exact as a float. */
#define IN_FLOAT (a <= (INT64_C(1) << 24) && a >= -(INT64_C(1) << 24))
#define IN_DOUBLE (a <= (INT64_C(1) << 53) && a >= -(INT64_C(1) << 53))

static void decimal_to_float(const KernelCall *call, size_t scale)
{
    const i128 wide_unit = power_of_ten(scale);
    const int64_t unit = (int64_t)wide_unit;
    const float divisor = (float)double_power(scale);
    switch (call->args[0].phys) {
    case PHYS_I16:
        KERNEL_UNARY(call, int16_t, float, small_to_float(a, unit, divisor, true));
        break;
    case PHYS_I32:
        KERNEL_UNARY(call, int32_t, float, small_to_float(a, unit, divisor, IN_FLOAT));
        break;
    case PHYS_I64:
        KERNEL_UNARY(call, int64_t, float, small_to_float(a, unit, divisor, IN_FLOAT));
        break;
    default:
        KERNEL_UNARY(call, KernelI128, float, wide_to_float(a, wide_unit, divisor, IN_FLOAT));
        break;
    }
}

static void decimal_to_double(const KernelCall *call, size_t scale)
{
    const i128 wide_unit = power_of_ten(scale);
    const int64_t unit = (int64_t)wide_unit;
    const double divisor = double_power(scale);
    switch (call->args[0].phys) {
    case PHYS_I16:
        KERNEL_UNARY(call, int16_t, double, small_to_double(a, unit, divisor, true));
        break;
    case PHYS_I32:
        KERNEL_UNARY(call, int32_t, double, small_to_double(a, unit, divisor, true));
        break;
    case PHYS_I64:
        KERNEL_UNARY(call, int64_t, double, small_to_double(a, unit, divisor, IN_DOUBLE));
        break;
    default:
        KERNEL_UNARY(call, KernelI128, double, wide_to_double(a, wide_unit, divisor, IN_DOUBLE));
        break;
    }
}

Status weir_kernel_cast_decimal_to_float(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const size_t scale = call->expr->args[0]->type->scale;
    if (call->out->phys == PHYS_F32) {
        decimal_to_float(call, scale);
    } else {
        decimal_to_double(call, scale);
    }
    return WEIR_OK;
}

/* --- from floats --------------------------------------------------------------------------------- */

typedef struct Target {
    double factor;
    double limit;
    bool is_single; /* from FLOAT: the rounded value is one too */
} Target;

/* False if the value does not fit. */
static inline bool round_scaled(double x, const Target *target, i128 *out)
{
    const double rounded = round(x * target->factor);
    if (!(rounded > -target->limit && rounded < target->limit)) {
        *out = 0;
        return false;
    }
    *out = (i128)(target->is_single ? (double)(float)rounded : rounded);
    return true;
}

static void store_integer(const Vector *out, size_t row, i128 value)
{
    const size_t width = weir_phys_width(out->phys);
    memcpy((char *)out->data + row * width, &value, width);
}

Status weir_kernel_cast_float_to_decimal(const KernelCall *call, Error *err)
{
    const LogicalType *type = call->expr->type;
    const Vector *from = &call->args[0];
    const Target target = {
        .factor = double_power(type->scale),
        .limit = double_power(type->width),
        .is_single = from->phys == PHYS_F32,
    };
    bool owns_validity = false;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        const double x = target.is_single ? (double)((const float *)from->data)[row]
                                          : ((const double *)from->data)[row];
        i128 value;
        const bool fits = round_scaled(x, &target, &value);
        store_integer(call->out, row, value);
        if (fits || !weir_kernel_is_valid(call, row)) {
            continue;
        }
        if (!call->expr->is_try) {
            return weir_error_set(err, WEIR_ERR_EVALUATION,
                                  "Conversion Error: Could not cast value %f to DECIMAL(%d,%d)", x,
                                  type->width, type->scale);
        }
        if (!owns_validity) {
            WEIR_TRY(weir_kernel_own_validity(call, err));
            owns_validity = true;
        }
        weir_validity_set_null(call->out->validity, row);
    }
    return WEIR_OK;
}
