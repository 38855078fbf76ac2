/* interval.h: the order of intervals: 30 days = 1 month, 24 hours = 1 day.
 *
 * As DuckDB does it: whole days of the microseconds go to the days, then whole months of the days go
 * to the months (both rounded to zero); then months, days, micros are compared in this order. So
 * 1 month - 1 day and 29 days are different, and the first is larger. */
#ifndef WEIR_TYPES_INTERVAL_H
#define WEIR_TYPES_INTERVAL_H

#include "types/type.h"

#define INTERVAL_MICROS_PER_DAY INT64_C(86400000000)
#define INTERVAL_DAYS_PER_MONTH INT64_C(30)

typedef struct NormalInterval {
    int64_t months;
    int64_t days;   /* in (-30, 30) */
    int64_t micros; /* in (-1 day, 1 day) */
} NormalInterval;

static inline NormalInterval weir_interval_normal(Interval v)
{
    const int64_t all_days = v.days + v.micros / INTERVAL_MICROS_PER_DAY;
    return (NormalInterval){
        .months = v.months + all_days / INTERVAL_DAYS_PER_MONTH,
        .days = all_days % INTERVAL_DAYS_PER_MONTH,
        .micros = v.micros % INTERVAL_MICROS_PER_DAY,
    };
}

static inline int32_t weir_interval_clamp(int64_t value)
{
    if (value > INT32_MAX) {
        return INT32_MAX;
    }
    return value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

/* One representation for each class of equal intervals. What leaves int32 goes back to the next
 * smaller unit, where it came from, so that it fits. */
static inline Interval weir_interval_canonical(Interval v)
{
    const NormalInterval n = weir_interval_normal(v);
    const int32_t months = weir_interval_clamp(n.months);
    const int64_t all_days = n.days + (n.months - months) * INTERVAL_DAYS_PER_MONTH;
    const int32_t days = weir_interval_clamp(all_days);
    const int64_t micros = n.micros + (all_days - days) * INTERVAL_MICROS_PER_DAY;
    return (Interval){.months = months, .days = days, .micros = micros};
}

static inline int weir_interval_compare(Interval a, Interval b)
{
    const NormalInterval x = weir_interval_normal(a);
    const NormalInterval y = weir_interval_normal(b);
    if (x.months != y.months) {
        return x.months < y.months ? -1 : 1;
    }
    if (x.days != y.days) {
        return x.days < y.days ? -1 : 1;
    }
    return (x.micros > y.micros) - (x.micros < y.micros);
}

#endif
