/* arith_decimal.c: + - * of DECIMAL.
 *
 * The operands have the result's representation (the binder casts them), and for + and - its scale.
 * The result's width has room for every result, except where it is cut to 18 or 38 digits: those are
 * checked. */
#include "expr/kernel.h"

#define LIMIT_18 INT64_C(999999999999999999)

static i128 limit_38(void)
{
    return (i128)INT64_C(10000000000000000) * INT64_C(10000000000000000) * 1000000 - 1;
}

bool weir_accepts_decimal_sum(const Expr *call)
{
    for (size_t i = 0; i < 2; i++) {
        const LogicalType *type = call->args[i]->type;
        if (type->phys != call->type->phys || type->scale != call->type->scale) {
            return false;
        }
    }
    return true;
}

bool weir_accepts_decimal_product(const Expr *call)
{
    const LogicalType *a = call->args[0]->type;
    const LogicalType *b = call->args[1]->type;
    return a->phys == call->type->phys && b->phys == call->type->phys &&
           a->scale + b->scale == call->type->scale;
}

typedef struct DecimalOp {
    char sign;
    const char *noun;
    const char *advice_18; /* behind the operands */
    const char *advice_38;
} DecimalOp;

static bool row_fails(i128 a, i128 b, char sign, uint8_t width)
{
    i128 r;
    bool overflows;
    if (sign == '+') {
        overflows = __builtin_add_overflow(a, b, &r);
    } else if (sign == '-') {
        overflows = __builtin_sub_overflow(a, b, &r);
    } else {
        overflows = __builtin_mul_overflow(a, b, &r);
    }
    const i128 limit = width == 18 ? (i128)LIMIT_18 : limit_38();
    return overflows || r > limit || r < -limit;
}

/* The error of the first valid row that leaves the width, if the width is one that was cut. */
static Status recheck(const KernelCall *call, const DecimalOp *op, Error *err)
{
    const uint8_t width = call->expr->type->width;
    if (width != 18 && width != 38) {
        return WEIR_OK;
    }
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row) ||
            !row_fails(weir_kernel_integer(call, 0, row), weir_kernel_integer(call, 1, row),
                       op->sign, width)) {
            continue;
        }
        char left[KERNEL_INTEGER_TEXT_SIZE];
        char right[KERNEL_INTEGER_TEXT_SIZE];
        return weir_error_set(err, WEIR_ERR_EVALUATION,
                              "Out of Range Error: Overflow in %s of DECIMAL(%d) (%s %c %s)%s",
                              op->noun, width, weir_kernel_argument_text(call, 0, row, left),
                              op->sign, weir_kernel_argument_text(call, 1, row, right),
                              width == 18 ? op->advice_18 : op->advice_38);
    }
    return WEIR_OK;
}

/* Up to 32 bits nothing can overflow. */
#define NARROW_HELPERS(verb, op)                           \
    static inline int16_t verb##_i16(int16_t a, int16_t b) \
    {                                                      \
        return (int16_t)(a op b);                          \
    }                                                      \
    static inline int32_t verb##_i32(int32_t a, int32_t b) \
    {                                                      \
        return (int32_t)((uint32_t)a op(uint32_t) b);      \
    }
NARROW_HELPERS(add, +)
NARROW_HELPERS(subtract, -)
NARROW_HELPERS(multiply, *)
#undef NARROW_HELPERS

static inline uint8_t is_over_18(int64_t r)
{
    return (uint64_t)r + (uint64_t)LIMIT_18 > 2 * (uint64_t)LIMIT_18;
}

/* The sum of two numbers of 18 digits does not leave 64 bits. */
static inline int64_t add_i64(int64_t a, int64_t b, uint8_t *flag)
{
    const int64_t r = (int64_t)((uint64_t)a + (uint64_t)b);
    *flag |= is_over_18(r);
    return r;
}

static inline int64_t subtract_i64(int64_t a, int64_t b, uint8_t *flag)
{
    const int64_t r = (int64_t)((uint64_t)a - (uint64_t)b);
    *flag |= is_over_18(r);
    return r;
}

static inline int64_t multiply_i64(int64_t a, int64_t b, uint8_t *flag)
{
    int64_t r;
    *flag |= (uint8_t)(__builtin_mul_overflow(a, b, &r) | is_over_18(r));
    return r;
}

#define WIDE_HELPER(verb, builtin)                                            \
    static inline i128 verb##_i128(i128 a, i128 b, i128 limit, uint8_t *flag) \
    {                                                                         \
        i128 r;                                                               \
        *flag |= (uint8_t)(builtin(a, b, &r) | (r > limit) | (r < -limit));   \
        return r;                                                             \
    }
WIDE_HELPER(add, __builtin_add_overflow)
WIDE_HELPER(subtract, __builtin_sub_overflow)
WIDE_HELPER(multiply, __builtin_mul_overflow)
#undef WIDE_HELPER

#define DECIMAL_KERNEL(name, verb, op)                                               \
    Status weir_kernel_##name(const KernelCall *call, Error *err)                    \
    {                                                                                \
        uint8_t flag = 0;                                                            \
        const i128 limit = limit_38();                                               \
        if (call->out->phys == PHYS_I16) {                                           \
            KERNEL_BINARY(call, int16_t, int16_t, int16_t, verb##_i16(a, b));        \
        } else if (call->out->phys == PHYS_I32) {                                    \
            KERNEL_BINARY(call, int32_t, int32_t, int32_t, verb##_i32(a, b));        \
        } else if (call->out->phys == PHYS_I64) {                                    \
            KERNEL_BINARY(call, int64_t, int64_t, int64_t, verb##_i64(a, b, &flag)); \
        } else {                                                                     \
            KERNEL_BINARY(call, KernelI128, KernelI128, KernelI128,                  \
                          verb##_i128(a, b, limit, &flag));                          \
        }                                                                            \
        return flag != 0 ? recheck(call, &(op), err) : WEIR_OK;                      \
    }

static const DecimalOp addition = {
    .sign = '+',
    .noun = "addition",
    .advice_18 = ". You might want to add an explicit cast to a bigger decimal.",
    .advice_38 = ";",
};
static const DecimalOp subtraction = {
    .sign = '-',
    .noun = "subtract",
    .advice_18 = ". You might want to add an explicit cast to a bigger decimal.",
    .advice_38 = ";",
};
static const DecimalOp multiplication = {
    .sign = '*',
    .noun = "multiplication",
    .advice_18 = ". You might want to add an explicit cast to a bigger decimal.",
    .advice_38 = ". You might want to add an explicit cast to a decimal with a smaller scale.",
};

DECIMAL_KERNEL(add_decimal, add, addition)
DECIMAL_KERNEL(subtract_decimal, subtract, subtraction)
DECIMAL_KERNEL(multiply_decimal, multiply, multiplication)
#undef DECIMAL_KERNEL
