/* interval.h: the order of intervals: 30 days = 1 month, 24 hours = 1 day.
 *
 * As DuckDB does it: whole days of the microseconds go to the days, then whole months of the days go
 * to the months (both rounded to zero); then months, days, micros are compared in this order. So
 * 1 month - 1 day and 29 days are different, and the first is larger. */
#ifndef WEIR_TYPES_INTERVAL_H
#define WEIR_TYPES_INTERVAL_H

#include "types/type.h"

#define INTERVAL_MICROS_PER_DAY INT64_C(86400000000)
enum { INTERVAL_DAYS_PER_MONTH = 30 };

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

/* One representation per class of equal intervals. Months that leave int32 go back to the days. */
static inline Interval weir_interval_canonical(Interval v)
{
    const NormalInterval n = weir_interval_normal(v);
    int64_t months = n.months;
    if (months > INT32_MAX) {
        months = INT32_MAX;
    } else if (months < INT32_MIN) {
        months = INT32_MIN;
    }
    const int64_t days = n.days + (n.months - months) * INTERVAL_DAYS_PER_MONTH;
    return (Interval){.months = (int32_t)months, .days = (int32_t)days, .micros = n.micros};
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
