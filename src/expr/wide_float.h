/* wide_float.h: 128-bit integers as DOUBLE, with DuckDB's rounding: the sum of the halves. */
#ifndef WEIR_EXPR_WIDE_FLOAT_H
#define WEIR_EXPR_WIDE_FLOAT_H

#include "base/base.h"

static inline double weir_double_of_i128(i128 a)
{
    const uint64_t lower = (uint64_t)a;
    const int64_t upper = (int64_t)(a >> 64);
    if (upper == -1) { /* small negative numbers are exact */
        return -(double)(UINT64_MAX - lower) - 1;
    }
    return (double)lower + (double)upper * 0x1p64;
}

static inline double weir_double_of_u128(u128 a)
{
    return (double)(uint64_t)a + (double)(uint64_t)(a >> 64) * 0x1p64;
}

#endif
