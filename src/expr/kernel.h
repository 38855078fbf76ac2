/* kernel.h: what kernels are made of: loops over flat and constant arguments, and NULL.
 *
 * A loop computes all rows, also those under NULL, and collects failure in a flag; only if the flag
 * is up, a second, slow loop looks for the first valid row that fails. Pointers are restrict, so
 * that the compiler vectorises: an argument may be read twice but is never the result. */
#ifndef WEIR_EXPR_KERNEL_H
#define WEIR_EXPR_KERNEL_H

#include "expr/function.h"

/* DuckDB's vectors align 16-byte values to 8 bytes only. */
typedef i128 KernelI128 __attribute__((aligned(8)));
typedef u128 KernelU128 __attribute__((aligned(8)));

/* X(suffix, type, unsigned type, PHYS) for every integer type up to 64 bits, and for 128 bits. */
#define KERNEL_SIGNED_TYPES(X)          \
    X(i8, int8_t, uint8_t, PHYS_I8)     \
    X(i16, int16_t, uint16_t, PHYS_I16) \
    X(i32, int32_t, uint32_t, PHYS_I32) \
    X(i64, int64_t, uint64_t, PHYS_I64)
#define KERNEL_UNSIGNED_TYPES(X)         \
    X(u8, uint8_t, uint8_t, PHYS_U8)     \
    X(u16, uint16_t, uint16_t, PHYS_U16) \
    X(u32, uint32_t, uint32_t, PHYS_U32) \
    X(u64, uint64_t, uint64_t, PHYS_U64)
#define KERNEL_WIDE_TYPES(X)                   \
    X(i128, KernelI128, KernelU128, PHYS_I128) \
    X(u128, KernelU128, KernelU128, PHYS_U128)
#define KERNEL_FLOAT_TYPES(X)      \
    X(f32, float, float, PHYS_F32) \
    X(f64, double, double, PHYS_F64)

/* Rows to compute. */
static inline size_t weir_kernel_rows(const KernelCall *call)
{
    return call->out->is_constant ? 1 : call->count;
}

/* out[i] = expression of a (and b), which are the values of row i. */
#define KERNEL_UNARY(call, atype, otype, expression)                  \
    do {                                                              \
        const size_t kernel_rows_ = weir_kernel_rows(call);           \
        const atype *restrict const kernel_a_ = (call)->args[0].data; \
        otype *restrict const kernel_o_ = (call)->out->data;          \
        for (size_t i = 0; i < kernel_rows_; i++) {                   \
            const atype a = kernel_a_[i];                             \
            kernel_o_[i] = (otype)(expression);                       \
        }                                                             \
    } while (0)

#define KERNEL_BINARY(call, atype, btype, otype, expression)            \
    do {                                                                \
        const size_t kernel_rows_ = weir_kernel_rows(call);             \
        const bool kernel_a_is_constant_ = (call)->args[0].is_constant; \
        const bool kernel_b_is_constant_ = (call)->args[1].is_constant; \
        const atype *restrict const kernel_a_ = (call)->args[0].data;   \
        const btype *restrict const kernel_b_ = (call)->args[1].data;   \
        otype *restrict const kernel_o_ = (call)->out->data;            \
        if (kernel_a_is_constant_ == kernel_b_is_constant_) {           \
            for (size_t i = 0; i < kernel_rows_; i++) {                 \
                const atype a = kernel_a_[i];                           \
                const btype b = kernel_b_[i];                           \
                kernel_o_[i] = (otype)(expression);                     \
            }                                                           \
        } else if (kernel_b_is_constant_) {                             \
            const btype b = kernel_b_[0];                               \
            for (size_t i = 0; i < kernel_rows_; i++) {                 \
                const atype a = kernel_a_[i];                           \
                kernel_o_[i] = (otype)(expression);                     \
            }                                                           \
        } else {                                                        \
            const atype a = kernel_a_[0];                               \
            for (size_t i = 0; i < kernel_rows_; i++) {                 \
                const btype b = kernel_b_[i];                           \
                kernel_o_[i] = (otype)(expression);                     \
            }                                                           \
        }                                                               \
    } while (0)

static inline bool weir_kernel_is_valid(const KernelCall *call, size_t row)
{
    return weir_validity_get(call->out->validity, row);
}

/* Makes out->validity the result's own, all valid if there was none, so that rows can be made
 * NULL. */
Status weir_kernel_own_validity(const KernelCall *call, Error *err) WEIR_MUST_CHECK;

/* Argument `index` of a row, widened; only for integers (and what is stored as one). */
i128 weir_kernel_integer(const KernelCall *call, size_t index, size_t row);

/* True if the value is not one of the integer type (a UHUGEINT above 2^127 looks negative). */
bool weir_integer_is_outside(i128 value, PhysType phys);

/* A 128-bit integer in decimal. */
enum { KERNEL_INTEGER_TEXT_SIZE = 48 };
const char *weir_kernel_integer_text(i128 value, char out[KERNEL_INTEGER_TEXT_SIZE]);
const char *weir_kernel_unsigned_text(u128 value, char out[KERNEL_INTEGER_TEXT_SIZE]);

/* DuckDB's name of a physical type, for its messages. */
const char *weir_kernel_phys_name(const LogicalType *type);

