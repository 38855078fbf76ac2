/* arith_divide.c: // and %.
 *
 * Integers truncate towards zero; x // 0 and x % 0 are NULL; the smallest number by -1 is an error,
 * also for %. // of floats divides, and x // 0 is NULL, while % follows IEEE. */
#include "expr/kernel.h"

#include <math.h>

typedef struct DivideFlags {
    bool has_zero;
    bool has_overflow;
} DivideFlags;

/* Division that traps on nothing: by 1 instead of 0; by -1 as a wrapping negation. */
#define SIGNED_HELPERS(suffix, type, utype, phys)                             \
    static inline type divide_##suffix(type a, type b)                        \
    {                                                                         \
        if (b == -1) {                                                        \
            return (type)((utype)0 - (utype)a);                               \
        }                                                                     \
        return (type)(a / (b == 0 ? (type)1 : b));                            \
    }                                                                         \
    static inline type modulo_##suffix(type a, type b)                        \
    {                                                                         \
        return (type)(a % (b == 0 || b == -1 ? (type)1 : b));                 \
    }                                                                         \
    static inline bool overflows_##suffix(type a, type b)                     \
    {                                                                         \
        return (a == (type)((utype)1 << (sizeof(type) * 8 - 1))) & (b == -1); \
    }
KERNEL_SIGNED_TYPES(SIGNED_HELPERS)
SIGNED_HELPERS(i128, i128, u128, PHYS_I128)
#undef SIGNED_HELPERS

#define UNSIGNED_HELPERS(suffix, type, utype, phys)       \
    static inline type divide_##suffix(type a, type b)    \
    {                                                     \
        return (type)(a / (b == 0 ? (type)1 : b));        \
    }                                                     \
    static inline type modulo_##suffix(type a, type b)    \
    {                                                     \
        return (type)(a % (b == 0 ? (type)1 : b));        \
    }                                                     \
    static inline bool overflows_##suffix(type a, type b) \
    {                                                     \
        WEIR_UNUSED(a);                                   \
        WEIR_UNUSED(b);                                   \
        return false;                                     \
    }
KERNEL_UNSIGNED_TYPES(UNSIGNED_HELPERS)
UNSIGNED_HELPERS(u128, u128, u128, PHYS_U128)
#undef UNSIGNED_HELPERS
_Static_assert(PHYS_F32 == 10, "there are helpers for the ten integers");

#define CASE(suffix, type, utype, phys)                            \
    case phys:                                                     \
        KERNEL_BINARY(call, type, type, type, VERB(suffix)(a, b)); \
        break;

#define DIVIDE_LOOPS(name)                          \
    static void name(const KernelCall *call)        \
    {                                               \
        switch (call->out->phys) {                  \
            KERNEL_SIGNED_TYPES(CASE)               \
            KERNEL_UNSIGNED_TYPES(CASE)             \
            KERNEL_WIDE_TYPES(CASE)                 \
        case PHYS_F32:                              \
        case PHYS_F64:                              \
        case PHYS_INTERVAL:                         \
        case PHYS_STRING:                           \
        case PHYS_COUNT: WEIR_ASSERT(false); break; \
        }                                           \
    }
#define VERB(suffix) divide_##suffix
DIVIDE_LOOPS(divide_rows)
#undef VERB
#define VERB(suffix) modulo_##suffix
DIVIDE_LOOPS(modulo_rows)
#undef VERB
#undef DIVIDE_LOOPS
#undef CASE

/* What rows, valid or not, there are. */
static DivideFlags look(const KernelCall *call)
{
    DivideFlags flags = {0};
    const Vector *left = &call->args[0];
    const Vector *right = &call->args[1];
    const size_t rows = weir_kernel_rows(call);
    switch (call->out->phys) {
#define X(suffix, type, utype, phys)                                                \
    case phys: {                                                                    \
        const type *a = left->data;                                                 \
        const type *b = right->data;                                                \
        const size_t a_step = left->is_constant ? 0 : 1;                            \
        const size_t b_step = right->is_constant ? 0 : 1;                           \
        for (size_t i = 0; i < rows; i++) {                                         \
            flags.has_zero |= b[i * b_step] == 0;                                   \
            flags.has_overflow |= overflows_##suffix(a[i * a_step], b[i * b_step]); \
        }                                                                           \
        break;                                                                      \
    }
        KERNEL_SIGNED_TYPES(X)
        KERNEL_UNSIGNED_TYPES(X)
        KERNEL_WIDE_TYPES(X)
#undef X
    case PHYS_F32:
    case PHYS_F64:
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: WEIR_ASSERT(false); break;
    }
    return flags;
}

static i128 smallest(PhysType phys)
{
    const size_t bits = weir_phys_width(phys) * 8;
    return -((i128)1 << (bits - 2)) * 2;
}

static Status check_overflow(const KernelCall *call, Error *err)
{
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (weir_kernel_is_valid(call, row) && weir_kernel_integer(call, 1, row) == -1 &&
            weir_kernel_integer(call, 0, row) == smallest(call->out->phys)) {
            char text[KERNEL_INTEGER_TEXT_SIZE];
            return weir_error_set(err, WEIR_ERR_EVALUATION,
                                  "Out of Range Error: Overflow in division of %s / -1",
                                  weir_kernel_argument_text(call, 0, row, text));
        }
    }
    return WEIR_OK;
}

/* Rows divided by zero become NULL. */
static Status void_zeros(const KernelCall *call, Error *err)
{
    WEIR_TRY(weir_kernel_own_validity(call, err));
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (weir_kernel_is_valid(call, row) && weir_kernel_integer(call, 1, row) == 0) {
            weir_validity_set_null(call->out->validity, row);
        }
    }
    return WEIR_OK;
}

static Status finish(const KernelCall *call, Error *err)
{
    const DivideFlags flags = look(call);
    if (flags.has_overflow) {
        WEIR_TRY(check_overflow(call, err));
    }
    return flags.has_zero ? void_zeros(call, err) : WEIR_OK;
}

Status weir_kernel_divide_integer(const KernelCall *call, Error *err)
{
    divide_rows(call);
    return finish(call, err);
}

Status weir_kernel_modulo_integer(const KernelCall *call, Error *err)
{
    modulo_rows(call);
    return finish(call, err);
}

Status weir_kernel_modulo_float(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    if (call->out->phys == PHYS_F32) {
        KERNEL_BINARY(call, float, float, float, fmodf(a, b));
    } else {
        KERNEL_BINARY(call, double, double, double, fmod(a, b));
    }
    return WEIR_OK;
}

Status weir_kernel_divide_float_whole(const KernelCall *call, Error *err)
{
    WEIR_TRY(weir_kernel_divide_float(call, err));
    WEIR_TRY(weir_kernel_own_validity(call, err));
    const Vector *right = &call->args[1];
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        const size_t place = weir_vector_place(right, row);
        const bool is_zero = right->phys == PHYS_F32 ? ((const float *)right->data)[place] == 0.0f
                                                     : ((const double *)right->data)[place] == 0.0;
        if (is_zero) {
            weir_validity_set_null(call->out->validity, row);
        }
    }
    return WEIR_OK;
}
