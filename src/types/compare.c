/* compare.c: SQL's order of two values of one type.
 *
 * Values are read by memcpy, since DuckDB's 16-byte values are only 8-byte aligned and those inside
 * nested values not aligned at all. */
#include "base/codec.h"
#include "types/interval.h"
#include "types/nested.h"
#include "types/time.h"
#include "types/vector.h"

#define COMPARE(ctype)            \
    do {                          \
        ctype x;                  \
        ctype y;                  \
        memcpy(&x, a, sizeof x);  \
        memcpy(&y, b, sizeof y);  \
        return (x > y) - (x < y); \
    } while (0)

/* NaN is the largest and equal to itself. */
#define COMPARE_FLOAT(ctype)                      \
    do {                                          \
        ctype x;                                  \
        ctype y;                                  \
        memcpy(&x, a, sizeof x);                  \
        memcpy(&y, b, sizeof y);                  \
        const bool x_is_nan = x != x;             \
        const bool y_is_nan = y != y;             \
        if (x_is_nan || y_is_nan) {               \
            return (int)x_is_nan - (int)y_is_nan; \
        }                                         \
        return (x > y) - (x < y);                 \
    } while (0)

static int compare_intervals(const void *a, const void *b)
{
    Interval x;
    Interval y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return weir_interval_compare(x, y);
}

static int compare_strings(const LogicalType *type, const void *a, const void *b)
{
    String x;
    String y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (weir_type_is_nested(type)) {
        return weir_nested_compare(type, weir_string_data(&x), weir_string_data(&y));
    }
    return weir_string_compare(&x, &y);
}

static int compare_time_tz(const void *a, const void *b)
{
    const uint64_t x = weir_time_tz_sort_key(weir_load_u64(a));
    const uint64_t y = weir_time_tz_sort_key(weir_load_u64(b));
    return (x > y) - (x < y);
}

int weir_value_compare(const LogicalType *type, const void *a, const void *b)
{
    if (type->id == TYPE_TIME_TZ) {
        return compare_time_tz(a, b);
    }
    switch (type->phys) {
    case PHYS_I8: COMPARE(int8_t);
    case PHYS_I16: COMPARE(int16_t);
    case PHYS_I32: COMPARE(int32_t);
    case PHYS_I64: COMPARE(int64_t);
    case PHYS_I128: COMPARE(i128);
    case PHYS_U8: COMPARE(uint8_t);
    case PHYS_U16: COMPARE(uint16_t);
    case PHYS_U32: COMPARE(uint32_t);
    case PHYS_U64: COMPARE(uint64_t);
    case PHYS_U128: COMPARE(u128);
    case PHYS_F32: COMPARE_FLOAT(float);
    case PHYS_F64: COMPARE_FLOAT(double);
    case PHYS_INTERVAL: return compare_intervals(a, b);
    case PHYS_STRING: return compare_strings(type, a, b);
    case PHYS_COUNT: break;
    }
    WEIR_ASSERT(false);
    return 0;
}
