/* arith_round.c: rounding of decimals and to a number of digits, roots, powers and logarithms.
 *
 * Decimals round half away from zero. Floats round by scaling with a power of ten, as in DuckDB, with
 * the same rounding errors. */
#include "expr/kernel.h"

#include <math.h>

static i128 power_of_ten(size_t n)
{
    i128 power = 1;
    for (; n > 0; n--) {
        power *= 10;
    }
    return power;
}

/* --- decimals: x is rounded to a multiple of unit and divided by it ------------------------------ */

#define DECIMAL_HELPERS(suffix, type)                        \
    static inline type floor_##suffix(type x, type unit)     \
    {                                                        \
        return x < 0 ? (x + 1) / unit - 1 : x / unit;        \
    }                                                        \
    static inline type ceil_##suffix(type x, type unit)      \
    {                                                        \
        return x <= 0 ? x / unit : (x - 1) / unit + 1;       \
    }                                                        \
    static inline type trunc_##suffix(type x, type unit)     \
    {                                                        \
        return x / unit;                                     \
    }                                                        \
    static inline type round_##suffix(type x, type unit)     \
    {                                                        \
        return (x < 0 ? x - unit / 2 : x + unit / 2) / unit; \
    }
DECIMAL_HELPERS(i64, int64_t)
DECIMAL_HELPERS(i128, i128)
#undef DECIMAL_HELPERS

/* What lies under NULL is kept away from the edges, so that nothing overflows. */
static inline int64_t inner_i64(int64_t x)
{
    const int64_t limit = INT64_C(2000000000000000000);
    return x > -limit && x < limit ? x : 0;
}

static inline i128 inner_i128(i128 x)
{
    const i128 limit = (i128)1 << 126;
    const i128 edge = limit + limit / 4;
    return x > -edge && x < edge ? x : 0;
}

#define DECIMAL_KERNEL(verb)                                                                     \
    Status weir_kernel_##verb##_decimal(const KernelCall *call, Error *err)                      \
    {                                                                                            \
        WEIR_UNUSED(err);                                                                        \
        const size_t cut = (size_t)(call->expr->args[0]->type->scale - call->expr->type->scale); \
        const i128 wide_unit = power_of_ten(cut);                                                \
        const int64_t unit = (int64_t)wide_unit;                                                 \
        switch (call->out->phys) {                                                               \
        case PHYS_I16: KERNEL_UNARY(call, int16_t, int16_t, verb##_i64(a, unit)); break;         \
        case PHYS_I32: KERNEL_UNARY(call, int32_t, int32_t, verb##_i64(a, unit)); break;         \
        case PHYS_I64: KERNEL_UNARY(call, int64_t, int64_t, verb##_i64(inner_i64(a), unit));     \
            break;                                                                               \
        default:                                                                                 \
            KERNEL_UNARY(call, KernelI128, KernelI128, verb##_i128(inner_i128(a), wide_unit));   \
            break;                                                                               \
        }                                                                                        \
        return WEIR_OK;                                                                          \
    }
DECIMAL_KERNEL(floor)
DECIMAL_KERNEL(ceil)
DECIMAL_KERNEL(trunc)
DECIMAL_KERNEL(round)
#undef DECIMAL_KERNEL

bool weir_accepts_decimal_rounding(const Expr *call)
{
    const LogicalType *from = call->args[0]->type;
    return from->phys == call->type->phys && from->width == call->type->width &&
           from->scale >= call->type->scale;
}

/* round(x, n) to a known, not negative number of digits; the result's scale is min(n, scale). */
bool weir_accepts_decimal_round_to(const Expr *call)
{
    const Expr *digits = call->args[1];
    if (digits->kind != EXPR_CONSTANT || digits->value.is_null) {
        return false;
    }
    int32_t n;
    memcpy(&n, digits->value.data.bytes, sizeof n);
    return n >= 0 && weir_accepts_decimal_rounding(call);
}

/* --- floats -------------------------------------------------------------------------------------- */

/* round(x, n): what is not finite after scaling gives 0 or, to the right of the point, x. */
static inline double round_digits(double x, int32_t digits)
{
    if (digits < 0) {
        const double modifier = pow(10, -(double)digits);
        const double result = round(x / modifier) * modifier;
        return isfinite(result) ? result : 0;
    }
    const double modifier = pow(10, (double)digits);
    const double result = round(x * modifier) / modifier;
    return isfinite(result) ? result : x;
}

Status weir_kernel_round_float_to(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    if (call->out->phys == PHYS_F32) {
        KERNEL_BINARY(call, float, int32_t, float, round_digits((double)a, b));
    } else {
        KERNEL_BINARY(call, double, int32_t, double, round_digits(a, b));
    }
    return WEIR_OK;
}

Status weir_kernel_power(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    KERNEL_BINARY(call, double, double, double, pow(a, b));
    return WEIR_OK;
}

Status weir_kernel_exponential(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    KERNEL_UNARY(call, double, double, exp(a));
    return WEIR_OK;
}

/* --- partial functions --------------------------------------------------------------------------- */

/* The first valid row whose argument is below (or, with is_zero_bad, at) zero. */
static bool find_bad(const KernelCall *call, bool is_zero_bad, bool *is_zero)
{
    const Vector *from = &call->args[0];
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        const double a = ((const double *)from->data)[weir_vector_place(from, row)];
        if ((a < 0 || (is_zero_bad && a == 0)) && weir_kernel_is_valid(call, row)) {
            *is_zero = a == 0;
            return true;
        }
    }
    return false;
}

Status weir_kernel_square_root(const KernelCall *call, Error *err)
{
    bool is_zero;
    if (find_bad(call, false, &is_zero)) {
        return weir_error_set(err, WEIR_ERR_EVALUATION,
                              "Out of Range Error: cannot take square root of a negative number");
    }
    KERNEL_UNARY(call, double, double, sqrt(a));
    return WEIR_OK;
}

static Status check_logarithm(const KernelCall *call, Error *err)
{
    bool is_zero = false;
    if (!find_bad(call, true, &is_zero)) {
        return WEIR_OK;
    }
    return weir_error_set(err, WEIR_ERR_EVALUATION,
                          "Out of Range Error: cannot take logarithm of %s",
                          is_zero ? "zero" : "a negative number");
}

#define LOGARITHM(name, function)                                 \
    Status weir_kernel_##name(const KernelCall *call, Error *err) \
    {                                                             \
        WEIR_TRY(check_logarithm(call, err));                     \
        KERNEL_UNARY(call, double, double, function(a));          \
        return WEIR_OK;                                           \
    }
LOGARITHM(natural_logarithm, log)
LOGARITHM(decimal_logarithm, log10)
LOGARITHM(binary_logarithm, log2)
#undef LOGARITHM
