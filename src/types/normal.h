/* normal.h: the one representation of equal floats: 0.0 for -0.0, one NaN. On bit patterns, without
 * branches. */
#ifndef WEIR_TYPES_NORMAL_H
#define WEIR_TYPES_NORMAL_H

#include "base/base.h"

#define NORMAL_NAN_F64 UINT64_C(0x7FF8000000000000)
#define NORMAL_NAN_F32 UINT32_C(0x7FC00000)

static inline uint64_t weir_normal_f64(uint64_t bits)
{
    const uint64_t magnitude = bits & ~(UINT64_C(1) << 63);
    const uint64_t nonzero = magnitude == 0 ? 0 : bits;
    return magnitude > UINT64_C(0x7FF0000000000000) ? NORMAL_NAN_F64 : nonzero;
}

static inline uint32_t weir_normal_f32(uint32_t bits)
{
    const uint32_t magnitude = bits & ~(UINT32_C(1) << 31);
    const uint32_t nonzero = magnitude == 0 ? 0 : bits;
    return magnitude > UINT32_C(0x7F800000) ? NORMAL_NAN_F32 : nonzero;
}

#endif
