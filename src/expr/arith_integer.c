/* arith_integer.c: + - * of integers, with DuckDB's overflow errors.
 *
 * The loops wrap and collect overflow as a sign bit or a non-zero flag. */
#include "expr/kernel.h"

#define SIGNED_HELPERS(suffix, type, utype, phys)                     \
    static inline type add_##suffix(type a, type b, utype *flag)      \
    {                                                                 \
        const type r = (type)((utype)a + (utype)b);                   \
        *flag |= (utype)((utype)(a ^ r) & (utype)(b ^ r));            \
        return r;                                                     \
    }                                                                 \
    static inline type subtract_##suffix(type a, type b, utype *flag) \
    {                                                                 \
        const type r = (type)((utype)a - (utype)b);                   \
        *flag |= (utype)((utype)(a ^ b) & (utype)(a ^ r));            \
        return r;                                                     \
    }
KERNEL_SIGNED_TYPES(SIGNED_HELPERS)
#undef SIGNED_HELPERS

#define UNSIGNED_HELPERS(suffix, type, utype, phys)                   \
    static inline type add_##suffix(type a, type b, utype *flag)      \
    {                                                                 \
        const type r = (type)(a + b);                                 \
        *flag |= (type)(r < a ? (type) ~(type)0 : 0);                 \
        return r;                                                     \
    }                                                                 \
    static inline type subtract_##suffix(type a, type b, utype *flag) \
    {                                                                 \
        *flag |= (type)(a < b ? (type) ~(type)0 : 0);                 \
        return (type)(a - b);                                         \
    }
KERNEL_UNSIGNED_TYPES(UNSIGNED_HELPERS)
#undef UNSIGNED_HELPERS

/* Products of up to 32 bits fit in the type twice as wide. */
#define NARROW_MULTIPLY(suffix, type, utype, wide)                    \
    static inline type multiply_##suffix(type a, type b, utype *flag) \
    {                                                                 \
        const wide product = (wide)((wide)a * (wide)b);               \
        const type r = (type)product;                                 \
        *flag |= (utype)(product != (wide)r ? (utype) ~(utype)0 : 0); \
        return r;                                                     \
    }
NARROW_MULTIPLY(i8, int8_t, uint8_t, int16_t)
NARROW_MULTIPLY(i16, int16_t, uint16_t, int32_t)
NARROW_MULTIPLY(i32, int32_t, uint32_t, int64_t)
NARROW_MULTIPLY(u8, uint8_t, uint8_t, uint16_t)
NARROW_MULTIPLY(u16, uint16_t, uint16_t, uint32_t)
NARROW_MULTIPLY(u32, uint32_t, uint32_t, uint64_t)
#undef NARROW_MULTIPLY

#define BUILTIN_HELPER(verb, builtin, suffix, type, utype)          \
    static inline type verb##_##suffix(type a, type b, utype *flag) \
    {                                                               \
        type r;                                                     \
        *flag |= builtin(a, b, &r) ? ~(utype)0 : 0;                 \
        return r;                                                   \
    }
BUILTIN_HELPER(multiply, __builtin_mul_overflow, i64, int64_t, uint64_t)
BUILTIN_HELPER(multiply, __builtin_mul_overflow, u64, uint64_t, uint64_t)
BUILTIN_HELPER(add, __builtin_add_overflow, i128, KernelI128, KernelU128)
BUILTIN_HELPER(add, __builtin_add_overflow, u128, KernelU128, KernelU128)
BUILTIN_HELPER(subtract, __builtin_sub_overflow, i128, KernelI128, KernelU128)
BUILTIN_HELPER(multiply, __builtin_mul_overflow, i128, KernelI128, KernelU128)
BUILTIN_HELPER(multiply, __builtin_mul_overflow, u128, KernelU128, KernelU128)
#undef BUILTIN_HELPER