/* The same value as DuckDB prints it in messages: argument `index` of a row. */
const char *weir_kernel_argument_text(const KernelCall *call, size_t index, size_t row,
                                      char out[KERNEL_INTEGER_TEXT_SIZE]);

#define KERNEL(name) Status weir_kernel_##name(const KernelCall *call, Error *err) WEIR_MUST_CHECK
/* arithmetic */
KERNEL(add_integer);
KERNEL(subtract_integer);
KERNEL(multiply_integer);
KERNEL(add_float);
KERNEL(subtract_float);
KERNEL(multiply_float);
KERNEL(divide_float);
KERNEL(add_decimal);
KERNEL(subtract_decimal);
KERNEL(multiply_decimal);
KERNEL(divide_integer);
KERNEL(divide_float_whole);
KERNEL(modulo_integer);
KERNEL(modulo_float);
KERNEL(negate);
KERNEL(absolute);
KERNEL(copy);
KERNEL(sign);
KERNEL(bit_and);
KERNEL(bit_or);
KERNEL(bit_xor);
KERNEL(bit_not);
KERNEL(shift_right);
/* rounding, roots, powers */
KERNEL(floor_float);
KERNEL(floor_decimal);
KERNEL(ceil_float);
KERNEL(ceil_decimal);
KERNEL(trunc_float);
KERNEL(trunc_decimal);
KERNEL(round_float);
KERNEL(round_decimal);
KERNEL(round_float_to);
KERNEL(square_root);
KERNEL(power);
KERNEL(exponential);
KERNEL(natural_logarithm);
KERNEL(decimal_logarithm);
KERNEL(binary_logarithm);
KERNEL(is_nan);
KERNEL(is_infinite);
KERNEL(is_finite);
KERNEL(greatest);
KERNEL(least);
/* strings */
KERNEL(join);
KERNEL(concat);
KERNEL(concat_ws);
KERNEL(repeat);
KERNEL(replace);
KERNEL(substring);
KERNEL(left);
KERNEL(right);
KERNEL(trim);
KERNEL(trim_left);
KERNEL(trim_right);
KERNEL(lower);
KERNEL(upper);
KERNEL(reverse);
KERNEL(pad_left);
KERNEL(pad_right);
KERNEL(length);
KERNEL(length_bytes);
KERNEL(length_bits);
KERNEL(contains);
KERNEL(prefix);
KERNEL(suffix);
KERNEL(position);
KERNEL(like);
KERNEL(not_like);
/* dates and times */
KERNEL(date_part);
KERNEL(date_trunc);
KERNEL(last_day);
KERNEL(date_diff);
KERNEL(time_bucket);
KERNEL(moment_plus_interval);
KERNEL(interval_plus_moment);
KERNEL(moment_minus_interval);
KERNEL(date_plus_days);
KERNEL(days_plus_date);
KERNEL(date_minus_days);
KERNEL(date_minus_date);
KERNEL(timestamp_minus_timestamp);
KERNEL(date_plus_time);
KERNEL(time_plus_interval);
KERNEL(time_minus_interval);
KERNEL(interval_plus_interval);
KERNEL(interval_minus_interval);
KERNEL(negate_interval);
KERNEL(multiply_interval);
KERNEL(to_interval);
KERNEL(make_date);
KERNEL(epoch_us);
KERNEL(epoch_ms);
/* casts */
KERNEL(cast_date_to_timestamp);
KERNEL(cast_timestamp_to_date);
KERNEL(cast_timestamp_to_time);
KERNEL(cast_timestamp);
KERNEL(cast_text_to_integer);
KERNEL(cast_text_to_decimal);
KERNEL(cast_text_to_double);
KERNEL(cast_text_to_boolean);
KERNEL(cast_text_to_date);
KERNEL(cast_text_to_timestamp);
KERNEL(cast_number);
KERNEL(cast_decimal);
KERNEL(cast_decimal_to_float);
KERNEL(cast_float_to_decimal);
KERNEL(cast_to_text);
KERNEL(cast_double_to_text);
KERNEL(cast_boolean_to_text);
KERNEL(cast_enum_to_text);
/* kinds of expressions that are not calls */
KERNEL(compare);
KERNEL(distinct);
KERNEL(and);
KERNEL(or);
KERNEL(not );
KERNEL(is_null);
KERNEL(is_not_null);
KERNEL(case);
KERNEL(coalesce);
KERNEL(in_set);
#undef KERNEL

/* Conditions of the registries. */
bool weir_accepts_cast_number(const Expr *cast);
bool weir_accepts_cast_number_total(const Expr *cast);
bool weir_accepts_cast_decimal(const Expr *cast);
bool weir_accepts_cast_decimal_total(const Expr *cast);
bool weir_accepts_decimal_sum(const Expr *call);
bool weir_accepts_decimal_product(const Expr *call);
bool weir_accepts_decimal_rounding(const Expr *call);
bool weir_accepts_decimal_round_to(const Expr *call);
bool weir_accepts_substring_total(const Expr *call);
bool weir_accepts_date_part(const Expr *call);
bool weir_accepts_time_part(const Expr *call);
bool weir_accepts_date_trunc(const Expr *call);
bool weir_accepts_date_diff(const Expr *call);
bool weir_accepts_greatest(const Expr *call);

#endif
