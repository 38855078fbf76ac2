/* time.h: the calendar and the clock, on DuckDB's representations.
 *
 * Dates are days since 1970-01-01 in the proleptic Gregorian calendar; year 0 is 1 BC, -1 is 2 BC.
 * Times are microseconds; a timestamp is a date and a time in one count of microseconds. The
 * infinities are ordinary numbers here: callers look for them first. */
#ifndef WEIR_TYPES_TIME_H
#define WEIR_TYPES_TIME_H

#include "base/base.h"

#define TIME_MICROS_PER_SECOND INT64_C(1000000)
#define TIME_MICROS_PER_MINUTE (60 * TIME_MICROS_PER_SECOND)
#define TIME_MICROS_PER_HOUR (60 * TIME_MICROS_PER_MINUTE)
#define TIME_MICROS_PER_DAY (24 * TIME_MICROS_PER_HOUR)

/* DuckDB's infinities. */
#define DATE_INFINITY INT32_MAX
#define DATE_NEGATIVE_INFINITY (-INT32_MAX)
#define TIMESTAMP_INFINITY INT64_MAX
#define TIMESTAMP_NEGATIVE_INFINITY (-INT64_MAX)

/* The last and first finite dates. */
#define DATE_MAX (INT32_MAX - 1)
#define DATE_MIN (-INT32_MAX + 1)

typedef struct CivilDate {
    int32_t year;  /* 0 = 1 BC */
    int32_t month; /* 1-12 */
    int32_t day;   /* 1-31 */
} CivilDate;

typedef struct IsoWeek {
    int32_t year; /* the year the week belongs to */
    int32_t week; /* 1-53 */
} IsoWeek;

/* Quotient rounded down and the remainder that goes with it, in [0, divisor); divisor > 0. */
static inline int64_t weir_floor_div(int64_t value, int64_t divisor)
{
    const int64_t quotient = value / divisor;
    return quotient - (value % divisor < 0);
}

static inline int64_t weir_floor_mod(int64_t value, int64_t divisor)
{
    const int64_t rest = value % divisor;
    return rest + (rest < 0 ? divisor : 0);
}

static inline bool weir_year_is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int32_t weir_month_days(int64_t year, int32_t month);

CivilDate weir_civil_from_days(int32_t days);

/* The month may be out of 1-12 and the day out of the month: both are carried on. The result may
 * leave int32: callers check. */
int64_t weir_days_from_civil(int64_t year, int64_t month, int64_t day);

/* False if there is no such day, or if it is outside DuckDB's range. */
bool weir_date_make(int64_t year, int64_t month, int64_t day, int32_t *days);

int32_t weir_day_of_year(int32_t days);     /* 1-366 */
int32_t weir_iso_day_of_week(int32_t days); /* Monday 1 - Sunday 7 */
IsoWeek weir_iso_week(int32_t days);

/* The Monday of the ISO week / of the first week of the ISO year. May leave int32. */
int64_t weir_monday_of(int32_t days);
int64_t weir_iso_year_begin(int32_t days);

/* A timestamp of any unit (units_per_day of them a day) as date and time of the day. */
static inline int32_t weir_timestamp_date(int64_t timestamp, int64_t units_per_day)
{
    return (int32_t)weir_floor_div(timestamp, units_per_day);
}

static inline int64_t weir_timestamp_time(int64_t timestamp, int64_t units_per_day)
{
    return weir_floor_mod(timestamp, units_per_day);
}

/* TIME WITH TIME ZONE: 40 bits of local microseconds above 24 bits of (15:59:59 - offset) in
 * seconds. */
enum { TIME_TZ_OFFSET_BITS = 24, TIME_TZ_MAX_OFFSET = 16 * 60 * 60 - 1 };

static inline uint64_t weir_time_tz_make(int64_t micros, int32_t offset_seconds)
{
    return ((uint64_t)micros << TIME_TZ_OFFSET_BITS) |
           (uint64_t)(TIME_TZ_MAX_OFFSET - offset_seconds);
}

static inline int64_t weir_time_tz_micros(uint64_t bits)
{
    return (int64_t)(bits >> TIME_TZ_OFFSET_BITS);
}

static inline int32_t weir_time_tz_offset(uint64_t bits)
{
    return TIME_TZ_MAX_OFFSET - (int32_t)(bits & ((1u << TIME_TZ_OFFSET_BITS) - 1));
}

/* Orders by the UTC time, then by the offset, the larger first: DuckDB's order. Equal keys <=> equal
 * values. */
static inline uint64_t weir_time_tz_sort_key(uint64_t bits)
{
    const uint64_t offset = bits & ((1u << TIME_TZ_OFFSET_BITS) - 1);
    return bits + ((offset * 1000000u) << TIME_TZ_OFFSET_BITS);
}

#endif