/* DuckDB overlooks the overflow of UHUGEINT if the borrow carries through the upper half. */
static inline u128 subtract_u128(u128 a, u128 b, KernelU128 *flag)
{
    const u128 r = a - b;
    *flag |= (uint64_t)(r >> 64) > (uint64_t)(a >> 64) ? ~(u128)0 : 0;
    return r;
}

typedef struct IntegerOp {
    const char *noun;
    const char *sign;
    bool (*fails)(i128 a, i128 b, const LogicalType *type);
} IntegerOp;

#define FAILS(verb, builtin)                                                          \
    static bool verb##_fails(i128 a, i128 b, const LogicalType *type)                 \
    {                                                                                 \
        if (type->phys == PHYS_U128) {                                                \
            KernelU128 flag = 0;                                                      \
            verb##_u128((u128)a, (u128)b, &flag);                                     \
            return flag != 0;                                                         \
        }                                                                             \
        i128 result;                                                                  \
        return builtin(a, b, &result) || weir_integer_is_outside(result, type->phys); \
    }
FAILS(add, __builtin_add_overflow)
FAILS(subtract, __builtin_sub_overflow)
FAILS(multiply, __builtin_mul_overflow)
#undef FAILS

/* The flag is up: the error of the first valid row that overflows, if there is one. */
static Status recheck(const KernelCall *call, const IntegerOp *op, Error *err)
{
    const LogicalType *type = call->expr->type;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const i128 a = weir_kernel_integer(call, 0, row);
        const i128 b = weir_kernel_integer(call, 1, row);
        if (op->fails(a, b, type)) {
            char left[KERNEL_INTEGER_TEXT_SIZE];
            char right[KERNEL_INTEGER_TEXT_SIZE];
            return weir_error_set(err, WEIR_ERR_EVALUATION,
                                  "Out of Range Error: Overflow in %s of %s (%s %s %s)!", op->noun,
                                  weir_kernel_phys_name(type),
                                  weir_kernel_argument_text(call, 0, row, left), op->sign,
                                  weir_kernel_argument_text(call, 1, row, right));
        }
    }
    return WEIR_OK;
}

#define SIGN_FLAG(flag) ((flag) >> (sizeof(flag) * 8 - 1))

#define CASE(suffix, type, utype, phys)                                   \
    case phys: {                                                          \
        utype flag = 0;                                                   \
        KERNEL_BINARY(call, type, type, type, VERB(suffix)(a, b, &flag)); \
        is_suspect = SIGN_FLAG(flag) != 0;                                \
        break;                                                            \
    }

#define INTEGER_KERNEL(name, verb, noun_text, sign_text)                                           \
    Status weir_kernel_##name(const KernelCall *call, Error *err)                                  \
    {                                                                                              \
        static const IntegerOp op = {.noun = noun_text, .sign = sign_text, .fails = verb##_fails}; \
        bool is_suspect = false;                                                                   \
        switch (call->out->phys) {                                                                 \
            KERNEL_SIGNED_TYPES(CASE)                                                              \
            KERNEL_UNSIGNED_TYPES(CASE)                                                            \
            KERNEL_WIDE_TYPES(CASE)                                                                \
        case PHYS_F32:                                                                             \
        case PHYS_F64:                                                                             \
        case PHYS_INTERVAL:                                                                        \
        case PHYS_STRING:                                                                          \
        case PHYS_COUNT: WEIR_ASSERT(false); break;                                                \
        }                                                                                          \
        return is_suspect ? recheck(call, &op, err) : WEIR_OK;                                     \
    }

#define VERB(suffix) add_##suffix
INTEGER_KERNEL(add_integer, add, "addition", "+")
#undef VERB
#define VERB(suffix) subtract_##suffix
INTEGER_KERNEL(subtract_integer, subtract, "subtraction", "-")
#undef VERB
#define VERB(suffix) multiply_##suffix
INTEGER_KERNEL(multiply_integer, multiply, "multiplication", "*")
#undef VERB
#undef CASE
#undef INTEGER_KERNEL
