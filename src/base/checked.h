/* checked.h: integer arithmetic that reports overflow. Each returns true on overflow. */
#ifndef WEIR_BASE_CHECKED_H
#define WEIR_BASE_CHECKED_H

#include "base/base.h"

static inline bool weir_add_i64(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_add_overflow(a, b, out);
}

static inline bool weir_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_mul_overflow(a, b, out);
}

static inline bool weir_add_i128(i128 a, i128 b, i128 *out)
{
    return __builtin_add_overflow(a, b, out);
}

static inline bool weir_mul_i128(i128 a, i128 b, i128 *out)
{
    return __builtin_mul_overflow(a, b, out);
}

static inline bool weir_add_size(size_t a, size_t b, size_t *out)
{
    return __builtin_add_overflow(a, b, out);
}

static inline bool weir_mul_size(size_t a, size_t b, size_t *out)
{
    return __builtin_mul_overflow(a, b, out);
}

#endif
